"""A verdict names its reach: what is unsupported is said before `conforms`, and may be a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from printed import sentence_of

from grucible import GrucibleError, Question, Unsupported, verify
from grucible.check.judging.case_result import find_traits
from grucible.check.judging.expectations import Expectation
from grucible.check.reports.formats import report_value
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

    with pytest.raises(GrucibleError, match="--require '\\*/Cell/\\*' would demand nothing"):
        verify(vectors, note, require=["*/cell/*", "*/Cell/*"])
    assert asked == [], "it is told before the runtime is asked anything"
    with pytest.raises(GrucibleError, match="--require '\\*/cell/a' would demand nothing"):
        verify(vectors, but(), require=["*/cell/a"], select=["*/sequence/*"])


@pytest.mark.parametrize(
    ("lengths", "words"),
    [((3, 3), "full"), ((2, 2), "all shorter"), ((3, 2), "ragged"), ((3, 0), "with 0")],
)
def test_traits_name_the_lengths_of_rows(lengths: tuple[int, int], words: str) -> None:
    tier = "ambiguous" if 0 in lengths else "required"
    _, block = make_block(["a"], operator=SEQUENCE, tier=tier, lengths=lengths)
    [traits] = find_traits(block)
    assert (traits["lengths of rows"], traits["batch size"], traits["steps"]) == (words, "2", "3")
