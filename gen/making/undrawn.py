"""Cases that no attempt could draw, and what to change in their spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...cases.expansion.case_spec import CaseSpec
from ...cases.operators.values import value_text

MOST_SHOWN = 20
MOST_LINES = 8

Traits = frozenset[tuple[str, str]]
"""Values of factors that some cases have in common: one, or a pair."""


@dataclass(frozen=True)
class Undrawn:
    """A case of which no draw could be kept; `why` is said of the last one, with a remedy."""

    case: CaseSpec
    why: str


def undrawn_lines(undrawn: Sequence[Undrawn], cases: Sequence[CaseSpec]) -> Iterator[str]:
    """What to say of the `undrawn` among the `cases` of a spec: each with its reason, then what they, and
    no others, have in common."""
    yield from (f"{one.case.id}: {one.why}" for one in undrawn[:MOST_SHOWN])
    if len(undrawn) > MOST_SHOWN:
        yield f"and {len(undrawn) - MOST_SHOWN} more"
    common = _in_common([one.case for one in undrawn], cases)
    for traits, count in list(common.items())[:MOST_LINES]:
        named = " and ".join(f"{name} {value}" for name, value in sorted(traits))
        many = "the one case" if count == 1 else f"all {count} cases"
        yield f"{many} of this spec with {named}: leave that out"


def _in_common(bad: Sequence[CaseSpec], cases: Sequence[CaseSpec]) -> Mapping[Traits, int]:
    """Values, or pairs of them, that no drawn case has, each with its number of cases: the fewest that
    explain the most, found greedily. None where nothing was drawn."""
    if len(bad) == len(cases):
        return {}
    failed = {case.id for case in bad}
    left = {case.id: _values(case) for case in bad}
    drawn = [_values(case) for case in cases if case.id not in failed]
    counts: dict[Traits, int] = {}
    for size in (1, 2):
        while left:
            holders = _holders(left, size)
            pure = {
                traits: ids
                for traits, ids in holders.items()
                if not any(traits <= values for values in drawn)
            }
            if not pure:
                break
            best = max(pure, key=lambda traits: (len(pure[traits]), sorted(traits)))
            counts[best] = len(pure[best])
            for case_id in pure[best]:
                del left[case_id]
    return counts


def _holders(cases: Mapping[str, Traits], size: int) -> dict[Traits, list[str]]:
    """The cases that hold each combination of `size` values."""
    found: dict[Traits, list[str]] = {}
    for case_id, values in cases.items():
        for some in combinations(sorted(values), size):
            found.setdefault(frozenset(some), []).append(case_id)
    return found


def _values(case: CaseSpec) -> Traits:
    """The values of all factors of a case, as texts."""
    factors = {name: value_text(value) for name, value in case.factors.items()}
    return frozenset({**factors, "dtype": case.dtype}.items())
