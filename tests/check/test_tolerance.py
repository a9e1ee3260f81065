"""Criteria: classes of arithmetic, and rtol, atol and units by numpy's own meaning of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators.readings import STORED
from grucible.check.judging.criterion import Demanded, Differences, Tolerance, chosen_criteria
from grucible.vectors.block import Block
from grucible.vectors.case import Answer

Array = npt.NDArray[Any]
finfo: Any = ml_dtypes.finfo
DTYPES = sorted(FLOAT_TYPES)


def block_of(outputs: dict[str, Array], dtype: str) -> Block:
    """A block of which only the answers are looked at."""
    rows = len(outputs["Y"])
    return Block(
        "b", "", dtype, "required", [""] * rows, [{}] * rows, {}, {STORED: Answer(outputs)}
    )


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
