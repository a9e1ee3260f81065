"""One case that went wrong, in words: the same ones wherever it is told of."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...cases.console import format_command
from ..judging.case_result import CaseResult
from ..report import CORE, Report
from .diagnosis import sentence


def how_far_off(result: CaseResult) -> str:
    """What is wrong with a case, in a sentence: the element that is furthest off, with what was expected and
    how far that is from what came, or the message of an error."""
    if result.verdict != "failed" or result.worst_ratio <= 1.0:
        return result.message
    return f"{result.where}: {result.message}{off_by(result.worst_abs, result.worst_ratio)}"


def off_by(absolute: float, ratio: float) -> str:
    """What stands behind an element's expected and observed value: how far it is off, also as a multiple of
    what is admitted."""
    if not math.isfinite(absolute):
        return ""  # a NaN or an infinity says enough
    if math.isinf(ratio):
        return f"; off by {absolute:.3g}, where no error is admitted"
    return f"; off by {absolute:.3g}, {ratio:.3g} × tolerance"


def paragraph(report: Report, result: CaseResult) -> Iterator[str]:
    """What is known of a case that went wrong, a sentence a line: how far it is off, what it looks like, and
    how to see more."""
    yield how_far_off(result)
    finding = report.diagnosis.by_case.get(result.id)
    if finding is not None:
        yield f"looks like: {sentence(finding)}"
    elif result.verdict == "failed" and report.diagnosis.failed:
        yield "nothing that grucible knows explains it"
    yield f"see: {show_command(report, result.id)}"


def show_command(report: Report, case_id: str) -> str:
    """The command that shows a case."""
    vectors = [] if report.vectors == CORE else [report.vectors]
    return format_command("show", [*vectors, case_id])
