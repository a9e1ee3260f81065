"""Mistakes in some hidden units alone: variants, restricted to a tail, to whole groups, to one unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...gen.variants.fields import GROUPS
from ...gen.variants.restricted import UNITS, can_be_restricted, restricted
from ...gen.variants.sums import with_terms
from ...gen.variants.variant import Variant
from .steps import Steps
from .trying import Shares, shares, told_by


def in_some_units(steps: Steps) -> Shares:
    """Variants in some hidden units alone that give every wrong state of some case.

    Where states of other units are wrong in every case, only those are tried that make them so.
    """
    pool = [v for v in told_by(steps) if can_be_restricted(v)]
    pool += [with_terms(f"a_{gates}", {part: -1.0}) for gates in GROUPS for part in "xpb"]
    spreading, hidden = _spreading(steps, pool), steps.seen.shape[-1]
    same: dict[bytes, list[str]] = {}
    for name, (_, which) in UNITS.items():
        if 0 < which(hidden).sum() < hidden:
            same.setdefault(which(hidden).tobytes(), []).append(name)
    for units in same.values():
        _, which = UNITS[units[0]]
        elsewhere = (steps.wrong & ~which(hidden)).any(axis=(1, 2, 3))
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
