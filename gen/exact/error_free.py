"""Operations on float64 arrays whose rounding is known exactly, and sums of two such numbers.

The transformations are Møller's and Knuth's (two_sum), Dekker's (quick_two_sum, two_product), and
hold in IEEE 754 arithmetic that rounds to nearest, if nothing overflows: there the second result is
not a number. A product that underflows is off by less than 2^-1070.
"""

from __future__ import annotations

import numpy as np

from ...cases.dtypes import Array


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """s = a + b rounded, and a + b - s, exactly."""
    s = a + b
    t = s - a
    rest = a - (s - t)
    rest += b - t
    return s, rest


def quick_two_sum(a: Array | float, b: Array) -> tuple[Array, Array]:
    """`two_sum` where |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """p = a·b rounded, and a·b - p, exactly."""
    p = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = a_high * b_high
    rest -= p
    rest += a_high * b_low
    rest += a_low * b_high
    rest += a_low * b_low
    return p, rest


def _halves(a: Array) -> tuple[Array, Array]:
    """a as a sum of two numbers of at most 26 bits (Veltkamp)."""
    c = a * (2.0**27 + 1.0)
    high = c - (c - a)
    return high, a - high


def to_single(a: Array) -> Array:
    """Rounded to 24 bits, as float32 has them: a less that is exact, and at most 2^-24 |a|, or 2^-150."""
    return a.astype(np.float32).astype(np.float64)


def slices(x: Array, axis: int, terms: int) -> tuple[Array, Array, Array]:
    """x as an exact sum of three, so that sums of products of the first two are exact.

    Along `axis`, of which 2^e exceeds every element, the first slice holds multiples of 2^(e+1-β),
    and the second of 2^(e+1-2β), each at most 2^(β-1) of them; the third is what is left, below
    2^(e+1-2β). A sum of as many products of such slices of two arrays as `terms` says is then a
    whole number below terms · 2^(2β-2) < 2^53 of some unit, and so is every partial sum: exact in
    any order.
    """
    bits = (53 - terms.bit_length()) // 2
    _, exponent = np.frexp(np.abs(x).max(axis=axis, keepdims=True, initial=0.0))
    # with 1.5 · 2^n added, numbers below 2^(n-1) round to multiples of 2^(n-52)
    shift = np.ldexp(1.5, exponent + (53 - bits))
    first = (x + shift) - shift
    rest = x - first
    shift = np.ldexp(1.5, exponent + (53 - 2 * bits))
    second = (rest + shift) - shift
    return first, second, rest - second


def divide(n: tuple[Array, Array], d: tuple[Array, Array]) -> tuple[Array, Array]:
    """The quotient of sums of two numbers each, as such a sum.

    With |n| ≤ |d₀| and the second of each below 2^-43 |d₀| (n = n₀ + n₁, d = d₀ + d₁) the error is
    below 2^-84: n - q d is below 2^-42 |d₀| and computed within 2^-94, as n₀ less the product is exact;
    it is divided by d₀ instead of d, which counts for less than 2^-42 · 2^-43, and rounds by 2^-95. Where
    |n₁| is below 2^-43 |n₀|, all of this is relative to n/d.
    """
    q = n[0] / d[0]
    product, rest = two_product(q, d[0])
    left = n[0] - product
    left -= rest
    left += n[1]
    left -= q * d[1]
    left /= d[0]
    return q, left
