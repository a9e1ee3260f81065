"""Balls of float64 numbers and of Arb: what they enclose, that they claim no more, what they round to."""

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
from grucible.gen.exact.balls import BallArithmetic, Balls, round_balls
from grucible.gen.exact.enclosures import Enclosures, Undecided, round_array, round_ball
from oracle import round_once

NARROW = ["float16", "bfloat16", "float32"]
BITS = 2400  # points next to 0 are exact
UNIT = 2.0**-53
BALLS: Any = BallArithmetic()


def random_balls(seed: int, shape: tuple[int, ...]) -> Balls:
    """Balls of many sizes: midpoints of order one and others, radii none, small and large."""
    rng = np.random.default_rng(seed)
    mid = rng.uniform(-2.0, 2.0, shape) * np.exp2(rng.choice([0, 0, 0, -30, 5], shape))
    rad = np.exp2(rng.uniform(-90.0, -1.0, shape)) * rng.choice([0.0, 1.0, 1.0], shape)
    return Balls(mid, rad)


def points(balls: Balls, seed: int) -> list[Fraction]:
    """A point of each ball, often an end."""
    rng = random.Random(seed)
    return [
        Fraction(m) + Fraction(r) * Fraction(rng.choice([-100, 100, 0, rng.randint(-99, 99)]), 100)
        for m, r in zip(balls.mid.ravel().tolist(), balls.rad.ravel().tolist(), strict=True)
    ]


def assert_hold(balls: Balls, values: list[Any]) -> None:
    """Assert that each ball encloses its value, a fraction or an exact enough Arb ball."""
    pairs = zip(balls.mid.ravel().tolist(), balls.rad.ravel().tolist(), strict=True)
    for (m, r), value in zip(pairs, values, strict=True):
        if isinstance(value, Fraction):
            assert abs(value - Fraction(m)) <= Fraction(r), (m, r)
        else:
            assert abs(value - arb(m)) <= arb(r), (m, r)


BINARY: dict[str, Callable[[Any, Any], Any]] = {"+": lambda a, b: a + b, "*": lambda a, b: a * b}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("scale", [1.0, 2.0**-540, 2.0**300])
def test_sums_and_products_are_enclosed(name: str, scale: float) -> None:
    a, b = (random_balls(seed, (1000,)) for seed in (1, 2))
    a, b = (Balls(one.mid * scale, one.rad * scale) for one in (a, b))
    found = BINARY[name](a, b)
    assert_hold(found, [BINARY[name](*p) for p in zip(points(a, 3), points(b, 4), strict=True)])
    # and not by much: the radius is that of the operands, and rounding
    a_most, b_most = np.abs(a.mid), np.abs(b.mid)
    way = a_most * b.rad + (b_most + b.rad) * a.rad if name == "*" else a.rad + b.rad
    size = a_most * b_most if name == "*" else a_most + b_most
    assert (found.rad <= 1.001 * way + 2.0 * UNIT * size + 2.0**-999).all()


@pytest.mark.parametrize("n", [1, 3, 64, 257])
def test_products_of_matrices_are_enclosed(n: int) -> None:
    x = random_balls(5, (2, 3, n))
    x.rad[0] = 0.0
    matrix = np.random.default_rng(6).uniform(-1.0, 1.0, (2, 4, n))
    found = BALLS.product(x, BALLS.weight(matrix))
    at = np.array(points(x, 7), object).reshape(x.shape)
    weights = np.array([Fraction(w) for w in matrix.ravel().tolist()], object).reshape(matrix.shape)
    expected = at @ weights.swapaxes(-1, -2)
    assert_hold(found, expected.ravel().tolist())
    assert found.rad[0].max() < 100 * (n + 4) ** 2 * UNIT


def test_what_rounds_is_in_the_radius() -> None:
    x = BALLS.numbers(np.full((1, 1, 3), 0.1))
    product = BALLS.product(x, BALLS.weight(np.array([[[1e16, 1.0, -1e16]]])))
    assert_hold(product, [Fraction(0.1)])
    tenths, tiny = BALLS.numbers(np.full(1, 0.1)), BALLS.numbers(np.full(1, 1e-40))
    assert_hold(tenths * tenths, [Fraction(0.1) ** 2])
    assert_hold(tenths + tenths + tenths, [3 * Fraction(0.1)])
    assert_hold((tenths + tiny) * (tenths + tiny), [(Fraction(0.1) + Fraction(1e-40)) ** 2])
    assert_hold(tenths.affine(0.3, 0.7), [Fraction(0.1) * Fraction(0.3) + Fraction(0.7)])


