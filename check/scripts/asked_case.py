"""A case as a runtime's own operator asks it: the question, and the answers in that operator's layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...cases.conversion import Asked, NotExpressible, ask
from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.known import OPERATORS
from ...cases.operators.onnx import GRU
from ...cases.operators.readings import ReadingNames
from ...cases.operators.signature import Operator
from ...cases.question import Question
from ...vectors.case import REQUIRED, Case
from ..runtimes.posed import ONNX_FILES, OPENVINO, decline, openvino_operator
from ..runtimes.runtime import Unsupported, registered_runtime


@dataclass(frozen=True)
class Accepted:
    """Outputs that are right, and how far each element may be off in the required class of arithmetic."""

    outputs: Arrays
    tolerances: Arrays


@dataclass(frozen=True)
class AskedCase:
    """A case, the question that is asked, and what is accepted as its answer, by reading.

    The question may be of another operator than the case's, and ask for outputs of which nothing is
    expected; `converted` is how it was made, where it was.
    """

    case: Case
    question: Question
    accepted: Mapping[ReadingNames, Accepted]
    converted: Asked | None = None

    def outputs(self, observed: Mapping[str, Array]) -> Arrays:
        """Outputs of the case's operator as those of the question's."""
        return self.converted.expected(observed) if self.converted else dict(observed)


def asked_by(case: Case, name: str) -> AskedCase:
    """The case as the runtime called `name` is asked it; `onnx` is any that reads ONNX files.

    Raises GrucibleError where it is not asked that, RuntimeNotUsable where nothing is called so.
    """
    operator = OPERATORS[case.operator]
    if name in ONNX_FILES:
        operator = GRU
    elif name in OPENVINO:
        operator = openvino_operator(case.question)
    elif ":" not in name:
        registered_runtime(name)  # or it says that there is none, and what may be meant
        raise GrucibleError(f"runtime {name} is another package's, and no script is offered for it")
    asked = _asked(case, operator)
    try:
        decline(name, asked.question)
    except Unsupported as reason:
        raise GrucibleError(f"{name} is not asked {case.id}: {reason}") from None
    return asked


def _asked(case: Case, operator: Operator) -> AskedCase:
    """The case as a question of `operator`."""
    required = REQUIRED[case.dtype]
    answers = {
        reading: Accepted(answer.outputs, answer.tolerances[required])
        for reading, answer in case.answers.items()
    }
    if operator.name == case.operator:
        return AskedCase(case, case.question, answers)
    try:
        asked = ask(case.question, operator)
    except NotExpressible as reason:
        raise GrucibleError(f"{case.id} cannot be asked as {operator.name}: {reason}") from None
    answers = {
        reading: Accepted(asked.expected(one.outputs), asked.expected(one.tolerances))
        for reading, one in answers.items()
    }
    return AskedCase(case, asked.question, answers, asked)
