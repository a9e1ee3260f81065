"""Grades: the best class of arithmetic that holds on every case, and how much that says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import Question, Report, Unsupported, verify
from grucible.cases.selection import selected
from grucible.check.judging.case_result import DECIDING
from grucible.check.judging.criterion import Demanded
from grucible.check.judging.grade import Grade, Growth
from grucible.check.reports.formats import report_value
from grucible.check.reports.terminal import headline, report_lines
from grucible.gen.tolerances.classes import CLASSES
from grucible.vectors.block import Block, BlockKey

from .made import Array, answering, make_block, name_of, write_vectors
from .numpy_gru import in_float32, run

FLOAT16 = [one.name for one in CLASSES["float16"]]
OURS = ("openvino.*",)


def observed(report: Report) -> dict[str, str]:
    return {dtype: grade.observed for dtype, grade in report.grades.items()}


# of the core vectors


def number_of(dtype: str) -> int:
    """How many of OURS are of a dtype and decide: none of them is nonportable."""
    ours = [case for case in core_cases() if selected(case.id, OURS) and case.dtype == dtype]
    assert {case.tier for case in ours} <= set(DECIDING)
    return len(ours)


@pytest.fixture(scope="module")
def float32_report() -> Report:
    return verify(runtime=in_float32, select=OURS)


def test_float32_on_float64_vectors_is_graded_float32_and_fails(float32_report: Report) -> None:
    grade = float32_report.grades["float64"]
    assert (str(grade.required), grade.observed) == ("float64", "float32")
    assert float32_report.verdict == "does not conform"
    failed = {result.dtype for result in float32_report.results if result.verdict == "failed"}
    assert failed == {"float64"}
    assert grade.holds["float32"] == grade.compared == number_of("float64")
    assert grade.holds["float64"] < 10
    assert grade.worst > 1e4
    case = next(r for r in float32_report.results if r.id == grade.worst_id)
    assert (case.worst_ratio, case.where) == (grade.worst, grade.worst_where)
    assert case.worst_ratio == max(r.worst_ratio for r in float32_report.results)


def test_one_hopeless_case_leaves_none() -> None:
    def hopeless(question: Question) -> dict[str, Array]:
        outputs = run(question)
        if question.id == "openvino.GRUCell-3/core/float16/lbr-relu_relu-noB":
            outputs["Ho"] = outputs["Ho"] + outputs["Ho"].dtype.type(100)
        return outputs

    report = verify(runtime=hopeless, select=OURS)
    assert observed(report) == {
        "float64": "float64",
        "float32": "float32",
        "float16": "",
        "bfloat16": "float32",
    }
    assert set(report.grades["float16"].holds.values()) == {number_of("float16") - 1}
    value = report_value(report)
    assert value["arithmetic"]["float16"]["observed"] is None
    assert value["arithmetic"]["float16"]["holds"] == dict.fromkeys(
        FLOAT16, number_of("float16") - 1
    )
    assert [c["id"] for c in value["cases"] if c["arithmetic"] is None] == [
        report.grades["float16"].worst_id
    ]
    [line] = [line for line in report_lines(report) if line.split()[:2] == ["float16", "float16"]]
    assert line.split()[2] == "none"


# of made ones, where a case is off by so many limits of a class


def halves(ids: list[str], dtype: str, **options: Any) -> tuple[BlockKey, Block]:
    """Cases whose answers are 0.5: sums with tolerances, which are powers of two, are exact."""
    _, block = make_block(ids, dtype=dtype)
    ho = np.full_like(block.answer.outputs["Ho"], 0.5)
    return make_block(ids, dtype=dtype, outputs={"Ho": ho}, **options)


def test_only_deciding_cases_that_were_compared_are_graded(tmp_path: Path) -> None:
    write_vectors(
        tmp_path / "cell.h5",
        halves(["a", "error", "unsupported"], "float16"),
        halves(["special"], "float16", tier="nonportable"),
        halves(["unsupported-too"], "float32"),
    )

    def answer(question: Question) -> dict[str, Array]:
        if "unsupported" in question.id:
            raise Unsupported("not this")
        if name_of(question.id) == "error":
            raise ValueError("cannot")
        shape, dtype = question.outputs["Ho"]
        return {"Ho": np.full(shape, np.nan if "special" in question.id else 0.5, dtype)}

    report = verify(tmp_path / "cell.h5", runtime=answer)
    grade = report.grades["float16"]
    assert (grade.compared, grade.observed, grade.worst, grade.worst_id) == (1, "float32", 0.0, "")
    assert sum(grade.elements.values()) == 3 * 4
    nothing = report.grades["float32"]
    assert (nothing.compared, nothing.observed) == (0, "")
    assert {name_of(r.id): r.arithmetic for r in report.results if r.arithmetic} == {"a": "float32"}
    table = [line.split()[0] for line in report_lines(report) if "float32" in line]
    assert table == ["float32", "float16"]  # the first one counts cases
    value = report_value(report)["arithmetic"]["float32"]
    assert (value["compared"], value["observed"], set(value["holds"].values())) == (0, None, {0})


# tolerances that say nothing


@pytest.fixture
def vague(tmp_path: Path) -> Path:
    """Two files; in `some.h5` two of three elements that are not padding may be anything, or zero."""
    ho = np.array([[[0.5, 0.05], [0.0, -0.25]]], np.float32)
    key, block = make_block(["a"], outputs={"Ho": ho})
    limits = block.answer.tolerances
    for name, limit in limits.items():
        limit["Ho"][...] = [[[0.51, 0.1], [0.0, np.inf]]]
        if name == "float32":
            limit["Ho"][...] = [[[0.499, 0.05], [0.0, 0.25]]]
    write_vectors(tmp_path / "v" / "some.h5", (key, block))
    write_vectors(tmp_path / "v" / "sound.h5", halves(["b", "c"], "float32"))
    write_vectors(tmp_path / "v" / "special.h5", make_block(["d"], tier="nonportable"))
    return tmp_path / "v"


def test_what_rests_on_cases_that_decide_nothing_is_no_conformance(vague: Path) -> None:
    report = verify(vague / "some.h5", runtime=answering(vague))
    assert (report.verdict, report.exit_status) == ("incomplete", 1)
    assert "1 of 1 cases passed, 1 of them decides nothing" in headline(report)


def test_a_case_that_fails_decides(vague: Path) -> None:
    """So that the numbers of the first line add up."""
    sevens = lambda q: {"Ho": np.full(q.outputs["Ho"].shape, 7.0, q.dtype)}  # noqa: E731
    report = verify(vague / "some.h5", runtime=sevens)
    assert headline(report).startswith("does not conform: 0 of 1 cases passed, 1 failed")


def test_classes_of_other_chains_are_named_too() -> None:
    """Each chain's best that holds everywhere, unless it is coarser than the one that is observed."""
    coarse = Counter({"tf32": 2, "float16-state": 2, "bfloat16-gemm": 2, "float32": 1})
    grade = Grade("float32", Demanded("float32"), compared=2, holds=coarse)
    others = {"tf32": ["float16-state"], "float16-state": ["tf32"]}
    assert grade.observed_too == others[grade.observed]


def test_errors_are_sorted_by_step() -> None:
    growth = Growth()
    assert growth.by_step(passed=True) == []
    growth.see(np.array([[3.0, 2.0], [1.0, np.nan], [9.0, 9.0]]), np.array([True, True, False]))
    assert growth.by_step(passed=True) == [[1.0, 3.0], [2.0]]
    assert growth.by_step(passed=False) == [[9.0], [9.0]]
