"""Numbers in mistakes: members of families, fitted to the states of steps that are wrong by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...gen.variants.families import FAMILIES, Family
from ...gen.variants.variant import Variant
from .steps import Steps
from .trying import Shares, at_once, explains, of_error, shares

THIN_ROWS = 3
"""A number is sought on so many rows, and tried on all."""
FEWEST_WRONG = 4
"""A number is fitted to no fewer wrong states than this."""
ZOOMS, ZOOMED = 14, 9
"""How often a number is sought between its neighbours, and among how many."""
PROMISING, BEST = 0.75, 16
"""What is left of the error at the best number tried, at most; and so many families are looked at closer."""
DIGITS = 7
"""A number is told with no more digits than that."""


def fitted(steps: Steps) -> Shares:
    """The members of families that take much of the error away, with their `shares`."""
    if steps.wrong.sum() < FEWEST_WRONG:
        return
    pool = [
        family
        for family in FAMILIES.values()
        if steps.has_all([family.member(1.0)]) and steps.tells(family.needs)
    ]
    tried = [(family, number) for family in pool for number in family.form.tried]
    thin = _thin(steps)
    left = _left(thin, [family.members(family.form.tried) for family in pool])
    best: dict[str, tuple[float, Family, int]] = {}
    for place, ((family, _), share) in enumerate(zip(tried, left, strict=True)):
        if share < best.get(family.name, (PROMISING, family, 0))[0]:
            best[family.name] = (share, family, place)
    closer = sorted(best.values(), key=lambda one: one[0])[:BEST]
    numbers = {family.name: tried[place][1] for _, family, place in closer}
    around = {
        family.name: [n for f, n in tried[max(0, place - 1) : place + 2] if f is family]
        for _, family, place in closer
        if family.form.fitted
    }
    numbers |= _sought(thin, {name: (min(near), max(near)) for name, near in around.items()})
    for name, number in numbers.items():
        yield from _with_few_digits(steps, FAMILIES[name], number)


def _thin(steps: Steps) -> Steps:
    """A few rows of the case with the most wrong states, if they hold enough of them."""
    case = steps.only(np.array([int(np.argmax(steps.wrong.sum(axis=(1, 2, 3))))]))
    rows = np.argsort(-case.wrong.sum(axis=(0, 1, 3)), kind="stable")[:THIN_ROWS]
    thin = case.rows(np.sort(rows))
    return thin if thin.wrong.sum() >= 2 * FEWEST_WRONG else steps


def _left(steps: Steps, members: Sequence[Variant]) -> list[float]:
    """Of the error of the wrong states, the share that is left under each of the members of families."""
    batches = (np.cumsum([one.copies for one in members]) // at_once(steps)).tolist()
    found: list[float] = []
    for batch in dict.fromkeys(batches):
        some = [[one] for one, mine in zip(members, batches, strict=True) if mine == batch]
        found += of_error(steps, steps.given(some)).tolist()
    return found


def _sought(steps: Steps, between: dict[str, tuple[float, float]]) -> dict[str, float]:
    """By name of a family, the number between two that leaves least of the error."""
    found = {name: low for name, (low, _) in between.items()}
    for _ in range(ZOOMS if between else 0):
        numbers = {name: np.linspace(*ends, ZOOMED).tolist() for name, ends in between.items()}
        left = _left(steps, [FAMILIES[name].members(some) for name, some in numbers.items()])
        least = np.argmin(np.reshape(left, (-1, ZOOMED)), axis=1).tolist()
        for (name, some), place in zip(numbers.items(), least, strict=True):
            found[name] = some[place]
            between[name] = (some[max(0, place - 1)], some[min(ZOOMED - 1, place + 1)])
    return found


def _with_few_digits(steps: Steps, family: Family, number: float) -> Shares:
    """The member with the fewest digits that gives every wrong state of most cases, or most wrong states."""
    rounded = [round(number, digits) for digits in range(DIGITS)]
    rounded += [float(f"{number:.{digits}g}") for digits in range(1, DIGITS + 1)]
    low, high = family.form.tried[0], family.form.tried[-1]
    rounded = [one + 0.0 for one in rounded if low <= one <= high]
    numbers = list(dict.fromkeys([*rounded, number]))
    members = [family.member(one) for one in numbers]
    cases = explains(steps, [[family.members(numbers)]]).sum(axis=1)
    if cases.any():
        yield (members[int(np.argmax(cases))],), 1.0
        return
    yield max(shares(steps, [(one,) for one in members]), key=lambda one: one[1])
