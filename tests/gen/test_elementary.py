"""The error bounds of the functions in float64, against Arb and mpmath."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb

from grucible.cases.dtypes import Array
from grucible.gen.exact import elementary
from grucible.gen.exact.elementary import EXP_ERROR, TINY, UNIT, Value

BITS = 200
STEP = float(np.log(2)) / 128  # between two values of k in the reduction


def arguments(most: float) -> Array:
    """Numbers of both signs up to `most`: dense, random, tiny, huge, and where k and n change."""
    rng = np.random.default_rng(0)
    halves = (np.arange(0, 3000) + 0.5) * STEP
    whole = np.arange(0, 1030) * 128 * STEP
    near = [f(at) for at in (halves, whole) for f in (_below, _above, np.asarray)]
    tiny = np.array([0.0, 5e-324, 2.0**-1022, 2.0**-60, 2.0**-54, 2.0**-53, 2.0**-27, 1e-300])
    huge = np.array([699.9, 700.0, _above(700.0), 708.0, 745.2, 1e4, 1e300])
    found = np.concatenate(
        [
            *near, tiny, huge, np.linspace(0.0, 3.0, 3000), rng.uniform(0.0, 50.0, 3000),
            np.exp2(rng.uniform(-60.0, 9.5, 3000)),
        ]
    )  # fmt: skip
    found = found[found <= most]
    return np.concatenate([-found, found])


def _below(x: Array | float) -> Array:
    return np.nextafter(x, -np.inf)


def _above(x: Array | float) -> Array:
    return np.nextafter(x, np.inf)


def worst(values: Array, x: Array, of: Callable[[arb], arb], allowed: Array) -> float:
    """The largest |value - f(x)| by its allowance, where that is more than TINY; all are asserted."""
    most = arb(0)
    with flint.ctx.workprec(BITS):
        for value, at, most_error in zip(
            values.tolist(), x.tolist(), allowed.tolist(), strict=True
        ):
            error = abs(arb(value) - of(arb(at)))
            assert error <= most_error, (at, value)
            if most_error > 2 * TINY:
                most = most.max(error / most_error)
        return float(most.mid())


def test_exp_is_within_its_bound_and_the_bound_is_near() -> None:
    x = arguments(800.0)
    x = x[x <= 0]
    found = elementary.exp(x)
    share = worst(found, x, arb.exp, EXP_ERROR * found + TINY)
    assert 0.4 < share < 0.75  # 2.1 of the 3 units were derived


def test_the_parts_of_the_logarithm_of_two() -> None:
    high, low = Fraction(elementary._LN2_HIGH), Fraction(elementary._LN2_LOW)
    assert (high * 128 * 2**33).denominator == 1  # 32 bits: products with |k| < 2^17 are exact
    with flint.ctx.workprec(BITS):
        error = arb.const_log2() - 128 * arb(elementary._LN2_HIGH) - 128 * arb(elementary._LN2_LOW)
        assert abs(error) < arb(2) ** -86
        assert abs(arb(elementary._PER_ONE) * arb.const_log2() / 128 - 1) < arb(2) ** -52
    assert abs(low * 128) < Fraction(1, 2**32)


def test_the_table_has_the_nearest_numbers() -> None:
    with flint.ctx.workprec(BITS):
        for j, power in enumerate(elementary._TABLE.tolist()):
            assert abs(arb(power) ** 128 / arb(2) ** j - 1) < 128 * UNIT * 1.0001


def _sigmoid(v: arb) -> arb:
    return 1 / (1 + (-v).exp())


def _softplus(v: arb) -> arb:
    return v.exp().log1p() if v < 0 else v + (-v).exp().log1p()


# the function, its derivative, the arguments it is for
FUNCTIONS: dict[str, tuple[Callable[[arb], arb], Callable[[arb], arb], float]] = {
    "sigmoid": (_sigmoid, lambda v: _sigmoid(v) * _sigmoid(-v), np.inf),
    "tanh": (arb.tanh, lambda v: 1 - v.tanh() ** 2, np.inf),
    "expm1": (arb.expm1, arb.exp, 0.0),
    "softplus": (_softplus, _sigmoid, np.inf),
    "softsign": (lambda v: v / (1 + abs(v)), lambda v: (1 + abs(v)) ** -2, np.inf),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_errors_and_slopes(name: str) -> None:
    of, slope, most = FUNCTIONS[name]
    x = arguments(1e9)
    x = x[x <= most]
    found: Value = getattr(elementary, name)(x)
    assert worst(found.value, x, of, found.error) > 0.25  # no bound is idle
    with flint.ctx.workprec(BITS):
        for steep, at in zip(found.slope.tolist(), x.tolist(), strict=True):
            assert slope(arb(at)) <= steep, at
    exact = np.array([float(slope(arb(at))) for at in x.tolist()])
    assert (found.slope <= exact * (1 + 1e-9) + 1e-14).all()
