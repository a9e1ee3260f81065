"""Judging by the tolerances that the vectors hold, and demanding another class of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import Question, Report, judge, load_vectors, verify
from grucible.cases.errors import VectorFileError
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.case import REQUIRED
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command
from .made import (
    KEEPS_H0,
    SEQUENCE,
    Array,
    answer_to,
    make_block,
    name_of,
    write_vectors,
)
from .numpy_gru import keeps_h0
from .numpy_gru import run as numpy_gru

DTYPES = sorted(CLASSES)
HALF = np.full((1, 2, 2), 0.5)


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """A case of each dtype whose answers are 0.5; tolerances are powers of two, so sums are exact."""
    path = tmp_path / "halves.h5"
    blocks = [make_block([dtype], dtype=dtype, outputs={"Ho": half(dtype)}) for dtype in DTYPES]
    write_vectors(path, *blocks)
    return path


def half(dtype: str) -> Array:
    _, block = make_block(["x"], dtype=dtype)
    return HALF.astype(block.answer.outputs["Ho"].dtype)


def off(vectors: Path, *, further: bool = False) -> Any:
    """A runtime with one element off by just the tolerance of the required class, or by the least
    that is more."""
    cases = {case.id: case for case in load_vectors(vectors)}

    def run(question: Question) -> dict[str, Array]:
        answer = answer_to(question, cases[question.id])
        ho = answer.outputs["Ho"].copy()
        limit = answer.tolerances[REQUIRED[question.dtype]]["Ho"]
        wanted = ho[-1, 0].astype(np.float64) + limit[-1, 0]
        ho[-1, 0] = wanted
        assert ho[-1, 0] == wanted
        if further:
            ho[-1, 0] = np.nextafter(ho[-1, 0], ho.dtype.type(2))
        return {"Ho": ho}

    return run


def verdicts(report: Report) -> dict[str, str]:
    return {name_of(result.id): result.verdict for result in report.results}


@pytest.mark.parametrize("further", [False, True])
def test_a_difference_of_just_the_tolerance_passes_and_the_least_more_fails(
    further: bool, halves: Path
) -> None:
    report = verify(halves, runtime=off(halves, further=further))
    assert verdicts(report) == dict.fromkeys(DTYPES, "failed" if further else "passed")
    ratios = [result.worst_ratio for result in report.results]
    assert all(1.0 < ratio <= 1.5 for ratio in ratios) if further else ratios == [1.0] * 4
    assert {result.where for result in report.results} == {"Ho[1, 0]"}


@pytest.mark.parametrize(("tighter", "verdict"), [((), "passed"), ((KEEPS_H0,), "failed")])
def test_a_reading_has_its_own_tolerances(
    tighter: tuple[str, ...], verdict: str, tmp_path: Path
) -> None:
    """The answers of a reading are not judged by the tolerances of the stored ones."""
    key, block = make_block(["zero"], operator=SEQUENCE, tier="ambiguous", lengths=(0, 3))
    for limit in block.answers[tighter].tolerances["float32"].values():
        limit /= 1024
    write_vectors(tmp_path / "zero.h5", (key, block), operator=SEQUENCE)

    def run(question: Question) -> dict[str, Array]:
        return {
            name: array + np.where(array == 0, 0, np.float32(2.0**-21))
            for name, array in keeps_h0(question).items()
        }

    report = verify(tmp_path / "zero.h5", runtime=run)
    assert verdicts(report) == {"zero": verdict}


# another class


@pytest.mark.parametrize(
    ("arithmetic", "failed"),
    [
        ([], set()),
        (["float32"], {"float16", "bfloat16"}),
        (["bfloat16=bfloat16-state", "float16=float16-gemm"], set()),
        (["tf32"], set()),
    ],
    ids=lambda given: " ".join(sorted(given)) or "none",
)
def test_another_class_may_be_demanded(
    arithmetic: list[str], failed: set[str], halves: Path
) -> None:
    """The runtime is off by just what the required class admits: a better one admits less."""
    report = verify(halves, runtime=off(halves), arithmetic=arithmetic)
    assert {i for i, verdict in verdicts(report).items() if verdict == "failed"} == failed


@pytest.mark.parametrize("arithmetic", [[], ["float32=tf32"]])
def test_vectors_without_a_class_are_refused(
    arithmetic: list[str], halves: Path, command: Command
) -> None:
    """Also where it is not the one that is required: the grade needs them all."""
    with h5py.File(halves) as file:
        (name,) = file["float32"]
    place = f"float32/{name}/tolerance/bfloat16-gemm"
    resigned(halves, lambda file: file.__delitem__(place))
    says = f"halves.h5: /{place}: is missing; generate the file again"
    with pytest.raises(VectorFileError, match=re.escape(says)):
        verify(halves, runtime=off(halves), arithmetic=arithmetic)
    ended = command("check", halves, "--runtime", f"{HERE / 'numpy_gru.py'}:run")
    assert says in ended.said_in_one_line()
    one = next(load_vectors(halves, "*/float32/*")).id
    for more in (("show",), ("trace",), ("show", "--script", "onnx")):
        assert says in command(more[0], halves, one, *more[1:]).said_in_one_line()


@pytest.mark.parametrize("tier", ["required", "ambiguous"])
@pytest.mark.parametrize(("dtype", "finer"), [
    (dtype, one.name) for dtype, chains in CHAINS.items() for chain in chains for one in chain[:-1]
])  # fmt: skip
def test_a_class_that_admits_more_than_a_coarser_one_is_refused(
    dtype: str, finer: str, tier: str, tmp_path: Path
) -> None:
    """Whoever widens the required class alone, and signs the file anew, has everything conform."""
    lengths = (3, 2) if tier == "required" else (0, 3)
    key, block = make_block(["a"], operator=SEQUENCE, dtype=dtype, tier=tier, lengths=lengths)
    answer = block.answers[max(block.answers)]  # a reading's, where there is one
    answer.tolerances[finer]["Y"][0, 0, 0, 1] = 1e30
    write_vectors(tmp_path / "wide.h5", (key, block), operator=SEQUENCE)
    with pytest.raises(VectorFileError, match=f"wide.h5: /{dtype}/.* admits less in Y"):
        verify(tmp_path / "wide.h5", runtime=numpy_gru)
    case = next(load_vectors(tmp_path / "wide.h5"))
    with pytest.raises(VectorFileError, match="admits less in Y"):
        judge(case, case.answer.outputs)


def resigned(path: Path, change: Any) -> Path:
    """The file with `change` made in it, and a digest of its tolerances that says so."""
    with h5py.File(path, "r+") as file:
        change(file)
        write_digests(file)
    return path


def test_a_tolerance_of_minus_zero_admits_nothing(halves: Path, command: Command) -> None:
    """Divided by it, every difference would be minus infinity, and so at most one."""

    def negate(file: Any) -> None:
        for dtype in DTYPES:
            [block] = file[dtype].values()
            for limits in block["tolerance"].values():
                limits["Ho"][...] = np.float32(-0.0)

    resigned(halves, negate)
    ended = command("check", halves, "--runtime", f"{HERE / 'takers.py'}:run")
    assert "a tolerance is negative, -0 or NaN" in ended.said_in_one_line()
