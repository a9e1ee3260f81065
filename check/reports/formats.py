"""The formats that a report is written in: JUnit XML, GitHub's annotations and summary, JSON, a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...cases.console import escape, escape_commands
from ..judging.case_result import CaseResult
from ..refusals import Refusal
from ..report import Report
from .findings import diagnosis_lines, first_to_look_at, paragraph, plainest, sentence
from .terminal import headline, table_rows
from .text import as_code, as_markdown, group

MOST_ANNOTATIONS = 10
"""Maximum annotations of a step that GitHub shows."""
_SHOWN = 20
"""Maximum failures in a job summary."""


@dataclass(frozen=True)
class Format:
    """A format of reports.

    `writer` is the `module:function`, in this room, that makes the text of a report, or of several where they
    stand `side_by_side`; `begins` matches the start of such a text, so that nothing else is replaced by one;
    `needs`, where it is named, raises GrucibleError where the writer lacks something.
    """

    name: str
    writer: str
    begins: re.Pattern[bytes]
    needs: str = ""
    side_by_side: bool = False

    def text(self, reports: Sequence[Report]) -> str:
        """Return the reports in this format: one, unless they stand side by side."""
        write = _function(self.writer)
        made: str = write(reports) if self.side_by_side else write(*reports)
        return made

    def check(self) -> None:
        """Raise GrucibleError where what the format needs is not installed: before hours of work."""
        if self.needs:
            _function(self.needs)()


def _function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(f".{module}", __package__), function)


_JUNIT = re.compile(rb"<\?xml[^>]*\?>\s*<testsuites name=\"grucible check: ")
_PAGE = re.compile(rb"<!doctype html>\n<!-- a report of grucible -->")
_ALL = (
    Format("json", "json:report_json", re.compile(rb"\{\s*\"grucible_report\"")),
    Format("junit", "formats:report_junit", _JUNIT),
    Format("github", "formats:summary", re.compile(rb"## grucible: ")),
    Format("html", "html:html_page", _PAGE, "html:check_installed", side_by_side=True),
)
FORMATS = {one.name: one for one in _ALL}
"""By the name that `--report NAME=FILE` takes."""


def report_junit(report: Report) -> str:
    """Return the report as XML: a suite for each operator and dtype, and a test for each case.

    A case that failed is a failure, one that crashed, hung or gave an error is an error. What is unsupported,
    expected, missing after an interruption, or does not decide is skipped, with the reason. Times are 0, for
    none is known, and suites name no host and no date: the same report is the same text.
    """
    root = Element("testsuites", name=_xml(f"grucible check: {report.runtime}"))
    test = _add_test(_add_suite(root, "verdict", report), "grucible", "verdict")
    lines = [headline(report), *diagnosis_lines(report.diagnosis)]
    if report.exit_status:
        _mark(test, "failure", report.verdict, lines, "verdict")
    else:
        SubElement(test, "system-out").text = "\n".join(map(_xml, lines))
    suites = group(report.results, lambda result: (result.operator, result.dtype))
    for (operator, dtype), results in sorted(suites.items()):
        suite = _add_suite(root, f"{operator} {dtype}", report)
        for result in results:
            _mark_case(_add_test(suite, f"{operator}.{dtype}", result.id), report, result)
    if report.refusals:
        suite = _add_suite(root, "what must be refused", report)
        for one in report.refusals:
            _mark_refusal(_add_test(suite, "refusals", one.id), one)
    for element in (*root, root):
        element.set("tests", str(len(list(element.iter("testcase")))))
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            element.set(name, str(len(list(element.iter(kind)))))
        element.set("time", "0")
    indent(root, " ")
    return tostring(root, "unicode", xml_declaration=True) + "\n"


def _add_suite(root: Element, name: str, report: Report) -> Element:
    suite = SubElement(root, "testsuite", name=_xml(name))
    properties = SubElement(suite, "properties")
    for key, value in (
        ("runtime", report.runtime),
        ("version", report.runtime_version),
        ("vectors", report.vectors),
        ("verdict", report.verdict),
    ):
        SubElement(properties, "property", name=key, value=_xml(value))
    return suite


def _add_test(suite: Element, owner: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=_xml(owner), name=_xml(name), time="0")


def _mark_case(test: Element, report: Report, result: CaseResult) -> None:
    if result.verdict == "passed":
        return
    said = list(paragraph(report, result))
    if result.wrong and result.expected:
        link = f" ({result.expected.link})" if result.expected.link else ""
        _mark(test, "skipped", f"expected: {result.expected.reason}{link}", said)
    elif result.wrong:
        kind = "error" if result.verdict == "error" else "failure"
        finding = report.diagnosis.by_case.get(result.id)
        fault = result.fault.kind if result.fault else result.verdict
        traceback = ["", *result.fault.traceback] if result.fault and result.fault.traceback else []
        what = " and ".join(finding.names) if finding else fault
        _mark(test, kind, said[0], [*said, *traceback], what)
    elif result.verdict == "missing" and result.decides and not report.interrupted:
        _mark(test, "error", f"missing: {result.message}", [], "missing")
    elif result.verdict in ("unsupported", "missing"):
        _mark(test, "skipped", f"{result.verdict}: {result.message}", [])
    elif not result.decides:
        _mark(test, "skipped", f"tier {result.tier} does not decide; {said[0]}", [])


def _mark_refusal(test: Element, one: Refusal) -> None:
    if one.wrong and one.expected:
        _mark(test, "skipped", f"expected: {one.expected.reason}", [])
    elif one.wrong:
        _mark(test, "failure", f"accepted, and must be refused: {one.about}", [], one.outcome)
    elif one.outcome == "unasked" or one.accepted:
        _mark(test, "skipped", one.message or "does not decide", [])


def _mark(test: Element, kind: str, message: str, lines: Iterable[str], what: str = "") -> None:
    """Mark a test as `kind`: failure, error or skipped, of type `what`."""
    attributes = {"message": _xml(message)} | ({"type": _xml(what)} if what else {})
    SubElement(test, kind, attributes).text = "\n".join(map(_xml, lines)) or None


def _xml(text: str) -> str:
    """Return a text without what XML cannot hold, written out; `<` and `&` are escaped later."""
    return re.sub(
        "[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        escape(text),
    )


def workflow_commands(report: Report) -> Iterator[str]:
    """Yield GitHub's workflow commands that annotate a run with the verdict and each finding."""
    level = "error" if report.exit_status else "notice"
    found = [(level, "grucible", headline(report))]
    for one in report.diagnosis.findings[: MOST_ANNOTATIONS - 1]:
        message = f"{one.explains} of {one.of} failures: {sentence(one)}"
        found.append((level if one.certain else "warning", "diagnosis", message))
    for kind, title, message in found:
        data = escape_commands(escape(message)).replace("%", "%25").replace("\n", "%0A")
        yield f"::{kind} title={title}::{data}"


