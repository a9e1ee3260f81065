"""Criteria and comparisons: by an oracle in exact fractions, by numpy, and for every special value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators.readings import STORED
from grucible.check.judging.criterion import (
    Comparison,
    Demanded,
    Differences,
    Tolerance,
    chosen_criteria,
)
from grucible.vectors.block import Block
from grucible.vectors.case import Answer

Array = npt.NDArray[Any]
NUMPY = {
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
DTYPES = sorted(NUMPY)
INF, NAN = math.inf, math.nan
# precision and least exponent of each type, from IEEE 754 and the definition of bfloat16
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LEAST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}
LARGEST = {name: float(ml_dtypes.finfo(dtype).max) for name, dtype in NUMPY.items()}


def block_of(outputs: dict[str, Array], dtype: str) -> Block:
    """A block of which only the answers are looked at."""
    rows = len(next(iter(outputs.values())))
    answers = {STORED: Answer(outputs)}
    return Block("b", "", dtype, "required", [""] * rows, [{}] * rows, {}, answers)


def compared(
    expected: dict[str, Array],
    observed: dict[str, Array],
    tolerance: Tolerance | dict[str, Array],
    dtype: str,
    *,
    signed_zero: bool = False,
) -> Comparison:
    """Compare by a tolerance of the expected values, or by what each element admits."""
    admitted: Mapping[str, Array] = (
        tolerance.admitted(block_of(expected, dtype), STORED)
        if isinstance(tolerance, Tolerance)
        else tolerance
    )
    differences = Differences(expected, observed, dtype, signed_zero=signed_zero)
    found = differences.worst(admitted)
    assert differences.within(admitted).tolist() == found.passed.tolist()
    return found


def one(
    expected: float, observed: float, tolerance: Any, dtype: str = "float32", **more: bool
) -> Comparison:
    """Compare a single element."""
    e, o = ({"Y": np.array([[value]], NUMPY[dtype])} for value in (expected, observed))
    return compared(e, o, tolerance, dtype, **more)


SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 6.0e4]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_of_special_values(dtype: str) -> None:
    boundless = {"Y": np.array([[INF]], np.float32)}
    values = [*SPECIAL, LARGEST[dtype] / 4, -LARGEST[dtype] / 4]
    for expected, observed in itertools.product(values, repeat=2):
        same = expected == observed or (math.isnan(expected) and math.isnan(observed))
        finite = math.isfinite(expected) and math.isfinite(observed)
        found = one(expected, observed, Tolerance(), dtype)
        assert (found.passed[0], found.ratio[0]) == (same, 0.0 if same else INF)
        if not finite:
            assert found.difference[0] == (0.0 if same else INF)
            for most in (Tolerance(0.5, 1e30), Tolerance(ulps=1e9)):
                assert one(expected, observed, most, dtype).passed[0] == same
        found = one(expected, observed, boundless, dtype)
        passes = finite or same
        assert (found.passed[0], found.ratio[0]) == (passes, 0.0 if passes else INF)
        if expected == observed == 0.0:
            differ = math.copysign(1, expected) != math.copysign(1, observed)
            found = one(expected, observed, Tolerance(0.5, 0.5), dtype, signed_zero=True)
            assert (found.passed[0], found.ratio[0]) == (not differ, INF if differ else 0.0)


def test_a_tolerance_that_is_zero_or_none_admits_no_difference() -> None:
    least = 2.0**-149
    assert one(0.0, least, Tolerance(relative=0.5)).ratio[0] == INF
    assert one(least, 0.0, Tolerance(relative=1.0)).ratio[0] == 1.0
    for limit in (0.0, -0.0, -1.0, NAN):
        found = one(1.0, 0.0, {"Y": np.full((1, 1), limit)}, "float64")
        assert (found.passed[0], found.ratio[0]) == (False, INF)


def units(value: float, dtype: str) -> Fraction:
    """One unit in the last place at a finite value, by definition."""
    if value == 0:
        return Fraction(2) ** LEAST[dtype]
    exponent = math.frexp(value)[1] - PRECISION[dtype]
    return Fraction(2) ** max(exponent, LEAST[dtype])


def admits(expected: float, tolerance: Tolerance, dtype: str) -> Fraction:
    return (
        Fraction(tolerance.absolute)
        + Fraction(tolerance.relative) * abs(Fraction(expected))
        + Fraction(tolerance.ulps) * units(expected, dtype)
    )


POWERS = st.integers(-12, 2).map(lambda power: 2.0**power)
TOLERANCES = st.one_of(
    st.builds(Tolerance, POWERS, POWERS),
    st.builds(Tolerance, st.just(0.0), POWERS),
    st.builds(Tolerance, ulps=st.sampled_from([0.5, 1.0, 3.0, 100.0])),
)


@settings(max_examples=150)
@given(st.sampled_from(DTYPES), TOLERANCES, st.integers(0, 1 << 32))
def test_the_worst_element_is_the_worst(dtype: str, tolerance: Tolerance, seed: int) -> None:
    """Against every element, one by one, in exact fractions; in half of the cases all are within."""
    random = np.random.default_rng(seed)
    expected, observed = {}, {}
    for name, shape in {"Y": (4, 3, 2), "Ho": (4, 3)}.items():
        e = random.standard_normal(shape).astype(NUMPY[dtype])
        limits = [float(admits(v, tolerance, dtype)) for v in e.ravel().tolist()]
        noise = random.uniform(-1.5, 1.5, shape) * np.reshape(limits, shape)
        noise[:2] *= 0.3
        expected[name], observed[name] = e, (e.astype(np.float64) + noise).astype(NUMPY[dtype])
    found = compared(expected, observed, tolerance, dtype)
    for row in range(4):
        pairs = {
            (name, place): (float(e), float(o))
            for name in expected
            for place, (e, o) in enumerate(
                zip(expected[name][row].flat, observed[name][row].flat, strict=True)
            )
        }
        off = {key: abs(Fraction(o) - Fraction(e)) for key, (e, o) in pairs.items()}
        ratios = {key: off[key] / admits(pairs[key][0], tolerance, dtype) for key in pairs}
        at = list(expected)[found.output[row]], int(found.element[row])
        worst = max(ratios.values())
        assert float(worst) == pytest.approx(found.ratio[row], rel=1e-12)
        assert float(ratios[at]) == pytest.approx(float(worst), rel=1e-12)
        assert float(off[at]) == found.difference[row]
        ulps = float(off[at] / units(pairs[at][0], dtype))
        assert ulps == pytest.approx(found.ulps[row], rel=1e-12)
        assert found.passed[row] == (worst <= 1) or abs(worst - 1) < 1e-12


def test_each_element_has_its_own_limit() -> None:
    """What is admitted is an array: the same difference passes at one element and not at another."""
    expected = {"Y": np.zeros((2, 3), np.float32), "Ho": np.ones((2, 1), np.float32)}
    observed = {"Y": np.full((2, 3), 0.25, np.float32), "Ho": np.ones((2, 1), np.float32)}
    admitted = {
        "Y": np.array([[0.25, 0.5, INF], [0.5, 0.125, 0.25]], np.float32),
        "Ho": np.zeros((2, 1), np.float32),
    }
    found = compared(expected, observed, admitted, "float32")
    assert (found.ratio.tolist(), found.element.tolist()) == ([1.0, 2.0], [0, 1])
    assert found.passed.tolist() == [True, False]
    np.testing.assert_array_equal(admitted["Y"][0], [0.25, 0.5, INF])  # left as they were


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_spacing_is_numpys(dtype: str) -> None:
    """Of numbers of every exponent; at its largest number numpy has no neighbour to measure."""
    kind = NUMPY[dtype]
    words = np.random.default_rng(1).integers(0, 1 << 63, 20_000, dtype=np.uint64) * 2
    drawn = (words >> (64 - 8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)
    with np.errstate(all="ignore"):
        numbers = np.concatenate([drawn, np.ldexp(1.0, np.arange(-1074, 1024)).astype(kind)])
        numbers = numbers[np.isfinite(numbers)]
        wanted = np.spacing(np.abs(numbers))
    known = np.isfinite(wanted)
    found = FLOAT_TYPES[dtype].spacing(numbers.astype(np.float64))
    assert known.sum() >= len(numbers) - 2
    assert np.array_equal(found[known], wanted[known].astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ulps", [0, 1, 2, 20])
def test_ulps_admit_so_many_neighbours(dtype: str, ulps: int) -> None:
    """Within one binade, units are neighbours."""
    kind = NUMPY[dtype]
    bits = np.array([1.25], kind).view(f"u{kind.itemsize}")
    for away in (ulps, ulps + 1):
        observed = (bits + np.array(away, bits.dtype)).view(kind)
        found = one(1.25, float(observed[0]), Tolerance(ulps=ulps), dtype)
        assert (found.passed[0], found.ulps[0]) == (away == ulps, away)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rtol", "atol"), [(1e-4, 1e-5), (0.0, 1e-3), (1e-3, 0.0)])
def test_rtol_and_atol_are_numpys(rtol: float, atol: float, dtype: str) -> None:
    """`actual` and `desired` of numpy.testing are observed and expected."""
    random = np.random.default_rng(3)
    expected = random.standard_normal((400, 1)).astype(dtype)
    observed = expected + (atol + rtol * np.abs(expected)) * random.uniform(-2, 2, (400, 1))
    observed = observed.astype(dtype)
    observed[:4] = expected[:4]
    wanted = np.isclose(
        observed.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol
    )
    found = compared({"Y": expected}, {"Y": observed}, Tolerance(rtol, atol), dtype)
    assert found.passed.tolist() == wanted[:, 0].tolist()
    assert 0 < wanted.sum() < 400


def test_the_admitted_difference_is_of_the_expected_value() -> None:
    outputs = {"Y": np.array([0.0, -4.0, np.inf, np.nan], np.float32)}
    answers = {STORED: Answer(outputs), ("r",): Answer({"Y": outputs["Y"] * 2})}
    block = replace(block_of(outputs, "float32"), answers=answers)
    tolerance = Tolerance(0.5, 1.0)
    assert tolerance.admitted(block, STORED)["Y"].tolist() == [1.0, 3.0, 1.0, 1.0]
    assert tolerance.admitted(block, ("r",))["Y"].tolist() == [1.0, 5.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (["float32=tf32", "float16=float16-gemm"], {"float32": "tf32", "float16": "float16-gemm"}),
        (["float64=float64"], {}),
        # without a dtype: wherever there is such a class
        (["float32"], dict.fromkeys(("float64", "float32", "float16", "bfloat16"), "float32")),
        (["bfloat16-gemm"], {"float32": "bfloat16-gemm"}),
        # the last one counts
        (["float32", "float64=float64"], {"float16": "float32", "bfloat16": "float32"}),
        (["float16=float32", "float16=float16-state"], {"float16": "float16-state"}),
    ],
    ids=" ".join,
)
def test_an_arithmetic_is_demanded_of_its_dtypes(texts: list[str], changed: dict[str, str]) -> None:
    wanted = {dtype: Demanded(name) for dtype, name in changed.items()}
    assert chosen_criteria(texts) == chosen_criteria() | wanted
