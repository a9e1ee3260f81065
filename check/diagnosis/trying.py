"""How much of the states that are wrong by themselves variants give: in all units, or in some alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.evaluate import can_be_caught
from ...gen.variants.fields import GROUPS
from ...gen.variants.known import UNLISTED
from ...gen.variants.places import units_of
from ...gen.variants.restricted import UNITS, can_be_restricted, restricted
from ...gen.variants.sums import with_terms
from ...gen.variants.variant import Variant
from .failing import MOST_ERROR
from .steps import Steps, bounded, share_left

BATCH_BYTES = 2 << 20
"""What the steps of all variants that are computed at once may take."""
LARGEST = 1e12
"""Maximum error in units of what is admitted; squares of larger ones overflow."""


Variants = tuple[Variant, ...]
Shares = Iterator[tuple[Variants, float]]
"""Variants on top of those that steps have as their base, with what `shares` gives them together."""


def listed(steps: Steps) -> Shares:
    """List the variants without a number, with their `shares`."""
    return shares(steps, [(variant,) for variant in told_by(steps)])


def told_by(steps: Steps) -> list[Variant]:
    """List the variants without a number that a step tells, and that may come on top of a base."""
    block = steps.part.block
    return [
        v
        for v in (*CATALOGUE.values(), *UNLISTED.values())
        if v.kind != "reading"
        and v.within_a_step
        and steps.has_all([v])
        and steps.tells(v.needs)
        and can_be_caught(v, block.dtype)
        and v not in steps.base
        and not (steps.base and v.arithmetic)
    ]


def in_some_units(steps: Steps) -> Shares:
    """Variants in some hidden units alone that give every wrong state of some case.

    Where states of other units are wrong in every case, only those are tried that make them so.
    """
    pool = [v for v in told_by(steps) if can_be_restricted(v)]
    pool += [with_terms(f"a_{gates}", {part: -1.0}) for gates in GROUPS for part in "xpb"]
    spreading, hidden = _spreading(steps, pool), steps.seen.shape[-1]
    same: dict[bytes, list[str]] = {}
    for name in UNITS:
        if 0 < units_of(name, hidden).sum() < hidden:
            same.setdefault(units_of(name, hidden).tobytes(), []).append(name)
    for units in same.values():
        elsewhere = (steps.wrong & ~units_of(units[0], hidden)).any(axis=(1, 2, 3))
        some = spreading if elsewhere.all() else pool
        tried = shares(steps, [(restricted(variant, units[0]),) for variant in some])
        for variant, (_, share) in zip(some, tried, strict=True):
            if share == 1.0:
                yield from (((restricted(variant, name),), 1.0) for name in units)


def _spreading(steps: Steps, pool: Sequence[Variant]) -> list[Variant]:
    """List the variants of some units that make others wrong, by the reset gate or what it multiplies."""
    if steps.stack.semantics.reset_after:
        return []
    seen = steps.quantities_under([(), *((variant,) for variant in pool)])
    right, *others = (np.stack([one["r"], one["u"]]) for one in seen)
    return [v for v, other in zip(pool, others, strict=True) if not np.array_equal(other, right)]


def shares(steps: Steps, several: Sequence[Variants]) -> Shares:
    """Yield each combination with the share that it gives of all wrong states, or takes of their error.

    The share is 1 if it gives every wrong state of some case.
    """
    wrong = steps.wrong
    count = max(1, int(wrong.sum()))
    size = at_once(steps)
    for start in range(0, len(several), size):
        some = several[start : start + size]
        given = steps.given(some)
        near = steps.near(given)
        whole = steps.explained(near)
        states = (near & wrong).sum(axis=(1, 2, 3, 4)) / count
        taken = 1.0 - of_error(steps, given)
        each = np.clip(np.maximum(states, taken), 0.0, 0.999).tolist()
        for variants, cases, share in zip(some, whole, each, strict=True):
            yield variants, 1.0 if cases.any() else share


def explains(steps: Steps, several: Sequence[Sequence[Variant]]) -> Array:
    """(c, n) Say whether combinations of variants give every state of a case that is wrong by itself."""
    return steps.explained(steps.near(steps.given(several)))


def errors_at(steps: Steps, usable: Array, several: Sequence[Sequence[Variant]]) -> Array:
    """(c, states) Compute observed less given at `usable` states, in units of what is admitted."""
    off = (steps.seen - steps.given(several))[:, usable] / steps.room[usable]
    return np.asarray(np.nan_to_num(np.clip(off, -LARGEST, LARGEST)))


def at_once(steps: Steps) -> int:
    """Say how many variants are computed at once."""
    arrays = (steps.inputs.x, *steps.inputs.w.values(), *steps.inputs.r.values(), steps.seen)
    return max(1, BATCH_BYTES // (8 * sum(array.size for array in arrays)))


def of_error(steps: Steps, given: Array) -> Array:
    """(c,) Compute the share of the finite errors of wrong states that is left under what is given (c, …)."""
    seen, right = steps.seen[steps.wrong], steps.right[steps.wrong]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(seen - right)
        far = bounded(np.abs(seen - given[:, steps.wrong]), MOST_ERROR)
    return share_left(bounded(off, 0.0), np.where(np.isfinite(off), far, 0.0))
