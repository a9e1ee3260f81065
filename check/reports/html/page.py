"""The page: one file that holds all it needs, for one report or for several side by side."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....cases.console import escape
from ...judging.growth import Growth
from ...report import CORE, Report
from .columns import Cases, explanations
from .details import MOST_BYTES, Details, details
from .installed import check_installed
from .packed import packed, ratio
from .summary import MOST_FAILURES, VERDICTS, Summary, summary

HERE = Path(__file__).parent
_SCRIPTS = ("charts.js", "cases.js", "page.js")


def html_page(reports: Sequence[Report]) -> str:
    """The page of reports, one on each runtime, side by side; they may be on different cases.

    Raises GrucibleError where jinja2 is not installed.
    """
    check_installed()
    from .template import filled

    told = [summary(report) for report in reports]
    cases = Cases(reports)
    found = [details(report, MOST_BYTES // len(reports)) for report in reports]
    runtimes = [
        _runtime(*one, cases, number)
        for number, one in enumerate(zip(reports, told, found, strict=True))
    ]
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    values = {
        "runtimes": told,
        "verdicts": VERDICTS,
        "most_failures": MOST_FAILURES,
        "style": (HERE / "page.css").read_text(encoding="utf-8"),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        "data": packed({"cases": cases.columns(), "runtimes": runtimes}),
        "chunks": [
            (n, m, chunk) for n, one in enumerate(found) for m, chunk in enumerate(one.chunks)
        ],
    }
    return filled(HERE, "page.html.j2", values)


def _runtime(
    report: Report, told: Summary, found: Details, cases: Cases, number: int
) -> dict[str, Any]:
    """What the page's program needs of one runtime."""
    vectors = "" if report.vectors == CORE else report.vectors
    return {
        "name": told.name,
        "vectors": escape(vectors),
        "number": number,
        "explanations": explanations(report),
        "unexplained": report.diagnosis.unexplained,
        "asked": escape(report.asked),
        "outputs": escape(report.outputs),
        "growth": {dtype: _growth(growth) for dtype, growth in report.growth.items()},
        "required": {dtype: str(grade.required) for dtype, grade in report.grades.items()},
        "details": [[cases.place[case_id], *place] for case_id, place in found.places.items()],
        **cases.of_runtime(report),
    }


def _growth(growth: Growth) -> dict[str, Any]:
    """By step, the error of the worst case and of the middle one, of those that passed and of the others."""
    told: dict[str, Any] = {}
    for key, passed in (("passed", True), ("failed", False)):
        told[key] = {
            "cases": growth.cases(passed=passed),
            "worst": [_told(one) for one in growth.quantile(1.0, passed=passed)],
            "middle": [_told(one) for one in growth.quantile(0.5, passed=passed)],
        }
    return told


def _told(number: float | None) -> float | str | None:
    return None if number is None else ratio(number)
