"""Assignments of values to factors: the pairs of values in one, and whether one is excluded."""

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


def is_excluded(assignment: Assignment, excluded: Sequence[Match]) -> bool:
    """Whether some `exclude` entry matches the assignment."""
    return any(
        all(
            name in assignment and key(assignment[name]) in map(key, values)
            for name, values in match.items()
        )
        for match in excluded
    )
