"""A runtime that reads an ambiguous text one way here and another there conforms to nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from grucible import Question, verify
from grucible.cases.operators.readings import STORED, ReadingNames
from grucible.check.judging.case_result import CaseResult, CaseVerdict
from grucible.check.judging.judge import one_reading
from grucible.check.reports.terminal import report_lines

from . import bnns_page
from .bnns_page import Array
from .numpy_gru import keeps_h0, run

BNNS = ("bnnsgraph.gru/*",)
KEEPS: ReadingNames = ("len-zero.initial-state",)
Answer = Callable[[Question], dict[str, Array]]


def by_hash(one: Answer, other: Answer, of: int) -> Answer:
    """The one in most cases, the other in every `of`th, as the id falls."""
    return lambda question: (one if zlib.crc32(question.id.encode()) % of else other)(question)


@pytest.mark.parametrize("of", [2, 5])
def test_readings_chosen_by_the_id_do_not_conform(of: int) -> None:
    for alone in (bnns_page.run, bnns_page.run_before):
        assert verify(runtime=alone, select=BNNS).verdict == "conforms"
    report = verify(runtime=by_hash(bnns_page.run, bnns_page.run_before, of), select=BNNS)
    assert report.verdict == "does not conform"
    assert report.exit_status == 1
    assert report.counts["failed"] >= 10
    ledgers = {one.about.partition("(")[2].partition(")")[0] for one in report.diagnosis.findings}
    assert ledgers == {"reset-false", "reverse-order"}
    assert report.diagnosis.unexplained == 0
    text = " ".join(" ".join(report_lines(report)).split())
    assert "two readings of one ambiguous point (reverse-order)" in text
    assert "this case follows " in text


def test_half_are_not_called_most() -> None:
    cases = [result("openvino", "passed", reading) for reading in (STORED, KEEPS)]
    [_, other], _ = one_reading(cases)
    assert "; 1 of 2 cases that settle len-zero follow the stored reading" in other.message


def test_a_wrong_element_is_told_under_the_nearest_reading() -> None:
    """Both readings admit no error where a row is empty; of one of them, fewer elements are wrong."""

    def wrong_once(question: Question) -> dict[str, Array]:
        outputs = keeps_h0(question)
        outputs["Ho"][-1, 0, 0] += 1.0
        return outputs

    select = "openvino.GRUSequence-5/core_with_zero/float32/*"
    failed = [one for one in verify(runtime=wrong_once, select=select).results if one.wrong]
    assert len(failed) >= 10
    assert all(one.where == f"Ho[{int(one.traits['batch size']) - 1}, 0, 0]" for one in failed)


def test_each_reading_alone_conforms() -> None:
    for alone in (run, keeps_h0):
        report = verify(runtime=alone, select=("openvino.*",))
        assert (report.verdict, report.counts["failed"]) == ("conforms", 0)


def result(
    owner: str, verdict: CaseVerdict, reading: ReadingNames | None, tier: str = "ambiguous"
) -> CaseResult:
    followed = {} if reading is None else {"len-zero": reading}
    return CaseResult("any", f"{owner}.any", tier, "float32", verdict, followed=followed)


def verdicts(*results: CaseResult) -> list[str]:
    return [one.verdict for one in one_reading(results)[0]]


def test_what_most_follow_is_what_all_must() -> None:
    zeros, keeps = result("openvino", "passed", STORED), result("openvino", "passed", KEEPS)
    open_, failed = result("openvino", "passed", None), result("openvino", "failed", None)
    assert verdicts(zeros, keeps, keeps, open_, failed) == [
        "failed", "passed", "passed", "passed", "failed",
    ]  # fmt: skip
    assert verdicts(keeps, zeros) == ["failed", "passed"], "of equally many, the stored one"
    assert verdicts(keeps, keeps, open_) == ["passed"] * 3
    _, [mixed] = one_reading([zeros, keeps, keeps])
    assert (mixed.deviating, mixed.decided, mixed.other) == (1, 3, STORED)


def test_owners_and_cases_that_decide_nothing_are_taken_apart() -> None:
    ours, theirs = result("openvino", "passed", STORED), result("onnx", "passed", KEEPS)
    assert verdicts(ours, theirs) == ["passed", "passed"]
    special = result("openvino", "passed", KEEPS, "nonportable")
    assert verdicts(ours, special) == ["passed", "passed"]
