"""A case as a script of its own, to be attached to a bug report: `grucible show CASE --script NAME`."""

from __future__ import annotations

import contextlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pprint import pformat

import numpy as np

from ...cases.console import escape, say
from ...cases.conversion import NotExpressible, ask, nearest
from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError, RuntimeNotUsable
from ...cases.operators import OPERATORS, onnx, openvino, torch
from ...cases.operators.readings import STORED, ReadingNames, about
from ...cases.operators.signature import Operator
from ...cases.question import Question
from ...gen.formula import attribute_lines, equation_lines
from ...vectors.case import REQUIRED, Case
from ..observed.isolated import IsolatedRuntime
from ..observed.source import check_reply
from ..runtimes.posed import ONNX_FILES, OPENVINO, TORCH, decline
from ..runtimes.runtime import Unsupported, registered_runtime
from . import standalone
from .bodies import ScriptBody, body_of, dtype_text

MOST_NUMBERS = 20_000
"""Maximum numbers in a script; nobody reads a longer one, of more than some 300 kB."""
_WIDTH = 98
"""Maximum width of a comment's line, without its `#`."""


_Accepted = Mapping[ReadingNames, tuple[Arrays, Arrays]]
"""The accepted outputs and their tolerances, by the readings that are followed."""


_ASKED: list[tuple[Mapping[str, object], Sequence[Operator]]] = [
    (ONNX_FILES, onnx.OPERATORS), (OPENVINO, openvino.OPERATORS), (TORCH, torch.OPERATORS),
]  # fmt: skip
"""The operators that named runtimes are asked."""


def has_script(name: str) -> bool:
    """Say whether scripts are written for the runtime called `name`: a known one, a function or a program."""
    return ":" in name or any(name in names for names, _ in _ASKED)


def pose(case: Case, name: str) -> tuple[Question, _Accepted]:
    """Return the question that the runtime called `name` is asked for a case, and what is accepted.

    The question may be of another operator than the case, and ask for outputs that are not judged. `onnx`
    stands for any runtime that reads ONNX files. Raises GrucibleError where the runtime is not asked the
    case, and RuntimeNotUsable for an unknown runtime.
    """
    if not has_script(name):
        registered_runtime(name)  # raises where there is none
        raise GrucibleError(f"runtime {name} is another package's, and no script is offered for it")
    of_owner = next((found for names, found in _ASKED if name in names), None)
    operator = nearest(case.operator, of_owner or (OPERATORS[case.operator],))
    required, question = REQUIRED[case.dtype], case.question
    accepted = {names: (a.outputs, a.tolerances[required]) for names, a in case.answers.items()}
    try:
        if operator.name != case.operator:
            asked = ask(question, operator)
            question, turn = asked.question, asked.expected
            accepted = {
                names: (turn(one), turn(limits)) for names, (one, limits) in accepted.items()
            }
        decline(name, question)
    except NotExpressible as reason:
        raise GrucibleError(f"{case.id} cannot be asked as {operator.name}: {reason}") from None
    except Unsupported as reason:
        raise GrucibleError(f"{name} is not asked {case.id}: {reason}") from None
    return question, accepted


def script(case: Case, name: str, observed: Sequence[str] = (), made_by: str = "") -> str:
    """Return a script that asks `case` of the runtime called `name` and exits 0, 1 or 2.

    The script needs numpy and the runtime's packages. With the `name` `onnx`, it saves a test of ONNX's
    in a folder. `observed` are lines about what came when the script was made, `made_by` is the command that
    made it. Raises GrucibleError where the case is too large or is not asked of this runtime, and
    RuntimeNotUsable for an unknown runtime.
    """
    refuse_large(case)
    question, accepted = pose(case, name)
    body = body_of(case, question, name)
    imports = ["from __future__ import annotations\n\nimport sys"]
    parts = ["\n".join(_data(question, accepted, judged=body.judge)), "\n".join(body.lines)]
    if body.judge:
        imports += ["import traceback", "from typing import Any"]
        names = ["judge", "differing_forms", "compare"]
        names += ["answer_of"] if "answer_of(" in body.lines[-1] else []
        judging = [inspect.getsource(getattr(standalone, one)) for one in names]
        asking = "\n".join(["def ask():", *(f"    {line}".rstrip() for line in body.lines)])
        ending = f"sys.exit(judge(ask, accepted, signed_zero={case.tier == 'nonportable'}))"
        parts = [parts[0], *judging, asking, ending]
    imports += ["\nimport numpy as np", *["import ml_dtypes"] * (case.dtype == "bfloat16")]
    program = "\n\n\n".join(part.strip("\n") for part in parts)
    head = "\n".join(
        f"# {line}".rstrip() for line in _head(case, question, body, observed, made_by)
    )
    return "\n".join([head, "", *imports, "", program, ""])


