"""The report as strict JSON, version 3; the room's README describes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ...cases.strict_json import encode_number, format_json
from ...gen.tolerances.classes import CLASSES
from ..diagnosis.finding import Finding
from ..judging.case_result import CaseResult
from ..judging.expectations import Use
from ..judging.grade import Grade
from ..refusals import Refusal
from ..report import Report

_PLURAL = {"error": "errors"}
_VERDICTS = ("passed", "failed", "unsupported", "missing", "error")


def report_json(report: Report) -> str:
    """Return the report as a JSON text; infinities and NaN are the strings "inf" and "nan"."""
    return format_json(report_value(report))


def report_value(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    deciding = [result for result in report.results if result.decides]
    return {
        "grucible_report": 3,
        "verdict": report.verdict,
        "interrupted": report.interrupted,
        "runtime": {"name": report.runtime, "version": report.runtime_version},
        "vectors": {
            "path": report.vectors,
            "files": len(report.origins),
            "origins": dict(report.origins),
            "recomputed": report.recomputed,
        },
        "reach": {
            operator: {"supported": supported, "cases": cases}
            for operator, (supported, cases) in report.reach.items()
        },
        "arithmetic": {dtype: _grade(grade) for dtype, grade in report.grades.items()},
        "summary": _counts(deciding)
        | {
            "expected_failures": len(report.expected_failures),
            "unexpected_passes": len(report.unexpected_passes),
        },
        "other_tiers": {
            "nonportable": _counts([r for r in report.results if r.tier == "nonportable"]),
        },
        "diagnosis": [_finding(finding) for finding in report.diagnosis.findings],
        "unexplained": report.diagnosis.unexplained,
        "not_tried": report.diagnosis.not_tried,
        "hints": list(report.diagnosis.hints),
        "readings": {
            ledger: {
                "followed": [
                    {"reading": " and ".join(names) or None, "cases": count}
                    for names, count in followed.most_common()
                ],
                "consistent": len(followed) == 1,
            }
            for ledger, followed in report.readings_followed.items()
        },
        "expectations": [_use(use) for use in report.uses],
        "cases": [_case(result) for result in report.results],
    } | ({"refusals": [refusal_value(one) for one in report.refusals]} if report.refusals else {})


def _counts(results: list[CaseResult]) -> dict[str, int]:
    counted: Counter[str] = Counter(result.verdict for result in results)
    return {"cases": len(results)} | {_PLURAL.get(v, v): counted[v] for v in _VERDICTS}


def _grade(grade: Grade) -> dict[str, Any]:
    return {
        "required": grade.required.as_json(),
        "observed": grade.observed or None,
        "observed_too": grade.observed_too,
        "compared": grade.compared,
        "holds": {one.name: grade.holds[one.name] for one in CLASSES[grade.dtype]},
        "worst": {
            "ratio": encode_number(grade.worst),
            "id": grade.worst_id,
            "where": grade.worst_where,
        },
        "vacuous": {
            "share": grade.vacuous_share,
            "cases": grade.undeciding.total(),
            "files": {
                file: count / grade.elements[file] for file, count in grade.vacuous.items() if count
            },
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return asdict(finding) | {
        "names": list(finding.names),
        "links": list(finding.links),
        "silent": list(finding.silent),
        "alternatives": [list(names) for names in finding.alternatives],
    }


def _case(result: CaseResult) -> dict[str, Any]:
    case: dict[str, Any] = {
        "id": result.id,
        "tier": result.tier,
        "verdict": result.verdict,
        "worst_ratio": encode_number(result.worst_ratio),
        "worst_abs": encode_number(result.worst_abs),
        "worst_ulp": encode_number(result.worst_ulp),
        "where": result.where,
        "readings": [list(names) for names in result.readings],
        "arithmetic": result.arithmetic or None,
        "message": result.message,
    }
    if result.fault:
        case["fault"] = {"kind": result.fault.kind, "traceback": list(result.fault.traceback)}
    if result.must_support:
        case["must_support"] = True
    if result.expected:
        case["expected"] = {"reason": result.expected.reason, "link": result.expected.link}
    if result.instead:
        case["instead"] = result.instead.in_words
    return case


def _use(use: Use) -> dict[str, Any]:
    return asdict(use.expectation) | {
        "failed": len(use.failed),
        "otherwise": len(use.otherwise),
        "passed": len(use.passed),
        "unsupported": use.silent,
        "judged": not use.not_judged,
        "stale": use.stale or None,
    }


def refusal_value(one: Refusal) -> dict[str, Any]:
    """Return an invalid question with its outcome, as JSON has it."""
    value = asdict(one)
    del value["answered"]  # the outcome says enough
    value["expected"] = one.expected and {"reason": one.expected.reason, "link": one.expected.link}
    return value
