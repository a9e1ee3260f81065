"""The invalid questions: of each operator and dtype, one for each defect.

An id is `<operator>/invalid/<dtype>/<defect>`, and no case spec may have that theme. An invalid question
needs no answer, so none stands in a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..operators.known import OPERATORS
from ..operators.signature import Operator
from ..question import INVALID, Question
from ..selection import may_select, selected
from .attributes import attribute_defects
from .baseline import baseline
from .defect import Defect
from .inputs import input_defects


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
        """Where the text forbids it, as a link to the entry: `openvino/LEDGER.md#clip-default`."""
        return f"{OPERATORS[self.question.operator].owner}/LEDGER.md#{self.defect.ledger}"

    def may_be_taken_for(self) -> list[Question]:
        """The valid questions that a runtime answers which does not see the defect."""
        return self.defect.may_be_taken_for(self.valid)


@cache
def defects(operator: Operator) -> tuple[Defect, ...]:
    """The defects that the text of an operator's owner forbids, or on which it has a word."""
    return (*attribute_defects(operator), *input_defects(operator))


def invalid_questions(
    operators: Collection[str] = (), dtypes: Collection[str] = (), select: Sequence[str] = ()
) -> Iterator[InvalidQuestion]:
    """The invalid questions of some operators and dtypes, or of all, with an id that a glob matches."""
    for operator in OPERATORS.values():
        if operators and operator.name not in operators:
            continue
        for dtype in operator.dtypes():
            prefix = f"{operator.name}/{INVALID}/{dtype}/"
            if (not dtypes or dtype in dtypes) and may_select(prefix, select):
                yield from _of(operator, dtype, prefix, select)


def _of(
    operator: Operator, dtype: str, prefix: str, select: Sequence[str]
) -> Iterator[InvalidQuestion]:
    for defect in defects(operator):
        case_id = prefix + defect.name
        if selected(case_id, select):
            valid = baseline(operator, dtype, defect.valid)
            yield InvalidQuestion(defect, valid, defect.put_into(valid, case_id))
