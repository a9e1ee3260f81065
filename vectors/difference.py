"""How far outputs are from an answer: the one rule for NaN and infinities."""

from __future__ import annotations

import numpy as np

from ..cases.dtypes import Array


def difference(observed: Array, expected: Array) -> Array:
    """|observed - expected| of each element, in float64.

    There is none between NaN and NaN, nor between the same infinities; any other is infinite.
    Both are float64 arrays, or broadcast.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.asarray(np.abs(np.subtract(observed, expected)))
    if np.isfinite(off.max(initial=0.0)):
        return off
    same = (observed == expected) | (np.isnan(observed) & np.isnan(expected))
    special = ~(np.isfinite(observed) & np.isfinite(expected))
    return np.where(special, np.where(same, 0.0, np.inf), off)
