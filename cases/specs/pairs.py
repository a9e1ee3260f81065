"""Pair coverage: how many of an operator's pairs of attribute values a set of cases covers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..dtypes import FLOAT_TYPES
from ..errors import GrucibleError
from ..operators import OPERATORS
from ..operators.signature import ABSENT, Attribute
from .expand import CaseSpec, case_of
from .factors import factors, key
from .spec_model import Assignment

_Value = tuple[str, str]
"""A value that is counted: of what, by name, and the value as `factors.key`."""
_Pair = tuple[_Value, _Value]


@dataclass(frozen=True)
class PairCoverage:
    """Of the `total` pairs of attribute values of an operator and dtype, `covered` have a case.

    The values of a factor are all that any case of the operator has, of any dtype. Pairs that no case
    of any dtype has count where a case would have them after a change of one factor: those that cannot
    be do not. `missing` names the pairs that count and have no case.
    """

    operator: str
    dtype: str
    covered: int
    total: int
    missing: Sequence[str]


def pair_coverage(cases: Sequence[CaseSpec]) -> list[PairCoverage]:
    """Count the pairs of each operator and dtype, without sizes and draws.

    Cases of tier nonportable do not count: nothing is judged by them.
    """
    found = []
    for operator in sorted({case.operator for case in cases}):
        mine = [case for case in cases if case.operator == operator and case.tier != "nonportable"]
        assignments = list({id(case.factors): case.factors for case in mine}.values())
        counted = {id(assignment): _counted(operator, assignment) for assignment in assignments}
        covered: dict[str, set[_Pair]] = {dtype: set() for dtype in FLOAT_TYPES}
        for dtype, values in {(case.dtype, counted[id(case.factors)]) for case in mine}:
            covered[dtype].update(itertools.combinations(values, 2))
        total = set().union(*covered.values())
        total |= _that_could_be(operator, assignments, _pairs_of_all(counted.values()) - total)
        for dtype, pairs in covered.items():
            if pairs:
                missing = [f"{a}: {u} with {b}: {v}" for (a, u), (b, v) in sorted(total - pairs)]
                found.append(PairCoverage(operator, dtype, len(pairs), len(total), missing))
    return found


def _pairs_of_all(counted: Iterable[tuple[_Value, ...]]) -> set[_Pair]:
    """Pair every value that is counted with each of another name."""
    by_name = [sorted(set(column)) for column in zip(*counted, strict=True)]
    return {
        pair
        for left, right in itertools.combinations(by_name, 2)
        for pair in itertools.product(left, right)
    }


def _that_could_be(
    operator: str, assignments: Sequence[Assignment], pairs: set[_Pair]
) -> set[_Pair]:
    """List the pairs that an assignment has after a change of one factor that leaves it a case."""
    left, wanted = set(pairs), {value for pair in pairs for value in pair}
    offered: dict[str, list[tuple[Any, tuple[_Value, ...]]]] = {}
    for name in _counting(operator):
        values = {key(one[name]): one[name] for one in assignments}.values()
        choices = [(value, _values(operator, name, value)) for value in values]
        if any(v in wanted for _, counted in choices for v in counted):
            offered[name] = choices
    unlike = {key([one[name] for name in offered]): one for one in reversed(assignments)}
    for assignment in unlike.values():
        has = {name: _values(operator, name, assignment[name]) for name in _counting(operator)}
        for name, choices in offered.items():
            others = [v for other, values in has.items() if other != name for v in values]
            for choice, counted in choices:
                new = {pair for v in counted for o in others for pair in ((v, o), (o, v))} & left
                if new and _is_a_case(operator, assignment | {name: choice}):
                    left -= new
    return pairs - left


def _is_a_case(operator: str, assignment: Assignment) -> bool:
    try:
        case_of(OPERATORS[operator], assignment)
    except (GrucibleError, ValueError):
        return False
    return True


@functools.cache
def _counting(operator: str) -> dict[str, Attribute | None]:
    """List the factors whose values are counted, each with its attribute if it is one."""
    return {
        name: OPERATORS[operator].attribute(name)
        for name, factor in factors(operator).items()
        if not factor.is_size and name != "draw"
    }


def _counted(operator: str, assignment: Assignment) -> tuple[_Value, ...]:
    """List the values of an assignment that are counted."""
    return tuple(
        value for name in _counting(operator) for value in _values(operator, name, assignment[name])
    )


def _values(operator: str, name: str, value: Any) -> tuple[_Value, ...]:
    """Say as what a factor's value counts.

    Activations of each direction count as those of the first, f and g apart; a list of numbers as given.
    """
    attribute = _counting(operator)[name]
    if attribute and attribute.per_direction:
        f, g = value[:2] if isinstance(value, list) else (value, value)
        return (f"{name}, f", key(f)), (f"{name}, g", key(g))
    if attribute and attribute.sets in ("alpha", "beta") and value != ABSENT:
        return ((name, key("given")),)
    return ((name, key(value)),)
