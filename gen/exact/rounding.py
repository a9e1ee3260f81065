"""Rounding Arb's balls once: a number is proven where every point of a ball rounds to it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb

from ...cases.dtypes import Array, FloatType

_HALF = arb(0.5)


class Undecided(Exception):
    """An output is too close to the middle between two numbers of its dtype to be rounded."""


def round_ball(ball: arb, dtype: FloatType) -> float:
    """Find the number of `dtype` that every point of `ball` rounds to, ties to even, as a double.

    Zero is +0; overflow gives infinity. Raises Undecided where the ball's points round to
    different numbers. The rounding is of integers: with 2^e the spacing of `dtype` around the
    ball, floor(y + ½) and ceil(y - ½) of y = ball / 2^e agree on one integer exactly where all of
    y is nearer to it than to any other.
    """
    if not ball.is_finite():
        return _round_special(ball)
    if ball.is_zero():
        return 0.0
    top = math.frexp(dtype.largest)[1]  # every |v| >= 2^top overflows
    if ball.abs_lower() >= _power_of_two(top):
        return math.inf if ball > 0 else -math.inf
    approximate = float(ball.mid())
    if approximate == 0.0:
        exponent = dtype.least_exponent
    else:
        height = top if math.isinf(approximate) else math.frexp(approximate)[1]
        exponent = max(height - dtype.precision, dtype.least_exponent)
    n = _nearest_integer(ball, exponent)
    power = 1 << (dtype.precision - 1)
    if (
        abs(n) == power
        and exponent > dtype.least_exponent
        and ball.abs_lower() < power * _power_of_two(exponent)
    ):
        # the ball reaches below a power of two, where the spacing is half as wide
        exponent -= 1
        n = _nearest_integer(ball, exponent)
        if abs(n) != 2 * power:
            raise Undecided
    if exponent + n.bit_length() > top:
        return math.copysign(math.inf, n)
    return math.ldexp(n, exponent) if n else 0.0


def _nearest_integer(ball: arb, exponent: int) -> int:
    y = ball * _power_of_two(-exponent)
    up, down = (y + _HALF).floor().unique_fmpz(), (y - _HALF).ceil().unique_fmpz()
    if up is None or down is None:
        raise Undecided
    if up == down:
        return int(up)
    if not ball.is_exact():
        raise Undecided
    return int(up) if up % 2 == 0 else int(down)  # an exact tie


@lru_cache(maxsize=4096)
def _power_of_two(exponent: int) -> arb:
    return arb(2) ** exponent


def _round_special(ball: arb) -> float:
    if ball.is_nan():
        return math.nan
    if ball.rad().is_finite() and not ball.mid().is_finite():
        return math.inf if ball > 0 else -math.inf
    raise Undecided


def round_array(balls: Array, dtype: FloatType) -> Array:
    """`round_ball` of every element, as an array of the dtype."""
    flat = balls.ravel().tolist()
    if dtype.name == "float64":
        values, decided = _round_to_float64(flat)
        for at in np.flatnonzero(~decided):
            values[at] = round_ball(flat[at], dtype)
    else:
        values = np.array([round_ball(ball, dtype) for ball in flat], np.float64)
    return values.reshape(balls.shape).astype(dtype.numpy)  # exact


def _round_to_float64(balls: list[arb]) -> tuple[Array, Array]:
    """float64 numbers, and which of them are proven to be what `round_ball` gives.

    A ball is between the sums of a near float64 number and the two ends of what is left. An addition
    in float64 rounds its exact sum once: where both sums round alike, all between them does.
    """
    near = [float(ball) for ball in balls]
    rest = [ball - value for ball, value in zip(balls, near, strict=True)]
    low = np.nextafter([float(ball.lower()) for ball in rest], -np.inf)  # float() may round inwards
    high = np.nextafter([float(ball.upper()) for ball in rest], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Array = near + high + 0.0  # zero is +0
        return values, np.isfinite(values) & (near + low == values)
