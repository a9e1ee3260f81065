"""The arithmetic of errors: float64 values with bounds of the errors of each class.

It is one more arithmetic of `gen.gru.step`, so the equations of the GRU are not written again. What
each operation may lose is derived in TOLERANCES.md, "One step".

φ = f∘clip is treated as one function. For an argument a with an error of at most D,

    |φ(a + d) - φ(a) - φ′(a)·d| ≤ remainder(a, D)        for every |d| ≤ D,

The remainder is Taylor's where φ is smooth. Each kink within reach adds the jump of the slope times the
way beyond the kink, and each jump within reach adds its height. No difference of nearly equal numbers
is formed: (a + δ) - a would be 0 for small δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation, Break, Shape
from ..stacks import Float64, rows_by_function
from .classes import Units
from .error_values import IDENTITY, NONE, Bound, Bounded, DotProduct, Sum, wide


@lru_cache(maxsize=1024)
def shape(function: Activation) -> Shape:
    """Describe the shape of a function with its parameters."""
    return FUNCTIONS[function.name].shape(function.alpha, function.beta)


class Curves:
    """The functions of n stacked cases, in the classes of `units`, each clipped at a limit, (n, 1, 1).

    Arguments are (n, rows, m); `reach`, the bound of their errors, is (n, rows, classes, m).
    """

    def __init__(self, functions: tuple[Activation, ...], clip: Array, units: Units) -> None:
        def each(values: Sequence[float]) -> Array:
            return np.array(values, np.float64).reshape(-1, 1, 1, 1)

        shapes = [shape(one) for one in functions]
        self.functions, self.clip = functions, clip
        self.range = each([one.range for one in shapes])
        self.half_second = each([0.5 * one.second for one in shapes])
        thirds = [one.third if math.isfinite(one.third) else 0.0 for one in shapes]
        self.sixth_third = each(thirds) / 6.0
        self._jumps_second = each([not math.isfinite(one.third) for one in shapes])[..., 0] > 0.0
        self._jumps = bool(self._jumps_second.any())
        most = max(len(one.breaks) for one in shapes)
        self.breaks = [
            tuple(each(column) for column in zip(*of_each_case, strict=True))
            for of_each_case in zip(*(_padded(one.breaks, most) for one in shapes), strict=True)
        ]
        self.guarded = any(one.guarded for one in shapes)
        self._guards = each([one.guarded for one in shapes])
        self._clips = bool(np.isfinite(clip).any())
        self._ends = [(end, self._jump_at(end)) for end in (clip, -clip)] if self._clips else []
        own = units.functions(functions)
        tiny = units.tiny * (1.0 + np.abs(each([one.alpha for one in functions])))
        self._relative, self._absolute, self._growing = (
            own[:, 0] + units.kept, own[:, 1] + tiny, own[:, 2],
        )  # fmt: skip
        self._grows = bool(self._growing.any())

    def _jump_at(self, end: Array) -> Array:
        """Compute the jump of the slope at an end of the clipping; 0 without clipping."""
        slope, _ = self._of(np.where(np.isfinite(end), end, 0.0))
        return np.where(np.isfinite(end), np.abs(slope), 0.0)[..., None]

    def _of(self, v: Array) -> tuple[Array, Array]:
        groups = rows_by_function(self.functions)
        slope, second = np.empty_like(v), np.empty_like(v)
        for one, rows in groups.items():
            at = rows if len(groups) > 1 else ...  # one function may be of any number of rows
            slope[at], second[at] = FUNCTIONS[one.name].slopes(v[at], one.alpha, one.beta)
        return slope, second

    def inside(self, a: Array) -> Array:
        """Clip `a`."""
        return np.clip(a, -self.clip, self.clip) if self._clips else a

    def slopes(self, a: Array, inside: Array) -> tuple[Array, Array]:
        """φ′(a), and ½|φ″| at `inside`, which is `a` clipped, or a bound of ½|φ″| if φ″ jumps.

        At a kink φ′ is one of the two one-sided slopes.
        """
        slope, second = self._of(inside)
        if self._clips:
            slope = np.where(np.abs(a) <= self.clip, slope, 0.0)
        half = 0.5 * second
        if self._jumps:
            half = np.where(self._jumps_second, self.half_second[..., 0], half)
        return slope, half

    def remainder(self, a: Array, inside: Array, reach: Array, half_second: Array) -> Array:
        """Evaluate the remainder (see the module); `reach` is D, `half_second` comes from `slopes`."""
        if not self._clips and not self.breaks:
            return self._smooth(reach, half_second)
        way = reach = _widened(reach)
        if self._clips:  # the part of the reach within [-clip, clip]
            way = np.maximum(reach - np.abs(a - inside)[..., None, :], 0.0)
        bound = self._smooth(way, half_second)
        for end, jump in self._ends:
            bound += jump * np.maximum(reach - np.abs(a - end)[..., None, :], 0.0)
        for at, jump, height in self.breaks:
            bound += jump * np.maximum(reach - np.abs(a[..., None, :] - at), 0.0)
            if height.any():
                bound += height * (np.abs(inside[..., None, :] - at) <= reach)
        return bound

    def _smooth(self, way: Array, half_second: Array) -> Array:
        bound = self.sixth_third * way
        bound += half_second[..., None, :]
        np.minimum(bound, self.half_second, out=bound)
        bound *= way
        bound *= way
        return bound

    def straddles(self, inside: Array, reach: Array) -> Array:
        """Mark rows with an argument that may be on either side of a guarded break, (n, rows, classes)."""
        found = np.zeros(reach.shape, bool)
        for at, _, _ in self.breaks:
            found |= (self._guards > 0.0) & (np.abs(inside[..., None, :] - at) <= _widened(reach))
        return np.asarray(found.any(axis=-1))

    def rounding(self, a: Array, reach: Array, size: Array) -> Array:
        """Bound the function's own rounding, for arguments of size `a`, if |φ| is at most `size`."""
        lost = self._relative * size + self._absolute
        if self._grows:
            lost += self._growing * (np.minimum(a, self.clip)[..., None, :] + reach)
        return lost


