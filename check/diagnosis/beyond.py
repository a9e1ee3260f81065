"""Beyond the catalogue: what a few failing cases, taken one step at a time, were computed as.

Each variant without a number that a step shows is compared with the states that are wrong by themselves.
Where none gives all of them, terms of the step are solved for, and numbers of families fitted; then variants
of some hidden units are tried. What gives all wrong states of a case is a candidate. What gives many may be
one of two mistakes: the same is done once more on top of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .finding import Names, names_of
from .solving import solved
from .steps import Steps, steps_of
from .trying import Shares, Variants, explains, in_some_units, listed, shares

MOST_ROWS = 6
"""Maximum rows of steps of a case that are looked at: they hold hundreds of states."""
MOST_STEPS = 8
"""Maximum groups of cases that are looked at: sampled ones mostly fail for the same reason."""
FEW = 3
"""Maximum groups in which terms, units and second mistakes are looked for: each takes a second."""
SOLVED = 1 << 21
"""Maximum work of a variant of a case whose steps are solved: a thousand are tried, of 2 ms each."""
MANY, BASES = 0.3, 3
"""Minimum share that one mistake of two gives of the wrong states, or takes of the error: less is chance.
Maximum mistakes to which a second is sought: each takes as long as the first did."""


def candidates(parts: Sequence[FailingBlock], bases: Sequence[Variant] = ()) -> list[Variants]:
    """Find what gives every wrong state of some failing case of `parts`, the best first.

    It is one variant alone, or, where none does, together with one of `bases` or with what gives many wrong
    states. None of these has an arithmetic of its own: that knows no functions of variants. Where something
    that was found gives every wrong state, nothing else is looked for, nor on top of another base.
    """
    steps = [one for part in parts for one in steps_of(part) if one.wrong.any()]
    steps = [_fewer(one.only(np.asarray(one.wrong.any(axis=(1, 2, 3))))) for one in steps]
    steps = [steps[place] for place in evenly(np.arange(len(steps)), MOST_STEPS).tolist()]
    tried = _Tried(bases)
    left = sorted(tried.left(steps, listed), key=lambda one: -int(one.wrong.sum()))
    left = tried.solve(left[:FEW])
    left = tried.left(left, in_some_units)
    for _, base in sorted(tried.partly.values(), key=lambda entry: -entry[0])[:BASES]:
        besides = [replace(one, base=(base,)) for one in left if one.has_all([base])]
        after = {id(one.stack) for one in tried.solve(tried.left(besides, listed))}
        done = {id(one.stack) for one in besides} - after
        left = [one for one in left if id(one.stack) not in done]
    return sorted(tried.found.values(), key=lambda variants: _rank(variants, steps))


class _Tried:
    """What was found: variants that give every wrong state of some case, and what may be one of two."""

    def __init__(self, bases: Sequence[Variant]) -> None:
        self.found: dict[Names, Variants] = {}
        self.partly = {one.name: (1.0, one) for one in bases}
        """By name a share that a variant gives of the wrong states, or takes of their error, and it."""

    def left(self, several: Sequence[Steps], stage: Callable[[Steps], Shares]) -> list[Steps]:
        """Try what a stage does on the steps that nothing gives; return those that nothing gives then."""
        left = []
        for one in several:
            if not self._known(one):
                whole = [self._keep(one, *each) for each in stage(one)]
                left += [] if any(whole) else [one]
        return left

    def solve(self, several: Sequence[Steps]) -> list[Steps]:
        """Solve for terms, and fit numbers, on the steps that nothing gives; return those left then."""
        several = [one for one in several if not self._known(one)]
        small = [one for one in several if one.part.work <= SOLVED]
        found = solved(small)
        left = [one for one in several if one.part.work > SOLVED]
        return left + self.left(small, lambda one: shares(one, found))

    def _known(self, steps: Steps) -> bool:
        """Say whether something found gives every wrong state of each case of steps without a base."""
        known = [variants for variants in self.found.values() if steps.has_all(variants)]
        return not steps.base and bool(known) and bool(explains(steps, known).all(axis=1).any())

    def _keep(self, steps: Steps, variants: Variants, share: float) -> bool:
        """Keep what gives every wrong state of some case, and what may be one mistake of two.

        Return whether it is the former.
        """
        if share == 1.0:
            whole = (*steps.base, *variants)
            self.found[names_of(whole)] = whole
            return True
        one, *others = variants
        if not (others or steps.base or one.arithmetic):
            self.partly[one.name] = max(
                self.partly.get(one.name, (MANY, one)), (share, one), key=itemgetter(0)
            )
        return False


def _fewer(steps: Steps) -> Steps:
    """Take, of many rows, those that hold wrong states, evenly."""
    if steps.seen.shape[2] <= MOST_ROWS:
        return steps
    rows = np.flatnonzero(steps.wrong.any(axis=(0, 1, 3)))
    return steps.rows(evenly(rows, MOST_ROWS))


def _rank(variants: Variants, steps: Sequence[Steps]) -> tuple[int, bool, int]:
    """Make a key that sorts first what explains most cases; of these, what spoils no right state."""
    cases, spoilt = 0, False
    for one in steps:
        if one.has_all(variants):
            [near] = given = one.near(one.given([variants]))
            explained = one.explained(given)[0]
            cases += int(explained.sum())
            right = ~one.wrong & one.taken[:, None, :, None] & explained[:, None, None, None]
            spoilt |= bool((right & ~near).any())
    return (-cases, spoilt, sum(len(variant.name) for variant in variants))
