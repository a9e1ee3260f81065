"""The invalid questions: of each operator and dtype, one for each defect.

An id is `<operator>/invalid/<dtype>/<defect>`, and no case spec may have that theme. An invalid question
needs no answer, so none stands in a file. It is made from a valid one that is small and forward, has
everything given, and no randomness: every number is a sixteenth, which all dtypes hold.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .defects import SIZES, Defect, defects, written
from .dtypes import Array, Arrays, numpy_dtype
from .operators import OPERATORS
from .operators.signature import Operator, Tensor
from .question import INVALID, Question, pose
from .selection import may_select, selected


@dataclass(frozen=True, eq=False)
class InvalidQuestion:
    """A question that must be refused: the `valid` one, and the `question` with the `defect` in it."""

    defect: Defect
    valid: Question
    question: Question

    @property
    def id(self) -> str:
        """The id of the question with the defect."""
        return self.question.id

    @property
    def ledger(self) -> str:
        """The link to the ledger entry that forbids it: `openvino/LEDGER.md#clip-default`."""
        return f"{OPERATORS[self.question.operator].owner}/LEDGER.md#{self.defect.ledger}"

    def may_be_taken_for(self) -> list[Question]:
        """List the valid questions that a runtime answers which does not see the defect."""
        defect, valid = self.defect, self.valid
        found = [
            replace(valid, given={**valid.given, **other}) for other in defect.attributes_taken_for
        ]
        if not defect.tensor:
            return found
        right = valid.inputs[defect.tensor]
        return [
            replace(one, inputs={**one.inputs, defect.tensor: take(right)})
            for one in found
            for take in defect.taken_for
        ]


def invalid_questions(
    operators: Collection[str] = (), dtypes: Collection[str] = (), select: Sequence[str] = ()
) -> Iterator[InvalidQuestion]:
    """Make the invalid questions of some operators and dtypes, or of all, with an id that a glob matches."""
    for operator in OPERATORS.values():
        if operators and operator.name not in operators:
            continue
        for dtype in operator.dtypes():
            prefix = f"{operator.name}/{INVALID}/{dtype}/"
            if (not dtypes or dtype in dtypes) and may_select(prefix, select):
                for defect in defects(operator):
                    if selected(prefix + defect.name, select):
                        valid = baseline(operator, dtype, defect.valid)
                        wrong = _put_into(valid, defect, prefix + defect.name)
                        yield InvalidQuestion(defect, valid, wrong)


def baseline(operator: Operator, dtype: str, others: Mapping[str, Any]) -> Question:
    """Make the valid question of an operator and dtype, with the attributes `others` besides the usual."""
    given = {**written(operator), **others}
    attributes = operator.with_defaults(given)
    directions = len(operator.directions(attributes))
    sizes = {symbol: {**SIZES, "direction": directions}[axis]
             for symbol, axis in operator.sizes.items()}  # fmt: skip
    inputs: Arrays = {}
    for place, tensor in enumerate(operator.inputs):
        shape = operator.shape(tensor, attributes, sizes)
        inputs[tensor.name] = _numbers(operator, tensor, shape, dtype, place)
    words = "-".join(["valid", *others])
    return pose(operator, given, inputs, case_id=f"{operator.name}/{INVALID}/{dtype}/{words}")


def _numbers(
    operator: Operator, tensor: Tensor, shape: tuple[int, ...], dtype: str, place: int
) -> Array:
    """Make an input: rows as long as the time axis; zeros where a case may have them; else sixteenths.

    The sixteenths, of -8 to 8, stand in an order of each input's own.
    """
    if tensor.role == "lengths":
        return np.full(shape, SIZES["time"], numpy_dtype(operator.types[tensor.type][0]))
    if tensor.fills[:1] == ("zeros",):
        return np.zeros(shape, numpy_dtype(dtype))
    count = math.prod(shape)
    numbers = (np.arange(count) * (5 + place) + 3 * place + 1) % 17 - 8
    return np.asarray(numbers.reshape(shape) / 16).astype(numpy_dtype(dtype))


def _put_into(question: Question, defect: Defect, case_id: str) -> Question:
    """Put a defect into a valid question; its outputs are asked for as if nothing were wrong."""
    given = {**question.given, **defect.given}
    inputs = dict(question.inputs)
    if defect.change is not None:
        inputs[defect.tensor] = defect.change(inputs[defect.tensor])
    elif defect.tensor:
        del inputs[defect.tensor]
    left = {name: value for name, value in given.items() if value is not None}
    return replace(question, id=case_id, given=left, inputs=inputs)
