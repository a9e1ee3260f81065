"""The GRU over balls of float64 numbers, a whole stack of cases at once.

Every value is a pair of float64 numbers: a midpoint m, and a radius r that provably bounds how far
the exact real value is from m. This rests on IEEE 754 alone, for any order of summation and with or
without fused multiply-add in products of matrices.

The radius of a result has two parts: one from the operands' radii, and one from the rounding of the
midpoint. With u = 2^-53, the second part is u |m|, or (n + 1) u Σ|x||w| for n products.

Radii are computed in float64 too, from sums and products of numbers that are not negative. That takes
at most n + 20 roundings, so a radius is too low by less than a relative 2^-31. `enlarged` therefore
scales it by 1 + 2^-30, and adds 2^-1000 for what underflow loses. Where a midpoint is not finite,
neither is the radius: what overflows stays undecided, as do infinite inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cases.dtypes import Array, FloatType
from ...cases.operators.activations import FUNCTIONS, Activation
from ..stacks import Float64
from . import elementary
from .elementary import TINY, UNIT, Value

MOST_PRODUCTS = 1 << 20
"""Maximum products in a sum; for more, the bounds above may not hold."""


def enlarged(radius: Array) -> Array:
    """Enlarge a radius, in place, by more than its own computation's rounding."""
    radius *= 1.0 + 2.0**-30
    radius += TINY
    return radius


@dataclass(frozen=True, slots=True, eq=False)
class Balls:
    """An array of balls: midpoints and radii, float64 arrays of one shape."""

    mid: Array
    rad: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.mid.shape

    def reshape(self, *shape: int) -> Balls:
        """Take the array in another shape."""
        return Balls(self.mid.reshape(shape), self.rad.reshape(shape))

    def copy(self) -> Balls:
        """Make a copy that can be assigned to."""
        return Balls(self.mid.copy(), self.rad.copy())

    def __getitem__(self, key: Any) -> Balls:
        return Balls(self.mid[key], self.rad[key])

    def __setitem__(self, key: Any, value: Balls) -> None:
        self.mid[key], self.rad[key] = value.mid, value.rad

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        """Move midpoints and radii alike, by a numpy function that `gen.gru` uses.

        A plain number among the arguments, which is always 0, serves for both.
        """
        if function not in _MOVES:
            return NotImplemented
        mids, rads = ([_part(one, name) for one in args] for name in ("mid", "rad"))
        return Balls(function(*mids, **kwargs), function(*rads, **kwargs))

    def __add__(self, other: Balls) -> Balls:
        mid = self.mid + other.mid
        rad = np.abs(mid)
        rad *= UNIT
        rad += self.rad
        rad += other.rad
        return Balls(mid, enlarged(rad))

    def __mul__(self, other: Balls) -> Balls:
        mid = self.mid * other.mid
        rad = np.abs(mid)
        rad *= UNIT
        rad += (np.abs(self.mid) + self.rad) * other.rad
        rad += np.abs(other.mid) * self.rad
        return Balls(mid, enlarged(rad))

    def affine(self, a: float, b: float) -> Balls:
        """a·x + b."""
        scaled = a * self.mid
        mid = scaled + b
        rad = np.abs(scaled) + np.abs(mid)
        rad *= UNIT
        rad += abs(a) * self.rad
        return Balls(mid, enlarged(rad))

    def at_least(self, low: Array | float) -> Balls:
        """Compute max(x, low): exactly `low` where the whole ball is below it."""
        below = self.mid + self.rad < low  # a sum ≥ `low` never rounds to below it
        return Balls(np.maximum(self.mid, low), np.where(below, 0.0, self.rad))

    def at_most(self, high: Array | float) -> Balls:
        """Compute min(x, high): exactly `high` where the whole ball is above it."""
        above = self.mid - self.rad > high
        return Balls(np.minimum(self.mid, high), np.where(above, 0.0, self.rad))

    def above(self, a: float) -> Balls:
        """x where x > a, else 0; a ball around x and 0 where that is not decided."""
        above, below = self.mid - self.rad > a, self.mid + self.rad < a
        half = 0.5 * self.mid  # the ball around m/2 that reaches m ± r and 0
        rad = enlarged(np.abs(half) + self.rad)
        return Balls(
            np.where(above, self.mid, np.where(below, 0.0, half)),
            np.where(above, self.rad, np.where(below, 0.0, rad)),
        )


_MOVES = (np.where, np.stack, np.take_along_axis, np.full_like, np.empty_like)


