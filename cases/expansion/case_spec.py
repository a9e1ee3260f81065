"""One case as its spec describes it, before its numbers are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..operators.known import OPERATORS
from ..operators.readings import ReadingNames


@dataclass(frozen=True)
class CaseSpec:
    """One case before its numbers are drawn.

    `given` are exactly the attributes written out; `sizes` every size symbol, the number of
    directions included; `absent` the optional inputs and outputs left out; `drawn` the inputs that
    are not zeros though they might be; `types` the dtype of each type variable; `lengths` one length
    per row, None without them.
    """

    id: str
    operator: str
    dtype: str
    tier: str
    readings: tuple[ReadingNames, ...]
    given: dict[str, Any]
    sizes: dict[str, int]
    absent: frozenset[str]
    types: dict[str, str]
    lengths: tuple[int, ...] | None
    draw: str
    factors: dict[str, Any]
    drawn: frozenset[str] = frozenset()

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute, defaults filled in."""
        return OPERATORS[self.operator].with_defaults(self.given)
