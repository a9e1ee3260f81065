"""What a diagnosis says, and in which order; which case is to be looked at first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grucible import Question, verify
from grucible.check.diagnosis.finding import PARTLY, Diagnosis, Finding
from grucible.check.judging.one_reading import Mixed
from grucible.check.reports.diagnosis import diagnosis_lines
from grucible.check.reports.terminal import report_lines

from .numpy_gru import run

CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"


def finding(explains: int, *, certain: bool = True, contradicted: int = 0) -> Finding:
    return Finding(
        ("clip-ignored",),
        "misreading",
        "clip ignored",
        explains,
        of=99,
        certain=certain,
        contradicted=contradicted,
        operator=CELL,
    )


def test_what_may_be_stands_behind_what_is_certain_with_readings_among_them() -> None:
    before = Diagnosis([finding(5), finding(60, certain=False)], failed=99)
    mixed = Mixed("len-zero", (), ("len-zero.initial-state",), 20, 50, SEQUENCE)
    after = before.with_mixed([mixed], 20)
    assert after.failed == 119
    assert [(one.explains, one.certain, one.of) for one in after.findings] == [
        (20, True, 119),
        (5, True, 119),
        (60, False, 119),
    ]


def test_what_many_passing_cases_contradict_is_not_everywhere_unless_it_is_said_where() -> None:
    few, many = round(PARTLY * 40), round(PARTLY * 40) + 1
    assert not finding(40, contradicted=few).not_everywhere
    perhaps = finding(40, certain=False, contradicted=many)
    assert perhaps.not_everywhere
    assert not replace(perhaps, where="in reverse").not_everywhere
    told = " ".join(" ".join(diagnosis_lines(Diagnosis([perhaps], failed=40))).split())
    assert f"perhaps: clip ignored not everywhere: {many} cases that would show it passed" in told


def test_what_is_looked_at_first_is_a_case_that_nothing_explains() -> None:
    """Though another is plainer, and has no explanation of its own: a finding of many explains it."""

    def off(question: Question) -> dict[str, Any]:
        return {name: array + 1 for name, array in run(question).items()}

    report = verify(runtime=off, select=(f"{CELL}/plain/float32/*",), diagnosis=False)
    failed = sorted((r for r in report.results if r.verdict == "failed"), key=lambda r: r.plainness)
    assert len(failed) > 3
    for first, ids in ((failed[0], frozenset[str]()), (failed[-1], frozenset({failed[-1].id}))):
        told = replace(report, diagnosis=Diagnosis(failed=len(failed), unexplained_ids=ids))
        assert told.diagnosis.unexplained == len(ids)
        assert list(report_lines(told))[-1] == f"start with: grucible show {first.id}"
