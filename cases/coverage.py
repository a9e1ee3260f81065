"""How much of an operator a set of cases covers: counts, and pairs of attribute values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .case_spec import CaseSpec
from .covering import pairs_of
from .factors import factors, key
from .operators import OPERATORS
from .signature import ABSENT


@dataclass(frozen=True)
class PairCoverage:
    """Of the `total` pairs of attribute values of an operator and dtype, `covered` have a case.

    The values of a factor are all that any case of the operator has, of any dtype; `missing` names
    some pairs that no case has.
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
        counted = {case.id: _counted(case) for case in mine}
        names = list(next(iter(counted.values()), {}))
        values = {name: sorted({key(one[name]) for one in counted.values()}) for name in names}
        total = {
            (a, u, b, v)
            for a, b in itertools.combinations(names, 2)
            for u, v in itertools.product(values[a], values[b])
        }
        for dtype in _in_order(case.dtype for case in mine):
            covered = set()
            for case in mine:
                if case.dtype == dtype:
                    covered |= pairs_of(counted[case.id])
            missing = [f"{a}: {u} with {b}: {v}" for a, u, b, v in sorted(total - covered)]
            found.append(PairCoverage(operator, dtype, len(total & covered), len(total), missing))
    return found


def _counted(case: CaseSpec) -> dict[str, Any]:
    """The values of a case that are counted, by name: of activations of each direction those of the
    first, f and g apart; of a list of numbers whether it is given."""
    operator = OPERATORS[case.operator]
    found: dict[str, Any] = {}
    for factor in factors(operator.name).values():
        if factor.is_size or factor.name == "draw":
            continue
        value, attribute = case.factors[factor.name], operator.attribute(factor.name)
        if attribute and attribute.per_direction:
            f, g = value[:2] if isinstance(value, list) else (value, value)
            found |= {f"{factor.name}, f": f, f"{factor.name}, g": g}
        elif attribute and attribute.sets in ("alpha", "beta"):
            found[factor.name] = value if value == ABSENT else "given"
        else:
            found[factor.name] = value
    return found


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
