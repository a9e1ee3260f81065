"""Where reports go: standard output, files, and a run of GitHub Actions."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

from ...cases.console import SUMMARY, put, say
from ...cases.files import check_apart, check_replaceable, write_whole, writing_to
from ...cases.process import ignoring_interrupts
from ..report import Report
from ..reports.formats import FORMATS, FileBeside, Format, report_json, summary, workflow_commands
from ..reports.terminal import quiet_lines, report_lines
from . import options

_GITHUB = "github"
"""The format that needs no file in a run of GitHub Actions."""
_OPTIONS = options.together(
    click.option("--report", "reports", multiple=True, metavar="FORMAT=FILE",
                 help="Write the report to a file: json, junit, html, claim (with a badge beside it), or "
                 "github, which without =FILE annotates a run of GitHub Actions. All but html take one "
                 "runtime. Repeatable."),
    click.option("--quiet", is_flag=True, help="Print five lines at most."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
)  # fmt: skip


class Writing(NamedTuple):
    """Where the reports of a command go, and how they are printed."""

    files: Sequence[tuple[Format, Path]]
    on_github: bool
    quiet: bool
    as_json: bool

    @property
    def places(self) -> list[tuple[str, Path]]:
        """The files that are written, each with its option."""
        found = [("--report", file) for _, file in self.files]
        return found + [("--report", place) for place, _ in _beside(self.files)]

    @property
    def of_one(self) -> list[str]:
        """The options that take a report of one runtime."""
        found = [f"--report {form.name}" for form, _ in self.files if not form.side_by_side]
        return [*found, *[f"--report {_GITHUB}"] * self.on_github, *["--json"] * self.as_json]

    def write(self, reports: Sequence[Report]) -> None:
        """Print reports, and write them to files; a report that an error ended is not printed."""
        if not reports:
            return
        if not self.as_json and FORMATS["json"] not in (forms := dict(self.files)):
            for form in (form for form in forms if form.beside):
                lacks = "nobody can verify it without its report; add --report json=FILE"
                say(f"{forms[form]}: {lacks}", err=True)
        with contextlib.ExitStack() as stack:
            for form, file in reversed(self.files):
                stack.callback(_write, form, file, reports)
            if self.on_github:
                stack.callback(annotate, workflow_commands(reports[0]), summary(reports[0]))
            reports = [one for one in reports if not one.broken_by]
            if self.as_json and reports:
                put(report_json(*reports))
                return
            for number, report in enumerate(reports):
                lines = quiet_lines(report) if self.quiet else report_lines(report)
                for line in ["", *lines][number == 0 :]:
                    say(line)


def reporting(command: options.Command) -> options.Command:
    """Give a command the options of reports, as one `writing` whose files can be written."""

    @wraps(command)
    def writing(*, reports: Sequence[str], quiet: bool, as_json: bool, **given: Any) -> object:
        begins = {name: form.begins for name, form in FORMATS.items()}
        found = [parse_place(text, begins) for text in reports]
        files = [(FORMATS[name], file) for name, file in filter(None, found)]
        for form, _ in files:
            form.check()
        for place, beside in _beside(files):
            check_replaceable(place, beside.begins)
        parsed = Writing(files, None in found, quiet, as_json)
        check_apart(parsed.places)
        return command(writing=parsed, **given)

    return cast("options.Command", _OPTIONS(cast("Any", writing)))


def parse_place(text: str, begins: Mapping[str, re.Pattern[bytes]]) -> tuple[str, Path] | None:
    """Parse FORMAT=FILE, or `github` alone, which is None, in a run of GitHub Actions.

    `begins` has the formats that are expected, and how their files begin: no other file is replaced.
    """
    name, _, file = text.partition("=")
    if text == _GITHUB and _GITHUB in begins:
        if os.environ.get(SUMMARY):
            return None
        raise click.UsageError(
            f"--report {_GITHUB}: {SUMMARY} is not set, as in a run of GitHub Actions; elsewhere "
            f"write the summary to a file: --report {_GITHUB}=FILE"
        )
    if name not in begins or not file:
        alone = [f"or {_GITHUB} alone"] if _GITHUB in begins else []
        expected = ", ".join([*(f"{one}=FILE" for one in begins), *alone])
        raise click.UsageError(f"--report {text}: expected {expected}")
    check_replaceable(Path(file), begins[name])
    return name, Path(file)


def _write(form: Format, file: Path, reports: Sequence[Report]) -> None:
    with ignoring_interrupts():
        text = form.write(reports)
        write_whole(file, text, mark=form.begins)
        for place, beside in _beside([(form, file)]):
            write_whole(place, beside.write(text), mark=beside.begins)


def _beside(files: Sequence[tuple[Format, Path]]) -> list[tuple[Path, FileBeside]]:
    """List the files that stand beside others."""
    return [
        (file.with_suffix(form.beside.suffix), form.beside) for form, file in files if form.beside
    ]


def annotate(commands: Iterable[str], text: str) -> None:
    """Annotate the run of GitHub Actions on standard error, and add a text to its job summary."""
    for line in commands:
        put(f"{line}\n", err=True)
    place = Path(os.environ[SUMMARY])
    with writing_to(place), place.open("a", encoding="utf-8") as file:
        file.write(text)
