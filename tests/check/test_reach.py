"""A verdict names its reach: what is unsupported is said before `conforms`, and may be a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from printed import sentence_of

from grucible import GrucibleError, Question, Unsupported, load_vectors, verify
from grucible.check.judging.case_result import CaseResult, CaseVerdict
from grucible.check.judging.expectations import Expectation
from grucible.check.report import Reach, reach
from grucible.check.reports.json import report_value
from grucible.check.reports.terminal import report_lines

from .made import CELL, SEQUENCE, make_block, name_of, write_vectors
from .numpy_gru import run as numpy_gru


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cells and two sequences, one of which is asked in float64."""
    root = tmp_path_factory.mktemp("reach")
    write_vectors(root / "cell.h5", make_block(["cell/a", "cell/b", "cell/c"]))
    write_vectors(
        root / "sequence.h5",
        make_block(["sequence/a"], operator=SEQUENCE),
        make_block(["sequence/wide"], operator=SEQUENCE, dtype="float64"),
        operator=SEQUENCE,
    )
    return root


def but(*words: str) -> Any:
    """A right runtime that declares cases with one of `words` in their id unsupported."""

    def run(question: Question) -> Any:
        for word in words:
            if word in question.id:
                raise Unsupported(f"no {word} here")
        return numpy_gru(question)

    return run


@pytest.mark.parametrize(
    ("unsupported", "head"),
    [
        ((), ["conforms: 5 of 5 cases passed"]),
        (
            ("wide",),
            [
                "conforms where supported: 4 of 5 cases passed, 1 unsupported",
                f"  supported: {CELL}",
                f"  in part: {SEQUENCE} (1 of 2)",
            ],
        ),
        (
            ("sequence/",),
            [
                "conforms where supported: 3 of 5 cases passed, 2 unsupported",
                f"  supported: {CELL}",
                f"  not supported: {SEQUENCE}",
            ],
        ),
        (
            ("sequence/", "cell/"),
            [
                "incomplete: 0 of 5 cases passed, 5 unsupported",
                f"  not supported: {CELL}, {SEQUENCE}",
            ],
        ),
    ],
)
def test_the_report_begins_with_the_reach(
    unsupported: tuple[str, ...], head: list[str], vectors: Path
) -> None:
    report = verify(vectors, but(*unsupported))
    lines = list(report_lines(report))
    assert lines[: len(head)] == head
    assert lines[len(head)].startswith("run: 5 cases")
    verdict = head[0].partition(":")[0]
    assert report_value(report)["verdict"] == report.verdict == verdict
    assert report.exit_status == (1 if verdict == "incomplete" else 0)


def test_what_is_missing_is_not_supported() -> None:
    """Outputs that are absent say nothing about what a runtime supports."""
    verdicts: list[CaseVerdict] = ["passed", "failed", "error", "missing", "unsupported"]
    results = [CaseResult("any", CELL, "required", "float32", verdict) for verdict in verdicts]
    assert reach(results) == [Reach(CELL, 3, 5)]


def test_the_reach_in_json(vectors: Path) -> None:
    assert report_value(verify(vectors, but("wide")))["reach"] == {
        CELL: {"supported": 3, "cases": 3},
        SEQUENCE: {"supported": 1, "cases": 2},
    }


def test_what_failed_is_supported(vectors: Path) -> None:
    """Only what a runtime declares is unsupported: an error is none."""

    def run(_: Question) -> Any:
        raise ValueError("never mind")

    report = verify(vectors, run)
    assert report.verdict == "does not conform"
    assert all(one.supported == one.cases for one in report.reach)


def test_cases_that_decide_nothing_are_no_part_of_the_reach(tmp_path: Path) -> None:
    write_vectors(
        tmp_path / "cell.h5", make_block(["a"]), make_block(["special"], tier="nonportable")
    )
    with pytest.raises(
        GrucibleError, match="would demand nothing: no case that it matches decides"
    ):
        verify(tmp_path, but("special"), require=["*special"])
    report = verify(tmp_path, but("special"))
    assert (report.verdict, report.exit_status) == ("conforms", 0)
    assert [(one.supported, one.cases) for one in report.reach] == [(1, 1)]


def test_require_makes_unsupported_a_failure(vectors: Path) -> None:
    runtime = but("wide", "cell/b")
    assert verify(vectors, runtime, require=["*/cell/a", "*/sequence/a"]).exit_status == 0
    report = verify(vectors, runtime, require=["*wide", "*/cell/[ab]"])
    assert (report.verdict, report.exit_status) == ("does not conform", 1)
    lines = list(report_lines(report))
    assert sentence_of("\n".join(lines)) == (
        "does not conform: 3 of 5 cases passed, 2 unsupported, 2 of them in spite of --require"
    )
    start = lines.index("unsupported, but --require names them:")
    assert sorted(lines[start + 1 : start + 5]) == sorted(
        [
            "  no cell/b here",
            f"    {CELL}/made/float32/cell/b",
            "  no wide here",
            f"    {SEQUENCE}/made/float64/sequence/wide",
        ]
    )
    cases = report_value(report)["cases"]
    named = {name_of(case["id"]) for case in cases if case.get("must_support")}
    assert named == {"sequence/wide", "cell/a", "cell/b"}


def test_what_is_expected_may_be_unsupported_in_spite_of_require(vectors: Path) -> None:
    expected = [Expectation("*wide", "there is no float64")]
    report = verify(vectors, but("wide"), require=["*"], expectations=expected)
    assert (report.verdict, report.exit_status) == ("does not conform", 0)
    assert [name_of(r.id) for r in report.expected_failures] == ["sequence/wide"]
    report = verify(vectors, but("wide", "cell/"), require=["*"], expectations=expected)
    assert report.exit_status == 1
    assert [name_of(r.id) for r in report.refused] == ["cell/a", "cell/b", "cell/c"]


def test_require_of_nothing_is_an_error(vectors: Path) -> None:
    """It would demand nothing, and look as if it did."""
    asked: list[Question] = []

    def note(question: Question) -> dict[str, Any]:
        asked.append(question)
        return question.buffers()

    with pytest.raises(
        GrucibleError, match="no case that is judged matches --require '\\*/Cell/\\*'"
    ):
        verify(vectors, note, require=["*/cell/*", "*/Cell/*"])
    assert asked == [], "it is told before the runtime is asked anything"
    with pytest.raises(GrucibleError, match="matches --require '\\*/cell/a'"):
        verify(vectors, but(), require=["*/cell/a"], select=["*/sequence/*"])


def test_require_has_as_many_globs_as_expectations(vectors: Path) -> None:
    """And any number of ids, of which each case is looked up."""
    ids = [case.id for case in load_vectors(vectors)]
    with pytest.raises(GrucibleError, match=r"^1,001 globs of --require; expected at most 1,000"):
        verify(vectors, but(), require=["*"] * 1001)
    report = verify(vectors, but("cell/a"), require=ids * 1001 + ["*/cell/*"])
    assert [name_of(r.id) for r in report.refused] == ["cell/a"]


def test_long_lists_of_operators_are_wrapped() -> None:
    """Through the core vectors, of four operators: no line of the reach is wider than a terminal."""

    def run(_: Question) -> Any:
        raise Unsupported("none")

    lines = list(report_lines(verify(runtime=run, select=["*/float32/*"])))
    end = next(place for place, line in enumerate(lines) if line.startswith("run: "))
    assert end > 2
    assert all(len(line) <= 80 for line in lines[1:end])
    assert " ".join(" ".join(lines[1:end]).split()).startswith("not supported: ")
