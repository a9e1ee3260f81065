"""Some cases are not asked, after enough failures or where they passed before, and the report says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from judged import judge_source

from grucible import Expectation, Question
from grucible.cases.dtypes import Arrays
from grucible.check.observed.source import FromRuntime
from grucible.check.runtimes.runtime import describe_runtime
from grucible.vectors.hdf5 import CORE

from .conftest import Command

FILE = CORE / "openvino/gru_sequence/core.h5"
FLOAT32 = ("openvino.GRUSequence-5/core/float32/*",)


class Zeros:
    """A runtime that gives zeros, and knows what it was asked."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def run(self, question: Question) -> Arrays:
        """Answer with zeros."""
        self.asked.append(question.id)
        return {name: np.zeros(of.shape, of.dtype) for name, of in question.outputs.items()}

    @property
    def source(self) -> FromRuntime:
        """The source of its answers."""
        return FromRuntime(describe_runtime("zeros", self.run))


def test_no_more_is_asked_after_enough_failures() -> None:
    all_of_it = judge_source(FILE, Zeros().source, FLOAT32, diagnose=False)
    zeros = Zeros()
    report = judge_source(FILE, zeros.source, FLOAT32, diagnose=False, maxfail=3)
    assert 3 <= report.counts["failed"] < all_of_it.counts["failed"]
    assert len(set(zeros.asked)) == len(report.results)
    assert (report.verdict, report.exit_status, report.stopped) == ("does not conform", 1, True)
    assert not all_of_it.stopped


def test_what_is_expected_to_fail_does_not_count() -> None:
    """Nor is an expectation stale whose cases nobody asked."""
    few = judge_source(FILE, Zeros().source, FLOAT32, diagnose=False, maxfail=1)
    failing = [one.id for one in few.results if one.wrong]
    known = [Expectation(one, reason="zeros") for one in (*failing, "keras.GRU/none/*")]
    report = judge_source(
        FILE, Zeros().source, FLOAT32, diagnose=False, maxfail=1, expectations=known
    )
    assert report.stopped
    assert {one.id for one in report.unexpected}.isdisjoint(failing)
    assert report.unexpected
    assert not report.stale


def test_enough_failures_that_never_come_change_nothing(command: Command) -> None:
    words = ["check", "--runtime", f"{Path(__file__).parent / 'numpy_gru.py'}:run"]
    words += ["--select", "openvino.GRUCell-3/plain/float32/*"]
    ended, first = command(*words), command(*words, "-x")
    assert (first.status, first.out) == (0, ended.out)


def test_the_first_line_says_that_it_stopped(tmp_path: Path, command: Command) -> None:
    (tmp_path / "zeros.py").write_text(
        "import numpy as np\n"
        "def run(q):\n"
        "    return {name: np.zeros(t.shape, t.dtype) for name, t in q.outputs.items()}\n"
    )
    words = ["check", "--runtime", f"{tmp_path / 'zeros.py'}:run", "--select", *FLOAT32]
    ended = command(*words, "-x", "--json")
    assert (ended.status, ended.report["stopped"]) == (1, True)
    ended = command(*words, "-x")
    assert "no others asked" in ended.out.splitlines()[0]
    listed = command(*words, "-x", "--write-expect", tmp_path / "known.yaml")
    assert (listed.status, "check did not ask all cases" in listed.err) == (1, True)
    assert not (tmp_path / "known.yaml").exists()


def test_what_failed_last_is_asked_alone(tmp_path: Path, command: Command) -> None:
    """It is incomplete even if all of it passes; and what was expected to fail is no part of it."""
    (tmp_path / "wrong.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nimport numpy_gru\n"
        "def run(q):\n"
        "    factor = 2 if 'clip' in q.id else 1\n"
        "    return {name: a * factor for name, a in numpy_gru.run(q).items()}\n"
    )
    (tmp_path / "known.yaml").write_text("- {cases: '*/clipinf', reason: known}\n")
    report, theme = tmp_path / "r.json", ("--select", "openvino.GRUCell-3/plain/float32/*")
    wrong = (
        "check",
        "--runtime",
        f"{tmp_path / 'wrong.py'}:run",
        "--expect",
        tmp_path / "known.yaml",
    )
    assert (
        "3 failed, 1 of them expected" in command(*wrong, *theme, "--report", f"json={report}").out
    )
    right = ("check", "--runtime", f"{Path(__file__).parent / 'numpy_gru.py'}:run")
    again = tmp_path / "again.json"
    ended = command(*right, "--last-failed", report, "--report", f"json={again}")
    for one in (ended, command("report", again)):
        assert (one.status, one.out.splitlines()[0]) == (
            1, "incomplete: 2 of 2 cases that failed pass now, no others asked; run without"
        )  # fmt: skip
        assert one.out.splitlines()[1] == "    --last-failed for a verdict"
    still = command(*wrong, "--last-failed", report).out.splitlines()[0]
    assert still.startswith("does not conform: 0 of 2 cases that failed pass now, 2 failed, no ")
    found = command(*right, "--last-failed", report, "--select", "*/lbr-clip*", "--json").report
    assert [one["id"].rpartition("/")[2] for one in found["cases"]] == ["lbr-clip0.5"]
    (tmp_path / "never.py").write_text(
        "from grucible import Unsupported\ndef run(q):\n    raise Unsupported('no')\n"
    )
    refusing = (
        "check",
        "--runtime",
        f"{tmp_path / 'never.py'}:run",
        *theme,
        "--require",
        "*/lbr-clip0.5",
    )
    assert command(*refusing, "--report", f"json={again}").status == 1
    ended = command(*right, "--last-failed", again, "--require", "*/nothing-of-these")
    assert ended.out.startswith("incomplete: 1 of 1 cases that failed pass now, no others asked")
    nothing = command(
        *right, "--last-failed", report, "--select", "openvino.GRUCell-3/plain/float32/default"
    )
    assert "r.json: no selected case failed in it, but as expected; all are asked" in nothing.err
    assert (nothing.status, nothing.out.splitlines()[0]) == (0, "conforms: 1 of 1 cases passed")
