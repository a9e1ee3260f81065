"""Numbers in mistakes: members of families, fitted to the states of steps that are wrong by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...gen.variants.families import FAMILIES, Family
from .steps import Steps
from .trying import Shares, at_once, explains, of_error, shares

THIN_ROWS = 3
"""Maximum rows on which a number is sought; it is tried on all."""
FEWEST_WRONG = 4
"""Minimum wrong states that a number is fitted to; fewer fit many numbers."""
ZOOMS, ZOOMED = 14, 9
"""How often a number is sought between its neighbours, and among how many: to the precision of float64."""
PROMISING, BEST = 0.75, 16
"""Maximum share of the error that the best number tried leaves, and families that are looked at closer."""
DIGITS = 7
"""Maximum digits of a number; float32 tells no more apart."""


def fitted(steps: Steps) -> Shares:
    """Yield the members of families that take much of the error away, with their `shares`."""
    if steps.wrong.sum() < FEWEST_WRONG:
        return
    thin = _thin(steps)
    tried: dict[str, Sequence[float]] = {
        family.name: family.form.tried
        for family in FAMILIES.values()
        if steps.has_all([family.member(1.0)]) and steps.tells(family.needs)
    }
    left, best = _left(thin, tried), dict[str, float]()
    promising = sorted((min(each), name) for name, each in left.items() if min(each) < PROMISING)
    tried = {name: tried[name] for _, name in promising[:BEST]}
    for _ in range(ZOOMS):
        for name, numbers in tried.items():
            at = int(np.argmin(left[name]))
            best[name] = numbers[at]
            ends = numbers[max(0, at - 1)], numbers[min(at + 1, len(numbers) - 1)]
            tried[name] = np.linspace(*ends, ZOOMED).tolist()
        tried = {name: some for name, some in tried.items() if FAMILIES[name].form.fitted}
        left = _left(thin, tried)
    for name, number in best.items():
        yield from _with_few_digits(steps, FAMILIES[name], number)


def _thin(steps: Steps) -> Steps:
    """Take a few rows of the case with the most wrong states, if they hold enough of them."""
    case = steps.only(np.array([int(np.argmax(steps.wrong.sum(axis=(1, 2, 3))))]))
    rows = np.argsort(-case.wrong.sum(axis=(0, 1, 3)), kind="stable")[:THIN_ROWS]
    thin = case.rows(np.sort(rows))
    return thin if thin.wrong.sum() >= 2 * FEWEST_WRONG else steps


def _left(steps: Steps, tried: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """By family, the share of the error of the wrong states that is left with each number."""
    members = [[FAMILIES[name].member(one)] for name, some in tried.items() for one in some]
    size, found = at_once(steps), list[float]()
    for start in range(0, len(members), size):
        left = of_error(steps, steps.given(members[start : start + size]))
        found += np.nan_to_num(left, nan=1.0).tolist()
    each = iter(found)
    return {name: [next(each) for _ in some] for name, some in tried.items()}


def _with_few_digits(steps: Steps, family: Family, number: float) -> Shares:
    """Find the number with the fewest digits that gives all wrong states of most cases, or most states."""
    low, high = family.form.tried[0], family.form.tried[-1]
    rounded = [float(f"{number:.{digits}{how}}") for how in "fg" for digits in range(DIGITS + 1)]
    numbers = dict.fromkeys([*(one + 0.0 for one in rounded if low <= one <= high), number])
    members = [(family.member(one),) for one in numbers]
    cases = explains(steps, members).sum(axis=1)
    if cases.any():
        yield members[int(np.argmax(cases))], 1.0
        return
    yield max(shares(steps, members), key=lambda one: one[1])