def _part(argument: Any, name: str) -> Any:
    if isinstance(argument, list):
        return [getattr(one, name) for one in argument]
    return getattr(argument, name) if isinstance(argument, Balls) else argument


def _smooth(of: Callable[[Array], Value], second: float) -> Callable[[Balls], Balls]:
    """Enclose a function whose |f″| is at most `second`: |f(x) - f(m)| ≤ (|f′(m)| + second·r)·r."""

    def over_balls(x: Balls) -> Balls:
        value, error, slope = of(x.mid)
        rad = x.rad * second
        rad += slope
        rad *= x.rad
        rad += error
        return Balls(value, enlarged(rad))

    return over_balls


class BallArithmetic(Float64):
    """Arithmetic on `Balls` with any number of leading (stacked) axes."""

    def numbers(self, array: Array) -> Any:
        """Make balls of radius 0; the radius is NaN where the number is not finite."""
        mid = array.astype(np.float64)
        return Balls(mid, mid - mid)

    def weight(self, matrix: Array) -> Any:
        """Transpose a matrix, exactly; also take its absolute values."""
        transpose = super().weight(matrix)
        assert transpose.shape[-2] <= MOST_PRODUCTS
        return transpose, np.abs(transpose)

    def product(self, x: Any, weight: Any) -> Any:
        """x·matrixᵀ."""
        matrix, absolute = weight
        mid = x.mid @ matrix
        rad = np.abs(x.mid)
        rad *= (matrix.shape[-2] + 1) * UNIT
        rad += x.rad
        rad += TINY
        rad = rad @ absolute
        rad += mid - mid  # not a number where a sum overflowed
        return Balls(mid, enlarged(rad))

    def activation(self, function: Any, a: Any, clip: Any) -> Any:
        """Apply the activation to `a`, clipped first; `function` may have an entry per stacked case."""
        if not np.isinf(clip).all():
            a = a.at_least(-clip).at_most(clip)
        return self.unclipped(function, a)

    def _of(self, one: Activation, a: Any) -> Any:
        return FUNCTIONS[one.name].value(self, a, one.alpha, one.beta)

    def blend(self, z: Any, t: Any, h: Any) -> Any:
        """Compute (1 - m)·t + m·h + (z - m)·(h - t), where m is the midpoint of z.

        In this form, only |h - t| multiplies the radius of z. The roundings of 1 - m, of both products
        and of their sum are at most 4 u (|(1 - m) t| + |m h|).
        """
        rest = 1.0 - z.mid
        first, second = rest * t.mid, z.mid * h.mid
        rad = np.abs(first)
        rad += np.abs(second)
        rad *= 4.0 * UNIT
        rad += np.abs(rest) * t.rad
        rad += np.abs(z.mid) * h.rad
        way = np.abs(h.mid - t.mid)
        way += h.rad
        way += t.rad
        way *= z.rad
        rad += way
        return Balls(first + second, enlarged(rad))

    def affine(self, v: Any, a: float, b: float) -> Any:
        """a·v + b."""
        return v.affine(a, b)

    def at_least(self, v: Any, low: float) -> Any:
        """max(v, low)."""
        return v.at_least(low)

    def at_most(self, v: Any, high: float) -> Any:
        """min(v, high)."""
        return v.at_most(high)

    def above(self, v: Any, a: float) -> Any:
        """v where v > a, else 0."""
        return v.above(a)

    sigmoid: Any = staticmethod(_smooth(elementary.sigmoid, 0.1))
    tanh: Any = staticmethod(_smooth(elementary.tanh, 0.77))
    expm1: Any = staticmethod(_smooth(elementary.expm1, 1.0))  # of v ≤ 0
    softplus: Any = staticmethod(_smooth(elementary.softplus, 0.25))
    softsign: Any = staticmethod(_smooth(elementary.softsign, 2.0))


def round_balls(balls: Balls, dtype: FloatType) -> tuple[Array, Array]:
    """Round balls to numbers of `dtype`, and say for which of them that is proven.

    Rounding is monotonic: if both ends of a ball round to one number, the whole ball does. The ends
    are computed in float64 and moved outwards by one number, which covers their own rounding. Zero
    is +0.
    """
    low = np.nextafter(balls.mid - balls.rad, -np.inf)
    high = np.nextafter(balls.mid + balls.rad, np.inf)
    least, most = dtype.nearest(low), dtype.nearest(high)
    decided = np.isfinite(low) & np.isfinite(high) & (least == most)
    return (most + 0.0).astype(dtype.numpy), decided
