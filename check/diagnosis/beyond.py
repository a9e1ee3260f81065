"""Beyond the catalogue: what a few failing cases, taken one step at a time, were computed as.

Every variant that a step tells, of the catalogue and beyond it, and every family with a number, is held
against the states that are wrong by themselves. What gives all of them is a candidate; where it differs
from the right step but what was observed does not, the place is looked for that tells the two apart. What
gives many of them may be one of two mistakes: the same is done once more on top of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.evaluate import can_be_caught
from ...gen.variants.families import FAMILIES, Family
from ...gen.variants.forms import SCALED
from ...gen.variants.known import UNLISTED
from ...gen.variants.restricted import UNITS, can_be_restricted, restricted
from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .places import where
from .steps import MOST_ERROR, Steps, bounded, share_left, steps_of

MOST_ROWS = 6
"""So many rows of the steps of a case are looked at: of those that hold wrong states."""
MOST_STEPS = 8
"""The steps of so many groups of cases."""
THIN_ROWS = 3
"""A number is sought on so many rows, and tried on all."""
FEWEST_WRONG = 4
"""A number is fitted to no fewer wrong states than this."""
BATCH_BYTES = 2 << 20
"""What the steps of all variants that are computed at once may take."""
ZOOMS, ZOOMED = 14, 9
"""How often a number is sought between its neighbours, and among how many."""
PROMISING, BEST = 0.75, 16
"""What is left of the error at the best number tried, at most; and so many families are looked at closer."""
DIGITS = 7
"""A number is told with no more digits than that."""
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
    where nothing does, together with one of `bases` or with what gives many wrong states."""
    steps = [one for part in parts for one in steps_of(part) if one.wrong.any()]
    steps = [_fewer(one.only(np.flatnonzero(one.wrong.any(axis=(1, 2, 3))))) for one in steps]
    steps = [steps[place] for place in evenly(np.arange(len(steps)), MOST_STEPS).tolist()]
    found: dict[tuple[str, ...], Variants] = {}
    partly: dict[str, tuple[float, Variant]] = {one.name: (1.0, one) for one in bases}
    left = []
    for one in steps:
        whole, some = _told(one, (*_listed(one), *_fitted(one)))
        found |= {(variant.name,): (variant,) for variant in whole}
        left += [] if whole else [one]
        for variant, share in some:
            if share > partly.get(variant.name, (MANY, variant))[0]:
                partly[variant.name] = (share, variant)
    for one in _few(left):
        whole, _ = _told(one, _in_some_units(one))
        found |= {(variant.name,): (variant,) for variant in whole}
        left = [other for other in left if other is not one or not whole]
    most = sorted(partly.values(), key=lambda entry: -entry[0])[:BASES]
    for one in _few(left):
        for _, base in most:
            besides = replace(one, base=(base,))
            whole, _ = _told(besides, (*_listed(besides), *_fitted(besides)))
            found |= {(base.name, variant.name): (base, variant) for variant in whole}
    told = [_placed(variants, steps) for variants in found.values()]
    return sorted((one for one in told if one is not None), key=_rank)


def _told(
    steps: Steps, tried: Iterable[tuple[Variant, float]]
) -> tuple[list[Variant], list[tuple[Variant, float]]]:
    """Of what was tried, what gives every wrong state of some case, and what gives a share of them, or of the
    error, and may come together with something else."""
    each = [(variant, share) for variant, share in tried if variant not in steps.base]
    whole = [variant for variant, share in each if share == 1.0]
    return whole, [one for one in each if one[1] < 1.0 and not one[0].arithmetic]


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


def _pool(steps: Steps) -> list[Variant]:
    """The variants without a number that a step tells."""
    block = steps.part.block
    operator = OPERATORS[block.operator]
    return [
        v
        for v in (*CATALOGUE.values(), *UNLISTED.values())
        if v.kind != "reading"
        and v.within_a_step
        and v.means_something_for(operator)
        and steps.tells(v.needs)
        and can_be_caught(v, block.dtype)
        and v not in steps.base
        and not (steps.base and v.arithmetic)
    ]


def _listed(steps: Steps) -> Iterator[tuple[Variant, float]]:
    """The variants without a number, with what share they give of all wrong states; 1 if they give every one
    of some case."""
    return _shares(steps, _pool(steps))


