"""Balls of float64 numbers: they enclose, they say less rather than something wrong, they agree with Arb."""

from __future__ import annotations

import hashlib
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
from grucible.cases.expansion.case_spec import CaseSpec
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.activations import FUNCTIONS, Activation
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.readings import as_read
from grucible.cases.operators.semantics import one_of
from grucible.cases.specs.spec_file import find_specs
from grucible.gen.exact import enclosures as exact
from grucible.gen.exact.answers import decided_by_balls
from grucible.gen.exact.balls import BallArithmetic, Balls, round_balls
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.making.chunks import block_key
from grucible.gen.making.inputs import draw_inputs
from grucible.gen.stacks import stacks
from oracle import round_once

ARITHMETIC = BallArithmetic()
NARROW = ["float16", "bfloat16", "float32"]
BITS = 1200  # points next to 0 are exact


def random_balls(seed: int, shape: tuple[int, ...]) -> Balls:
    """Balls of many sizes: midpoints of order one and others, radii none, small and large."""
    rng = np.random.default_rng(seed)
    mid = rng.uniform(-2.0, 2.0, shape) * np.exp2(rng.choice([0, 0, 0, -30, 5], shape))
    rad = np.exp2(rng.uniform(-60.0, -1.0, shape)) * rng.choice([0.0, 1.0, 1.0], shape)
    return Balls(mid, rad)


def points(balls: Balls, seed: int) -> list[Fraction]:
    """A point of each ball, often an end."""
    rng = random.Random(seed)
    return [
        Fraction(m) + Fraction(r) * Fraction(rng.choice([-100, 100, 0, rng.randint(-99, 99)]), 100)
        for m, r in zip(balls.mid.ravel().tolist(), balls.rad.ravel().tolist(), strict=True)
    ]


def holds(balls: Balls, values: list[Any]) -> None:
    """Assert that each ball encloses its value, a fraction or an exact enough Arb ball."""
    for m, r, value in zip(
        balls.mid.ravel().tolist(), balls.rad.ravel().tolist(), values, strict=True
    ):
        assert math.isfinite(r)
        distance = value - Fraction(m) if isinstance(value, Fraction) else value - arb(m)
        assert abs(distance) <= (Fraction(r) if isinstance(value, Fraction) else arb(r)), (m, r)


BINARY: dict[str, Callable[[Any, Any], Any]] = {"+": lambda a, b: a + b, "*": lambda a, b: a * b}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("scale", [1.0, 2.0**-540, 2.0**300])
def test_sums_and_products_are_enclosed(name: str, scale: float) -> None:
    a, b = random_balls(1, (2000,)), random_balls(2, (2000,))
    a, b = (Balls(v.mid * scale, v.rad * scale) for v in (a, b))
    found = BINARY[name](a, b)
    exact_values = [BINARY[name](*p) for p in zip(points(a, 3), points(b, 4), strict=True)]
    holds(found, exact_values)
    # and not by much: the radius is that of the operands, and rounding
    way = np.abs(a.mid) * b.rad + (np.abs(b.mid) + b.rad) * a.rad if name == "*" else a.rad + b.rad
    assert (found.rad <= 1.001 * way + 2.0**-52 * np.abs(found.mid) + 2.0**-999).all()


@pytest.mark.parametrize("n", [1, 3, 64, 257])
def test_products_of_matrices_are_enclosed(n: int) -> None:
    x = random_balls(5, (2, 3, n))
    matrix = np.random.default_rng(6).uniform(-1.0, 1.0, (2, 4, n))
    found = ARITHMETIC.product(x, ARITHMETIC.weight(matrix))
    at = np.array(points(x, 7), object).reshape(x.shape)
    weights = np.array([Fraction(w) for w in matrix.ravel().tolist()], object).reshape(matrix.shape)
    expected = [
        sum((a * w for a, w in zip(row, column, strict=True)), Fraction(0))
        for case in range(2)
        for row in at[case]
        for column in weights[case]
    ]
    holds(found, expected)


