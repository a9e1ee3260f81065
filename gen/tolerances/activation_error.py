"""How an error passes through an activation, clip included, over float64 arrays.

φ = f∘clip is treated as one function. For an argument a with an error of at most D,

    |φ(a + d) - φ(a) - φ′(a)·d| ≤ remainder(a, D)        for every |d| ≤ D,

by Taylor's theorem where φ is smooth, at each kink within reach by the jump of its slope times the
way beyond it, and at each step within reach by its height. No difference of nearly equal numbers is
formed: (a + δ) - a would be 0 for small δ.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.function import Shape


@lru_cache(maxsize=1024)
def shape(function: Activation) -> Shape:
    """The shape of a function with its parameters."""
    return FUNCTIONS[function.name].shape(function.alpha, function.beta)


def slopes(function: Activation, v: Array) -> tuple[Array, Array]:
    """f′(v) and |f″(v)|; at a break those of one side."""
    return FUNCTIONS[function.name].slopes(v, function.alpha, function.beta)


def slope(function: Activation, a: Array, clip: Array | float) -> Array:
    """φ′(a); at a kink, one of the two one-sided slopes."""
    return np.where(np.abs(a) <= clip, slopes(function, a)[0], 0.0)


def remainder(function: Activation, a: Array, clip: Array | float, reach: Array) -> Array:
    """The bound above; `reach` is D. All arrays broadcast."""
    bounds = shape(function)
    reach = _widened(reach)
    inside = np.clip(a, -clip, clip)
    way = np.maximum(reach - np.abs(a - inside), 0.0)  # of the reach, within [-clip, clip]
    bound = 0.5 * bounds.second * way
    if math.isfinite(bounds.third):
        _, second = slopes(function, inside)
        bound = np.minimum((0.5 * second + bounds.third / 6.0 * way) * way, bound)
    bound = bound * way
    for at in (clip, -1.0 * clip):
        jump, _ = slopes(function, np.where(np.isfinite(at), at, 0.0))
        beyond = np.maximum(reach - np.abs(a - at), 0.0)
        bound = bound + np.where(np.isfinite(at), np.abs(jump) * beyond, 0.0)
    for one in bounds.breaks:
        beyond = np.maximum(reach - np.abs(a - one.at), 0.0)
        bound = bound + one.slope * beyond
        if one.height:
            bound = bound + one.height * _within(one.at, a, clip, reach)
    return np.asarray(bound)


def undecided(function: Activation, a: Array, clip: Array | float, reach: Array) -> Array:
    """Whether an argument with an error of at most `reach` may be on either side of a guarded break."""
    bounds, found = shape(function), np.zeros(np.broadcast_shapes(a.shape, reach.shape), bool)
    if bounds.guarded:
        for one in bounds.breaks:
            found |= _within(one.at, a, clip, _widened(reach))
    return found


def _within(at: float, a: Array, clip: Array | float, reach: Array) -> Array:
    """Whether a break is within reach of `a` once that is clipped."""
    return np.asarray(np.abs(np.clip(a, -clip, clip) - at) <= reach)


def _widened(reach: Array) -> Array:
    return reach * (1.0 + 2.0**-50)  # differences of reach and distance round
