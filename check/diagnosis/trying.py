"""How much of the states that are wrong by themselves variants give: in all units, or in some alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.evaluate import batches, can_be_caught
from ...gen.variants.fields import GROUPS
from ...gen.variants.known import UNLISTED
from ...gen.variants.places import units_of
from ...gen.variants.restricted import UNITS, can_be_restricted, restricted
from ...gen.variants.sums import with_terms
from ...gen.variants.variant import Variant
from .steps import Steps, share_left

LARGEST = 1e12
"""Maximum error, in units of what is admitted; larger ones, and NaN, count as that."""


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
    """Find variants in some hidden units alone that give every wrong state of some case.

    Where states of other units are wrong in every case, units explain it only by the reset gate: if that is
    applied before the product.
    """
    pool = [v for v in told_by(steps) if can_be_restricted(v)]
    pool += [with_terms(f"a_{gates}", {part: -1.0}) for gates in GROUPS for part in "xpb"]
    hidden, spreads = steps.seen.shape[-1], not steps.stack.semantics.reset_after
    for name in UNITS:
        elsewhere = (steps.wrong & ~units_of(name, hidden)).any(axis=(1, 2, 3))
        if 0 < units_of(name, hidden).sum() < hidden and (spreads or not elsewhere.all()):
            tried = shares(steps, [(restricted(variant, name),) for variant in pool])
            yield from (one for one in tried if one[1] == 1.0)


def shares(steps: Steps, several: Sequence[Variants]) -> Shares:
    """Yield each combination with the share that it gives of all wrong states, or takes of their error.

    The share is 1 if it gives every wrong state of some case.
    """
    wrong = steps.wrong
    count, finite = (
        max(1, int(wrong.sum())),
        wrong & np.isfinite(steps.seen) & np.isfinite(steps.right),
    )
    before = errors_at(steps, finite, steps.right[None])
    for some in batches(steps.part.block, several):
        given = steps.given(some)
        near = steps.near(given)
        whole = steps.explained(near)
        states = (near & wrong).sum(axis=(1, 2, 3, 4)) / count
        taken = 1.0 - share_left(before, errors_at(steps, finite, given))
        each = np.clip(np.maximum(states, taken), 0.0, 0.999).tolist()
        for variants, cases, share in zip(some, whole, each, strict=True):
            yield tuple(variants), 1.0 if cases.any() else share


def explains(steps: Steps, several: Sequence[Sequence[Variant]]) -> Array:
    """(c, n) Say whether combinations of variants give every state of a case that is wrong by itself."""
    return steps.explained(steps.near(steps.given(several)))


def errors_at(steps: Steps, usable: Array, given: Array) -> Array:
    """(c, states) Compute observed less given at `usable` states, in units of what is admitted."""
    with np.errstate(invalid="ignore", over="ignore"):
        off = (steps.seen[usable] - given[:, usable]) / steps.room[usable]
    return np.asarray(np.nan_to_num(np.clip(off, -LARGEST, LARGEST), nan=LARGEST))
