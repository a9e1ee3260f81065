"""Beyond the catalogue: what a few failing cases, taken one step at a time, were computed as.

Every variant that a step tells, of the catalogue and beyond it, and every family with a number, is held
against the states that are wrong by themselves. What gives all of them is a candidate; where it differs
from the right step but what was observed does not, the place is looked for that tells the two apart. What
gives many of them may be one of two mistakes: the same is done once more on top of it. Where nothing does,
the terms are solved for that the step has too much or too little of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .finding import Names, names_of
from .fitting import fitted
from .places import where
from .solving import solved
from .steps import Steps, steps_of
from .trying import explains, listed
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
    found: dict[Names, Variants] = {}
    partly: dict[str, tuple[float, Variant]] = {one.name: (1.0, one) for one in bases}
    left = []
    for one in steps:
        known = [variants for variants in found.values() if one.has_all(variants)]
        if known and explains(one, known).all(axis=1).any():
            continue
        whole, some = _tried(one)
        found |= whole
        left += [] if whole else [one]
        for variant, share in some:
            if share > partly.get(variant.name, (MANY, variant))[0]:
                partly[variant.name] = (share, variant)
    for one in _few(left):
        units = list(in_some_units(one))
        found |= {(variant.name,): (variant,) for variant in units}
        left = [other for other in left if other is not one or not units]
    alone = {one.name: (1.0, one) for one, *_ in found.values() if not one.arithmetic}
    most = sorted((partly | alone).values(), key=lambda entry: -entry[0])[:BASES]
    for one in _few(left):
        on_bases = (replace(one, base=(base,)) for _, base in most if one.has_all([base]))
        found |= next((whole for whole, _ in map(_tried, on_bases) if whole), {})
    told = [_placed(variants, steps) for variants in found.values()]
    return sorted((one for one in told if one is not None), key=_rank)


def _tried(steps: Steps) -> tuple[dict[Names, Variants], list[tuple[Variant, float]]]:
    """What gives every wrong state of some case, base included, and what gives a share of them, or takes it
    from the error, and may come together with something else."""
    some: list[tuple[Variant, float]] = []
    for stages in ((listed,), (solved, fitted)):
        each = [one for stage in stages for one in stage(steps) if steps.base != one[0]]
        whole = [(*steps.base, *variants) for variants, share in each if share == 1.0]
        if whole:
            return {names_of(variants): variants for variants in whole}, some
        some += [(v[0], share) for v, share in each if len(v) == 1 and not v[0].arithmetic]
    return {}, some


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