def _padded(breaks: tuple[Break, ...], most: int) -> list[tuple[float, float, float]]:
    """List the breaks as (at, slope, height), filled up to `most` with breaks that are never reached."""
    real = [(one.at, one.slope, one.height) for one in breaks]
    return real + [(math.inf, 0.0, 0.0)] * (most - len(real))


def _widened(reach: Array) -> Array:
    return reach * (1.0 + 2.0**-50)  # differences of reach and distance round


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight, transposed.

    `of_rows` has one more axis, for rows; `size` has absolute values, `sums` their sums over the inner axis.
    """

    matrix: Array
    of_rows: Array
    size: Array
    sums: Array


class ErrorArithmetic:
    """Arithmetic on stacked cases: numbers are float64 arrays, all else is a `Sum` or `Bounded`.

    `straddles` marks where a pre-activation may be on either side of a guarded break, (n, rows, classes),
    since the code that takes steps set it back.
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
        """Make a sum that has only a bias."""
        value = self.exact.numbers(array)
        return Sum(self.units, value, biases=(np.abs(value),))

    def weight(self, matrix: Array) -> Weight:
        """Prepare a weight for products."""
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
            return self._product(x, np.abs(x) @ weight.size, weight, np.abs(x))
        magnitude = x.size @ weight.size
        if x.share is None:
            total = _through(x.total, weight.size)
            source = total if x.source is x.total else _through(x.source, weight.size)
        else:
            total = source = x.share * wide(magnitude) + x.least * wide(weight.sums)
        spread = x.total.sum(-1, keepdims=True) if self.units.underflows is not False else NONE
        errors = (x.linear.through(weight.of_rows), total, source, spread)
        return self._product(x.value, magnitude, weight, x.size, *errors)

    def _product(
        self, x: Array, magnitude: Array, weight: Weight, size: Array, *errors: Any
    ) -> Sum:
        value = self.exact.product(x, weight.matrix)
        operands = size.sum(-1, keepdims=True) + weight.sums
        one = DotProduct(x.shape[-1], np.abs(value), magnitude, operands, *errors)
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
    """|W|·bound, for every class."""
    if bound is NONE:
        return bound
    n, rows, classes, m = bound.shape
    return (bound.reshape(n, rows * classes, m) @ size).reshape(n, rows, classes, -1)


def blend_rounding(z: Array, keep: Array, t: Array, h: Array) -> Array:
    """Bound what the blend may lose to rounding, in units, given bounds of |z|, |1-z|, |t| and |h|.

    It is the largest bound of three forms: (1-z)t + zh, t + z(h-t) and h + (1-z)(t-h).
    """
    both, kept_t, z_h = t + h, keep * t, z * h
    forms = (
        3.0 * kept_t + 2.0 * z_h + t,  # the last t: for (t - zt) + zh
        (3.0 * z + 1.0) * both,
        3.0 * keep * both + np.maximum(both, kept_t + z_h),  # the sum is larger if |1-z| > 1
    )
    return np.asarray(np.maximum.reduce(forms))