def refuse_large(case: Case) -> None:
    """Raise GrucibleError if a script of the case would be too long to read."""
    size = sum(array.size for array in case.inputs.values())
    outputs = [answer.outputs.values() for answer in case.answers.values()]
    size += 2 * sum(array.size for arrays in outputs for array in arrays)  # each with its tolerance
    if size > MOST_NUMBERS:
        raise GrucibleError(
            f"a script of {case.id} would hold {size} numbers, of at most {MOST_NUMBERS}; "
            "for a smaller case see: grucible shrink; for files: grucible export"
        )


def _head(
    case: Case, question: Question, body: ScriptBody, observed: Sequence[str], made_by: str
) -> Iterator[str]:
    """Yield the lines of the script's head, which say what it asks."""
    other = question is not case.question
    facts = {
        "case": case.id,
        "operator": f"{case.operator}, {OPERATORS[case.operator].source}",
        "asked as": f"{question.operator}, which can ask the same" if other else "",
        "needs": f"numpy, {'ml_dtypes, ' * (case.dtype == 'bfloat16')}{body.needs}",
        "prints": body.prints,
        "made by": made_by,
    }
    for word, text in facts.items():
        if text:
            yield from _wrap(text, f"{word:10}", " " * 10)
    yield from ["", "It asks for", *(f"  {line}" for line in equation_lines(question))]
    yield from ["", "Attributes", *(f"  {escape(line)}" for line in attribute_lines(question)), ""]
    yield from _wrap(
        f"Expected is the exact result, rounded once to {case.dtype}. Each element has a tolerance: the "
        f"error of {REQUIRED[case.dtype]} arithmetic there."
    )
    if case.tier == "nonportable":
        yield "It is not portable: another result is no fault."
    yield from ["", *observed] if observed else []


def _wrap(text: str, indent: str = "", more: str = "") -> list[str]:
    return textwrap.wrap(
        escape(text), _WIDTH, initial_indent=indent, subsequent_indent=more,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _data(question: Question, accepted: _Accepted, *, judged: bool) -> Iterator[str]:
    """Yield the inputs and all accepted answers, or only the stored answer if it is not `judged`."""
    yield "nan, inf = np.nan, np.inf"
    yield from _dict("inputs", question.inputs)
    if not judged:
        yield from _dict("expected", accepted[STORED][0])
        return
    yield "accepted = []"
    for reading, (outputs, tolerances) in accepted.items():
        if reading != STORED:
            yield f"# also accepted: {escape(about(reading))}"
        yield from (*_dict("expected", outputs), *_dict("tolerance", tolerances))
        yield "accepted.append((expected, tolerance))"


def _dict(name: str, arrays: Mapping[str, Array]) -> Iterator[str]:
    yield f"{name} = {{"
    yield from (f'    "{key}": {array_text(array)},' for key, array in arrays.items())
    yield "}"


def array_text(array: Array) -> str:
    """Return an expression that makes this array, bit for bit except in NaNs."""
    flat = [shortest(value) for value in array.ravel()]
    lines = pformat(flat, width=80, compact=True).replace("\n", "\n       ")
    shape = "" if array.ndim == 1 else f".reshape({', '.join(map(str, array.shape))})"
    return f"np.array({lines}, {dtype_text(array.dtype)}){shape}"


def shortest(value: np.generic) -> float | int:
    """Return the number with the fewest digits that rounds to `value` in its dtype."""
    if isinstance(value, np.integer):
        return int(value)
    short = float(str(value))
    return short if value.dtype.type(short) == value else float(value)


def observed_lines(case: Case, name: str, timeout: float) -> list[str]:
    """Return lines about what the runtime called `name` gives for `case` now, or why it gives nothing.

    The runtime runs in a process of its own, for at most `timeout` seconds; `onnx` stands for no one runtime,
    and gets no lines. Raises GrucibleError where the case is not asked of this runtime.
    """
    body_of(case, pose(case, name)[0], name)  # raises where there is no script
    if name == "onnx":
        return []
    try:
        with contextlib.closing(IsolatedRuntime(name, timeout)) as runtime:
            runtime.ready()
            reply = check_reply(case.question.outputs, runtime.answer(case.question))
    except RuntimeNotUsable as error:
        say(f"grucible: not observed: {error}", err=True)
        return _wrap(f"Not observed when this was made: {error}", more="  ")
    who = f"{runtime.name} {runtime.hello.version}".strip()
    if reply.status != "ok":
        why = f"{who} gave no outputs when this was made: {reply.status}, {reply.message}"
        return _wrap(why, more="  ")
    accepted = [(a.outputs, a.tolerances[REQUIRED[case.dtype]]) for a in case.answers.values()]
    signed = case.tier == "nonportable"
    wrong, worst = min(standalone.compare(*pair, reply.outputs, signed) for pair in accepted)
    found = [f"{who} gave this when the script was made, {'wrong' if wrong else 'right'}: {worst}"]
    found += [f"{key}: {' '.join(map(str, array.ravel()))}" for key, array in reply.outputs.items()]
    return [line for text in found for line in _wrap(text, more="  ")]