def summary(report: Report) -> str:
    """Return the job summary in Markdown: verdict, what explains failures, counts, first failures."""
    return "\n".join(_summary(report)) + "\n"


def _summary(report: Report) -> Iterator[str]:
    yield from [
        f"## grucible: {as_markdown(report.verdict)}",
        "",
        as_markdown(headline(report)),
        "",
    ]
    version = f" {report.runtime_version}" if report.runtime_version else ""
    yield f"Runtime: {as_markdown(report.runtime + version)}; vectors: {as_markdown(report.vectors)}"
    if report.diagnosis.failed:
        yield from ["", "### Diagnosis", ""]
    for one in report.diagnosis.findings:
        yield f"- **{one.explains}** failures: {as_markdown(sentence(one))}"
    if report.diagnosis.unexplained:
        yield f"- **{report.diagnosis.unexplained}** unexplained"
        yield from (f"  - {as_markdown(hint)}" for hint in report.diagnosis.hints)
    yield ""
    for number, row in enumerate(table_rows(report)):
        yield f"| {' | '.join(as_markdown(cell) for cell in row)} |"
        if not number:
            yield "| --- |" + " ---: |" * (len(row) - 1)
    yield from _first_failures(report)
    for line in first_to_look_at(report):
        command = line.removeprefix("start with: ")
        yield f"Start with {as_code(command)}" if command else ""


def _first_failures(report: Report) -> Iterator[str]:
    wrong = plainest([r for r in report.unexpected if r.verdict in ("failed", "error")])
    if not wrong:
        return
    failed = sum(result.verdict == "failed" for result in wrong)
    counts = {"failed": failed, "gave an error": len(wrong) - failed}
    title = " and ".join(f"{count} that {what}" for what, count in counts.items() if count)
    yield from ["", f"<details><summary>{title}, the plainest first</summary>", ""]
    for result in wrong[:_SHOWN]:
        yield f"- {as_code(result.id)}"
        yield from (f"  <br>{as_markdown(line)}" for line in list(paragraph(report, result))[:-1])
    if len(wrong) > _SHOWN:
        yield f"- and {len(wrong) - _SHOWN} more"
    yield from ["", "</details>"]
