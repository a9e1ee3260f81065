"""The formats that a report is written in: JSON, JUnit XML, GitHub's annotations and summary, a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...cases.console import escape, escape_commands
from ...cases.operators.readings import ReadingNames
from ...cases.strict_json import encode_number, format_json, strict_json
from ...gen.tolerances.classes import CLASSES
from ...vectors.digest import VERSION
from ..judging.case_result import CaseResult, CaseVerdict
from ..judging.expectations import Expectation, Use
from ..judging.grade import Grade
from ..judging.noise import Remark
from ..refusals import Refusal
from ..report import Report
from .claim import badge, claim_of
from .findings import diagnosis_lines, paragraph, sentence
from .html import check_installed, html_page
from .terminal import headline, report_text
from .text import as_block, as_markdown, group

MOST_ANNOTATIONS = 10
"""Maximum annotations of a step that GitHub shows."""


def report_json(report: Report) -> str:
    """Return the report as a JSON text; infinities and NaN are the strings "inf" and "nan"."""
    return format_json(report_value(report))


def report_value(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    deciding = [result for result in report.results if result.decides]
    others = [result for result in report.results if result.tier == "nonportable"]
    expected = {
        "expected_failures": len(report.expected_failures),
        "unexpected_passes": len(report.unexpected_passes),
    }
    value = {
        "grucible_report": 3,
        "verdict": report.verdict,
        "interrupted": report.interrupted,
        "stopped": report.stopped,
        "last_failed": report.last_failed,
        "shard": str(report.shard),
        "select": list(report.select),
        "runtime": {"name": report.runtime, "version": report.runtime_version},
        "asked": report.asked,
        "vectors": {
            "path": report.vectors,
            "files": len(report.origins),
            "origins": dict(report.origins),
            "digests": dict(report.digests),
            "version": VERSION,
            "recomputed": report.recomputed,
        },
        "reach": {
            operator: {"supported": supported, "cases": cases}
            for operator, (supported, cases) in report.reach.items()
        },
        "arithmetic": {
            dtype: _grade(grade) | {"remark": _remark(report.remarks.get(dtype))}
            for dtype, grade in report.grades.items()
        },
        "summary": _counts(deciding) | expected,
        "other_tiers": {"nonportable": _counts(others)},
        "diagnosis": [asdict(finding) for finding in report.diagnosis.findings],
        "unexplained": report.diagnosis.unexplained,
        "not_tried": report.diagnosis.not_tried,
        "hints": list(report.diagnosis.hints),
        "unanswered": list(dict.fromkeys(chain(*report.diagnosis.unanswered.values()))),
        "asked_again": report.asked_again,
        "readings": {ledger: _readings(one) for ledger, one in report.readings_followed.items()},
        "expectations": [_use(use) for use in report.uses],
        "allow_stale": report.allow_stale,
        "cases": [case_value(result) | _explained(report, result) for result in report.results],
    }
    refusals = [refusal_value(one) for one in report.refusals]
    model = {"model": report.model._asdict()} if report.model else {}
    return value | ({"refusals": refusals} if refusals else {}) | model


def _readings(followed: Counter[ReadingNames]) -> dict[str, Any]:
    return {
        "followed": [
            {"reading": " and ".join(names) or None, "cases": count}
            for names, count in followed.most_common()
        ],
        "consistent": len(followed) == 1,
    }


BY_FILE = ("elements", "vacuous", "undeciding", "steps_alone")
"""What a grade counts by vector file."""


def _explained(report: Report, result: CaseResult) -> dict[str, Any]:
    """Return what the diagnosis says of a case, if it failed."""
    finding = report.diagnosis.by_case.get(result.id)
    unexplained = result.id in report.diagnosis.unexplained_ids
    return ({"diagnosis": finding.names} if finding else {}) | (
        {"unexplained": True} if unexplained else {}
    )


def _counts(results: list[CaseResult]) -> dict[str, int]:
    counted = Counter(result.verdict for result in results)
    words: list[CaseVerdict] = ["passed", "failed", "unsupported", "missing"]
    return {"cases": len(results), **{w: counted[w] for w in words}, "errors": counted["error"]}


def _grade(grade: Grade) -> dict[str, Any]:
    shares = {f: count / grade.elements[f] for f, count in grade.vacuous.items() if count}
    worst = encode_number(grade.worst)
    return {
        "required": grade.required.as_json(),
        "observed": grade.observed or None,
        "observed_too": grade.observed_too,
        "compared": grade.compared,
        "holds": {one.name: grade.holds[one.name] for one in CLASSES[grade.dtype]},
        "worst": {"ratio": worst, "id": grade.worst_id, "where": grade.worst_where},
        "vacuous": {
            "share": grade.vacuous_share,
            "cases": grade.undeciding.total(),
            "files": shares,
        },
        "files": {
            file: {name: getattr(grade, name)[file] for name in BY_FILE} for file in grade.elements
        },
    }


def _remark(one: Remark | None) -> dict[str, Any] | None:
    if one is None:
        return None
    ratio = encode_number(one.noise.ratio)
    return {"about": str(one), "ratio": ratio, "cases": len(one.cases), "of": one.measured}


def case_value(result: CaseResult) -> dict[str, Any]:
    """Return a case; keys that only some cases have come last."""
    case = {
        "id": result.id,
        "tier": result.tier,
        "verdict": result.verdict,
        "worst_ratio": encode_number(result.worst_ratio),
        "worst_abs": encode_number(result.worst_abs),
        "worst_ulp": encode_number(result.worst_ulp),
        "where": result.where,
        "readings": result.readings,
        "arithmetic": result.arithmetic or None,
        "judged_by": result.judged_by or None,
        "noise": result.noise and encode_number(result.noise.ratio),
        "message": result.message,
    }
    more = {
        "fault": result.fault and asdict(result.fault),
        "overwrote": result.overwrote,
        "must_support": result.must_support,
        "followed": result.followed,
        "holds": result.holds if result.followed else (),
        "errors": result.noise.as_text() if result.noise else "",
        "expected": _reason(result.expected),
        "instead": result.instead and result.instead.in_words,
    }
    return case | {name: value for name, value in more.items() if value}


def _reason(expected: Expectation | None) -> dict[str, str] | None:
    return {"reason": expected.reason, "link": expected.link} if expected else None


def _use(use: Use) -> dict[str, Any]:
    return asdict(use.expectation) | {
        "failed": len(use.failed),
        "otherwise": len(use.otherwise),
        "passed": len(use.passed),
        "unsupported": use.silent,
        "judged": not use.not_judged,
        "left_out": use.left_out,
        "stale": use.stale or None,
    }


def refusal_value(one: Refusal) -> dict[str, Any]:
    """Return an invalid question with its outcome, as plain data."""
    value = asdict(one)
    del value["answered"]  # the outcome says enough
    return value | {"expected": _reason(one.expected)}


_Mark = tuple[str, str, Iterable[str], str]
"""The outcome of a test (failure, error, skipped or system-out), a message, lines, and a type."""


def report_junit(report: Report) -> str:
    """Return the report as XML: a suite for each operator and dtype, and a test for each case.

    A deciding case is a failure if it failed, or is unsupported although required; an error if it gave one or
    is missing. Expected failures, cases missing after an interruption, and all others that did not pass are
    skipped, with the reason. Times are 0, and no host or date is named: equal reports give equal texts.
    """
    root = Element("testsuites", name=_xml(f"grucible check: {report.runtime}"))
    lines = [headline(report), *diagnosis_lines(report.diagnosis)]
    verdict: _Mark = ("system-out", "", lines, "")
    if report.exit_status:
        verdict = ("failure", report.verdict, lines, "verdict")
    _add_suite(root, report, "verdict", [("grucible", "verdict", verdict)])
    suites = group(report.results, lambda result: (result.operator, result.dtype))
    for (operator, dtype), results in sorted(suites.items()):
        owner = f"{operator}.{dtype}"
        tests = [(owner, result.id, _mark_case(report, result)) for result in results]
        _add_suite(root, report, f"{operator} {dtype}", tests)
    if report.refusals:
        tests = [("refusals", one.id, _mark_refusal(one)) for one in report.refusals]
        _add_suite(root, report, "what must be refused", tests)
    for element in (*root, root):
        element.set("tests", str(len(list(element.iter("testcase")))))
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            element.set(name, str(len(list(element.iter(kind)))))
        element.set("time", "0")
    indent(root, " ")
    return tostring(root, "unicode", xml_declaration=True) + "\n"


def _add_suite(
    root: Element, report: Report, name: str, tests: Iterable[tuple[str, str, _Mark | None]]
) -> None:
    suite = SubElement(root, "testsuite", name=_xml(name))
    properties = SubElement(suite, "properties")
    facts = {"runtime": report.runtime, "version": report.runtime_version,
             "vectors": report.vectors, "verdict": report.verdict}  # fmt: skip
    for key, value in facts.items():
        SubElement(properties, "property", name=key, value=_xml(value))
    for owner, test_name, mark in tests:
        test = SubElement(suite, "testcase", classname=_xml(owner), name=_xml(test_name), time="0")
        if mark:
            kind, message, lines, what = mark
            given = {"message": _xml(message), "type": _xml(what)}
            marked = SubElement(test, kind, {key: text for key, text in given.items() if text})
            marked.text = "\n".join(map(_xml, lines)) or None


def _mark_case(report: Report, result: CaseResult) -> _Mark | None:
    if result.verdict == "passed":
        return None
    lines = list(paragraph(report, result))
    if result.wrong and result.expected:
        link = f" ({result.expected.link})" if result.expected.link else ""
        return ("skipped", f"expected: {result.expected.reason}{link}", lines, "")
    if result.wrong:
        finding = report.diagnosis.by_case.get(result.id)
        what = result.fault.kind if result.fault else result.verdict
        if result.fault and result.fault.traceback:
            lines += ["", *result.fault.traceback]
        kind = "error" if result.verdict == "error" else "failure"
        return (kind, lines[0], lines, " and ".join(finding.names) if finding else what)
    if result.verdict == "missing" and result.decides and not report.unfinished:
        return ("error", f"missing: {result.message}", [], "missing")
    if result.verdict in ("unsupported", "missing"):
        return ("skipped", f"{result.verdict}: {result.message}", [], "")
    return ("skipped", f"tier {result.tier} does not decide; {lines[0]}", [], "")


def _mark_refusal(one: Refusal) -> _Mark | None:
    if one.wrong and one.expected:
        return ("skipped", f"expected: {one.expected.reason}", [], "")
    if one.wrong:
        return ("failure", f"accepted, and must be refused: {one.about}", [], one.outcome)
    if one.outcome == "unasked" or one.accepted:
        return ("skipped", one.message or "does not decide", [], "")
    return None


def _xml(text: str) -> str:
    """Write out as \\uXXXX what XML cannot hold; `<` and `&` are escaped later."""
    return re.sub(
        "[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        escape(text),
    )


def workflow_commands(report: Report) -> Iterator[str]:
    """Yield GitHub's workflow commands that annotate a run with the verdict and the first findings."""
    level = "error" if report.exit_status else "notice"
    found = [(level, "grucible", headline(report))]
    for one in report.diagnosis.findings[: MOST_ANNOTATIONS - 1]:
        message = f"{one.explains} of {one.of} failures: {sentence(one)}"
        found.append((level if one.certain else "warning", "diagnosis", message))
    yield from (workflow_command(*one) for one in found)


