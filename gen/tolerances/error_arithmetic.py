"""The arithmetic of errors: float64 values with bounds of how far off each class may be.

It is one more arithmetic of `gen.gru.step`, so the equations of the GRU are not written again. What
each operation may lose is derived in TOLERANCES.md, "One step".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from ..stacks import Float64
from .activation_error import Curves
from .classes import Units
from .error_values import IDENTITY, NONE, Bound, Bounded, Product, Sum, wide


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight, transposed.

    Itself, once more with an axis for the rows, its absolute values, and their sums over what is summed.
    """

    matrix: Array
    of_rows: Array
    size: Array
    sums: Array


class ErrorArithmetic:
    """Arithmetic on stacked cases: numbers are float64 arrays, all else is a `Sum` or `Bounded`.

    `straddles` is, of the last activations, whether a pre-activation may be on either side of a guarded
    break, (n, rows, classes); whoever takes steps asks, and sets it back.
    """

    zero: Any = 0.0

    def __init__(self, units: Units) -> None:
        self.units, self.exact = units, Float64()
        self.straddles: Any = False
        self._curves: dict[tuple[Activation, ...], Curves] = {}

    def numbers(self, array: Array) -> Array:
        """Take the array as float64, exactly."""
        return self.exact.numbers(array)

    def bias(self, array: Array) -> Sum:
        """Make a sum of a bias alone."""
        value = self.exact.numbers(array)
        return Sum(self.units, value, biases=(np.abs(value),))

    def weight(self, matrix: Array) -> Weight:
        """Make a weight ready."""
        transposed = self.exact.weight(matrix)
        contiguous = np.ascontiguousarray(transposed)
        size = np.abs(contiguous)
        return Weight(transposed, contiguous[:, None], size, size.sum(-2, keepdims=True))

    def state(self, value: Array, total: Array) -> Bounded:
        """Take the state before a step, off by at most `total`."""
        return Bounded(self.units, value, np.abs(value), IDENTITY, NONE, total)

    def product(self, x: Array | Bounded, weight: Weight) -> Sum:
        """x·matrixᵀ, of numbers or of something with an error."""
        if not isinstance(x, Bounded):
            return self._product(x, np.abs(x), weight)
        errors = (
            x.linear.through(weight.of_rows),
            _through(x.total, weight.size),
            _through(x.source, weight.size),
            x.total.sum(-1, keepdims=True) if self.units.underflows else NONE,
        )
        return self._product(x.value, x.size, weight, *errors)

    def _product(self, x: Array, size: Array, weight: Weight, *errors: Any) -> Sum:
        value = self.exact.product(x, weight.matrix)
        operands = size.sum(-1, keepdims=True) + weight.sums
        one = Product(x.shape[-1], np.abs(value), size @ weight.size, operands, *errors)
        return Sum(self.units, value, (one,))

    def activation(self, function: Any, a: Sum | Bounded, clip: Any) -> Bounded:
        """Apply the activation to a pre-activation, clipped first; both are one per stacked case."""
        a = a.rounded()
        if function not in self._curves:
            self._curves[function] = Curves(function, clip, self.units)
        curves = self._curves[function]
        inside = curves.inside(a.value)
        value = self.exact.unclipped(function, inside)
        size = np.abs(value)
        slope, half_second = curves.slopes(a.value, inside)
        steepness = wide(np.abs(slope))
        rest = curves.remainder(a.value, inside, a.total, half_second)
        if curves.guarded:
            self.straddles = self.straddles | curves.straddles(inside, a.total)
        before = np.minimum(steepness * a.total + rest, curves.range)
        rounding = curves.rounding(a.size, a.total, wide(size) + before)
        source = steepness * a.source + rest + rounding
        linear = a.linear.scaled(slope)
        return Bounded(self.units, value, size, linear, source, before + rounding)

    def blend(self, z: Bounded, t: Bounded, h: Bounded) -> Bounded:
        """(1 - z)·t + z·h, in any of its forms; h is the state before the step."""
        keep, gap = 1.0 - z.value, h.value - t.value
        x, k, g = wide(z.size), wide(np.abs(keep)), wide(np.abs(gap))
        value = self.exact.blend(z.value, t.value, h.value)
        cross = z.total * (t.total + h.total)
        rounding = blend_rounding(
            x + z.total, k + z.total, wide(t.size) + t.total, wide(h.size) + h.total
        )
        rounding = self.units.element * rounding + (cross + 3.0 * self.units.tiny)
        return Bounded(
            self.units,
            value,
            np.abs(value),
            t.linear.scaled(keep) + z.linear.scaled(gap) + h.linear.scaled(z.value),
            k * t.source + g * z.source + x * h.source + rounding,
            k * t.total + g * z.total + x * h.total + rounding,
        )


def _through(bound: Bound, size: Array) -> Bound:
    """|W|·bound, of every class."""
    if bound is NONE:
        return bound
    n, rows, classes, m = bound.shape
    return (bound.reshape(n, rows * classes, m) @ size).reshape(n, rows, classes, -1)


def blend_rounding(z: Array, keep: Array, t: Array, h: Array) -> Array:
    """Bound what the blend may lose to rounding, in units, given bounds of |z|, |1-z|, |t| and |h|.

    It is the most of three forms: (1-z)t + zh, t + z(h-t) and h + (1-z)(t-h).
    """
    both, kept_t, z_h = t + h, keep * t, z * h
    forms = (
        3.0 * kept_t + 2.0 * z_h + t,  # the last t: for (t - zt) + zh
        (3.0 * z + 1.0) * both,
        3.0 * keep * both + np.maximum(both, kept_t + z_h),  # the sum is more where |1-z| > 1
    )
    return np.asarray(np.maximum.reduce(forms))
