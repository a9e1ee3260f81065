"""How an error passes through an activation, clip included, over float64 arrays.

φ = f∘clip is treated as one function. For an argument a with an error of at most D,

    |φ(a + d) - φ(a) - φ′(a)·d| ≤ remainder(a, D)        for every |d| ≤ D,

by Taylor's theorem where φ is smooth, and at each kink within reach by the jump of its slope times
the way beyond it. No difference of nearly equal numbers is formed: (a + δ) - a would be 0 for small δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..vectors.case import Array


@dataclass(frozen=True)
class Function:
    """Bounds of a function's derivatives: `second` and `third` of |f″| and |f‴|; `range` of values;
    `kink` where the slope jumps at 0."""

    second: float
    third: float
    range: float
    kink: float = 0.0


BOUNDS = {
    "sigmoid": Function(0.09623, 0.125, 1.0),
    "tanh": Function(0.7699, 2.0, 2.0),
    "relu": Function(0.0, 0.0, math.inf, kink=1.0),
}


def slopes(name: str, a: Array) -> tuple[Array, Array]:
    """f′(a) and |f″(a)|."""
    if name == "relu":
        return (a > 0).astype(np.float64), np.zeros_like(a)
    if name == "tanh":
        t = np.tanh(a)
        slope = 1.0 / np.cosh(np.minimum(np.abs(a), 350.0)) ** 2
        return slope, np.abs(2.0 * t * slope)
    e = np.exp(-np.abs(a))
    slope = e / (1.0 + e) ** 2
    return slope, slope * np.abs(np.tanh(0.5 * a))


def slope(name: str, a: Array, clip: Array | float) -> Array:
    """φ′(a); at a kink, one of the two one-sided slopes."""
    return np.where(np.abs(a) <= clip, slopes(name, a)[0], 0.0)


def remainder(name: str, a: Array, clip: Array | float, reach: Array) -> Array:
    """The bound above; `reach` is D. All arrays broadcast."""
    bounds = BOUNDS[name]
    reach = reach * (1.0 + 2.0**-50)  # differences of reach and distance round
    inside = np.clip(a, -clip, clip)
    way = np.maximum(reach - np.abs(a - inside), 0.0)  # of the reach, within [-clip, clip]
    _, second = slopes(name, inside)
    bound = (
        np.minimum((0.5 * second + bounds.third / 6.0 * way) * way, 0.5 * bounds.second * way) * way
    )
    for at in (clip, -1.0 * clip):
        jump, _ = slopes(name, np.where(np.isfinite(at), at, 0.0))
        beyond = np.maximum(reach - np.abs(a - at), 0.0)
        bound = bound + np.where(np.isfinite(at), jump * beyond, 0.0)
    if bounds.kink:
        bound = bound + bounds.kink * np.maximum(reach - np.abs(a), 0.0)
    return np.asarray(bound)
