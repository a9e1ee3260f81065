"""Beyond the catalogue: what a few failing cases, taken one step at a time, were computed as.

Every variant that a step tells, of the catalogue and beyond it, and every family with a number, is held
against the states that are wrong by themselves. What gives all of them is a candidate; where it differs
from the right step but what was observed does not, the place is looked for that tells the two apart. What
gives many of them may be one of two mistakes: the same is done once more on top of it. Where nothing does,
the terms are solved for that the step has too much or too little of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .finding import Names, names_of
from .fitting import fitted
from .places import where
from .solving import solved
from .steps import Steps, steps_of
from .trying import Shares, explains, listed
from .units import in_some_units

MOST_ROWS = 6
"""So many rows of the steps of a case are looked at: of those that hold wrong states."""
MOST_STEPS = 8
"""The steps of so many groups of cases."""
FEW = 3
"""Two mistakes at once, and those of some hidden units, are looked for in so many blocks."""
MANY, BASES = 0.3, 4
"""What gives this share of the wrong states, or takes this share of the error away, may be one mistake of
two; so many such are gone on with."""
Variants = tuple[Variant, ...]


@dataclass(frozen=True)
class Candidate:
    """Variants that together give every wrong state of so many sampled `cases`; `place` is where, and nowhere
    else, they give what was observed, "" for everywhere."""

    variants: Variants
    place: str
    cases: int


def candidates(parts: Sequence[FailingBlock], bases: Sequence[Variant] = ()) -> list[Candidate]:
    """What explains the steps of the failing cases of `parts`, a few of each of a few blocks; alone, or,
    where nothing does, together with one of `bases` or with what gives many wrong states. None of these has
    an arithmetic of its own: that knows no functions of variants. Where something that was found gives every
    wrong state, nothing else is looked for, nor on top of another base."""
    steps = [one for part in parts for one in steps_of(part) if one.wrong.any()]
    steps = [_fewer(one.only(np.flatnonzero(one.wrong.any(axis=(1, 2, 3))))) for one in steps]
    steps = [steps[place] for place in evenly(np.arange(len(steps)), MOST_STEPS).tolist()]
    tried = _Tried(bases)
    left = tried.left(steps, listed)
    left = tried.left(_few(left), solved, fitted)
    left = tried.left(left, in_some_units)
    for one in left:
        for _, base in sorted(tried.partly.values(), key=lambda entry: -entry[0])[:BASES]:
            besides = [replace(one, base=(base,))] if one.has_all([base]) else []
            if besides and not tried.left(tried.left(besides, listed), solved, fitted):
                break
    placed = [_placed(variants, steps) for variants in tried.found.values()]
    return sorted((one for one in placed if one is not None), key=_rank)


class _Tried:
    """What was found: variants that give every wrong state of some case, and what may be one of two."""

    def __init__(self, bases: Sequence[Variant]) -> None:
        self.found: dict[Names, Variants] = {}
        self.partly = {one.name: (1.0, one) for one in bases}
        """By name a share that a variant gives of the wrong states, or takes of their error, and it."""

    def left(self, several: Sequence[Steps], *stages: Callable[[Steps], Shares]) -> list[Steps]:
        """Try what stages do on the steps that nothing found gives; return those that nothing gives then."""
        left = []
        for one in several:
            known = [variants for variants in self.found.values() if one.has_all(variants)]
            if not one.base and known and explains(one, known).all(axis=1).any():
                continue
            whole = []
            for variants, share in (each for stage in stages for each in stage(one)):
                if share == 1.0:
                    whole.append((*one.base, *variants))
                elif len(variants) == 1 and not one.base and not variants[0].arithmetic:
                    self._keep(share, *variants)
            self.found |= {names_of(variants): variants for variants in whole}
            left += [] if whole else [one]
        return left

    def _keep(self, share: float, variant: Variant) -> None:
        """Keep what may be one mistake of two."""
        if share > self.partly.get(variant.name, (MANY, variant))[0]:
            self.partly[variant.name] = (share, variant)


def _few(steps: Sequence[Steps]) -> list[Steps]:
    """Those with the most wrong states."""
    return sorted(steps, key=lambda one: -int(one.wrong.sum()))[:FEW]


def _rank(one: Candidate) -> tuple[int, bool, int]:
    return (-one.cases, bool(one.place), sum(len(variant.name) for variant in one.variants))


def _fewer(steps: Steps) -> Steps:
    """Of many rows, those with the most wrong states, evenly taken."""
    if steps.seen.shape[2] <= MOST_ROWS:
        return steps
    rows = np.flatnonzero(steps.wrong.any(axis=(0, 1, 3)))
    return steps.rows(evenly(rows, MOST_ROWS))


def _placed(variants: Variants, steps: Sequence[Steps]) -> Candidate | None:
    """The variants, and where they hold; None if no place tells where they do from where they do not."""
    group, others, count = [], [], 0
    mine = [one for one in steps if one.has_all(variants)]
    for one in mine:
        [near] = given = one.near(one.given([variants]))
        [explained] = one.explained(given)
        count += int(explained.sum())
        theirs = explained[:, None, None, None] & one.taken[:, None, :, None]
        group.append(one.wrong & theirs)
        others.append(~one.wrong & ~near & theirs)
    if not any(mask.any() for mask in others):
        return Candidate(variants, "", count)
    place = where(mine, group, others)
    return Candidate(variants, place, count) if place else None
