"""Accepted readings of the specifications' ambiguous points, other than the one that is stored.

Each is named after its entry in the owner's `LEDGER.md` and says which field of `Semantics` it
sets. A case of tier `ambiguous` passes under any reading its spec lists.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .semantics import Semantics, StackedSemantics

AnySemantics = TypeVar("AnySemantics", Semantics, StackedSemantics)


@dataclass(frozen=True)
class Reading:
    """One other defensible reading: its name, its ledger entry, what it says, what it sets.

    `stored` is what the stored answer takes the specification to say there, `basis` what that rests
    on: text, owner (the owner's implementation) or choice (ours).
    """

    name: str
    ledger: str
    about: str
    stored: str
    basis: str
    sets: Mapping[str, Any]

    def applied_to(self, semantics: AnySemantics) -> AnySemantics:
        """`semantics` as this reading has it."""
        return dataclasses.replace(semantics, **self.sets)


READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading(
            "len-zero.initial-state",
            "len-zero",
            "Ho of a row of length 0 is its initial_hidden_state",
            "Ho of a row of length 0 is zeros",
            "owner",
            {"empty_row": "initial_hidden_state"},
        ),
    )
}
