"""A defect: the one thing that is wrong with a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..dtypes import Array
from ..question import Question

Change = Callable[[Array], Array]


def unchanged(array: Array) -> Array:
    """The same array."""
    return array


@dataclass(frozen=True, eq=False)
class Defect:
    """One thing made wrong in a valid question: attributes, or one input.

    `name` ends the id of the question, `about` says in a sentence what is wrong, `ledger` is the entry of the
    owner's ledger that says where the text forbids it. Where it does not `decide`, the text is silent, or
    leaves open what then happens: what a runtime does is reported alone.

    The valid question is the baseline with the attributes `valid`. In it `given` are attributes written
    otherwise, None for one that is left out; `change` is what becomes of `tensor`, which is left out without
    it. Whoever does not see the defect may take the question for a valid one, with an input as one of
    `taken_for` makes it of the right one, or with the attributes of one of `attributes_taken_for`.
    """

    name: str
    about: str
    ledger: str
    decides: bool = True
    valid: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    tensor: str = ""
    change: Change | None = None
    taken_for: tuple[Change, ...] = (unchanged,)
    attributes_taken_for: tuple[Mapping[str, Any], ...] = ({},)

    def put_into(self, question: Question, case_id: str) -> Question:
        """A valid question with the defect in it; its outputs are asked for as if nothing were wrong."""
        given = {**question.given, **self.given}
        inputs = dict(question.inputs)
        if self.tensor and self.change is None:
            del inputs[self.tensor]
        elif self.change is not None:
            inputs[self.tensor] = self.change(inputs[self.tensor])
        left = {name: value for name, value in given.items() if value is not None}
        return replace(question, id=case_id, given=left, inputs=inputs)

    def may_be_taken_for(self, question: Question) -> list[Question]:
        """The valid questions that the one with the defect may be taken for, of the valid `question`."""
        found = [replace(question, given={**question.given, **other})
                 for other in self.attributes_taken_for]  # fmt: skip
        if not self.tensor:
            return found
        right = question.inputs[self.tensor]
        return [
            replace(one, inputs={**one.inputs, self.tensor: take(right)})
            for one in found
            for take in self.taken_for
        ]
