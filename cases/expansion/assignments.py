"""Assignments of values to factors: the pairs of values in one, and which are excluded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..specs.factors import key
from ..specs.spec_model import Assignment

Pair = tuple[str, str, str, str]
"""Two factors with a value each: name, value, name, value; values as `factors.key`."""
Match = dict[str, list[Any]]
"""An `exclude` entry: it matches what has, of every factor named, one of the values listed."""


def pairs_of(assignment: Assignment) -> set[Pair]:
    """The pairs of factor values in one assignment."""
    items = [(name, key(value)) for name, value in assignment.items()]
    return {(a, u, b, v) for (a, u), (b, v) in itertools.combinations(items, 2)}


class Excluded:
    """The assignments that some `exclude` entry matches: `assignment in excluded`."""

    def __init__(self, entries: Sequence[Match]) -> None:
        self._entries = [
            [(name, set(map(key, values))) for name, values in entry.items()] for entry in entries
        ]

    def __contains__(self, assignment: Assignment) -> bool:
        mine = {name: key(value) for name, value in assignment.items()} if self._entries else {}
        return any(
            all(mine.get(name) in values for name, values in entry) for entry in self._entries
        )