def test_what_rounds_is_in_the_radius() -> None:
    # of exact numbers: any midpoint differs from the exact sum
    x = ARITHMETIC.numbers(np.full((1, 1, 3), 0.1))
    product = ARITHMETIC.product(x, ARITHMETIC.weight(np.array([[[1e16, 1.0, -1e16]]])))
    holds(product, [Fraction(0.1)])
    tenths = ARITHMETIC.numbers(np.full(1, 0.1))
    holds(tenths * tenths, [Fraction(0.1) ** 2])
    holds(tenths + tenths + tenths, [3 * Fraction(0.1)])


def test_blends_are_enclosed_and_the_radius_of_the_gate_meets_the_difference() -> None:
    z, t, h = (random_balls(seed, (2000,)) for seed in (8, 9, 10))
    found = ARITHMETIC.blend(z, t, h)
    at = zip(points(z, 11), points(t, 12), points(h, 13), strict=True)
    holds(found, [(1 - a) * b + a * c for a, b, c in at])
    one = Balls(np.ones(1), np.zeros(1))
    narrow = ARITHMETIC.blend(Balls(np.full(1, 0.5), np.full(1, 0.1)), one, one)
    assert narrow.rad[0] < 1e-14


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


@pytest.mark.parametrize("function", _activations(), ids=str)
@pytest.mark.parametrize("clip", [math.inf, 0.5])
def test_activations_enclose_arb_s(function: Activation, clip: float) -> None:
    a = random_balls(14, (1000,))
    ends = np.array(_breaks(function))
    for radius in (0.0, 2.0**-52, 0.25):  # around every break
        near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
        more = Balls(near, np.full_like(near, radius))
        a = Balls(np.concatenate([a.mid, more.mid]), np.concatenate([a.rad, more.rad]))
    found = ARITHMETIC.activation(function, a, clip)
    at = points(a, 15)
    with flint.ctx.workprec(BITS):
        balls = np.array([arb(fmpq(p.numerator, p.denominator)) for p in at], object)
        expected = exact.Enclosures().activation(function, balls, clip)
        holds(found, expected.tolist())


def test_the_dead_side_of_relu_is_exactly_zero() -> None:
    dead = ARITHMETIC.activation(Activation("relu"), Balls(-np.ones(1), np.full(1, 0.5)), math.inf)
    assert (dead.mid[0], dead.rad[0]) == (0.0, 0.0)
    values, decided = round_balls(dead, FLOAT_TYPES["float32"])
    assert decided.all()
    assert not np.signbit(values).any()


