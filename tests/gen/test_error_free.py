"""Error-free transformations, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from grucible.cases.dtypes import Array
from grucible.gen.exact.error_free import divide, quick_two_sum, slices, two_product, two_sum


def numbers(seed: int, exponents: float = 60.0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], 2000) * np.exp2(rng.uniform(-exponents, exponents, 2000))


def fractions(*arrays: Array) -> list[tuple[Fraction, ...]]:
    return list(zip(*(map(Fraction, array.tolist()) for array in arrays), strict=True))


def test_sums_and_products_lose_nothing() -> None:
    a, b = numbers(0), numbers(1)
    a[:500] = -b[:500] * (1.0 + 2.0**-50)
    for x, y, s, rest in fractions(a, b, *two_sum(a, b)):
        assert x + y == s + rest
    for x, y, p, rest in fractions(a, b, *two_product(a, b)):
        assert x * y == p + rest
    large = np.where(np.abs(a) >= np.abs(b), a, b)
    small = np.where(np.abs(a) >= np.abs(b), b, a)
    for x, y, s, rest in fractions(large, small, *quick_two_sum(large, small)):
        assert x + y == s + rest
    assert (two_sum(a, b)[0] == a + b).all()
    assert (two_product(a, b)[0] == a * b).all()


@pytest.mark.parametrize("terms", [1, 2, 7, 64, 1000])
def test_products_of_slices_are_exact_in_any_order(terms: int) -> None:
    rng = np.random.default_rng(terms)
    x = rng.uniform(-2.0, 2.0, (3, terms)) * np.exp2(rng.choice([0.0, -20.0, -300.0], (3, terms)))
    x[0] = 2.0 - 2.0**-52  # the largest of its binade
    w = rng.uniform(-1.0, 1.0, (terms, 2))
    w[:, 0] = -1.0 + 2.0**-53
    xs, ws = slices(x, -1, terms), slices(w, 0, terms)
    np.testing.assert_array_equal(xs[0] + xs[1] + xs[2], x)
    for x_part, w_part in ((0, 0), (0, 1), (1, 0)):
        for order in (slice(None), slice(None, None, -1)):
            found = xs[x_part][:, order] @ ws[w_part][order]
            for row in range(3):
                for column in range(2):
                    exact = sum(p * q for p, q in fractions(xs[x_part][row], ws[w_part][:, column]))
                    assert found[row, column] == exact
    for parts in (xs, ws):
        size = 2.0 * max(np.abs(parts[0]).max(), 1.0)
        assert (np.abs(parts[2]) <= size * 2.0 ** (1 - 2 * ((53 - terms.bit_length()) // 2))).all()


def test_quotients_are_within_their_bound() -> None:
    rng = np.random.default_rng(3)
    d = 1.0 + rng.uniform(0.0, 1.0, 2000)
    n = d * rng.uniform(-1.0, 1.0, 2000) * rng.choice([1.0, 1e-9, 0.0], 2000)
    n_rest, d_rest = (rng.uniform(-1.0, 1.0, 2000) * 2.0**-43 for _ in range(2))
    for n0, n1, d0, d1, q, rest in fractions(
        n, n_rest, d, d_rest, *divide((n, n_rest), (d, d_rest))
    ):
        assert abs(q + rest - (n0 + n1) / (d0 + d1)) < Fraction(2) ** -84
    n_rest *= n
    for n0, n1, d0, d1, q, rest in fractions(
        n, n_rest, d, d_rest, *divide((n, n_rest), (d, d_rest))
    ):
        exact = (n0 + n1) / (d0 + d1)
        assert abs(q + rest - exact) <= abs(exact) * Fraction(2) ** -84
