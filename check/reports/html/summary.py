"""What the page says before anything is looked at: verdict, diagnosis, and tables that need no program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ....cases.console import escape
from ...judging.case_result import CaseResult
from ...report import Report
from ..findings import how_far_off, notes, plainest, sentence
from ..terminal import headline, report_lines
from .columns import explained, explanations

MOST_FAILURES = 50
"""So many failures stand in the table that needs no program."""
VERDICTS = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "missing": "missing",
    "unsupported": "unsupported",
}
"""The verdicts of cases, and what a count of them is called."""
_STATES = {
    "conforms": "good",
    "conforms where supported": "good",
    "incomplete": "unsure",
    "does not conform": "bad",
}


@dataclass(frozen=True)
class Said:
    """A finding in words: how many failures it explains, the sentence, notes, links, and the number by which
    the page's table is filtered, None where no case is told to be explained by it."""

    explains: int
    sentence: str
    notes: Sequence[str]
    links: Sequence[str]
    number: int | None


@dataclass(frozen=True)
class Row:
    """How many cases of a dtype, or of a tier that does not decide, have each verdict."""

    name: str
    decides: bool
    cases: int
    counts: Sequence[int]
    required: str = ""
    observed: str = ""
    worst: str = ""


@dataclass(frozen=True)
class Failure:
    """A case that went wrong, for the table that needs no program."""

    id: str
    verdict: str
    told: str
    why: str


@dataclass(frozen=True)
class Summary:
    """What is said of one runtime."""

    name: str
    vectors: str
    verdict: str
    state: str
    headline: str
    cases: int
    counts: Sequence[tuple[str, str, int]]
    """The key of each verdict, its word, and how many deciding cases have it."""
    findings: Sequence[Said]
    failed: int
    unexplained: int
    not_tried: int
    hints: Sequence[str]
    rows: Sequence[Row]
    totals: Sequence[int]
    """How many cases of all rows have each verdict: a narrow page has no column of one that none has."""
    failures: Sequence[Failure]
    wrong: int
    text: str


def summary(report: Report) -> Summary:
    """The summary of a report; every text in it is escaped as it is printed."""
    wrong = [result for result in report.results if result.wrong]
    found = report.diagnosis
    name = f"{report.runtime} {report.runtime_version}".strip()
    rows = _rows(report)
    return Summary(
        name=escape(name),
        vectors=escape(report.vectors),
        verdict=report.verdict,
        state=_STATES[report.verdict],
        headline=escape(headline(report).removeprefix(f"{report.verdict}: ")),
        cases=len(report.results),
        counts=[(key, word, report.counts[key]) for key, word in VERDICTS.items()],
        findings=_findings(report),
        failed=found.failed,
        unexplained=found.unexplained,
        not_tried=found.not_tried,
        hints=[escape(hint) for hint in found.hints],
        rows=rows,
        totals=[sum(row.counts[n] for row in rows) for n in range(len(VERDICTS))],
        failures=_failures(report, wrong),
        wrong=len(wrong),
        text="\n".join(map(escape, report_lines(report))),
    )


def _findings(report: Report) -> list[Said]:
    sentences, used = explanations(report), set(explained(report).values())
    told = []
    for finding in report.diagnosis.findings:
        number = sentences.index(escape(sentence(finding)))
        told.append(
            Said(
                explains=finding.explains,
                sentence=escape(sentence(finding)),
                notes=[escape(note) for note in notes(finding)],
                links=[link for link in finding.links if link.startswith("https://")],
                number=number if number in used else None,
            )
        )
    return told


def _rows(report: Report) -> list[Row]:
    groups: dict[tuple[bool, str], list[CaseResult]] = {}
    for result in report.results:
        key = (result.decides, result.dtype if result.decides else result.tier)
        groups.setdefault(key, []).append(result)
    found = []
    for (decides, name), results in sorted(groups.items(), key=lambda group: not group[0][0]):
        counted = Counter(result.verdict for result in results)
        counts = [counted[verdict] for verdict in VERDICTS]  # type: ignore[index]
        row = Row(escape(name), decides, len(results), counts)
        grade = report.grades.get(name) if decides else None
        if grade and grade.compared:
            observed = ", ".join([grade.observed, *grade.observed_too]) or "none of them"
            row = Row(
                row.name,
                decides,
                row.cases,
                counts,
                str(grade.required),
                observed,
                _worst(grade.worst),
            )
        found.append(row)
    return found


def _worst(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < math.inf else "∞"


def _failures(report: Report, wrong: Sequence[CaseResult]) -> list[Failure]:
    """The plainest of the cases that went wrong: failures before errors, unexpected ones before others."""
    why, sentences = explained(report), explanations(report)
    order = sorted(plainest(wrong), key=lambda r: (bool(r.expected), r.verdict != "failed"))
    return [
        Failure(
            id=escape(result.id),
            verdict=result.verdict,
            told=escape(how_far_off(result)),
            why=sentences[why[result.id]] if result.id in why else "",
        )
        for result in order[:MOST_FAILURES]
    ]