@pytest.mark.parametrize("unusable", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("function", _activations(), ids=str)
def test_nothing_is_claimed_of_what_is_not_finite(function: Activation, unusable: float) -> None:
    with np.errstate(all="ignore"):
        balls = ARITHMETIC.numbers(np.array([[unusable, 1.0]]))
        one = ARITHMETIC.weight(np.ones((1, 2)))
        for value in (
            ARITHMETIC.activation(function, balls[:, :1], math.inf),
            ARITHMETIC.activation(function, ARITHMETIC.product(balls, one), 0.5),
            ARITHMETIC.blend(balls, balls, balls)[:, :1],
            (balls * balls + balls)[:, :1],
        ):
            assert not round_balls(value, FLOAT_TYPES["float32"])[1].any()


def test_a_sum_that_overflows_on_the_way_is_not_claimed() -> None:
    huge = ARITHMETIC.numbers(np.array([[1e308, 1e308, -1e308]]))
    with np.errstate(all="ignore"):
        product = ARITHMETIC.product(huge, ARITHMETIC.weight(np.ones((1, 3))))
        total = huge + huge
        for value in (product, total, ARITHMETIC.activation(Activation("tanh"), product, math.inf)):
            values, decided = round_balls(value, FLOAT_TYPES["float32"])
            assert not decided.any() or np.isfinite(value.mid[decided]).all(), values


@pytest.mark.parametrize("dtype", NARROW)
def test_a_ball_is_decided_only_where_all_of_it_rounds_alike(dtype: str) -> None:
    t, rng = FLOAT_TYPES[dtype], random.Random(dtype)
    mids, rads = [], []
    top = math.frexp(t.largest)[1]
    for _ in range(3000):
        exponent = rng.choice(
            [t.least_exponent, t.least_exponent + t.precision, 0, top - t.precision]
        )
        n = rng.choice(
            [0, 1, 2, 2**t.precision - 1, 2 ** (t.precision - 1), rng.getrandbits(t.precision)]
        )
        around = rng.choice([0.0, 0.5, 0.25, 2.0**-29, -(2.0**-29)])
        mids.append(rng.choice([1, -1]) * math.ldexp(n + around, exponent))
        rads.append(math.ldexp(rng.choice([0.0, 2.0**-40, 2.0**-28, 0.26, 1.0]), exponent))
    values, decided = round_balls(Balls(np.array(mids), np.array(rads)), t)
    for m, r, value, sure in zip(
        mids, rads, values.astype(float).tolist(), decided.tolist(), strict=True
    ):
        ends = {float(round_once(Fraction(m) + sign * Fraction(r), dtype)) for sign in (-1, 1)}
        assert not sure or ends == {value}, (m, r)
        assert not sure or value or math.copysign(1.0, value) == 1.0
        outside = {
            float(
                round_once(
                    Fraction(m) + sign * Fraction(1.01 * r + abs(m) * 2.0**-50 + 5e-323), dtype
                )
            )
            for sign in (-1, 1)
        }
        assert sure or len(outside) == 2, (m, r)
    assert 500 < decided.sum() < 2800


def _sample() -> list[list[CaseSpec]]:
    """Cases of every spec and narrow dtype, few of each block, those that plant special values too."""
    groups = []
    for spec in find_specs():
        if any(word in spec.path for word in ("sizes", "long", "large")):
            continue
        blocks: dict[Any, list[CaseSpec]] = {}
        for case in expand(spec):
            if case.dtype in NARROW:
                blocks.setdefault(block_key(case), []).append(case)
        first = sorted(blocks, key=lambda key: hashlib.sha256(key.path.encode()).digest())
        groups += [blocks[key][:: max(1, len(blocks[key]) // 5)] for key in first[:3]]
    return groups


def test_what_is_decided_is_arb_s() -> None:
    seen: dict[str, int] = {"decided": 0, "left": 0}
    for cases in _sample():
        drawn = [draw_inputs(case, 1, 0) for case in cases]
        inputs = {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}
        operator, kind = OPERATORS[cases[0].operator], FLOAT_TYPES[cases[0].dtype]
        for stack in stacks(operator, [case.given for case in cases], inputs):
            for reading in ((), *cases[0].readings):
                meant = as_read(reading, stack.semantics)
                found, decided = decided_by_balls(meant, stack.inputs, kind, ("y", "ho"))
                seen["left"] += int((~decided).sum())
                seen["decided"] += int(decided.sum())
                for row in np.flatnonzero(decided).tolist():
                    by_arb = outputs_by_arb(
                        one_of(meant, row), stack.inputs.rows(row), kind, ("y", "ho")
                    )
                    for role, expected in by_arb.items():
                        got = found[role][row]
                        where = cases[stack.rows[row]].id
                        assert got.dtype == expected.dtype
                        np.testing.assert_array_equal(got, expected, where)
                        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), where)
    assert seen["decided"] > 10 * seen["left"]
    assert seen["left"] > 0  # infinite inputs are among them


def test_float64_outputs_are_left_to_arb() -> None:
    [spec] = [spec for spec in find_specs() if spec.path == "openvino/gru_cell/core"]
    cases = expand(spec, ["float64"])[:1]
    inputs = {name: array[None] for name, array in draw_inputs(cases[0], 0, 0).items()}
    [stack] = stacks(OPERATORS[cases[0].operator], [cases[0].given], inputs)
    _, decided = decided_by_balls(stack.semantics, stack.inputs, FLOAT_TYPES["float64"], ["ho"])
    assert not decided.any()
