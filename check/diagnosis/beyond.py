"""Beyond the catalogue: what a few failing cases, taken one step at a time, were computed as.

Every variant that a step tells, of the catalogue and beyond it, and every family with a number, is held
against the states that are wrong by themselves. What gives all of them is a candidate; where it differs
from the right step but what was observed does not, the place is looked for that tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.families import FAMILIES, Family
from ...gen.variants.known import UNLISTED
from ...gen.variants.variant import Variant
from .failing import FailingBlock
from .places import where
from .steps import Steps, steps_of

MOST_ROWS = 6
"""So many rows of the steps of a case are looked at: of those that hold wrong states."""
FEWEST_WRONG = 4
"""A number is fitted to no fewer wrong states than this."""
BATCH_BYTES = 24 << 20
ZOOMS, ZOOMED = 14, 9
"""How often a number is sought between its neighbours, and among how many."""
PROMISING, BEST = 0.6, 16
"""What is left of the error at the best number tried, at most; and so many families are looked at closer."""
DIGITS = 7
"""A number is told with no more digits than that."""


@dataclass(frozen=True)
class Candidate:
    """A variant that gives every wrong state of some sampled cases; `place`, where it does not differ from
    what was observed alone, "" for everywhere."""

    variant: Variant
    place: str
    cases: int


def candidates(parts: Sequence[FailingBlock]) -> list[Candidate]:
    """What explains the steps of the failing cases of `parts`, a few of each of a few blocks."""
    steps = [one for part in parts for one in steps_of(part) if one.wrong.any()]
    steps = [_fewer(one.only(np.flatnonzero(one.wrong.any(axis=(1, 2, 3))))) for one in steps]
    found: dict[str, Variant] = {}
    for one in steps:
        for variant in (*_listed(one), *_fitted(one)):
            found.setdefault(variant.name, variant)
    told = [_placed(variant, steps) for variant in found.values()]
    return sorted(
        (one for one in told if one is not None), key=lambda c: (-c.cases, bool(c.place), len(c.variant.name))
    )


def _fewer(steps: Steps) -> Steps:
    """Of many rows, those with the most wrong states, evenly taken."""
    if steps.seen.shape[2] <= MOST_ROWS:
        return steps
    wrong = steps.wrong.sum(axis=(0, 1, 3))
    rows = np.flatnonzero(wrong)
    return steps.rows(rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).round().astype(int)])


def _within_a_step(steps: Steps) -> list[Variant]:
    operator = OPERATORS[steps.part.block.operator]
    return [
        v
        for v in (*CATALOGUE.values(), *UNLISTED.values())
        if v.kind in ("misreading", "approximation")
        and v.within_a_step
        and v.means_something_for(operator)
    ]


def _listed(steps: Steps) -> Iterator[Variant]:
    """The variants without a number that give every wrong state of some case."""
    pool = _within_a_step(steps)
    size = _together(steps)
    for start in range(0, len(pool), size):
        some = pool[start : start + size]
        explained = explains(steps, some)
        yield from (v for v, cases in zip(some, explained, strict=True) if cases.any())


def explains(steps: Steps, variants: Sequence[Variant]) -> Array:
    """(v, n) whether each variant gives every state of a case that is wrong by itself."""
    near = steps.near(steps.given([[variant] for variant in variants]))
    return np.asarray((near | ~steps.wrong).all(axis=(2, 3, 4)) & steps.wrong.any(axis=(1, 2, 3)))


def _together(steps: Steps) -> int:
    arrays = (steps.inputs.x, *steps.inputs.w.values(), *steps.inputs.r.values(), steps.seen)
    return max(1, BATCH_BYTES // (8 * sum(array.size for array in arrays)))


def _fitted(steps: Steps) -> Iterator[Variant]:
    """The members of families that give every wrong state of all the cases."""
    if steps.wrong.sum() < FEWEST_WRONG:
        return
    operator = OPERATORS[steps.part.block.operator]
    pool = [f for f in FAMILIES.values() if not f.between_steps and f.member(1.0).means_something_for(operator)]
    tried = [(family, number) for family in pool for number in family.form.tried]
    left = _left(steps, [family.member(number) for family, number in tried])
    best: dict[str, tuple[float, Family, int]] = {}
    for place, ((family, _), share) in enumerate(zip(tried, left, strict=True)):
        if share < best.get(family.name, (PROMISING, family, 0))[0]:
            best[family.name] = (share, family, place)
    for _, family, place in sorted(best.values(), key=lambda one: one[0])[:BEST]:
        number = tried[place][1]
        if family.form.fitted:
            around = [n for f, n in tried[max(0, place - 1) : place + 2] if f is family]
            number = _sought(steps, family, min(around), max(around))
        yield from _with_few_digits(steps, family, number)


def _left(steps: Steps, variants: Sequence[Variant]) -> list[float]:
    """Of the error of the wrong states, the share that is left under each variant."""
    wrong = steps.wrong
    off = np.abs(steps.seen - steps.right)[wrong]
    whole = float(np.where(np.isfinite(off), off, 0.0).sum())
    size = _together(steps)
    found: list[float] = []
    for start in range(0, len(variants), size):
        given = steps.given([[variant] for variant in variants[start : start + size]])
        with np.errstate(invalid="ignore", over="ignore"):
            far = np.abs(steps.seen - given)[:, wrong]
        far = np.where(np.isfinite(off), np.where(np.isfinite(far), far, 1e300), 0.0)
        found += (far.sum(axis=1) / max(whole, 1e-300)).tolist()
    return found


def _sought(steps: Steps, family: Family, low: float, high: float) -> float:
    """The number between two that leaves least of the error."""
    best = low
    for _ in range(ZOOMS):
        numbers = np.linspace(low, high, ZOOMED).tolist()
        left = _left(steps, [family.member(number) for number in numbers])
        place = int(np.argmin(left))
        best, low, high = numbers[place], numbers[max(0, place - 1)], numbers[min(len(numbers) - 1, place + 1)]
    return best


def _with_few_digits(steps: Steps, family: Family, number: float) -> Iterator[Variant]:
    """The member with the fewest digits that gives every wrong state of all cases, or of some, if any does."""
    rounded = [round(number, digits) for digits in range(DIGITS)]
    rounded += [float(f"{number:.{digits}g}") for digits in range(1, DIGITS + 1)]
    numbers = list(dict.fromkeys([*(one + 0.0 for one in rounded), number]))
    members = [family.member(one) for one in numbers]
    explained = explains(steps, members).sum(axis=1)
    if explained.any():
        yield members[int(np.argmax(explained))]


def _placed(variant: Variant, steps: Sequence[Steps]) -> Candidate | None:
    """The variant, and where it holds; None if no place tells where it does from where it does not."""
    group, others, count = [], [], 0
    mine = [one for one in steps if variant.means_something_for(OPERATORS[one.part.block.operator])]
    for one in mine:
        near = one.near(one.given([[variant]]))[0]
        explained = (near | ~one.wrong).all(axis=(1, 2, 3)) & one.wrong.any(axis=(1, 2, 3))
        count += int(explained.sum())
        mine_alone = explained[:, None, None, None] & one.taken[:, None, :, None]
        group.append(one.wrong & mine_alone)
        others.append(~one.wrong & ~near & mine_alone)
    if not any(mask.any() for mask in others):
        return Candidate(variant, "", count)
    place = where(mine, group, others)
    return Candidate(variant, place, count) if place else None

