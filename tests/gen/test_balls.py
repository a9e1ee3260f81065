"""Balls of float64 numbers, plain and wide: what they enclose, and that they claim no more."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb, fmpq

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators.activations import FUNCTIONS, Activation
from grucible.gen.exact import enclosures as exact
from grucible.gen.exact.balls import BallArithmetic, Balls, round_balls
from grucible.gen.exact.wide_balls import WideBallArithmetic, WideBalls, round_wide_balls

NARROW = ["float16", "bfloat16", "float32"]
BITS = 2400  # points next to 0 are exact
KINDS: dict[type[Any], Any] = {Balls: BallArithmetic(), WideBalls: WideBallArithmetic()}
UNITS = {Balls: 2.0**-53, WideBalls: 2.0**-81}
"""What an operation may round by, relatively."""
ROUND: dict[type[Any], Any] = {Balls: round_balls, WideBalls: round_wide_balls}
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def random_balls(kind: type[Any], seed: int, shape: tuple[int, ...]) -> Any:
    """Balls of many sizes: midpoints of order one and others, radii none, small and large."""
    rng = np.random.default_rng(seed)
    mid = rng.uniform(-2.0, 2.0, shape) * np.exp2(rng.choice([0, 0, 0, -30, 5], shape))
    rad = np.exp2(rng.uniform(-90.0, -1.0, shape)) * rng.choice([0.0, 1.0, 1.0], shape)
    if kind is Balls:
        return Balls(mid, rad)
    low = mid * rng.uniform(-1.0, 1.0, shape) * np.exp2(rng.choice([-53.0, -53.0, -40.0], shape))
    return WideBalls(mid, low, rad)


def around(kind: type[Any], mid: Any, rad: Any) -> Any:
    """Balls around float64 numbers."""
    mid, rad = np.asarray(mid, np.float64), np.asarray(rad, np.float64)
    return Balls(mid, rad) if kind is Balls else WideBalls(mid, 0.0 * mid, rad)


def joined(*balls: Any) -> Any:
    """Balls one after the other."""
    parts = zip(*(one.parts for one in balls), strict=True)
    return type(balls[0])(*(np.concatenate(part) for part in parts))


def middles(balls: Any) -> list[Fraction]:
    """The exact midpoints."""
    parts = zip(*(part.ravel().tolist() for part in balls.parts[:-1]), strict=True)
    return [sum(map(Fraction, one), Fraction(0)) for one in parts]


def points(balls: Any, seed: int) -> list[Fraction]:
    """A point of each ball, often an end."""
    rng = random.Random(seed)
    return [
        m + Fraction(r) * Fraction(rng.choice([-100, 100, 0, rng.randint(-99, 99)]), 100)
        for m, r in zip(middles(balls), balls.rad.ravel().tolist(), strict=True)
    ]


def holds(balls: Any, values: list[Any]) -> None:
    """Assert that each ball encloses its value, a fraction or an exact enough Arb ball."""
    for m, r, value in zip(middles(balls), balls.rad.ravel().tolist(), values, strict=True):
        if r == math.inf:
            continue  # nothing is claimed
        assert math.isfinite(r)
        if isinstance(value, Fraction):
            assert abs(value - m) <= Fraction(r), (float(m), r)
        else:
            assert abs(value - arb(fmpq(m.numerator, m.denominator))) <= arb(r), (float(m), r)


BINARY: dict[str, Callable[[Any, Any], Any]] = {"+": lambda a, b: a + b, "*": lambda a, b: a * b}


@of_each_kind
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("scale", [1.0, 2.0**-540, 2.0**300])
def test_sums_and_products_are_enclosed(kind: type[Any], name: str, scale: float) -> None:
    a, b = (
        kind(*(part * scale for part in random_balls(kind, seed, (1000,)).parts)) for seed in (1, 2)
    )
    found = BINARY[name](a, b)
    holds(found, [BINARY[name](*p) for p in zip(points(a, 3), points(b, 4), strict=True)])
    # and not by much: the radius is that of the operands, and rounding
    a_most, b_most = np.abs(a.parts[0]), np.abs(b.parts[0])
    way = a_most * b.rad + (b_most + b.rad) * a.rad if name == "*" else a.rad + b.rad
    size = a_most * b_most if name == "*" else a_most + b_most
    assert (found.rad <= 1.001 * way + 2.0**12 * UNITS[kind] * size + 2.0**-999).all()


@of_each_kind
@pytest.mark.parametrize("n", [1, 3, 64, 257])
def test_products_of_matrices_are_enclosed(kind: type[Any], n: int) -> None:
    x = random_balls(kind, 5, (2, 3, n))
    x.rad[0] = 0.0
    matrix = np.random.default_rng(6).uniform(-1.0, 1.0, (2, 4, n))
    found = KINDS[kind].product(x, KINDS[kind].weight(matrix))
    at = np.array(points(x, 7), object).reshape(x.shape)
    weights = np.array([Fraction(w) for w in matrix.ravel().tolist()], object).reshape(matrix.shape)
    expected = [
        sum((a * w for a, w in zip(row, column, strict=True)), Fraction(0))
        for case in range(2)
        for row in at[case]
        for column in weights[case]
    ]
    holds(found, expected)
    assert found.rad[0].max() < 100 * (n + 4) ** 2 * UNITS[kind]


@of_each_kind
def test_what_rounds_is_in_the_radius(kind: type[Any]) -> None:
    arithmetic = KINDS[kind]
    x = arithmetic.numbers(np.full((1, 1, 3), 0.1))
    product = arithmetic.product(x, arithmetic.weight(np.array([[[1e16, 1.0, -1e16]]])))
    holds(product, [Fraction(0.1)])
    tenths = arithmetic.numbers(np.full(1, 0.1))
    tiny = arithmetic.numbers(np.full(1, 1e-40))
    holds(tenths * tenths, [Fraction(0.1) ** 2])
    holds(tenths + tenths + tenths, [3 * Fraction(0.1)])
    holds((tenths + tiny) * (tenths + tiny), [(Fraction(0.1) + Fraction(1e-40)) ** 2])
    holds(tenths.affine(0.3, 0.7), [Fraction(0.1) * Fraction(0.3) + Fraction(0.7)])


@of_each_kind
def test_blends_are_enclosed_and_the_radius_of_the_gate_meets_the_difference(
    kind: type[Any],
) -> None:
    z, t, h = (random_balls(kind, seed, (1000,)) for seed in (8, 9, 10))
    found = KINDS[kind].blend(z, t, h)
    at = zip(points(z, 11), points(t, 12), points(h, 13), strict=True)
    holds(found, [(1 - a) * b + a * c for a, b, c in at])
    one = around(kind, [1.0], [0.0])
    assert KINDS[kind].blend(around(kind, [0.5], [0.1]), one, one).rad[0] < 1e-14


def _activations() -> list[Activation]:
    """Every function, with parameters of both signs and none."""
    values = {"alpha": (0.75, -1.5, 0.0), "beta": (0.5, -2.0)}
    found = []
    for name, takes in ((name, one.takes) for name, one in FUNCTIONS.items()):
        for alpha in values["alpha"] if "alpha" in takes else (0.0,):
            for beta in values["beta"] if "beta" in takes else (0.0,):
                found.append(Activation(name, alpha, beta))
    return found


def _breaks(one: Activation) -> list[float]:
    slope = one.alpha or 1.0
    return [0.0, 0.5, -0.5, one.alpha, -one.beta / slope, (1.0 - one.beta) / slope]


@pytest.mark.rows(5)
@of_each_kind
@pytest.mark.parametrize("function", _activations(), ids=str)
@pytest.mark.parametrize("clip", [math.inf, 0.5])
def test_activations_enclose_arb_s(kind: type[Any], function: Activation, clip: float) -> None:
    a = random_balls(kind, 14, (1000,))
    ends = np.array(_breaks(function))
    near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
    for radius in (0.0, 2.0**-52, 0.25):  # around every break
        a = joined(a, around(kind, near, np.full_like(near, radius)))
    found = KINDS[kind].activation(function, a, clip)
    with flint.ctx.workprec(BITS):
        at = np.array([arb(fmpq(p.numerator, p.denominator)) for p in points(a, 15)], object)
        holds(found, exact.Enclosures().activation(function, at, clip).tolist())
    if kind is Balls or function.name not in ("softplus", "thresholded-relu"):
        assert np.isfinite(found.rad).all()
        sharp = a.rad == 0.0
        assert (
            np.median(found.rad[sharp] / (1.0 + np.abs(found.parts[0][sharp]))) < 40 * UNITS[kind]
        )


@of_each_kind
def test_the_dead_side_of_relu_is_exactly_zero(kind: type[Any]) -> None:
    dead = KINDS[kind].activation(Activation("relu"), around(kind, [-1.0], [0.5]), math.inf)
    assert middles(dead) == [Fraction(0)]
    assert dead.rad[0] == 0.0
    for dtype in NARROW if kind is Balls else FLOAT_TYPES:
        values, decided = ROUND[kind](dead, FLOAT_TYPES[dtype])
        assert decided.all()
        assert not np.signbit(values).any()


@of_each_kind
@pytest.mark.parametrize("unusable", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("function", _activations(), ids=str)
def test_nothing_is_claimed_of_what_is_not_finite(
    kind: type[Any], function: Activation, unusable: float
) -> None:
    arithmetic = KINDS[kind]
    with np.errstate(all="ignore"):
        balls = arithmetic.numbers(np.array([[unusable, 1.0]]))
        one = arithmetic.weight(np.ones((1, 2)))
        for value in (
            arithmetic.activation(function, balls[:, :1], math.inf),
            arithmetic.activation(function, arithmetic.product(balls, one), 0.5),
            arithmetic.blend(balls, balls, balls)[:, :1],
            (balls * balls + balls)[:, :1],
        ):
            for dtype in ("float32", "float64"):
                assert not ROUND[kind](value, FLOAT_TYPES[dtype])[1].any()


@of_each_kind
def test_a_sum_that_overflows_on_the_way_is_not_claimed(kind: type[Any]) -> None:
    arithmetic = KINDS[kind]
    huge = arithmetic.numbers(np.array([[1e308, 1e308, -1e308, -1e308]]))  # the sum is 0
    with np.errstate(all="ignore"):
        product = arithmetic.product(huge, arithmetic.weight(np.ones((1, 4))))
        for function in ("affine", "tanh", "relu", "softsign"):
            value = arithmetic.activation(Activation(function, 1.0), product, 0.5)
            values, decided = ROUND[kind](value, FLOAT_TYPES["float32"])
            assert (~decided | (values == 0.0)).all()
        for value in (huge + huge, huge * huge):
            assert not ROUND[kind](value, FLOAT_TYPES["float64"])[1].any()


@of_each_kind
@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_what_is_not_finite_is_not_rounded(kind: type[Any], dtype: str) -> None:
    with np.errstate(all="ignore"):
        for mid, rad in ((math.inf, 0.0), (-math.inf, 0.0), (math.nan, 0.0), (1.0, math.inf)):
            balls = around(kind, [mid], [rad])
            assert not ROUND[kind](balls, FLOAT_TYPES[dtype])[1].any()
