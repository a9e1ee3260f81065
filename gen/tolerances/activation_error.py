"""How an error passes through an activation, clip included, over float64 arrays.

φ = f∘clip is treated as one function. For an argument a with an error of at most D,

    |φ(a + d) - φ(a) - φ′(a)·d| ≤ remainder(a, D)        for every |d| ≤ D,

by Taylor's theorem where φ is smooth, at each kink within reach by the jump of its slope times the
way beyond it, and at each step within reach by its height. No difference of nearly equal numbers is
formed: (a + δ) - a would be 0 for small δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation


@dataclass(frozen=True)
class Break:
    """Where a function is not smooth: its slope jumps by `slope`, and its value by `height`."""

    at: float
    slope: float
    height: float = 0.0


@dataclass(frozen=True)
class Shape:
    """Bounds of a function: `second` and `third` of |f″| and |f‴| (infinite where f″ jumps); `range`
    of its values; where it breaks.

    `guarded`: a case is not kept if a pre-activation may be on either side of a break. A step admits
    nothing else; the kinks of a hard sigmoid move with the rounding of its parameters.
    """

    second: float = 0.0
    third: float = 0.0
    range: float = math.inf
    breaks: tuple[Break, ...] = ()
    guarded: bool = False


@lru_cache(maxsize=1024)
def shape(function: Activation) -> Shape:
    """The shape of a function of cases.activations."""
    name, a, b = function.name, abs(function.alpha), abs(function.beta)
    alpha, beta = function.alpha, function.beta
    match name:
        case "sigmoid":
            return Shape(0.09623, 0.125, 1.0)
        case "tanh":
            return Shape(0.7699, 2.0, 2.0)
        case "relu":
            return Shape(breaks=(Break(0.0, 1.0),))
        case "affine":
            return Shape()
        case "leaky-relu":
            return Shape(breaks=(Break(0.0, abs(1.0 - alpha)),))
        case "thresholded-relu":
            return Shape(breaks=(Break(alpha, 1.0, a),), guarded=True)
        case "scaled-tanh":
            return Shape(0.7699 * a * b**2, 2.0 * a * b**3, 2.0 * a)
        case "hard-sigmoid":
            kinks = tuple(Break((end - beta) / alpha, a) for end in (0.0, 1.0)) if a else ()
            return Shape(range=1.0, breaks=kinks, guarded=True)
        case "elu":
            return Shape(a, math.inf, breaks=(Break(0.0, abs(1.0 - alpha)),))
        case "softsign":
            return Shape(2.0, math.inf, 2.0)
        case "softplus":
            return Shape(0.25, 0.09623)
    raise AssertionError(f"{name}: no shape")


def slopes(function: Activation, v: Array) -> tuple[Array, Array]:
    """f′(v) and |f″(v)|; at a break those of one side."""
    name, a, b = function
    flat = np.zeros_like(v)
    match name:
        case "relu":
            return (v > 0).astype(np.float64), flat
        case "affine":
            return np.full_like(v, a), flat
        case "leaky-relu":
            return np.where(v > 0, 1.0, a), flat
        case "thresholded-relu":
            return (v > a).astype(np.float64), flat
        case "hard-sigmoid":
            inside = a * v + b
            return np.where((inside > 0.0) & (inside < 1.0), a, 0.0), flat
        case "tanh":
            return _tanh_slopes(v)
        case "scaled-tanh":
            slope, second = _tanh_slopes(b * v)
            return a * b * slope, abs(a) * b**2 * second
        case "elu":
            below = a * np.exp(np.minimum(v, 0.0))
            return np.where(v > 0, 1.0, below), np.where(v > 0, 0.0, np.abs(below))
        case "softsign":
            return 1.0 / (1.0 + np.abs(v)) ** 2, 2.0 / (1.0 + np.abs(v)) ** 3
    e = np.exp(-np.abs(v))
    slope = e / (1.0 + e) ** 2
    if name == "softplus":
        return np.where(v < 0, e, 1.0) / (1.0 + e), slope
    return slope, slope * np.abs(np.tanh(0.5 * v))


def _tanh_slopes(v: Array) -> tuple[Array, Array]:
    t = np.tanh(v)
    slope = 1.0 / np.cosh(np.minimum(np.abs(v), 350.0)) ** 2
    return slope, np.abs(2.0 * t * slope)


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
