"""Tolerances: rtol, atol and units in the last place, by numpy's own meaning of them."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from grucible import GrucibleError
from grucible.cases.dtypes import FLOAT_TYPES
from grucible.check.compare import compare
from grucible.check.tolerance import DEFAULTS, Tolerance, chosen_tolerances, spacing

Array = npt.NDArray[Any]
finfo: Any = ml_dtypes.finfo
DTYPES = sorted(FLOAT_TYPES)


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
    found = spacing(numbers.astype(np.float64), FLOAT_TYPES[dtype])
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.abs(np.spacing(np.abs(numbers)))
    known = np.isfinite(wanted)  # at its largest number numpy has no neighbour to measure
    assert known.sum() >= len(numbers) - 2
    assert np.array_equal(found[known], wanted[known].astype(np.float64))


def test_spacing_of_bfloat16_is_that_of_its_neighbours() -> None:
    positive = np.unique(np.abs(numbers_of("bfloat16").astype(np.float64)))
    found = spacing(positive[:-1], FLOAT_TYPES["bfloat16"])
    assert np.array_equal(found, np.diff(positive))
    assert np.array_equal(found, spacing(-positive[:-1], FLOAT_TYPES["bfloat16"]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_unit_is_the_least_subnormal(dtype: str) -> None:
    least = float(finfo(FLOAT_TYPES[dtype].numpy).smallest_subnormal)
    normal = float(finfo(FLOAT_TYPES[dtype].numpy).tiny)
    at = np.array([0.0, -0.0, least, 3 * least, normal / 2, normal])
    assert spacing(at, FLOAT_TYPES[dtype]).tolist() == [least] * 6


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
        found = compare(
            {"Y": expected.reshape(1, 1)},
            {"Y": observed.reshape(1, 1)},
            Tolerance(ulps=ulps),
            dtype,
            signed_zero=False,
        )
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
    found = compare(
        {"Y": expected}, {"Y": observed}, Tolerance(rtol, atol), dtype, signed_zero=False
    )
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
    tolerance = Tolerance(0.5, 1.0)
    admitted = tolerance.admitted(np.array([0.0, -4.0, np.inf, np.nan]), FLOAT_TYPES["float32"])
    assert admitted.tolist() == [1.0, 3.0, 1.0, 1.0]


def test_defaults_are_for_every_dtype() -> None:
    assert set(DEFAULTS) == set(FLOAT_TYPES)
    assert chosen_tolerances(None, None, None) == dict(DEFAULTS)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((0.5, None, None), Tolerance(0.5, 0.0)),
        ((None, 0.25, None), Tolerance(0.0, 0.25)),
        ((0.5, 0.25, None), Tolerance(0.5, 0.25)),
        ((0.0, None, None), Tolerance()),
        ((None, None, 3.0), Tolerance(ulps=3.0)),
        ((None, None, 0.0), Tolerance()),
    ],
)
def test_what_is_given_goes_for_every_dtype(
    given: tuple[float | None, float | None, float | None], wanted: Tolerance
) -> None:
    assert chosen_tolerances(*given) == dict.fromkeys(FLOAT_TYPES, wanted)


@pytest.mark.parametrize("value", [-1e-9, math.inf, math.nan, -math.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_unusable_numbers(value: float, place: int) -> None:
    given: list[float | None] = [None, None, None]
    given[place] = value
    with pytest.raises(GrucibleError, match=r"--(rtol|atol|ulp) is .*; expected a finite number"):
        chosen_tolerances(*given)


@pytest.mark.parametrize("given", [(0.1, None, 1.0), (None, 0.1, 1.0), (0.0, None, 0.0)])
def test_units_go_with_neither(given: tuple[float | None, float | None, float | None]) -> None:
    with pytest.raises(GrucibleError, match="--ulp goes with neither --rtol nor --atol"):
        chosen_tolerances(*given)
