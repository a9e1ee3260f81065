"""The options of `grucible check` that are of expectations: a list that is given, or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import say

if TYPE_CHECKING:
    from ..judging.expectations import Expectation
    from ..report import Report

    Finish = Callable[[Report, Path | None, Sequence[str]], Report]


def expected(
    expect: Path | None, write_expect: Path | None, runtimes: int, *, no_diagnose: bool
) -> tuple[list[Expectation], Finish]:
    """The expectations of a list, and what is done with the report: where a list is to be written, it is, and
    the report is held against it."""
    if runtimes > 1 and (expect or write_expect):
        raise click.UsageError("--expect and --write-expect go with one --runtime")
    from ..expecting import load_expectations
    from ..listing import read_list, write_list

    if write_expect is None:
        return (load_expectations(expect) if expect else []), _as_it_is
    if expect:
        raise click.UsageError("--write-expect names the list by itself; leave --expect out")
    if no_diagnose:
        raise click.UsageError("--write-expect needs the diagnosis; leave --no-diagnose out")
    path = write_expect
    if not path.parent.is_dir():
        raise click.UsageError(f"--write-expect {path}: there is no directory {path.parent}")
    old = read_list(path)

    def finish(report: Report, vectors: Path | None, select: Sequence[str]) -> Report:
        from ..expecting import apply_expectations

        if report.interrupted:
            say(f"{path}: not written, for the check was interrupted", err=True)
            return report
        if report.diagnosis.broke_off:
            say(f"{path}: not written, for the diagnosis broke off", err=True)
            return report
        entries, changes = write_list(old, report, vectors, select)
        say(f"{path}: {changes}", err=True)
        return apply_expectations(report, entries, vectors, select)

    return [], finish


def _as_it_is(report: Report, _: Path | None, __: Sequence[str]) -> Report:
    return report
