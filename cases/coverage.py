"""How much of an operator a set of cases covers: counts, and pairs of attribute values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .case_spec import CaseSpec
from .covering import pairs_of
from .factors import factors, key


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
        names = [f.name for f in factors(operator).values() if not f.is_size and f.name != "draw"]
        mine = [case for case in cases if case.operator == operator and case.tier != "nonportable"]
        values = {name: sorted({key(case.factors[name]) for case in mine}) for name in names}
        total = {
            (a, u, b, v)
            for a, b in itertools.combinations(names, 2)
            for u, v in itertools.product(values[a], values[b])
        }
        for dtype in _in_order(case.dtype for case in mine):
            covered = set()
            for case in mine:
                if case.dtype == dtype:
                    covered |= pairs_of({name: case.factors[name] for name in names})
            missing = [f"{a}: {u} with {b}: {v}" for a, u, b, v in sorted(total - covered)]
            found.append(PairCoverage(operator, dtype, len(total & covered), len(total), missing))
    return found


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
