"""Elementary functions of sums of two float64 numbers, with proven error bounds.

As in `elementary`, with u = 2^-53, but to about 80 bits. An argument is h + l with |l| ≤ u |h|, and
so is a result. For the exponential of h ≤ 0, with k the integer nearest to 512 h / ln 2,

    h + l - k ln 2 / 512 = r + s,    e^(h + l) = 2^⌊k/512⌋ · T · e^r · e^s,

where r is a float64 number below 2^-10.5 in magnitude (|k| < 2^19 is chosen to within 2^-33), and s is
below 2^-43.

- ln 2 is A + B + C with k·A and k·B exact, of 32 and 33 bits, and C below 2^-65. h - k·A is exact: it
  is below 2^-10, and a multiple of 2^-63, as |h| ≥ 2^-11 where k is not 0. With two_sum r and its
  rest are, too. s is the rest, less k·C, and l; it is within 2^-96.
- e^r = 1 + a + c + small, where a is r to 24 bits, c is a²/2 to 24 bits, and small, below 2^-33,
  what is left of both, the product of a + r and r - a, halved, and r³/6 + … + r^6/720. This cube and
  its sum are within 2^-83.3: 5 u 2^-34.1 of the cube, 3 u 2^-33 of the sums, and r^7/5040 < 2^-85.8.
- T = 2^((k mod 512)/512) is a number of 29 bits and a rest below 2^-29 with an error of 2^-83. The
  products of the first with a and c are exact, and so is their sum, by quick_two_sum, as long as
  its parts are kept. What is added to the rest of these rounds to within 2^-82, once: the rest of
  T is the only part not below 2^-32. Other products round by less than 2^-86.
- e^s is 1 + s within 2^-87.

Together less than 2^-80.7 of the result; EXP_ERROR allows 2^-80. h below -700 is taken for -700.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import flint
import numpy as np

from ...cases.dtypes import Array
from .elementary import TINY
from .error_free import divide, quick_two_sum, to_single, two_sum

EXP_ERROR = 2.0**-80

_LEAST = -700.0
_PARTS = 512
_PER_ONE = 738.6598609351493  # 512 / ln 2; its error only moves the choice of k
_LN2_A = float.fromhex("0x1.62e42feep-1") / _PARTS
_LN2_B = float.fromhex("0x1.a39ef357p-33") / _PARTS
_LN2_C = float.fromhex("0x1.278ece600fcbep-66") / _PARTS
_SLOPE = 2.0**-40
"""More than what slopes lack, computed from the first part of a value, within 2^-42, in float64."""


class Value(NamedTuple):
    """A function f at x = h + l: |value + rest - f(x)| ≤ error, and |f′(x)| ≤ slope."""

    value: Array
    rest: Array
    error: Array | float
    slope: Array


@cache
def _table() -> tuple[Array, Array]:
    with flint.ctx.workprec(200):
        powers = [flint.arb(2) ** (flint.arb(j) / _PARTS) for j in range(_PARTS)]
        highs = [round(float(power.mid()) * 2**28) / 2**28 for power in powers]
        lows = [float((power - high).mid()) for power, high in zip(powers, highs, strict=True)]
    return np.array(highs), np.array(lows)


def exp(h: Array, rest: Array) -> tuple[Array, Array]:
    """e^(h + rest) of h ≤ 0, to within EXP_ERROR of itself, and TINY; see the module.

    The second part is below 2^-43 of the first.
    """
    rest = np.where(h < _LEAST, 0.0, rest)
    h = np.maximum(h, _LEAST)
    k = np.rint(h * _PER_ONE)
    r, s = two_sum(h - k * _LN2_A, k * -_LN2_B)
    s -= k * _LN2_C
    s += rest
    a = to_single(r)
    square = 0.5 * (a * a)
    c = to_single(square)
    small = _small(r, a)
    small += square - c
    n = k.astype(np.int64)
    part = n % _PARTS
    n //= _PARTS
    high, low = (table[part] for table in _table())
    first, rest = quick_two_sum(high, high * a)
    first, more = quick_two_sum(first, high * c)
    rest += more
    rest += high * small
    small += a + c
    small *= low
    rest += small
    rest += low
    first, rest = quick_two_sum(first, rest)
    s *= first
    rest += s
    return np.ldexp(first, n), np.ldexp(rest, n)


def _small(r: Array, a: Array) -> Array:
    """r - a, what it adds to a²/2, and r³/6 + r⁴/24 + r⁵/120 + r⁶/720."""
    b = r - a
    small: Array = (a + r) * b
    small *= 0.5
    cube = r * (1.0 / 720.0)
    for coefficient in (1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0):
        cube += coefficient
        cube *= r
    cube *= r
    cube *= r
    small += cube
    small += b
    return small


def sigmoid(h: Array, rest: Array) -> Value:
    """e/(1 + e) or 1/(1 + e) with e = e^-|v|: a relative 2^-80 of e, and 2^-84 of the quotient."""
    negative = h < 0.0
    e, e_rest = exp(-np.abs(h), np.where(negative, rest, -rest))
    whole, whole_rest = quick_two_sum(1.0, e)
    whole_rest += e_rest
    over = np.where(negative, e, 1.0), np.where(negative, e_rest, 0.0)
    value, value_rest = divide(over, (whole, whole_rest))
    return Value(value, value_rest, value * 2.0**-79 + TINY, value * (1.0 - value) + _SLOPE)


def tanh(h: Array, rest: Array) -> Value:
    """±(1 - e)/(1 + e) with e = e^-2|v|: 2^-80 · 2 e/(1 + e)² ≤ 2^-81 of e, and 2^-84."""
    negative = h < 0.0
    e, e_rest = exp(-2.0 * np.abs(h), 2.0 * np.where(negative, rest, -rest))
    whole, whole_rest = quick_two_sum(1.0, e)
    whole_rest += e_rest
    over, over_rest = quick_two_sum(1.0, -e)
    over_rest -= e_rest
    value, value_rest = divide((over, over_rest), (whole, whole_rest))
    sign = np.where(negative, -1.0, 1.0)
    return Value(sign * value, sign * value_rest, 2.0**-80, 1.0 - value * value + _SLOPE)


def expm1(h: Array, rest: Array) -> Value:
    """e^v - 1 of v ≤ 0: 2^-80 of e, and 2^-94 of the sum of the rests, which are below 2^-42."""
    e, e_rest = exp(h, rest)
    value, value_rest = quick_two_sum(-1.0, e)
    value_rest += e_rest
    return Value(value, value_rest, e * EXP_ERROR + 2.0**-94, e + _SLOPE)


def softsign(h: Array, rest: Array) -> Value:
    """v/(1 + |v|): 2^-84 of the quotient, and 2^-104 of 1 + |v|."""
    whole, whole_rest = two_sum(np.ones_like(h), np.abs(h))
    whole_rest += np.where(h < 0.0, -rest, rest)
    value, value_rest = divide((h, rest), (whole, whole_rest))
    slope = 1.0 - np.abs(value)
    return Value(value, value_rest, np.abs(value) * 2.0**-83 + TINY, slope * slope + _SLOPE)
