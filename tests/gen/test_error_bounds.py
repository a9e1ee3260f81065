"""Error bounds: that they hold for arithmetic of their class, and that they are not loose."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx_oracle
import pytest
from shipped import specs
from written import BLENDS, Written

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.layout import gru_inputs
from grucible.cases.operators.semantics import semantics, stack
from grucible.cases.specs.expand import CaseSpec, expand
from grucible.gen.drawing import draw_inputs
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.gru import gru
from grucible.gen.stacks import Float64
from grucible.gen.tolerances.classes import (
    BFLOAT16_OPERANDS,
    FLOAT16,
    FLOAT16_STATE,
    FLOAT32,
    FLOAT64,
    ArithmeticClass,
    Units,
    function_error,
    underflow_growth,
)
from grucible.gen.tolerances.error_arithmetic import Curves, blend_rounding, shape
from grucible.gen.tolerances.march import against_answer, error_bounds, round_up
from grucible.gen.variants.emulated import cut_to_bfloat16, to_float16

mpmath: Any = importlib.import_module("mpmath")  # it has no type information

SEQUENCE = OPERATORS["openvino.GRUSequence-5"]
PATHS = ["attributes", "magnitudes", "sizes", "with_zero"]


@cache
def _cases(path: str, most: int) -> list[CaseSpec]:
    cases = expand(specs()[f"openvino/gru_sequence/{path}"], ["float32"])
    return cases[:: max(1, len(cases) // most)]


@cache
def _known(path: str, at: int, most: int, one: ArithmeticClass) -> Any:
    """Inputs, bounds and exact outputs of a case, stacked."""
    case = _cases(path, most)[at]
    drawn = {name: array[None] for name, array in draw_inputs(case, 99, 0).items()}
    inputs, meant = (
        gru_inputs(SEQUENCE, case.attributes, drawn),
        semantics(SEQUENCE, case.attributes),
    )
    bounds = error_bounds(stack([meant]), inputs, Units([one]))
    exact = outputs_by_arb(meant, inputs.rows(0), FLOAT_TYPES["float64"], ["y", "ho"])
    return stack([meant]), inputs, bounds, exact


def _ratios(path: str, one: ArithmeticClass, runtime: Any, most: int = 40) -> Iterator[float]:
    """The largest |computed - exact| / bound of each case."""
    for at in range(len(_cases(path, most))):
        meant, inputs, bounds, exact = _known(path, at, most, one)
        ratios = []
        for computed, role in zip(gru(runtime, meant, inputs), ("y", "ho"), strict=True):
            error = np.abs(computed[0].astype(np.float64) - exact[role])
            limit = bounds.of(role)[1][0, ..., 0] + 2.0**-53 * np.abs(exact[role])
            ratios.append(float((error / np.where(limit > 0, limit, 1e-300)).max()))
        yield max(ratios)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("form", list(BLENDS))
def test_float32_holds(path: str, form: str) -> None:
    assert 0.005 < max(_ratios(path, FLOAT32, Written(blended=form))) <= 1.0


@pytest.mark.parametrize("path", PATHS)
def test_float64_holds(path: str) -> None:
    assert max(_ratios(path, FLOAT64, Float64(), most=20)) <= 1.0


@pytest.mark.parametrize(
    ("path", "own", "runtime", "least"),
    [
        (
            "attributes",
            FLOAT16_STATE,
            Written(kept=to_float16),
            min,
        ),  # the best case breaks float32
        ("magnitudes", BFLOAT16_OPERANDS, Written(operand=cut_to_bfloat16), max),
    ],
)
def test_coarser_arithmetic_breaks_float32_and_holds_its_own_class(
    path: str, own: ArithmeticClass, runtime: Written, least: Any
) -> None:
    assert max(_ratios(path, own, runtime)) <= 1.0
    assert least(_ratios(path, FLOAT32, runtime)) > 1.0


FUNCTIONS = [
    Activation("sigmoid"),
    Activation("tanh"),
    Activation("relu"),
    Activation("affine", 0.75, -0.25),
    Activation("leaky-relu", 0.25),
    Activation("leaky-relu", -1.5),
    Activation("thresholded-relu", 0.5),
    Activation("scaled-tanh", 1.25, -0.75),
    Activation("hard-sigmoid", 0.25, 0.5),
    Activation("hard-sigmoid", -0.375, 0.25),
    Activation("affine", 3e-8, 0.0),  # subnormal in float16
    Activation("leaky-relu", 2.9e-8),
    Activation("scaled-tanh", 3.0, 3e-8),
    Activation("elu", 0.75),
    Activation("elu", 1.0),
    Activation("softsign"),
    Activation("softplus"),
]


def _exact(one: Activation, v: Any) -> Any:
    """In mpmath's current precision, as the oracle of ONNX has the function."""
    name = "".join(part.capitalize() for part in one.name.split("-"))
    return onnx_oracle._function(
        name, one.alpha, one.beta, SimpleNamespace(context=mpmath.mp, exact=mpmath.mpf)
    )(v)


