"""The report as JUnit XML: what CI systems show as tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...cases.console import escape
from ..judging.case_result import CaseResult
from ..refusals.refusal import Refusal
from ..report import Report
from .findings import diagnosis_lines, paragraph
from .terminal import headline

_COUNTED = ("failure", "error", "skipped")


def report_junit(report: Report) -> str:
    """The report as XML: a suite for each operator and dtype, and a test for each case.

    A case that failed is a failure, one that crashed, hung or gave an error is an error. What is unsupported,
    expected, missing after an interruption, or does not decide is skipped, with the reason. Times are 0, for
    none is known, and suites name no host and no date: the same report is the same text.
    """
    root = Element("testsuites", name=_text(f"grucible check: {report.runtime}"))
    _add_verdict(root, report)
    for (operator, dtype), results in groupby(_in_order(report.results), key=_suite):
        suite = _suite_of(root, f"{operator} {dtype}", report)
        for result in results:
            _add_case(suite, report, result, f"{operator}.{dtype}")
        _count(suite)
    if report.refusals:
        suite = _suite_of(root, "what must be refused", report)
        for one in report.refusals:
            _add_refusal(suite, one)
        _count(suite)
    _count(root)
    indent(root, " ")
    return tostring(root, "unicode", xml_declaration=True) + "\n"


def _suite(result: CaseResult) -> tuple[str, str]:
    return result.operator, result.dtype


def _in_order(results: Iterable[CaseResult]) -> list[CaseResult]:
    return sorted(results, key=_suite)


def _suite_of(root: Element, name: str, report: Report) -> Element:
    suite = SubElement(root, "testsuite", name=_text(name))
    properties = SubElement(suite, "properties")
    for key, value in (
        ("runtime", report.runtime),
        ("version", report.runtime_version),
        ("vectors", report.vectors),
        ("verdict", report.verdict),
    ):
        SubElement(properties, "property", name=key, value=_text(value))
    return suite


def _test_of(suite: Element, group: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=_text(group), name=_text(name), time="0")


def _add_case(suite: Element, report: Report, result: CaseResult, group: str) -> None:
    test = _test_of(suite, group, result.id)
    if result.verdict == "passed":
        return
    said = list(paragraph(report, result))
    if result.wrong and not result.expected:
        kind = "error" if result.verdict == "error" else "failure"
        finding = report.diagnosis.by_case.get(result.id)
        fault = result.fault.kind if result.fault else result.verdict
        traceback = ["", *result.fault.traceback] if result.fault and result.fault.traceback else []
        what = " and ".join(finding.names) if finding else fault
        _add(test, kind, said[0], [*said, *traceback], what)
    elif result.wrong and result.expected:
        link = f" ({result.expected.link})" if result.expected.link else ""
        _add(test, "skipped", f"expected: {result.expected.reason}{link}", said)
    elif result.verdict == "missing" and result.decides and not report.interrupted:
        _add(test, "error", f"missing: {result.message}", [], "missing")
    elif result.verdict in ("unsupported", "missing"):
        _add(test, "skipped", f"{result.verdict}: {result.message}", [])
    elif not result.decides:
        _add(test, "skipped", f"tier {result.tier} does not decide; {said[0]}", [])


def _add_refusal(suite: Element, one: Refusal) -> None:
    test = _test_of(suite, "refusals", one.id)
    if one.wrong and one.expected:
        _add(test, "skipped", f"expected: {one.expected.reason}", [])
    elif one.wrong:
        _add(test, "failure", f"accepted, and must be refused: {one.about}", [], one.outcome)
    elif one.outcome == "unasked" or one.accepted:
        _add(test, "skipped", one.message or "does not decide", [])


def _add_verdict(root: Element, report: Report) -> None:
    """A suite of one test that says the verdict, so that it stands where CI lists what failed."""
    suite = _suite_of(root, "verdict", report)
    test = _test_of(suite, "grucible", "verdict")
    told = [headline(report), *diagnosis_lines(report.diagnosis)]
    if report.exit_status:
        _add(test, "failure", report.verdict, told, "verdict")
    else:
        SubElement(test, "system-out").text = _lines(told)
    _count(suite)


def _add(test: Element, kind: str, message: str, lines: Iterable[str], what: str = "") -> None:
    """What became of a test: `kind` is failure, error or skipped, `what` its type."""
    attributes = {"message": _text(message)} | ({"type": _text(what)} if what else {})
    SubElement(test, kind, attributes).text = _lines(lines) or None


def _count(element: Element) -> None:
    """Say how many tests there are and what became of them, and that no time is known."""
    element.set("tests", str(len(list(element.iter("testcase")))))
    for kind in _COUNTED:
        name = kind if kind == "skipped" else f"{kind}s"
        element.set(name, str(len(list(element.iter(kind)))))
    element.set("time", "0")


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(_text(line) for line in lines)


def _text(text: str) -> str:
    """A text without what XML cannot hold, written out as on a terminal; `<` and `&` are escaped later."""
    return "".join(_kept(escape(text)))


def _kept(text: str) -> Iterator[str]:
    for character in text:
        code = ord(character)
        legal = 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
        yield character if legal else f"\\u{code:04x}"
