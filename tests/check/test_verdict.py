"""From what was observed to counts, verdict and exit status, in every combination."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from judged import judge_source

from grucible import Question, Report, Unsupported, verify
from grucible.check.judging.expectations import Expectation
from grucible.check.observed.source import FromRuntime
from grucible.check.reports.formats import report_value
from grucible.check.reports.terminal import report_lines
from grucible.check.runtimes.runtime import Runtime
from grucible.check.verdict import Demand, judge
from grucible.vectors.vector_set import open_set

from .made import CELL, answering, make_block, name_of, write_vectors
from .numpy_gru import run
from .planned import EXPECTATIONS, KINDS, Planned, judged, write_all_kinds


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_kinds(tmp_path_factory.mktemp("kinds") / "kinds.h5")


def verdict_of(present: set[str]) -> tuple[str, int]:
    """DESIGN.md's words: verdict, exit status."""
    wrong = present & {"failed", "error", "expected-failed", "expected-error"}
    compared = wrong or present & {"passed", "expected-passed"}
    if wrong:
        verdict = "does not conform"
    elif "missing" in present or not compared:
        verdict = "incomplete"
    else:
        verdict = "conforms where supported" if "unsupported" in present else "conforms"
    only_expected = not present & {"failed", "error", "missing"} and compared
    return verdict, 0 if verdict.startswith("conforms") or (wrong and only_expected) else 1


SUBSETS = [set(s) for n in range(1, len(KINDS) + 1) for s in itertools.combinations(KINDS, n)]


def test_every_combination(all_kinds: Path) -> None:
    whole = judged(all_kinds, set(KINDS))
    by_kind = {
        kind: [r for r in whole.results if name_of(r.id).startswith(f"{kind}/")] for kind in KINDS
    }
    assert [len(results) for results in by_kind.values()] == [2] * len(KINDS)
    seen = set()
    for present in SUBSETS:
        results = [result for kind in sorted(present) for result in by_kind[kind]]
        report = Report(
            "planned", "1", "vectors", whole.origins, whole.grades, results, EXPECTATIONS
        )
        assert (report.verdict, report.exit_status) == verdict_of(present), present
        seen.add(verdict_of(present))
        check_counts(report, present)
    assert len(seen) == 5


COUNTED = {"passed": "passed", "failed": "failed", "errors": "error", "missing": "missing",
           "unsupported": "unsupported"}  # fmt: skip


def check_counts(report: Report, present: set[str]) -> None:
    value = report_value(report)
    summary, special = value["summary"], value["other_tiers"]["nonportable"]
    deciding = {kind for kind in present if not kind.startswith("nonportable")}
    for key, word in COUNTED.items():
        assert summary[key] == 2 * len(deciding & {word, f"expected-{word}"}), key
        assert special[key] == 2 * (f"nonportable-{word}" in present), key
    assert summary["cases"] == 2 * len(deciding) == sum(summary[key] for key in COUNTED)
    assert special["cases"] == 2 * len(present - deciding)
    failed = {"expected-failed", "expected-error"}
    assert summary["expected_failures"] == 2 * len(present & failed)
    assert summary["unexpected_passes"] == 2 * ("expected-passed" in present)
    assert set(value["other_tiers"]) == {"nonportable"}


@pytest.mark.parametrize(
    "present", [*({one} for one in KINDS), set(KINDS)], ids=lambda s: "+".join(sorted(s))
)
def test_judged_from_the_file(present: set[str], all_kinds: Path) -> None:
    report = judged(all_kinds, present)
    assert (report.verdict, report.exit_status) == verdict_of(present)
    check_counts(report, present)
    assert {name_of(r.id).partition("/")[0] for r in report.results} == present
    assert next(report_lines(report)).startswith(f"{report.verdict}: ")
    json.dumps(report_value(report), allow_nan=False)


def test_missing_is_not_excused_by_expecting_it(all_kinds: Path) -> None:
    report = judge_source(
        all_kinds, Planned(), ["*/missing/*"], expectations=[Expectation("*", "known")]
    )
    assert (report.verdict, report.exit_status) == ("incomplete", 1)
    assert report.expected_failures == []


def nonportable(path: Path, expected: list[float], dtype: str = "float32") -> None:
    ho = np.array(expected, dtype).reshape(1, 2, 2)
    special = make_block(["special"], dtype=dtype, tier="nonportable", outputs={"Ho": ho})
    write_vectors(path, make_block(["plain"]), special)


@pytest.mark.parametrize("value", [0.0, -0.0, np.nan, np.inf])
def test_nonportable_cases_are_reported_and_decide_nothing(value: float, tmp_path: Path) -> None:
    nonportable(tmp_path / "special.h5", [-0.0, 1.0, np.nan, np.inf])

    def runtime(question: Question) -> dict[str, np.ndarray]:
        if "plain" in question.id:
            return run(question)
        shape, dtype = question.outputs["Ho"]
        return {"Ho": np.full(shape, value, dtype)}

    report = verify(tmp_path / "special.h5", runtime=runtime)
    assert (report.verdict, report.exit_status) == ("conforms", 0)
    assert report.counts == {"passed": 1}
    assert Counter((r.tier, r.verdict) for r in report.results) == {
        ("required", "passed"): 1,
        ("nonportable", "failed"): 1,
    }


@pytest.mark.parametrize(("tier", "verdict"), [("required", "passed"), ("nonportable", "failed")])
def test_the_sign_of_zero_counts_in_nonportable_cases_alone(
    tier: str, verdict: str, tmp_path: Path
) -> None:
    zeros = {"Ho": np.zeros((1, 2, 2), np.float32)}
    write_vectors(tmp_path / "zero.h5", make_block(["zero"], tier=tier, outputs=zeros))
    right = answering(tmp_path / "zero.h5")
    report = verify(tmp_path / "zero.h5", runtime=lambda asked: {"Ho": -right(asked)["Ho"]})
    assert [r.verdict for r in report.results] == [verdict]


def test_verify_in_this_process_reports_exceptions(tmp_path: Path) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a", "b", "c"]), operator=CELL)

    def runtime(question: Question) -> dict[str, np.ndarray]:
        if question.id.endswith("/a"):
            raise ZeroDivisionError("here")
        if question.id.endswith("/b"):
            raise Unsupported("not this")
        return run(question)

    raised = runtime.__code__.co_firstlineno + 2
    report = verify(str(tmp_path / "cell.h5"), runtime=runtime)
    assert [(name_of(r.id), r.verdict, r.message) for r in report.results] == [
        ("a", "error", f"ZeroDivisionError: here (test_verdict.py:{raised})"),
        ("b", "unsupported", "not this"),
        ("c", "passed", ""),
    ]
    assert report.runtime == "runtime"


def test_what_is_done_after_the_last_answer_is_named(tmp_path: Path) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a", "b", "c"]), operator=CELL)
    named: list[str] = []
    for wrong in ("", "a", "ab"):

        def runtime(question: Question, wrong: str = wrong) -> dict[str, np.ndarray]:
            off = question.id[-1] in wrong
            return {name: array + off for name, array in run(question).items()}

        source = FromRuntime(Runtime("mine", "", runtime))
        judge(open_set(tmp_path), source, Demand(again=False), begin=named.append)
    assert named == ["explaining 1 failure", "explaining 2 failures"]
