"""Criteria and comparisons: by an oracle in exact fractions, by numpy, and for every special value."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

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
finfo: Any = ml_dtypes.finfo
NUMPY = {
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
DTYPES = sorted(NUMPY)
INF, NAN = math.inf, math.nan
EXACT, LOOSE = Tolerance(), Tolerance(0.5, 0.5)
# precision and least exponent of each type, from IEEE 754 and the definition of bfloat16
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LEAST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}


def one(
    expected: float,
    observed: float,
    tolerance: Tolerance = LOOSE,
    dtype: str = "float32",
    *,
    signed_zero: bool = False,
) -> Comparison:
    """Compare a single element."""
    e, o = (np.array([[value]], NUMPY[dtype]) for value in (expected, observed))
    return under({"Y": e}, {"Y": o}, tolerance, dtype, signed_zero=signed_zero)


def block_of(outputs: dict[str, Array], dtype: str) -> Block:
    """A block of which only the answers are looked at."""
    rows = len(next(iter(outputs.values())))
    return Block(
        "b", "", dtype, "required", [""] * rows, [{}] * rows, {}, {STORED: Answer(outputs)}
    )


def under(
    expected: dict[str, Array],
    observed: dict[str, Array],
    tolerance: Tolerance,
    dtype: str,
    *,
    signed_zero: bool = False,
) -> Comparison:
    """Compare with what a tolerance admits of the expected values."""
    admitted = tolerance.admitted(block_of(expected, dtype), STORED)
    return Differences(expected, observed, dtype, signed_zero=signed_zero).worst(admitted)


SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 6.0e4]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("expected", "observed"), list(itertools.product(SPECIAL, repeat=2)))
def test_every_pair_of_special_values(expected: float, observed: float, dtype: str) -> None:
    found = one(expected, observed, EXACT, dtype)
    same = expected == observed or (math.isnan(expected) and math.isnan(observed))
    assert found.passed[0] == same
    assert found.ratio[0] == (0.0 if same else INF)
    if not (math.isfinite(expected) and math.isfinite(observed)):
        assert found.difference[0] == (0.0 if same else INF)
        assert one(expected, observed, Tolerance(1e30, 1e30), dtype).passed[0] == same
        assert one(expected, observed, Tolerance(ulps=1e30), dtype).passed[0] == same


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_numbers(dtype: str) -> None:
    largest = float(finfo(NUMPY[dtype]).max)
    assert one(largest, largest, EXACT, dtype).ratio[0] == 0
    assert not one(largest, INF, LOOSE, dtype).passed[0]
    assert not one(largest, -largest, LOOSE, dtype).passed[0]
    assert not one(INF, largest, LOOSE, dtype).passed[0]


def test_a_difference_by_a_zero_tolerance_is_infinite() -> None:
    least = 2.0**-149
    for expected, observed in ((1.0, np.nextafter(np.float32(1), np.float32(2))), (0.0, least)):
        found = one(expected, float(observed), EXACT)
        assert found.ratio[0] == INF
        assert not found.passed[0]
    assert one(0.0, least, Tolerance(relative=0.5)).ratio[0] == INF
    assert one(least, 0.0, Tolerance(relative=1.0)).ratio[0] == 1.0


@pytest.mark.parametrize("signed_zero", [False, True])
@pytest.mark.parametrize(("expected", "observed"), list(itertools.product([0.0, -0.0], repeat=2)))
def test_zeros_have_signs_only_where_asked(
    expected: float, observed: float, signed_zero: bool
) -> None:
    found = one(expected, observed, LOOSE, signed_zero=signed_zero)
    differ = signed_zero and math.copysign(1, expected) != math.copysign(1, observed)
    assert found.ratio[0] == (INF if differ else 0.0)
    assert found.passed[0] != differ


def units(value: float, dtype: str) -> Fraction:
    """One unit in the last place at a finite value, by definition."""
    if value == 0:
        return Fraction(2) ** LEAST[dtype]
    exponent = math.frexp(value)[1] - PRECISION[dtype]
    return Fraction(2) ** max(exponent, LEAST[dtype])


def exact_ratio(
    expected: float, observed: float, tolerance: Tolerance, dtype: str
) -> tuple[Fraction, Fraction]:
    """|observed - expected| and what is admitted."""
    e, o = Fraction(expected), Fraction(observed)
    admitted = (
        Fraction(tolerance.absolute)
        + Fraction(tolerance.relative) * abs(e)
        + Fraction(tolerance.ulps) * units(expected, dtype)
    )
    return abs(o - e), admitted


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "tolerance", [Tolerance(2.0**-6, 2.0**-10), Tolerance(0, 2.0**-5), Tolerance(ulps=3)], ids=str
)
def test_the_worst_element_is_the_worst(dtype: str, tolerance: Tolerance) -> None:
    """Against every element, one by one, in exact fractions."""
    random = np.random.default_rng(5)
    count, shapes = 20, {"Y": (3, 4), "Ho": (5,)}
    expected, observed = {}, {}
    for name, shape in shapes.items():
        e = random.standard_normal((count, *shape)).astype(NUMPY[dtype])
        admitted = [float(exact_ratio(v, v, tolerance, dtype)[1]) for v in e.ravel().tolist()]
        noise = random.uniform(-1.5, 1.5, e.shape) * np.reshape(admitted, e.shape)
        noise[: count // 2] *= 0.3  # half of the cases are within their tolerance
        expected[name], observed[name] = e, (e.astype(np.float64) + noise).astype(NUMPY[dtype])
    found = under(expected, observed, tolerance, dtype)
    verdicts = set()
    for row in range(count):
        elements = [
            (name, index, *exact_ratio(float(e), float(o), tolerance, dtype))
            for name in shapes
            for index, (e, o) in enumerate(
                zip(expected[name][row].ravel(), observed[name][row].ravel(), strict=True)
            )
        ]
        worst = max(difference / admitted for _, _, difference, admitted in elements)
        name = list(shapes)[found.output[row]]
        difference, limit = next(
            (d, a) for n, i, d, a in elements if (n, i) == (name, found.element[row])
        )
        assert float(worst) == pytest.approx(found.ratio[row], rel=1e-12)
        assert float(difference / limit) == pytest.approx(float(worst), rel=1e-12)
        assert float(difference) == found.difference[row]
        at = float(expected[name][row].ravel()[found.element[row]])
        assert float(difference / units(at, dtype)) == pytest.approx(found.ulps[row], rel=1e-12)
        within = all(d <= a for _, _, d, a in elements)
        assert found.passed[row] == within
        verdicts.add(within)
    assert verdicts == {True, False}


def test_each_element_has_its_own_limit() -> None:
    """What is admitted is an array: the same difference passes at one element and not at another."""
    expected = {"Y": np.zeros((2, 3), np.float32), "Ho": np.ones((2, 1), np.float32)}
    observed = {"Y": np.full((2, 3), 0.25, np.float32), "Ho": np.ones((2, 1), np.float32)}
    admitted = {
        "Y": np.array([[0.25, 0.5, INF], [0.5, 0.125, 0.25]], np.float32),
        "Ho": np.zeros((2, 1), np.float32),
    }
    found = Differences(expected, observed, "float32", signed_zero=False).worst(admitted)
    assert found.ratio.tolist() == [1.0, 2.0]
    assert found.element.tolist() == [0, 1]
    assert found.passed.tolist() == [True, False]
    np.testing.assert_array_equal(admitted["Y"][0], [0.25, 0.5, INF])  # left as they were


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_infinite_limit_admits_every_number_and_no_other(dtype: str) -> None:
    admitted = {"Y": np.array([[INF]], np.float32)}
    for expected, observed in itertools.product(SPECIAL, repeat=2):
        e, o = ({"Y": np.array([[value]], NUMPY[dtype])} for value in (expected, observed))
        found = Differences(e, o, dtype, signed_zero=False).worst(admitted)
        finite = math.isfinite(expected) and math.isfinite(observed)
        same = expected == observed or (math.isnan(expected) and math.isnan(observed))
        assert found.passed[0] == (finite or same)
        assert found.ratio[0] == (0.0 if finite or same else INF)


def numbers_of(dtype: str) -> Array:
    """All finite numbers of a 16-bit type; of a wider one, some of every exponent."""
    kind = FLOAT_TYPES[dtype].numpy
    if kind.itemsize == 2:
        numbers = np.arange(1 << 16, dtype=np.uint16).view(kind)
    else:
        words = np.random.default_rng(1).integers(0, 1 << 63, 20_000, dtype=np.uint64) * 2
        numbers = (words >> (64 - 8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)
        edges = np.ldexp(1.0, np.arange(-1074, 1024))
        with np.errstate(over="ignore"):
            edges = np.concatenate([edges, -edges, [0.0, -0.0]]).astype(kind)
        numbers = np.concatenate([numbers, edges, np.nextafter(edges, kind.type(np.inf))])
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(numbers.astype(np.float64))
    return np.unique(numbers[finite])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_spacing_is_numpys(dtype: str) -> None:
    """numpy.spacing has a sign, and at a power of two below zero the same magnitude."""
    numbers = numbers_of(dtype)
    found = FLOAT_TYPES[dtype].spacing(numbers.astype(np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.abs(np.spacing(np.abs(numbers)))
    known = np.isfinite(wanted)  # at its largest number numpy has no neighbour to measure
    assert known.sum() >= len(numbers) - 2
    assert np.array_equal(found[known], wanted[known].astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ulps", [0.0, 0.5, 1.0, 2.0, 100.0])
def test_ulps_admit_so_many_neighbours(dtype: str, ulps: float) -> None:
    """n units away passes with n units, n + 1 does not; within one binade units are neighbours."""
    kind = FLOAT_TYPES[dtype].numpy
    bits = np.array([1.25], kind).view(f"u{kind.itemsize}")
    steps = math.floor(ulps)
    for away, passes in ((steps, True), (steps + 1, False)):
        if away > 2 ** (FLOAT_TYPES[dtype].precision - 3):
            continue  # beyond the binade
        observed = (bits + np.array(away, bits.dtype)).view(kind)
        expected = bits.view(kind)
        e, o = ({"Y": array.reshape(1, 1)} for array in (expected, observed))
        admitted = Tolerance(ulps=ulps).admitted(block_of(e, dtype), STORED)
        found = Differences(e, o, dtype, signed_zero=False).worst(admitted)
        assert found.passed[0] == passes
        assert found.ulps[0] == away


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rtol", "atol"), [(1e-4, 1e-5), (0.0, 1e-3), (1e-3, 0.0), (0.0, 0.0)])
def test_rtol_and_atol_are_numpys(rtol: float, atol: float, dtype: str) -> None:
    """`actual` and `desired` of numpy.testing are observed and expected."""
    random = np.random.default_rng(3)
    expected = random.standard_normal((400, 1)).astype(dtype)
    expected[:4] = [[0.0], [np.inf], [np.nan], [-np.inf]]
    with np.errstate(invalid="ignore"):
        scale = (atol + rtol * np.abs(expected)) * random.uniform(-2, 2, expected.shape)
        observed = (expected + scale).astype(dtype)
    observed[4:8] = [[np.nan], [np.inf], [0.0], [-np.inf]]
    observed[8:12] = expected[8:12]
    admitted = Tolerance(rtol, atol).admitted(block_of({"Y": expected}, dtype), STORED)
    found = Differences({"Y": expected}, {"Y": observed}, dtype, signed_zero=False).worst(admitted)
    wanted = []
    for e, o in zip(expected.astype(np.float64), observed.astype(np.float64), strict=True):
        try:
            np.testing.assert_allclose(o, e, rtol=rtol, atol=atol)
            wanted.append(True)
        except AssertionError:
            wanted.append(False)
    assert found.passed.tolist() == wanted
    assert 0 < sum(wanted) < 400


def test_the_admitted_difference_is_of_the_expected_value() -> None:
    outputs = {"Y": np.array([0.0, -4.0, np.inf, np.nan], np.float32)}
    answers = {STORED: Answer(outputs), ("r",): Answer({"Y": outputs["Y"] * 2})}
    block = replace(block_of(outputs, "float32"), answers=answers)
    tolerance = Tolerance(0.5, 1.0)
    assert tolerance.admitted(block, STORED)["Y"].tolist() == [1.0, 3.0, 1.0, 1.0]
    assert tolerance.admitted(block, ("r",))["Y"].tolist() == [1.0, 5.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        (["float16=float32"], {"float16": "float32"}),
        (["float32=tf32", "float16=float16-gemm"], {"float32": "tf32", "float16": "float16-gemm"}),
        (["float64=float64"], {}),
        # without a dtype: wherever there is such a class
        (["float32"], dict.fromkeys(("float64", "float32", "float16", "bfloat16"), "float32")),
        (["bfloat16-gemm"], {"float32": "bfloat16-gemm"}),
        (["bfloat16-state"], {"bfloat16": "bfloat16-state"}),
        (["float64"], {}),
        # the last one counts
        (["float32", "float64=float64"], {"float16": "float32", "bfloat16": "float32"}),
        (["float16=float32", "float16=float16-state"], {"float16": "float16-state"}),
    ],
    ids=" ".join,
)
def test_an_arithmetic_is_demanded_of_its_dtypes(given: list[str], changed: dict[str, str]) -> None:
    assert chosen_criteria(given) == chosen_criteria() | {
        d: Demanded(c) for d, c in changed.items()
    }
