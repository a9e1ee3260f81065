"""What a diagnosis says, in which order; whether the text is silent; which case to look at first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from diagnosis.blocks import core_blocks, report_on, variants_run
from diagnosis.kernel import Array, right
from diagnosis.wrong import CELL, ONNX, SEQUENCE

from grucible import Question, verify
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.readings import SILENT
from grucible.check.diagnosis.finding import PARTLY, Diagnosis, Finding
from grucible.check.judging.judge import Mixed
from grucible.check.reports.findings import diagnosis_in_short, diagnosis_lines
from grucible.check.reports.formats import report_json
from grucible.check.reports.terminal import report_lines
from grucible.gen.variants.catalogue import CATALOGUE

LEDGERS = Path(__file__).parents[2] / "cases"


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
    found = [(one.explains, one.certain, one.of) for one in after.findings]
    assert found == [(20, True, 119), (5, True, 119), (60, False, 119)]


@pytest.mark.parametrize(("failed", "twice"), [(17, False), (16, True)])
def test_only_failures_that_count_twice_are_called_so(failed: int, twice: bool) -> None:
    first, *_ = [*diagnosis_lines(Diagnosis([finding(12), finding(5)], failed=failed))][1:]
    assert ("several findings" in first) == twice


def test_the_first_line_says_whether_some_of_it_is_certain() -> None:
    perhaps = finding(9, certain=False)
    for found, says in (
        ([perhaps], "perhaps explained"),
        ([finding(5), perhaps], "explained in part"),
    ):
        assert diagnosis_in_short(Diagnosis(found, failed=14)) == f"; {says}, see below"


@pytest.mark.parametrize("certain", [False, True])
def test_reports_of_others_stand_beside_what_is_certain(certain: bool) -> None:
    found = replace(finding(9, certain=certain), links=("https://bug",))
    lines = [*diagnosis_lines(Diagnosis([found], failed=9))]
    assert ("        reported: https://bug" in lines) is certain


def test_what_many_passing_cases_contradict_is_not_everywhere_unless_it_is_said_where() -> None:
    few, many = round(PARTLY * 40), round(PARTLY * 40) + 1
    assert not finding(40, contradicted=few).not_everywhere
    perhaps = finding(40, certain=False, contradicted=many)
    assert perhaps.not_everywhere
    assert not replace(perhaps, where="in reverse").not_everywhere
    lines = " ".join(" ".join(diagnosis_lines(Diagnosis([perhaps], failed=40))).split())
    assert (
        f"perhaps: clip ignored [clip-ignored] not everywhere: {many} cases that would show it passed"
        in lines
    )


def test_what_is_looked_at_first_is_the_plainest_case_of_most_that_are_alike() -> None:
    """A few that nothing explains may be the same mistake; many that nothing explains are news."""

    def off(question: Question) -> dict[str, Array]:
        return {name: array + 1 for name, array in right(question).items()}

    report = verify(runtime=off, select=(f"{CELL}/plain/float32/*",), diagnosis=False)
    failed = sorted((r for r in report.results if r.verdict == "failed"), key=lambda r: r.plainness)
    assert len(failed) > 5
    for unexplained, first in (
        (failed[:2], failed[2]),
        (failed[1:11], failed[0]),
        (failed[2:], failed[2]),
        (failed, failed[0]),
    ):
        ids = frozenset(r.id for r in unexplained)
        explained = {r.id: finding(4) for r in failed if r.id not in ids}
        found = Diagnosis(failed=len(failed), unexplained_ids=ids, by_case=explained)
        shown = replace(report, diagnosis=found)
        lines = list(report_lines(shown))
        assert lines[-1] == f"start with: grucible show {first.id}"
        assert f"  {first.id}" in lines  # though the first of the others would fill the list


@pytest.mark.parametrize(
    ("operator", "misreadings", "silent"),
    [
        (SEQUENCE, ("Y-holds-last-state",), ("y-padding",)),
        (SEQUENCE, ("Y-directions-exchanged",), ("bidi-layout",)),
        (SEQUENCE, ("Wbh-Rbh-exchanged",), ("b-order",)),
        (SEQUENCE, ("reverse-from-padding",), ("reverse-ragged",)),
        ("keras.GRU", ("masked-row-zero",), ("zero-row",)),
        (SEQUENCE, ("lengths-ignored",), ()),
        (ONNX, ("Wbh-Rbh-exchanged",), ()),  # ONNX's text has the order of B
        # a mistake beside it, of which the text is not silent
        (SEQUENCE, ("clip-ignored", "Y-holds-last-state"), ()),
    ],
)
def test_a_finding_says_whether_the_text_is_silent(
    operator: str, misreadings: tuple[str, ...], silent: tuple[str, ...]
) -> None:
    report = report_on(core_blocks(operator), variants_run(*misreadings))
    found = next(one for one in report.diagnosis.findings if set(one.names) == set(misreadings))
    assert found.silent == silent
    text = " ".join(" ".join(report_lines(report)).split())
    for entry in silent:
        assert f"owner's runtime decides: see `grucible explain ledger {entry}`" in text
    findings = json.loads(report_json(report))["diagnosis"]
    assert list(silent) in [one["silent"] for one in findings]
    assert ("the text is silent" in text) == any(one["silent"] for one in findings)


@pytest.mark.parametrize("owner", SILENT)
def test_the_ledger_and_the_catalogue_have_every_silent_point(owner: str) -> None:
    rows = {}
    for line in (LEDGERS / owner / "LEDGER.md").read_text(encoding="utf-8").splitlines():
        if line.startswith('| <a id="'):
            rows[line.split('"')[1]] = line.rstrip(" |").rsplit("|", 1)[1].strip()
    marked = {entry for entry, basis in rows.items() if basis == "owner, the text is silent"}
    assert marked == SILENT[owner]
    [operator] = [o for o in OPERATORS.values() if o.owner == owner and o.tensor("y")]
    assert SILENT[owner] <= {
        v.ledger for v in CATALOGUE.values() if v.means_something_for(operator)
    }
