"""The page: one file that holds all it needs, for one report or for several side by side."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....cases.console import escape
from ....cases.errors import needing
from ...report import Report
from ..findings import how_far_off, notes, plainest, sentence
from ..terminal import headline, report_lines
from ..text import group
from .data import (
    MOST_BYTES,
    details,
    explained,
    explanations,
    first_results,
    pack,
    runtime_columns,
    shared_columns,
)

HERE = Path(__file__).parent
MOST_FAILURES = 50
"""Maximum failures in the table that needs no program."""
VERDICTS = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "missing": "missing",
    "unsupported": "unsupported",
}
"""The verdicts of cases, and the word for a count of them."""
_STATES = {
    "conforms": "good",
    "conforms where supported": "good",
    "incomplete": "unsure",
    "does not conform": "bad",
}


def check_installed() -> None:
    """Raise GrucibleError where jinja2, which fills the page's template, is not installed."""
    with needing("jinja2", "report", "a report as HTML"):
        import jinja2  # noqa: F401


def html_page(reports: Sequence[Report]) -> str:
    """Return the page of reports, one on each runtime, side by side; they may be on different cases.

    Raises GrucibleError where jinja2 is not installed.
    """
    check_installed()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    cases = first_results(reports)
    found = [details(report, MOST_BYTES // len(reports)) for report in reports]
    data = {
        "cases": shared_columns(cases),
        "runtimes": [
            runtime_columns(report, cases, number, one.places)
            for number, (report, one) in enumerate(zip(reports, found, strict=True))
        ],
    }
    scripts = [(HERE / name).read_text("utf-8") for name in ("charts.js", "cases.js", "page.js")]
    script = "\n".join(scripts)
    templates = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return templates.get_template("page.html.j2").render(
        runtimes=[_summary(report) for report in reports],
        verdicts=VERDICTS,
        style=(HERE / "page.css").read_text("utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        data=pack(data),
        chunks=[(n, m, chunk) for n, one in enumerate(found) for m, chunk in enumerate(one.chunks)],
    )


def _summary(report: Report) -> dict[str, Any]:
    """Return what the page says of a runtime before anything is clicked; every text is escaped."""
    wrong = [result for result in report.results if result.wrong]
    why, sentences = explained(report), explanations(report)
    first = sorted(plainest(wrong), key=lambda r: (bool(r.expected), r.verdict != "failed"))
    rows = _rows(report)
    return {
        "name": escape(f"{report.runtime} {report.runtime_version}".strip()),
        "vectors": escape(report.vectors),
        "verdict": report.verdict,
        "state": _STATES[report.verdict],
        "headline": escape(headline(report).removeprefix(f"{report.verdict}: ")),
        "cases": len(report.results),
        "counts": [(key, word, report.counts[key]) for key, word in VERDICTS.items()],
        "findings": [
            {
                "explains": one.explains,
                "sentence": escape(sentence(one)),
                "notes": [escape(note) for note in notes(one)],
                "links": [link for link in one.links if link.startswith("https://")],
                "number": _number(sentences.index(escape(sentence(one))), why),
            }
            for one in report.diagnosis.findings
        ],
        "failed": report.diagnosis.failed,
        "unexplained": report.diagnosis.unexplained,
        "not_tried": report.diagnosis.not_tried,
        "hints": [escape(hint) for hint in report.diagnosis.hints],
        "rows": rows,
        "totals": [sum(row["counts"][n] for row in rows) for n in range(len(VERDICTS))],
        "failures": [
            {
                "id": escape(result.id),
                "verdict": result.verdict,
                "told": escape(how_far_off(result)),
                "why": sentences[why[result.id]] if result.id in why else "",
            }
            for result in first[:MOST_FAILURES]
        ],
        "wrong": len(wrong),
        "text": "\n".join(map(escape, report_lines(report))),
    }


def _number(number: int, why: dict[str, int]) -> int | None:
    """Return the number of an explanation, by which the table is filtered; None where it has no case."""
    return number if number in why.values() else None


def _rows(report: Report) -> list[dict[str, Any]]:
    """Return the rows of the table by dtype; last, tiers that do not decide."""
    rows = []
    groups = group(report.results, lambda r: (not r.decides, r.dtype if r.decides else r.tier))
    for (undeciding, name), results in sorted(groups.items(), key=lambda one: one[0][0]):
        counted: Counter[str] = Counter(result.verdict for result in results)
        grade = None if undeciding else report.grades.get(name)
        row = {"required": "", "observed": "", "worst": ""}
        if grade and grade.compared:
            observed = ", ".join([grade.observed, *grade.observed_too]) or "none of them"
            worst = f"{grade.worst:.3g}".replace("inf", "∞")
            row = {"required": str(grade.required), "observed": observed, "worst": worst}
        rows.append(
            {
                **row,
                "name": escape(name),
                "decides": not undeciding,
                "cases": len(results),
                "counts": [counted[verdict] for verdict in VERDICTS],
            }
        )
    return rows