def _in_some_units(steps: Steps) -> Iterator[tuple[Variant, float]]:
    """The same in some hidden units alone."""
    pool = [v for v in _pool(steps) if can_be_restricted(v)]
    pool += [
        f.member(0.0)
        for f in FAMILIES.values()
        if f.form is SCALED and f.name[:2] in ("w-", "r-", "b-")
    ]
    for units in _kinds_of_units(steps.seen.shape[-1]):
        tried = _shares(steps, [restricted(variant, units[0]) for variant in pool])
        for variant, (_, share) in zip(pool, tried, strict=True):
            yield from ((restricted(variant, name), share) for name in units)


def _kinds_of_units(hidden: int) -> list[list[str]]:
    """The names that mean some of so many hidden units and not all, those that mean the same together."""
    same: dict[bytes, list[str]] = {}
    for name, (_, which) in UNITS.items():
        units = which(hidden)
        if units.any() and not units.all():
            same.setdefault(units.tobytes(), []).append(name)
    return list(same.values())


def _shares(steps: Steps, variants: Sequence[Variant]) -> Iterator[tuple[Variant, float]]:
    wrong = steps.wrong
    count = max(1, int(wrong.sum()))
    size = _together(steps)
    for start in range(0, len(variants), size):
        some = variants[start : start + size]
        given = steps.given([[variant] for variant in some])
        near = steps.near(given)
        whole = steps.explained(near)
        states = (near & wrong).sum(axis=(1, 2, 3, 4)) / count
        taken = 1.0 - _of_error(steps, given)
        shares = np.clip(np.maximum(states, taken), 0.0, 0.999).tolist()
        for variant, cases, share in zip(some, whole, shares, strict=True):
            yield variant, 1.0 if cases.any() else share


def _explains(steps: Steps, several: Sequence[Sequence[Variant]]) -> Array:
    """(c, n) whether combinations of variants give every state of a case that is wrong by itself."""
    return steps.explained(steps.near(steps.given(several)))


def _together(steps: Steps) -> int:
    arrays = (steps.inputs.x, *steps.inputs.w.values(), *steps.inputs.r.values(), steps.seen)
    return max(1, BATCH_BYTES // (8 * sum(array.size for array in arrays)))


def _fitted(steps: Steps) -> Iterator[tuple[Variant, float]]:
    """The members of families that take much of the error away, with their shares as `_listed` gives them."""
    if steps.wrong.sum() < FEWEST_WRONG:
        return
    operator = OPERATORS[steps.part.block.operator]
    pool = [
        family
        for family in FAMILIES.values()
        if family.member(1.0).means_something_for(operator) and steps.tells(family.needs)
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
    batches = (np.cumsum([one.copies for one in members]) // _together(steps)).tolist()
    found: list[float] = []
    for batch in dict.fromkeys(batches):
        some = [[one] for one, mine in zip(members, batches, strict=True) if mine == batch]
        found += _of_error(steps, steps.given(some)).tolist()
    return found


def _of_error(steps: Steps, given: Array) -> Array:
    """(c,) of the finite errors of the wrong states, the share that is left by what is given (c, …)."""
    seen, right = steps.seen[steps.wrong], steps.right[steps.wrong]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(seen - right)
        far = bounded(np.abs(seen - given[:, steps.wrong]), MOST_ERROR)
    return share_left(bounded(off, 0.0), np.where(np.isfinite(off), far, 0.0))


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


def _with_few_digits(
    steps: Steps, family: Family, number: float
) -> Iterator[tuple[Variant, float]]:
    """The member with the fewest digits that gives every wrong state of most cases, or most wrong states."""
    rounded = [round(number, digits) for digits in range(DIGITS)]
    rounded += [float(f"{number:.{digits}g}") for digits in range(1, DIGITS + 1)]
    low, high = family.form.tried[0], family.form.tried[-1]
    rounded = [one + 0.0 for one in rounded if low <= one <= high]
    numbers = list(dict.fromkeys([*rounded, number]))
    members = [family.member(one) for one in numbers]
    cases = _explains(steps, [[family.members(numbers)]]).sum(axis=1)
    if cases.any():
        yield members[int(np.argmax(cases))], 1.0
        return
    shares = [share for _, share in _shares(steps, members)]
    yield members[int(np.argmax(shares))], max(shares)


def _placed(variants: Variants, steps: Sequence[Steps]) -> Candidate | None:
    """The variants, and where they hold; None if no place tells where they do from where they do not."""
    group, others, count = [], [], 0
    mine = [
        one
        for one in steps
        if all(v.means_something_for(OPERATORS[one.part.block.operator]) for v in variants)
    ]
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
