"""Elementary functions in float64 with proven error bounds, over numpy arrays.

The bounds rest on IEEE 754 alone: +, -, * and / round to nearest, to within a relative u = 2^-53.
numpy's own exp and tanh, whose accuracy nothing guarantees, are not used.

The exponential of x ≤ 0 is made from a table (Tang 1989). With k the integer nearest to
128 x / ln 2 and r = x - k ln 2 / 128,

    e^x = 2^⌊k/128⌋ · T · e^r,    T = 2^((k mod 128)/128) from the table,    e^r ≈ 1 + p(r).

Smaller x are taken for -700 (see below), so |k| < 2^17. The quotient that k is rounded from is within
2^-35, so |r| ≤ (½ + 2^-35) ln 2 / 128 < 0.00271.
The error of e^x:

- ln 2 is the sum of two numbers. The first has 32 bits: its product with k is exact. The second is
  below 2^-32, with an error of 2^-86. The two differences round to within 0.00271 u each, the product
  k·low to 2^-22 u, and the error of ln 2 counts for 2^-76 = 2^-23 u: r is within 0.006 u, and e^r too,
  relatively.
- p is Taylor's polynomial of degree 5: the rest is at most |r|^6/720 · e^|r| < 0.006 u.
- Horner's last two operations round p to within 2 u |p|. With 0.1 u |p| for the earlier operations
  that is below 0.006 u: each of them counts for less by a factor |r|.
- T is the number nearest to its value, within u; T·p rounds to within 0.003 u T; their sum to
  within u. The power of two is exact: the result is above 2^-1011.

Together less than 2.1 u of the result; EXP_ERROR allows 3 u. x below -700 is taken for -700: there
both e^x and the result are positive and below TINY.
"""

from __future__ import annotations

from typing import NamedTuple

import flint
import numpy as np

from ...cases.dtypes import Array

UNIT = 2.0**-53
EXP_ERROR = 3.0 * UNIT
TINY = 2.0**-1000

_LEAST = -700.0
_PARTS = 128
_PER_ONE = 184.6649652337873  # 128 / ln 2; its error only moves the choice of k
_LN2_HIGH = float.fromhex("0x1.62e42feep-1") / _PARTS
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33") / _PARTS
_ATANH = tuple(1.0 / (2 * k + 1) for k in range(16))


def _table() -> Array:
    with flint.ctx.workprec(128):
        powers = [flint.arb(2) ** (flint.arb(j) / _PARTS) for j in range(_PARTS)]
        return np.array([float(power.mid()) for power in powers])


_TABLE = _table()


class Value(NamedTuple):
    """A function f at numbers x: |value - f(x)| ≤ error, and |f′(x)| ≤ slope.

    All are float64 arrays of the shape of x.
    """

    value: Array
    error: Array
    slope: Array


def exp(x: Array) -> Array:
    """e^x for x ≤ 0, to within EXP_ERROR times the result, plus TINY; see the module."""
    x = np.maximum(x, _LEAST)
    k = np.rint(x * _PER_ONE)
    r = x - k * _LN2_HIGH
    r -= k * _LN2_LOW
    p = r * (1.0 / 120.0)
    for coefficient in (1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0):
        p += coefficient
        p *= r
    n = k.astype(np.int64)
    t = _TABLE[n % _PARTS]
    p *= t
    p += t
    result: Array = np.ldexp(p, n // _PARTS)
    return result


def sigmoid(v: Array) -> Value:
    """1/(1 + e^-v), as 1/(1 + e) or e/(1 + e) with e = e^-|v|.

    In this form no exponential is large.

    Relative errors: of e 3 u, of 1 + e (u + 3 u e/(1 + e)), of the quotient u: 5 u at most where
    the numerator is e (the errors of e partly cancel), 3.5 u where it is 1. The slope is s·(1 - s):
    with the errors of s (5 u s), of the difference and the product, within 2^-49.
    """
    e = exp(-np.abs(v))
    s = np.where(v < 0.0, e, 1.0)
    s /= e + 1.0
    error = s * (6.0 * UNIT)
    error += TINY
    return Value(s, error, s * (1.0 - s) + 2.0**-49)


def tanh(v: Array) -> Value:
    """tanh, as ±(1 - e)/(1 + e) with e = e^-2|v|.

    1 - e is within 3 u e + u (1 - e), 1 + e within a relative u + 3 u e/(1 + e), and the quotient
    rounds to within u: the error is at most 3 u · 2 e/(1 + e)² + 3 u |t| ≤ 4.5 u. The slope is
    1 - t², within 2^-49.
    """
    e = exp(-2.0 * np.abs(v))
    t = 1.0 - e
    t /= e + 1.0
    slope = 1.0 - t * t
    slope += 2.0**-49
    return Value(np.copysign(t, v), np.full_like(t, 5.0 * UNIT), slope)


def expm1(v: Array) -> Value:
    """e^v - 1 of v ≤ 0: within 3 u e and the difference's u."""
    e = exp(v)
    return Value(e - 1.0, e * (4.0 * UNIT) + 2.0 * UNIT, e * (1.0 + 2.0**-49) + TINY)


def softplus(v: Array) -> Value:
    """log(1 + e^v) = max(v, 0) + log(1 + e), with e = e^-|v|.

    log(1 + e) = 2 artanh(s), s = e/(2 + e).

    s ≤ 1/3 is within a relative 5 u (3 u of e, u of 2 + e, u of the quotient), and artanh s within
    1.09 times that. Of the series s·(1 + s²/3 + s⁴/5 + …) 16 terms are taken: the rest is below
    (1/9)^16 · 9/8 / 33 < 0.2 u, relatively. The sum in brackets is below 1.04, and what is added
    to its 1 below 0.04: it rounds by less than 1.2 u. The product with 2 s adds u: less
    than 8 u of the logarithm in all. The result adds u of itself. The slope is the sigmoid.
    """
    e = exp(-np.abs(v))
    s = e / (e + 2.0)
    square = s * s
    series = np.full_like(s, _ATANH[-1])
    for coefficient in _ATANH[-2::-1]:
        series *= square
        series += coefficient
    logarithm = 2.0 * s * series
    value = np.maximum(v, 0.0) + logarithm
    slope = np.where(v < 0.0, e, 1.0) / (e + 1.0)
    error = logarithm * (9.0 * UNIT) + value * (2.0 * UNIT) + TINY
    return Value(value, error, slope * (1.0 + 2.0**-49) + TINY)


def softsign(v: Array) -> Value:
    """v/(1 + |v|): two roundings. The slope is 1/(1 + |v|)²."""
    whole = 1.0 + np.abs(v)
    value = v / whole
    return Value(
        value, np.abs(value) * (3.0 * UNIT) + TINY, (1.0 + 2.0**-49) / (whole * whole) + TINY
    )
