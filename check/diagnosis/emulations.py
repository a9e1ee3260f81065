"""Whether the errors of steps go with those that some coarse arithmetic makes of the same steps.

A small mistake that is in many states is as large as roundings are, and may have both signs as they have. But
what a coarse arithmetic rounds off is known: where it is emulated, nearly the same errors come out, state by
state. Errors of another origin do not go with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import UNLISTED
from ...gen.variants.variant import Variant
from .failing import evenly
from .local import Local
from .steps import Steps

GO_TOGETHER, FEWEST = 0.65, 48
"""Errors of so many states, or more, go with those of an emulation if they correlate as much. OpenVINO's in
bfloat16 do by 0.79; those of weights that are a little too small, with what cuts bits off, by 0.56."""
MOST_GROUPS, MOST_CASES, MOST_ROWS = 12, 4, 6
"""So many groups of cases are looked at, so many cases of each, and so many rows of these."""
CLIPPED = 4.0
"""No error counts for more than so many times the median."""
EMULATED = tuple(v for v in (*CATALOGUE.values(), *UNLISTED.values()) if v.arithmetic)


def errors_go_together(local: Local, which: Array, base: Sequence[Variant] = ()) -> bool:
    """Whether the errors of the steps of the failing cases `which` (n,), under the variants of `base`, go
    with those of some emulation."""
    each = list(_errors(_some(local, which), base))
    if not each:
        return False
    errors = np.concatenate(each, axis=1)
    errors = errors[:, errors[0] != 0.0]
    if errors.shape[1] < FEWEST:
        return False
    median = np.median(np.abs(errors), axis=1, keepdims=True)
    if median[0] < 1.0:
        return False
    seen, *emulated = np.clip(errors, -CLIPPED * median, CLIPPED * median)
    sizes = [np.sqrt(float(seen @ seen) * float(one @ one)) for one in emulated]
    pairs = zip(emulated, sizes, strict=True)
    return any(size > 0.0 and seen @ one > GO_TOGETHER * size for one, size in pairs)


def _some(local: Local, which: Array) -> list[Steps]:
    found = []
    for start, steps in local.steps:
        cases = np.flatnonzero(which[start + steps.stack.rows])
        if cases.size:
            some = steps.only(evenly(cases, MOST_CASES))
            found.append(some.rows(evenly(np.arange(some.seen.shape[2]), MOST_ROWS)))
    return [found[place] for place in evenly(np.arange(len(found)), MOST_GROUPS).tolist()]


def _errors(several: Sequence[Steps], base: Sequence[Variant]) -> Iterator[Array]:
    """(1 + emulations, states) observed less given, then emulated less given, in units of what is admitted
    of a state."""
    for steps in several:
        exact, *emulated = steps.given([base, *([*base, one] for one in EMULATED)])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            off = np.stack([steps.seen, *emulated]) - exact
            errors = off / np.maximum(steps.limits, 1e-300)
        taken = np.broadcast_to(steps.taken[:, None, :, None], steps.seen.shape)
        yield errors[:, taken & np.isfinite(errors).all(axis=0)]