def _curves(function: Activation, clip: float) -> Curves:
    return Curves((function,), np.full((1, 1, 1), clip), Units([FLOAT32]))


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
@pytest.mark.parametrize("clip", [0.5, 1.0, np.inf])
def test_remainder_bounds_the_remainder(function: Activation, clip: float) -> None:
    rng = np.random.default_rng(7)
    kinks = [0.0, clip if clip < 9 else 3.0, -0.5, 1e-9, 2.0, -2.0, 0.5, 0.5 + 1e-7]
    a = np.concatenate([rng.normal(0, 2, 200), kinks])

    def phi(x: Any) -> Any:
        return _exact(function, min(max(x, mpmath.mpf(-clip)), mpmath.mpf(clip)))

    with mpmath.workprec(200):
        points = [(mpmath.mpf(float(at)), phi(mpmath.mpf(float(at)))) for at in a]
        for reach in (1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0):
            curves, row = _curves(function, clip), a[None, None]
            inside = curves.inside(row)
            slope, half_second = curves.slopes(row, inside)
            wide = np.full((1, 1, 1, len(a)), reach)
            bound, slopes = curves.remainder(row, inside, wide, half_second)[0, 0, 0], slope[0, 0]
            for (x, value), limit, rise in zip(points, bound, slopes, strict=True):
                for share in (-1.0, -0.4, 0.3, 1.0):
                    d = mpmath.mpf(share * reach)
                    rest = abs(phi(x + d) - value - mpmath.mpf(float(rise)) * d)
                    assert rest <= limit * (1 + 1e-9) + abs(d) * 1e-15, (x, reach, share)


def test_what_may_be_on_either_side_of_a_break_straddles_it() -> None:
    threshold, hard = Activation("thresholded-relu", 0.5), Activation("hard-sigmoid", 0.25, 0.5)
    a, reach = np.array([0.4, 0.49, 0.5, 0.51, 0.6, 1.99, -2.0, 7.0]), np.full((8, 1, 1, 1), 0.02)

    def straddling(function: Activation, clip: float) -> list[bool]:
        curves, rows = _curves(function, clip), a[:, None, None]
        if not curves.guarded:
            return []
        found: list[bool] = curves.straddles(curves.inside(rows), reach).ravel().tolist()
        return found

    assert straddling(threshold, np.inf) == [False, True, True, True, False, False, False, False]
    assert straddling(hard, np.inf) == [False, False, False, False, False, True, True, False]
    # what is clipped to the threshold itself is on its edge
    assert straddling(threshold, 0.5) == [False] + [True] * 5 + [False, True]
    assert not any(straddling(hard, 1.0))  # clipped away
    for smooth in ("relu", "tanh"):
        assert not any(straddling(Activation(smooth), np.inf))


