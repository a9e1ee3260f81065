"""What balls of float64 numbers decide: all of a ball rounds alike, and Arb says the same."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from shipped import specs

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.expansion.case_spec import CaseSpec
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.readings import as_read
from grucible.cases.operators.semantics import one_of
from grucible.gen.exact.answers import decided_by_balls, exact_outputs
from grucible.gen.exact.balls import Balls, round_balls
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.exact.wide_balls import WideBalls, round_wide_balls
from grucible.gen.making.chunks import block_key
from grucible.gen.making.inputs import draw_inputs
from grucible.gen.stacks import Stack, stacks
from oracle import round_once


def _near_something(dtype: str, rng: random.Random) -> tuple[float, float, float]:
    """A number near one of the dtype, a tie, a power of two or an end of the range, as a sum of two,
    and a radius."""
    t = FLOAT_TYPES[dtype]
    top = math.frexp(t.largest)[1]
    exponent = rng.choice([t.least_exponent, t.least_exponent + t.precision, 0, top - t.precision])
    n = rng.choice(
        [0, 1, 2, 2**t.precision - 1, 2 ** (t.precision - 1), rng.getrandbits(t.precision)]
    )
    around = rng.choice([0.0, 0.5, 0.25, 2.0**-25, -(2.0**-25)])
    radius = rng.choice([0.0, 2.0**-40, 2.0**-26, 0.26, 1.0])
    sign = rng.choice([1, -1])
    return (
        sign * math.ldexp(n, exponent), sign * math.ldexp(around, exponent), math.ldexp(radius, exponent)
    )  # fmt: skip


ROUNDINGS: dict[str, Any] = {
    "balls": lambda high, low, rad, t: round_balls(Balls(high + low, rad), t),
    "wide balls": lambda high, low, rad, t: round_wide_balls(WideBalls(high, low, rad), t),
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("dtype", FLOAT_TYPES)
def test_a_ball_is_decided_only_where_all_of_it_rounds_alike(rounding: str, dtype: str) -> None:
    if (rounding, dtype) == ("balls", "float64"):
        return  # the number near something is not a float64 number
    rng = random.Random(dtype)
    highs, lows, rads = np.array([_near_something(dtype, rng) for _ in range(1200)]).T
    with np.errstate(over="ignore", invalid="ignore"):
        values, decided = ROUNDINGS[rounding](highs, lows, rads, FLOAT_TYPES[dtype])
    for high, low, rad, value, sure in zip(
        *(a.astype(float).tolist() for a in (highs, lows, rads, values, decided)), strict=True
    ):
        middle = Fraction(high) + Fraction(low)
        more = Fraction(1.01 * rad) + abs(middle) * Fraction(
            2.0**-50 if dtype != "float64" else 2.0**-100
        )
        ends, outside = (
            {float(round_once(middle + sign * way, dtype)) for sign in (-1, 1)}
            for way in (Fraction(rad), more + Fraction(1e-322))
        )
        assert not sure or ends == {value}, (high, low, rad)
        assert not sure or value or math.copysign(1.0, value) == 1.0
        assert sure or len(outside) == 2 or not all(map(math.isfinite, outside)), (high, low, rad)
    assert 200 < decided.sum() < 1100


def _sample() -> list[list[CaseSpec]]:
    """Cases of every spec, few of some blocks, those that plant special values too."""
    groups = []
    for spec in specs().values():
        if any(word in spec.path for word in ("sizes", "long", "large")):
            continue
        blocks: dict[Any, list[CaseSpec]] = {}
        for case in expand(spec):
            blocks.setdefault(block_key(case), []).append(case)
        first = sorted(blocks, key=lambda key: hashlib.sha256(key.path.encode()).digest())
        groups += [blocks[key][:: max(1, len(blocks[key]) // 3)] for key in first[:3]]
    return groups


def _stacks(cases: list[CaseSpec]) -> Iterator[Stack]:
    drawn = [draw_inputs(case, 1, 0) for case in cases]
    inputs = {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}
    return stacks(OPERATORS[cases[0].operator], [case.given for case in cases], inputs)


ROLES = ("y", "ho")


def test_what_is_decided_is_arb_s() -> None:
    seen, open_ = dict.fromkeys(FLOAT_TYPES, 0), dict.fromkeys(FLOAT_TYPES, 0)
    for cases in _sample():
        kind = FLOAT_TYPES[cases[0].dtype]
        for stack in _stacks(cases):
            for reading in ((), *cases[0].readings):
                meant = as_read(reading, stack.semantics)
                found, decided = decided_by_balls(meant, stack.inputs, kind, ROLES)
                open_[kind.name] += int((~decided).sum())
                seen[kind.name] += int(decided.sum())
                for row in np.flatnonzero(decided).tolist():
                    by_arb = outputs_by_arb(one_of(meant, row), stack.inputs.rows(row), kind, ROLES)
                    for role, expected in by_arb.items():
                        got, where = found[role][row], cases[stack.rows[row]].id
                        assert got.dtype == expected.dtype
                        np.testing.assert_array_equal(got, expected, where)
                        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), where)
    for dtype in FLOAT_TYPES:
        assert seen[dtype] > 2 * open_[dtype]
    assert sum(open_.values()) > 0  # infinite inputs are among them


def test_what_balls_leave_open_is_answered_all_the_same() -> None:
    spec = specs()["onnx/gru/activations"]
    cases = [case for case in expand(spec, ["float64"]) if "Softplus" in case.id][:2]
    kind = FLOAT_TYPES["float64"]
    for stack in _stacks(cases):
        assert not decided_by_balls(stack.semantics, stack.inputs, kind, ROLES)[1].any()
        found, undecided = exact_outputs(stack.semantics, stack.inputs, kind, ROLES)
        assert not undecided.any()
        for row in range(len(stack)):
            meant = one_of(stack.semantics, row)
            by_arb = outputs_by_arb(meant, stack.inputs.rows(row), kind, ROLES)
            for role, expected in by_arb.items():
                np.testing.assert_array_equal(found[role][row], expected)
