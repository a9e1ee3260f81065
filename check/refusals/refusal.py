"""What became of one question that must be refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..judging.expectations import Expectation

Outcome = Literal["refused", "obvious", "garbage", "crash", "unasked"]
ACCEPTED: tuple[Outcome, ...] = ("obvious", "garbage", "crash")


@dataclass(frozen=True)
class Refusal:
    """What became of the question `id`, in which one thing is wrong.

    `defect` is that thing's name, `about` says it in a sentence, and `ledger` is a link to the entry that
    says where the text forbids it. The `outcome` is

    * refused: an error was raised, or Unsupported; `message` is its text;
    * obvious: outputs came back as if nothing were wrong;
    * garbage: any other outputs did; `message` says what is wrong with them;
    * crash: the process died or did not answer; `message` says how;
    * unasked: refusing it would say nothing, for the valid question it is made from is not answered either.

    Where it does not `decide`, the text leaves open what happens. `answered` says that outputs came back as
    they were asked for: then `message` is the judge's own. `expected` is the known finding that
    names it.
    """

    id: str
    operator: str
    dtype: str
    defect: str
    about: str
    ledger: str
    outcome: Outcome
    message: str = ""
    decides: bool = True
    answered: bool = False
    expected: Expectation | None = None

    @property
    def accepted(self) -> bool:
        """Whether the runtime did not refuse what it was asked."""
        return self.outcome in ACCEPTED

    @property
    def wrong(self) -> bool:
        """Whether the runtime accepted what the text forbids."""
        return self.decides and self.accepted


def counts(refusals: Sequence[Refusal]) -> dict[Outcome, int]:
    """How many have each outcome."""
    found: dict[Outcome, int] = dict.fromkeys(("refused", *ACCEPTED, "unasked"), 0)
    for one in refusals:
        found[one.outcome] += 1
    return found
