"""Where the report of `grucible check` goes: standard output, files, and a run of GitHub Actions."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ...cases.console import SUMMARY, put, say
from ...cases.files import check_apart, check_replaceable, write_whole, writing_to
from ...cases.process import ignoring_interrupts
from .gathered import gathered

if TYPE_CHECKING:
    from ..report import Report
    from ..reports.formats import Format

Printed = Literal["whole", "quiet", "json"]
ON_GITHUB = "github"
"""The format that needs no file in a run of GitHub Actions."""


class Written:
    """Where a report goes: the values of `--report`, each FORMAT=FILE or `github` alone, and what is printed.

    Raises click.UsageError for what is none, and GrucibleError for a file that holds something else.
    """

    def __init__(self, reports: Sequence[str], printed: Printed) -> None:
        self._printed = printed
        self._annotate = ON_GITHUB in reports
        if self._annotate and not os.environ.get(SUMMARY):
            raise click.UsageError(
                f"--report {ON_GITHUB}: {SUMMARY} is not set, as in a run of GitHub Actions; elsewhere "
                f"write the summary to a file: --report {ON_GITHUB}=FILE"
            )
        self._files = [_report_file(text) for text in reports if text != ON_GITHUB]

    def check_takes(self, runtimes: int, write_expect: Path | None) -> None:
        """Raise click.UsageError if there are several, and some form of the report is that of one alone; and
        GrucibleError where two of what is written, the list of what is expected too, have one place."""
        check_apart(
            [
                *(("--report", file) for _, file in self._files),
                *([("--write-expect", write_expect)] if write_expect else []),
            ]
        )
        one = [f"--report {form.name}" for form, _ in self._files if not form.side_by_side]
        one += ["--json"] * (self._printed == "json") + [f"--report {ON_GITHUB}"] * self._annotate
        if one and runtimes > 1:
            raise click.UsageError(f"{one[0]} is of one runtime; give --runtime once")

    @contextlib.contextmanager
    def told_at_the_end(self) -> Iterator[list[Report]]:
        """A list of reports: what is in it at the end is told, whatever the end is."""
        reports: list[Report] = []
        try:
            yield reports
        finally:
            if reports:
                self.tell(reports)

    def tell(self, reports: Sequence[Report]) -> None:
        """The reports, to standard output and to files, each whatever becomes of the others."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._write, reports)
            if self._annotate:
                stack.callback(_annotate, reports[0])
            for number, report in enumerate(reports):
                if number:
                    say("")
                _print(report, self._printed, guarded=self._annotate)

    def _write(self, reports: Sequence[Report]) -> None:
        """The reports to files, each whatever becomes of the others; who presses Ctrl-C gets them all."""
        with ignoring_interrupts(), contextlib.ExitStack() as stack:
            for form, file in reversed(self._files):
                stack.callback(_write, reports, form, file)


def _written(reports: tuple[str, ...], quiet: bool, as_json: bool) -> Written:
    return Written(reports, "json" if as_json else "quiet" if quiet else "whole")


written = gathered(
    "to",
    _written,
    click.option("--report", "reports", multiple=True, metavar="FORMAT=FILE",
                 help="Write the report to a file: json, junit, html, or github, which without =FILE "
                 "annotates a run of GitHub Actions. json, junit and github are of one runtime. "
                 "Repeatable."),
    click.option("--quiet", is_flag=True, help="Print five lines at most."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
)  # fmt: skip
"""Gives a command those options; it gets where they send the report as `to`."""


def _print(report: Report, printed: Printed, *, guarded: bool) -> None:
    """The report to standard output; `guarded`, no line of it is a command to GitHub Actions."""
    from ..reports.findings import report_broken_diagnosis
    from ..reports.json import report_json
    from ..reports.terminal import quiet_lines, report_lines

    report_broken_diagnosis(report.diagnosis)
    if printed == "json":
        put(report_json(report))
        return
    lines = quiet_lines(report) if printed == "quiet" else report_lines(report)
    with _guard() if guarded else contextlib.nullcontext():
        for line in lines:
            say(line)


@contextlib.contextmanager
def _guard() -> Iterator[None]:
    """Lines that GitHub Actions does not read as commands: a word that nobody can guess ends them."""
    word = secrets.token_hex(16)
    put(f"::stop-commands::{word}\n")
    try:
        yield
    finally:
        put(f"::{word}::\n")


def _annotate(report: Report) -> None:
    """Annotate the run, on standard error, and add to its job summary."""
    from ..reports.formats import summary, workflow_commands

    for line in workflow_commands(report):
        put(f"{line}\n", err=True)
    place = Path(os.environ[SUMMARY])
    with writing_to(place), place.open("a", encoding="utf-8") as file:
        file.write(summary(report))


def _write(reports: Sequence[Report], form: Format, file: Path) -> None:
    write_whole(file, form.text(reports), mark=form.begins)


def _report_file(text: str) -> tuple[Format, Path]:
    """The format and the file of `FORMAT=FILE`.

    Raises click.UsageError where it says none, or there is no place for the file, and GrucibleError where the
    file holds something else, or what the format needs is not installed.
    """
    from ..reports.formats import FORMATS

    name, equals, file = text.partition("=")
    if name not in FORMATS or not equals or not file:
        expected = ", ".join([*(f"{one}=FILE" for one in FORMATS), f"or {ON_GITHUB} alone"])
        raise click.UsageError(f"--report {text}: expected {expected}")
    path = Path(file)
    if path.is_dir():
        raise click.UsageError(f"--report {text}: {path} is a directory")
    check_replaceable(path, FORMATS[name].begins)
    if not path.parent.is_dir():
        raise click.UsageError(f"--report {text}: there is no directory {path.parent}")
    FORMATS[name].check()
    return FORMATS[name], path
