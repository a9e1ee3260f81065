"""A right runtime conforms; wrong ones do not, and the report names their cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from printed import sentence_of
from shipped import core_cases

from grucible import Case, Question, verify
from grucible.cases.selection import selected
from grucible.check.reports.terminal import report_lines

from .made import SEQUENCE, answering, make_block, write_vectors
from .numpy_gru import MISTAKES, Array, run

OURS = ("openvino.*",)
FLOAT32 = ("openvino.*/core*/float32/*",)


def core() -> dict[str, Case]:
    """OpenVINO's core cases by id."""
    return {case.id: case for case in core_cases() if case.operator.startswith("openvino.")}


def test_the_right_one_passes_every_case() -> None:
    report = verify(runtime=run, select=OURS)
    assert (report.verdict, report.exit_status) == ("conforms", 0)
    assert report.counts == {"passed": len(core())}
    assert {result.id for result in report.results} == set(core())
    assert max(result.worst_ratio for result in report.results) < 0.5
    assert any(result.worst_ratio > 0 for result in report.results)


def touched(mistake: str) -> set[str]:
    """The core cases in float32 in which a mistake shows, by what they ask."""
    found = set()
    for case_id, case in core().items():
        if not selected(case_id, FLOAT32):
            continue
        a = case.attributes
        lengths = case.inputs.get("sequence_lengths")
        time = case.inputs["X"].shape[1]
        shows = {
            "gates z and r exchanged": True,
            "linear_before_reset inverted": True,
            "Rbh outside the product": a["linear_before_reset"] and "B" in case.inputs,
            "activations exchanged": len(set(a["activations"])) == 2,
            "clip ignored": a["clip"] < 1e9,
            "h0 ignored": True,
            "sequence_lengths ignored": lengths is not None and (lengths < time).any(),
            "reverse ignored": a.get("direction", "forward") != "forward"
            and lengths is not None
            and (lengths > 1).any(),
            "directions exchanged in Y": a.get("direction") == "bidirectional",
        }
        if shows[mistake]:
            found.add(case_id)
    return found


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_one_fails_and_its_cases_are_named(mistake: str) -> None:
    report = verify(runtime=MISTAKES[mistake], select=FLOAT32, diagnosis=False)
    failed = {result.id for result in report.results if result.verdict == "failed"}
    may_show = touched(mistake)
    assert (report.verdict, report.exit_status) == ("does not conform", 1)
    assert failed <= may_show
    assert len(failed) > 0.75 * len(may_show)
    assert set(Counter(r.verdict for r in report.results)) <= {"failed", "passed"}
    text = "\n".join(report_lines(report))
    worst = max(report.results, key=lambda result: result.worst_ratio)
    plainest = min(
        (r for r in report.results if r.verdict == "failed"),
        key=lambda result: result.plainness,
    )
    assert text.endswith(f"start with: grucible show {plainest.id}")
    assert f"\n  {plainest.id}\n" in text
    assert worst.where.startswith(("Y[", "Ho["))
    assert "expected " in worst.message
    assert f"{len(failed)} failed" in sentence_of(text)


@pytest.fixture
def length_zero(tmp_path: Path) -> Path:
    """An ambiguous file: rows of length 0, and rows of length 3; and the same without any 0."""
    path = tmp_path / "ambiguous.h5"
    with_zero = make_block(
        ["zero-a", "zero-b"], operator=SEQUENCE, tier="ambiguous", lengths=(0, 3)
    )
    full = make_block(["full"], operator=SEQUENCE, dtype="float64")
    write_vectors(path, with_zero, full, operator=SEQUENCE)
    return path


def test_neither_reading_fails(length_zero: Path) -> None:
    def neither(question: Question) -> dict[str, Array]:
        outputs = run(question)
        return outputs | {"Ho": outputs["Ho"] + 1}

    report = verify(length_zero, runtime=neither, diagnosis=False)
    assert report.verdict == "does not conform"
    assert [r.verdict for r in report.results] == ["failed"] * 3
    assert [r.readings for r in report.results] == [()] * 3


def test_an_answer_is_copied_when_it_is_returned() -> None:
    """What returns the memory that it uses for each question, through `__array__`, is right all the same."""
    memory: dict[tuple[int, ...], Array] = {}
    right = answering()

    class Tensor:
        def __init__(self, array: Array) -> None:
            self._array = memory.setdefault(array.shape, array.copy())
            self._array[...] = array

        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return self._array

    def run(question: Question) -> dict[str, Any]:
        return {name: Tensor(array) for name, array in right(question).items()}

    report = verify(runtime=run, select="openvino.GRUCell-3/plain/float32/*")
    assert report.verdict == "conforms"