def workflow_command(kind: str, title: str, message: str) -> str:
    """Write the workflow command of GitHub's that annotates a run with a message."""
    data = escape_commands(escape(message)).replace("%", "%25").replace("\n", "%0A")
    return f"::{kind} title={title}::{data}"


def summary(report: Report) -> str:
    """Return the job summary in Markdown: the verdict, and the report as it is printed."""
    return as_summary("grucible", report.verdict, headline(report), report_text(report))


def as_summary(what: str, outcome: str, words: str, text: str) -> str:
    """Write a job summary in Markdown: an outcome, a sentence, and a text as it is printed."""
    lines = [f"## {what}: {as_markdown(outcome)}", "", as_markdown(words), ""]
    return "\n".join([*lines, as_block(text), ""])


class FileBeside(NamedTuple):
    """A file with another `suffix` beside a report's, which `write` makes of that report's text."""

    suffix: str
    write: Callable[[str], str]
    begins: re.Pattern[bytes]


class Format(NamedTuple):
    """A format of reports.

    `write` makes the text of one report, or of several `side_by_side`. `begins` matches the start of such a
    text; no other file is overwritten. `check`, called before hours of work, raises GrucibleError where
    something that the format needs is not installed. `beside` is what stands beside its file.
    """

    name: str
    write: Callable[[Sequence[Report]], str]
    begins: re.Pattern[bytes]
    check: Callable[[], None] = lambda: None
    side_by_side: bool = False
    beside: FileBeside | None = None


def _claim(reports: Sequence[Report]) -> str:
    [report] = reports
    return format_json(claim_of(report_json(report).encode(), machine=report.machine))


_BADGE = FileBeside(".svg", lambda claim: badge(strict_json(claim)),
                re.compile(rb"<svg [^>]*>\s*<title>grucible: "))  # fmt: skip
_ALL = (
    Format("json", lambda reports: report_json(*reports), re.compile(rb"\{\s*\"grucible_report\"")),
    Format("junit", lambda reports: report_junit(*reports),
           re.compile(rb"<\?xml[^>]*\?>\s*<testsuites name=\"grucible check: ")),
    Format("github", lambda reports: summary(*reports), re.compile(rb"## grucible: ")),
    Format("html", html_page, re.compile(rb"<!doctype html>\n<!-- a report of grucible -->"),
           check_installed, side_by_side=True),
    Format("claim", _claim, re.compile(rb"\{\s*\"grucible_claim\""), beside=_BADGE),
)  # fmt: skip
FORMATS = {one.name: one for one in _ALL}
"""The formats by the name that `--report NAME=FILE` takes."""
