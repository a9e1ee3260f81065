"""The GRU over balls whose midpoints are sums of two float64 numbers (double-double).

As in `balls`, but each operation's rounding is found by error-free transformations and kept in the
second number, so that radii are about 2^-80 instead of 2^-52: enough for outputs in float64. Nothing
rests on the second number being small against the first; only the width of the balls does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cases.dtypes import Array, FloatType
from . import wide_elementary
from .balls import BallArithmetic, Balls, enlarged, round_balls
from .bundle import Bundle
from .elementary import TINY, UNIT
from .error_free import slices, two_product, two_sum
from .wide_elementary import Value


@dataclass(frozen=True, slots=True, eq=False)
class WideBalls(Bundle):
    """An array of balls around high + low: float64 arrays of one shape."""

    high: Array
    low: Array
    rad: Array

    @property
    def parts(self) -> tuple[Array, ...]:
        """The arrays."""
        return self.high, self.low, self.rad

    def __add__(self, other: WideBalls) -> WideBalls:
        high, rest = two_sum(self.high, other.high)
        lows = self.low + other.low
        low = lows + rest
        rad = np.abs(lows)
        rad += np.abs(low)
        rad *= UNIT
        rad += self.rad
        rad += other.rad
        return WideBalls(high, low, enlarged(rad))

    def __mul__(self, other: WideBalls) -> WideBalls:
        # the low part is a sum of three, each from at most two roundings, by two additions
        high, low = two_product(self.high, other.high)
        one, two = self.high * other.low, self.low * (other.high + other.low)
        rad = np.abs(low)
        rad += np.abs(one)
        rad += np.abs(two)
        rad *= 4.0 * UNIT
        low += one
        low += two
        rad += (np.abs(self.high) + np.abs(self.low)) * other.rad
        rad += (np.abs(other.high) + np.abs(other.low) + other.rad) * self.rad
        return WideBalls(high, low, enlarged(rad))

    def affine(self, a: float, b: float) -> WideBalls:
        """a·x + b."""
        product = self * _exact(np.full(1, a))
        return product + _exact(np.full(1, b)) if b else product

    def at_least(self, low: Array | float) -> WideBalls:
        """max(x, low): exactly `low` where all of x is below it."""
        return self._kept(1.0, low, 0.0)

    def at_most(self, high: Array | float) -> WideBalls:
        """min(x, high): exactly `high` where all of x is above it."""
        return self._kept(-1.0, high, 0.0)

    def above(self, a: float) -> WideBalls:
        """x where x > a, else 0; nothing is known of a ball that may be both."""
        kept = self._kept(1.0, a, np.inf)
        return WideBalls(np.where(kept.high == a, 0.0, kept.high), kept.low, kept.rad)

    def _kept(self, side: float, limit: Array | float, within: float) -> WideBalls:
        """x where it is surely above (side 1) or below (-1) the limit, and else the limit, with a
        radius of what x may be beyond it, and `within`, where that is in doubt."""
        way = side * (self.high - limit)
        reach = np.abs(self.low)
        reach += self.rad
        reach *= 1.0 + 2.0**-30  # more than it and the difference round by
        keep, drop = way > reach, way < -reach
        doubt = enlarged(np.abs(way) + reach + within)
        return WideBalls(
            np.where(keep, self.high, limit),
            np.where(keep, self.low, 0.0),
            np.where(keep, self.rad, np.where(drop, 0.0, doubt)),
        )


def _exact(high: Array) -> WideBalls:
    """Numbers; not a number as a radius where one is not finite."""
    zero = high - high
    return WideBalls(high, zero, zero)


def _smooth(of: Callable[[Array, Array], Value], second: float) -> Callable[[WideBalls], WideBalls]:
    """A function whose |f″| is at most `second`; as in `balls`."""

    def over_balls(x: WideBalls) -> WideBalls:
        value, rest, error, slope = of(*two_sum(x.high, x.low))
        rad = x.rad * second
        rad += slope
        rad *= x.rad
        rad += error
        return WideBalls(value, rest, enlarged(rad))

    return over_balls


_SIGMOID, _TANH = _smooth(wide_elementary.sigmoid, 0.1), _smooth(wide_elementary.tanh, 0.77)
_EXPM1, _SOFTSIGN = _smooth(wide_elementary.expm1, 1.0), _smooth(wide_elementary.softsign, 2.0)


class WideBallArithmetic(BallArithmetic):
    """Arithmetic on `WideBalls` with any number of leading (stacked) axes."""

    def numbers(self, array: Array) -> Any:
        """The numbers as they are: balls of radius 0; not a number where one is not finite."""
        return _exact(array.astype(np.float64))

    def weight(self, matrix: Array) -> Any:
        """The slices of the transpose, as `product` needs them."""
        whole, absolute = super().weight(matrix)
        first, second, _ = slices(whole, -2, whole.shape[-2])
        later = whole - first
        rest = np.concatenate([later - second, later, whole, whole], axis=-2)
        return np.concatenate([first, second], axis=-1), rest, np.abs(rest), absolute

    def product(self, x: Any, weight: Any) -> Any:
        """x·matrixᵀ. With the slices x₁ + x₂ + x₃ and w₁ + w₂ + w₃ the products x₁w₁, x₁w₂ and x₂w₁
        are exact; x₁w₃ + x₂(w₂ + w₃) + x₃w + low·w, one product of four times as many terms, is small.
        """
        exact, rest, absolute, _ = weight
        n, m = x.shape[-1], exact.shape[-1] // 2
        first, second, third = slices(x.high, -1, n)
        sums = first @ exact
        high, low = two_sum(sums[..., :m], sums[..., m:])
        high, more = two_sum(high, second @ exact[..., :m])
        low += more
        left = np.concatenate([first, second, third, x.low], axis=-1)
        small = left @ rest
        left = np.abs(left)
        left *= (4 * n + 1) * UNIT
        left[..., 3 * n :] += x.rad
        left += TINY
        rad = left @ absolute
        # where a sum overflowed, low is not a number
        rad += (np.abs(low) + np.abs(small)) * (3.0 * UNIT)
        low += small
        return WideBalls(high, low, enlarged(rad))

    def blend(self, z: Any, t: Any, h: Any) -> Any:
        """(1 - m)·t + m·h + (z - m)·(h - t), m the midpoint of z."""
        m = WideBalls(z.high, z.low, np.zeros_like(z.rad))
        rest = _exact(np.ones_like(z.high)) + WideBalls(-z.high, -z.low, m.rad)
        blended = rest * t + m * h
        way = np.abs(h.high - t.high) + np.abs(h.low) + np.abs(t.low) + h.rad + t.rad
        return WideBalls(blended.high, blended.low, enlarged(z.rad * way + blended.rad))

    def sigmoid(self, v: Any) -> Any:
        """1/(1 + e^-v)."""
        return _SIGMOID(v)

    def tanh(self, v: Any) -> Any:
        """The hyperbolic tangent."""
        return _TANH(v)

    def expm1(self, v: Any) -> Any:
        """e^v - 1, of v ≤ 0."""
        return _EXPM1(v)

    def softplus(self, v: Any) -> Any:
        """Nothing is known of log(1 + e^v): no logarithm to 80 bits is worth its lines."""
        return WideBalls(v.high, v.low, np.full_like(v.rad, np.inf))

    def softsign(self, v: Any) -> Any:
        """v/(1 + |v|)."""
        return _SOFTSIGN(v)


def round_wide_balls(balls: WideBalls, dtype: FloatType) -> tuple[Array, Array]:
    """The numbers of `dtype` that balls round to, and for which of them that is proven.

    For float64: an addition rounds the sum of the high part and an end of the rest once, and rounding
    is monotonic. An end is moved outwards by one number, which covers its own rounding.
    """
    if dtype.name != "float64":
        high, rest = two_sum(balls.high, balls.low)
        return round_balls(Balls(high, enlarged(np.abs(rest) + balls.rad)), dtype)
    point = balls.rad == 0.0
    least = np.where(point, balls.low, np.nextafter(balls.low - balls.rad, -np.inf))
    most = np.where(point, balls.low, np.nextafter(balls.low + balls.rad, np.inf))
    values = balls.high + most + 0.0  # zero is +0
    return values, np.isfinite(values) & (balls.high + least == values)
