"""The report for GitHub Actions: annotations for standard error, and a job summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...cases.console import escape, escape_commands
from ..judging.case_result import CaseResult
from ..report import Report
from .findings import first_to_look_at, paragraph, plainest, sentence
from .terminal import headline, table_rows
from .text import as_code, as_markdown

MOST_ANNOTATIONS = 10
"""As many as GitHub shows of a step."""
_SHOWN = 20


def workflow_commands(report: Report) -> Iterator[str]:
    """The workflow commands that say the verdict and each finding where a run is looked at."""
    level = "error" if report.exit_status else "notice"
    yield _command(level, "grucible", headline(report))
    found = []
    for one in report.diagnosis.findings:
        told = f"{one.explains} of {one.of} failures: {sentence(one)}"
        found.append(_command(level if one.certain else "warning", "diagnosis", told))
    yield from found[: MOST_ANNOTATIONS - 1]


def _command(level: str, title: str, message: str) -> str:
    """A workflow command; a runtime's message in it can start no other one."""
    data = (
        escape_commands(escape(message))
        .replace("%", "%25")
        .replace("\r", "%0D")
        .replace("\n", "%0A")
    )
    return f"::{level} title={title}::{data}"


def summary(report: Report) -> str:
    """The job summary: the verdict, what explains the failures, the counts, and the first failures."""
    return "\n".join(_summary(report)) + "\n"


def _summary(report: Report) -> Iterator[str]:
    yield f"## grucible: {as_markdown(report.verdict)}"
    yield ""
    yield as_markdown(headline(report))
    yield ""
    version = f" {report.runtime_version}" if report.runtime_version else ""
    yield f"Runtime: {as_markdown(report.runtime + version)}; vectors: {as_markdown(report.vectors)}"
    if report.diagnosis.failed:
        yield ""
        yield "### Diagnosis"
        yield ""
        for one in report.diagnosis.findings:
            yield f"- **{one.explains}** failures: {as_markdown(sentence(one))}"
        if report.diagnosis.unexplained:
            yield f"- **{report.diagnosis.unexplained}** unexplained"
            yield from (f"  - {as_markdown(hint)}" for hint in report.diagnosis.hints)
    yield ""
    yield from _table(table_rows(report))
    yield from _failures(report)
    for line in first_to_look_at(report):
        command = line.removeprefix("start with: ")
        yield f"Start with {as_code(command)}" if command else ""


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"| {' | '.join(as_markdown(cell) for cell in row)} |"
        if not number:
            yield "| --- |" + " ---: |" * (len(row) - 1)


def _failed_or_errors(wrong: Sequence[CaseResult]) -> str:
    failed = sum(result.verdict == "failed" for result in wrong)
    counts = {"failed": failed, "gave an error": len(wrong) - failed}
    return " and ".join(f"{count} that {what}" for what, count in counts.items() if count)


def _failures(report: Report) -> Iterator[str]:
    wrong = plainest([r for r in report.unexpected if r.verdict in ("failed", "error")])
    if not wrong:
        return
    yield ""
    yield f"<details><summary>{_failed_or_errors(wrong)}, the plainest first</summary>"
    yield ""
    for result in wrong[:_SHOWN]:
        yield f"- {as_code(result.id)}"
        yield from (f"  <br>{as_markdown(line)}" for line in list(paragraph(report, result))[:-1])
    if len(wrong) > _SHOWN:
        yield f"- and {len(wrong) - _SHOWN} more"
    yield ""
    yield "</details>"