def test_functions_of_a_stack_are_bounded_as_each_alone() -> None:
    """Breaks of one are not breaks of another in its stack."""
    rng = np.random.default_rng(12)
    clips = rng.choice([0.5, 1.0, np.inf], len(FUNCTIONS))
    a, units = rng.normal(0, 1, (len(FUNCTIONS), 3, 20)), Units([FLOAT32, FLOAT16])
    reach = 10.0 ** rng.uniform(-9, 0, (len(FUNCTIONS), 3, 2, 20))

    def found(functions: tuple[Activation, ...], at: slice) -> list[Any]:
        curves, v = Curves(functions, clips[at].reshape(-1, 1, 1), units), a[at]
        inside = curves.inside(v)
        slope, half_second = curves.slopes(v, inside)
        rest = curves.remainder(v, inside, reach[at], half_second)
        straddles = curves.straddles(inside, reach[at])
        return [slope, rest, straddles, curves.rounding(np.abs(v), reach[at], reach[at])]

    together = found(tuple(FUNCTIONS), slice(None))
    for row, function in enumerate(FUNCTIONS):
        for both, alone in zip(together, found((function,), slice(row, row + 1)), strict=True):
            np.testing.assert_allclose(both[row], alone[0], rtol=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_textbook_functions_are_within_their_own_error(function: Activation, kind: Any) -> None:
    one = FLOAT32 if kind is np.float32 else FLOAT16
    rng = np.random.default_rng(11)
    most = 9.0 if kind is np.float16 else 60.0  # beyond it e^v overflows
    v = np.concatenate(
        [rng.normal(0, 1, 300), rng.normal(0, 1e-2, 100), rng.uniform(-most, most, 300)]
    ).astype(kind)
    breaks = shape(function).breaks
    v = v[[all(abs(float(x) - b.at) > 0.01 for b in breaks if b.height) for x in v]]
    limits = np.full((len(v), 1, 1), np.inf, kind)
    got = Written(kind).activation((function,) * len(v), v[:, None, None], limits)[:, 0, 0]
    relative, absolute, growing = function_error(function, one)
    with mpmath.workprec(120):
        for x, y in zip(v.astype(float), got.astype(float), strict=True):
            exact = _exact(function, mpmath.mpf(float(x)))
            allowed = relative * abs(exact) + absolute + growing * abs(x)
            allowed = allowed * one.unit + one.tiny * (1 + abs(function.alpha))
            allowed += underflow_growth(function) * one.tiny * abs(x)
            assert abs(y - exact) <= allowed * (1 + 1e-9), (x, y, float(exact))


def test_rounding_against_the_stored_answer() -> None:
    kind = FLOAT_TYPES["float16"]
    x = np.array([1.0, 1.0 + 2.0**-11, 0.0, 3.0])
    answer = x.astype(np.float16)
    e = np.array([2.0**-20, 2.0**-20, 0.0, 1.0])
    limit = against_answer(x, e, answer, FLOAT32, kind)
    # 1 is safe; beside a tie both neighbours are right; padding admits nothing
    np.testing.assert_array_equal(limit, [0.0, 2.0**-10, 0.0, 1.0])
    state = against_answer(x, e, answer, FLOAT16_STATE, kind)
    assert (state[:2] > 2.0**-11).all()
    assert state[2] == 0.0
    values = np.random.default_rng(3).normal(size=1000) * 10.0 ** np.arange(-5, 5).repeat(100)
    np.testing.assert_array_equal(kind.nearest(values), values.astype(np.float16).astype(float))


def test_round_up_is_up_and_short() -> None:
    limit = np.abs(np.random.default_rng(4).normal(size=1000)) * 2.0 ** np.arange(-300, 100, 0.4)
    stored = round_up(limit)
    assert stored.dtype == np.float32
    assert (stored >= limit).all()
    big = limit > 2.0**-140
    assert (stored[big] <= limit[big] * (1 + 2.0**-7)).all()
    mantissa, _ = np.frexp(stored[stored > 0].astype(np.float64))
    assert (mantissa * 256 == np.rint(mantissa * 256)).all()
    assert round_up(np.array([0.0]))[0] == 0.0
    assert round_up(np.array([np.inf]))[0] == np.inf


def test_the_blend_rounds_no_more_than_is_counted() -> None:
    """Each form with every rounding as wrong as it may be, in exact fractions; |1 - z| > 1 too."""
    unit = Fraction(1, 2**40)
    rng = np.random.default_rng(11)
    for _ in range(300):
        z, t, h = (Fraction(float(v)) for v in np.round(rng.normal(0, 4, 3), 2))
        exact = (1 - z) * t + z * h
        worst = Fraction(0)
        for signs in itertools.product((-unit, unit), repeat=4):
            a, b, c, d = (1 + sign for sign in signs)
            worst = max(
                worst,
                abs(((1 - z) * a * t * b + z * h * c) * d - exact),
                abs((t + z * ((h - t) * a) * b) * c - exact),
                abs((h + (1 - z) * a * ((t - h) * b) * c) * d - exact),
            )
        sizes = (np.array(abs(float(v))) for v in (z, 1 - z, t, h))
        assert worst <= unit * Fraction(float(blend_rounding(*sizes))) * (1 + 8 * unit)