def test_blends_are_enclosed_and_the_radius_of_the_gate_meets_the_difference() -> None:
    z, t, h = (random_balls(seed, (1000,)) for seed in (8, 9, 10))
    at = zip(points(z, 11), points(t, 12), points(h, 13), strict=True)
    assert_hold(BALLS.blend(z, t, h), [(1 - a) * b + a * c for a, b, c in at])
    one = Balls(np.ones(1), np.zeros(1))
    assert BALLS.blend(Balls(np.full(1, 0.5), np.full(1, 0.1)), one, one).rad[0] < 1e-14


def _activations() -> list[Activation]:
    """Every function, with parameters of both signs and none."""
    found = []
    for name, function in FUNCTIONS.items():
        for alpha in (0.75, -1.5, 0.0) if "alpha" in function.takes else (0.0,):
            for beta in (0.5, -2.0) if "beta" in function.takes else (0.0,):
                found.append(Activation(name, alpha, beta))
    return found


def _breaks(one: Activation) -> list[float]:
    slope = one.alpha or 1.0
    return [0.0, 0.5, -0.5, one.alpha, -one.beta / slope, (1.0 - one.beta) / slope]


@pytest.mark.parametrize("function", _activations(), ids=str)
def test_activations_enclose_arb_s(function: Activation) -> None:
    spread = random_balls(14, (300,))
    ends = np.array(_breaks(function))
    near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
    radii = np.repeat([0.0, 2.0**-52, 0.25], len(near))  # around every break
    a = Balls(np.concatenate([spread.mid, *[near] * 3]), np.concatenate([spread.rad, radii]))
    for clip in (math.inf, 0.5):
        found = BALLS.activation(function, a, clip)
        with flint.ctx.workprec(BITS):
            at = np.array([arb(fmpq(p.numerator, p.denominator)) for p in points(a, 15)], object)
            assert_hold(found, Enclosures().activation(function, at, clip).tolist())
        sharp = a.rad == 0.0
        assert np.median(found.rad[sharp] / (1.0 + np.abs(found.mid[sharp]))) < 40 * UNIT


def test_the_dead_side_of_relu_is_exactly_zero() -> None:
    dead = BALLS.activation(Activation("relu"), Balls(-np.ones(1), np.full(1, 0.5)), math.inf)
    assert (dead.mid, dead.rad) == (0.0, 0.0)
    for dtype in NARROW:
        values, decided = round_balls(dead, FLOAT_TYPES[dtype])
        assert decided.all()
        assert not np.signbit(values).any()


@pytest.mark.parametrize("unusable", [math.nan, math.inf, -math.inf])
def test_nothing_is_claimed_of_what_is_not_finite(unusable: float) -> None:
    with np.errstate(all="ignore"):
        balls = BALLS.numbers(np.array([[unusable, 1.0]]))
        one = BALLS.weight(np.ones((1, 2)))
        values = [BALLS.blend(balls, balls, balls)[:, :1], (balls * balls + balls)[:, :1]]
        values += [Balls(np.ones(1), np.full(1, math.inf)), balls[:, :1]]
        for function in _activations():
            values.append(BALLS.activation(function, balls[:, :1], math.inf))
            values.append(BALLS.activation(function, BALLS.product(balls, one), 0.5))
        for value in values:
            for kind in FLOAT_TYPES.values():
                assert not round_balls(value, kind)[1].any()


def test_a_sum_that_overflows_on_the_way_is_not_claimed() -> None:
    huge = BALLS.numbers(np.array([[1e308, 1e308, -1e308, -1e308]]))  # the sum is 0
    with np.errstate(all="ignore"):
        product = BALLS.product(huge, BALLS.weight(np.ones((1, 4))))
        for function in ("affine", "tanh", "relu", "softsign"):
            value = BALLS.activation(Activation(function, 1.0), product, 0.5)
            values, decided = round_balls(value, FLOAT_TYPES["float32"])
            assert (~decided | (values == 0.0)).all()
        for value in (huge + huge, huge * huge):
            assert not round_balls(value, FLOAT_TYPES["float64"])[1].any()


