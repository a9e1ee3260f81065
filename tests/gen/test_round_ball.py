"""Rounding a ball once: against exact fractions, and never claiming what the ball leaves open."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, fmpq

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.gen.exact.enclosures import Undecided, round_array, round_ball
from oracle import round_once

DTYPES = list(FLOAT_TYPES)


def exact_ball(value: Fraction) -> arb:
    """The ball of radius 0 at a dyadic value."""
    with flint.ctx.workprec(4000):
        ball = arb(fmpq(value.numerator, value.denominator))
    assert ball.is_exact()
    return ball


def ball_between(low: Fraction, high: Fraction) -> arb:
    return exact_ball(low).union(exact_ball(high))


def interesting(dtype: str, rng: random.Random) -> Fraction:
    """A dyadic near something: a number of the dtype, a tie, a power of two, the ends of the range."""
    t = FLOAT_TYPES[dtype]
    top = math.frexp(t.largest)[1]
    exponent = rng.choice(
        [
            t.least_exponent,
            t.least_exponent + 1,
            t.least_exponent + t.precision,
            0,
            top - t.precision,
        ]
    )
    n = rng.choice(
        [0, 1, 2, 2**t.precision - 1, 2 ** (t.precision - 1), rng.getrandbits(t.precision)]
    )
    around = rng.choice(
        [0, Fraction(1, 2), Fraction(1, 4), Fraction(1, 2**70), Fraction(-1, 2**70)]
    )
    sign = rng.choice([1, -1])
    nudge = rng.choice([0, Fraction(1, 2**200), Fraction(-1, 2**200)])
    return sign * (n + around + nudge) * Fraction(2) ** exponent


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_balls_round_as_fractions_do(dtype: str) -> None:
    rng = random.Random(dtype)
    for _ in range(3000):
        value = interesting(dtype, rng)
        expected = float(round_once(value, dtype))
        with flint.ctx.workprec(600):
            found = round_ball(exact_ball(value), FLOAT_TYPES[dtype])
        assert found == expected, value
        assert math.copysign(1, found) == math.copysign(1, expected), value


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_ball_is_rounded_only_where_both_of_its_ends_round_alike(dtype: str) -> None:
    rng = random.Random(dtype + "balls")
    decided = undecided = 0
    for _ in range(3000):
        low = interesting(dtype, rng)
        unit = Fraction(2) ** FLOAT_TYPES[dtype].least_exponent
        width = rng.choice([unit, abs(low), Fraction(1)]) * Fraction(
            1, 2 ** rng.choice([3, 60, 100])
        )
        with flint.ctx.workprec(600):
            ball = ball_between(low, low + width)
            ends = {float(round_once(low, dtype)), float(round_once(low + width, dtype))}
            try:
                found = round_ball(ball, FLOAT_TYPES[dtype])
            except Undecided:
                undecided += 1
                continue
        decided += 1
        assert ends == {found}, (low, width)
    assert decided > 300
    assert undecided > 300


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_thin_ball_away_from_ties_is_decided(dtype: str) -> None:
    # also just above a power of two, where it once was taken for one that reaches below it
    for value in (
        Fraction(1, 4) + Fraction(7, 10) * Fraction(2) ** -12,
        Fraction(1, 3),
        Fraction(-5, 7),
    ):
        with flint.ctx.workprec(128):
            ball = arb(fmpq(value.numerator, value.denominator))
            assert round_ball(ball, FLOAT_TYPES[dtype]) == float(round_once(value, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_is_rounded_as_each_ball_of_it(dtype: str) -> None:
    rng, t = random.Random(dtype + "array"), FLOAT_TYPES[dtype]
    with flint.ctx.workprec(600):
        balls = [arb(0), arb.nan(), arb.pos_inf(), arb(2) ** 1024, arb(0, 1e-330), arb(0, 1e-50)]
        for _ in range(2000):
            low = interesting(dtype, rng)
            balls.append(ball_between(low, low + abs(low) / 2 ** rng.choice([50, 80, 1000])))
        for ball in balls:
            array = np.array([ball], object)
            try:
                expected = round_ball(ball, t)
            except Undecided:
                with pytest.raises(Undecided):
                    round_array(array, t)
                continue
            [found] = round_array(array, t).astype(float).tolist()
            assert found == expected or (math.isnan(found) and math.isnan(expected)), ball
            assert math.copysign(1, found) == math.copysign(1, expected), ball


def test_special_values() -> None:
    t = FLOAT_TYPES["float32"]
    assert math.isnan(round_ball(arb.nan(), t))
    assert round_ball(arb.pos_inf(), t) == math.inf
    assert round_ball(arb.neg_inf(), t) == -math.inf
    assert round_ball(arb(2) ** 128, t) == math.inf
    assert round_ball(arb(0, 1e-50), t) == 0.0  # all of it is nearer to 0 than to 2^-149
    with pytest.raises(Undecided):
        round_ball(arb(0, 1e-44), t)
