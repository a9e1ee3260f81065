"""How much of an operator a set of cases covers: counts, and pairs of attribute values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..dtypes import FLOAT_TYPES
from ..errors import GrucibleError
from ..operators.known import OPERATORS
from ..operators.signature import ABSENT
from ..specs.factors import factors, key
from ..specs.spec_model import Assignment
from .assignments import Pair, pairs_of
from .case_spec import CaseSpec
from .expand import case_of


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
    """The pair coverage of each operator and dtype, sizes and draws left aside.

    Cases of tier nonportable do not count: nothing is judged by them.
    """
    found = []
    for operator in sorted({case.operator for case in cases}):
        mine = [case for case in cases if case.operator == operator and case.tier != "nonportable"]
        counted = {case.id: _counted(operator, case.factors) for case in mine}
        names = list(next(iter(counted.values()), {}))
        values = {name: sorted({key(one[name]) for one in counted.values()}) for name in names}
        pairs = {
            (a, u, b, v)
            for a, b in itertools.combinations(names, 2)
            for u, v in itertools.product(values[a], values[b])
        }
        by_dtype: dict[str, set[Pair]] = {}
        for case in mine:
            by_dtype.setdefault(case.dtype, set()).update(pairs_of(counted[case.id]))
        total = {pair for pair in pairs if any(pair in one for one in by_dtype.values())}
        total |= _that_could_be(pairs - total, operator, mine)
        for dtype in filter(by_dtype.get, FLOAT_TYPES):
            covered = by_dtype[dtype]
            missing = [f"{a}: {u} with {b}: {v}" for a, u, b, v in sorted(total - covered)]
            found.append(PairCoverage(operator, dtype, len(total & covered), len(total), missing))
    return found


def _that_could_be(pairs: set[Pair], operator: str, cases: Sequence[CaseSpec]) -> set[Pair]:
    """The pairs that a case would have after a change of one factor that leaves it a case."""
    open_ = set(pairs)
    names = {name.partition(",")[0] for pair in pairs for name in (pair[0], pair[2])}
    offered: dict[str, dict[str, Any]] = {name: {} for name in sorted(names)}
    for case in cases:
        for name, values in offered.items():
            values[key(case.factors[name])] = case.factors[name]
    seen = set()
    for case in cases:
        alike = key([case.factors[name] for name in offered])
        if alike in seen:
            continue
        seen.add(alike)
        has = {(name, key(value)) for name, value in _counted(operator, case.factors).items()}
        near = {pair for pair in open_ if {pair[:2], pair[2:]} & has}
        for name, values in offered.items():
            for value in values.values():
                changed = case.factors | {name: value}
                reached = near & open_ & pairs_of(_counted(operator, changed))
                if reached and _is_a_case(operator, changed):
                    open_ -= reached
    return pairs - open_


def _is_a_case(operator: str, factors: Assignment) -> bool:
    try:
        case_of(OPERATORS[operator], factors)
    except (GrucibleError, ValueError):
        return False
    return True


def _counted(operator: str, assignment: Assignment) -> dict[str, Any]:
    """The values of a case that are counted, by name: of activations of each direction those of the
    first, f and g apart; of a list of numbers whether it is given."""
    found: dict[str, Any] = {}
    for factor in factors(operator).values():
        if factor.is_size or factor.name == "draw":
            continue
        value, attribute = assignment[factor.name], OPERATORS[operator].attribute(factor.name)
        if attribute and attribute.per_direction:
            f, g = value[:2] if isinstance(value, list) else (value, value)
            found |= {f"{factor.name}, f": f, f"{factor.name}, g": g}
        elif attribute and attribute.sets in ("alpha", "beta"):
            found[factor.name] = value if value == ABSENT else "given"
        else:
            found[factor.name] = value
    return found