def near(dtype: str, rng: random.Random, nudges: list[float]) -> tuple[Fraction, Fraction]:
    """A number near one of the dtype, a tie, a power of two or an end of the range; and its spacing."""
    t = FLOAT_TYPES[dtype]
    top, least, precision = math.frexp(t.largest)[1], t.least_exponent, t.precision
    exponent = rng.choice([least, least + 1, least + precision, 0, top - precision])
    n = rng.choice([0, 1, 2, 2**precision - 1, 2 ** (precision - 1), rng.getrandbits(precision)])
    around = Fraction(rng.choice([0.0, 0.5, 0.25])) + Fraction(rng.choice(nudges))
    spacing = Fraction(2) ** exponent
    return rng.choice([1, -1]) * (n + around) * spacing, spacing


def rounded(value: Fraction, dtype: str) -> float:
    return float(round_once(value, dtype))


@pytest.mark.parametrize("dtype", NARROW)
def test_a_ball_is_decided_only_where_all_of_it_rounds_alike(dtype: str) -> None:
    rng = random.Random(dtype)
    drawn = [near(dtype, rng, [0.0, 2.0**-25, -(2.0**-25)]) for _ in range(1200)]
    mids = np.array([float(value) for value, _ in drawn])
    widths = [rng.choice([0.0, 2.0**-40, 2.0**-26, 0.26, 1.0]) for _ in drawn]
    rads = np.array([float(unit) * w for (_, unit), w in zip(drawn, widths, strict=True)])
    with np.errstate(over="ignore", invalid="ignore"):
        values, decided = round_balls(Balls(mids, rads), FLOAT_TYPES[dtype])
    for mid, rad, value, sure in zip(
        *(a.astype(float).tolist() for a in (mids, rads, values, decided)), strict=True
    ):
        middle = Fraction(mid)
        more = Fraction(1.01 * rad) + abs(middle) * Fraction(2.0**-50) + Fraction(1e-322)
        ends, outside = (
            {rounded(middle + sign * way, dtype) for sign in (-1, 1)}
            for way in (Fraction(rad), more)
        )
        assert not sure or ends == {value}, (mid, rad)
        assert not sure or value or math.copysign(1.0, value) == 1.0
        assert sure or len(outside) == 2 or not all(map(math.isfinite, outside)), (mid, rad)
    assert 200 < decided.sum() < 1100


# Arb's balls


def ball_between(low: Fraction, high: Fraction) -> arb:
    with flint.ctx.workprec(4000):
        ends = [arb(fmpq(end.numerator, end.denominator)) for end in (low, high)]
    return ends[0] if low == high else ends[0].union(ends[1])


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_an_arb_ball_is_rounded_as_its_ends_where_they_round_alike(dtype: str) -> None:
    """Alone and in an array; an exact one always, and any that is far enough from a tie."""
    rng, counts = random.Random(dtype), {"exact": 0, "decided": 0, "undecided": 0}
    for _ in range(4000):
        low, unit = near(dtype, rng, [0.0, 2.0**-70, -(2.0**-70), 2.0**-200, -(2.0**-200)])
        size = rng.choice([unit, abs(low), Fraction(1)])
        width = rng.choice([0, size / 2 ** rng.choice([3, 60, 100, 1000])])
        high, far = low + width, 2 * width
        with flint.ctx.workprec(600):
            ball = ball_between(low, high)
            try:
                found = round_ball(ball, FLOAT_TYPES[dtype])
            except Undecided:
                counts["undecided"] += 1
                assert width
                assert rounded(low - far, dtype) != rounded(high + far, dtype), (low, high)
                with pytest.raises(Undecided):
                    round_array(np.array([ball], object), FLOAT_TYPES[dtype])
                continue
            [again] = round_array(np.array([ball], object), FLOAT_TYPES[dtype]).astype(float)
        counts["decided" if width else "exact"] += 1
        assert {rounded(low, dtype), rounded(high, dtype), again} == {found}, (low, high)
        assert math.copysign(1, found) == math.copysign(1, again) == (-1 if found < 0 else 1)
    assert min(counts.values()) > 300


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_special_values(dtype: str) -> None:
    t = FLOAT_TYPES[dtype]
    for ball, expected in (
        (arb.nan(), math.nan), (arb.pos_inf(), math.inf), (arb.neg_inf(), -math.inf),
        (arb(2) ** 1024, math.inf), (arb(0, 1e-330), 0.0), (arb(0), 0.0),
    ):  # fmt: skip
        [found] = round_array(np.array([ball], object), t).astype(float).tolist()
        for one in (found, round_ball(ball, t)):
            np.testing.assert_equal(one, expected)
            assert math.copysign(1, one) == 1 or expected == -math.inf or math.isnan(expected)
    for wide in (arb(0, 1), arb(0, math.inf)):
        with pytest.raises(Undecided):
            round_ball(wide, t)
