"""`grucible check`, and where its report goes: standard output, files, and a run of GitHub Actions."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cases.console import SUMMARY, put, say
from ...cases.files import FORCE, check_apart, check_replaceable, write_whole, writing_to
from ...cases.process import ignoring_interrupts, interruption_status
from . import options

if TYPE_CHECKING:
    from ...vectors.vector_set import VectorSet
    from ..judging.expectations import Expectation
    from ..listing import FindingList
    from ..observed.source import Source
    from ..report import Report
    from ..reports.formats import Format

ON_GITHUB = "github"
"""The format that needs no file in a run of GitHub Actions."""


@click.command("check")
@options.VECTORS
@click.option("--runtime", "runtimes", multiple=True, metavar="NAME",
              help=f"{options.RUNTIME_HELP} Repeatable: --report html shows them side by side.")  # fmt: skip
@click.option("--outputs", type=options.PATH, metavar="PATH",
              help="Outputs made elsewhere: an outputs file, a directory of them laid out as VECTORS, "
              "or the directory of `grucible ask` with the answers in it.")  # fmt: skip
@options.CRITERIA
@options.SELECT
@click.option("--require", multiple=True, metavar="GLOB",
              help="Unsupported is a failure where the id matches. Repeatable.")  # fmt: skip
@click.option("--strict", is_flag=True,
              help="Ask what must be refused, too: accepting it is a failure.")  # fmt: skip
@click.option("--expect", type=options.PATH, metavar="FILE",
              help="YAML list of {cases: GLOB, reason, …}: cases that may fail, and how.")  # fmt: skip
@click.option("--write-expect", type=options.FILE, metavar="FILE",
              help="Write such a list of all that fails now; what is there and holds stays.")  # fmt: skip
@click.option("--allow-stale", is_flag=True,
              help="Entries of --expect that are of no use any more do not make it fail.")  # fmt: skip
@click.option("--report", "reports", multiple=True, metavar="FORMAT=FILE",
              help="Write the report to a file: json, junit, html, or github, which without =FILE "
              "annotates a run of GitHub Actions. json, junit and github are of one runtime. "
              "Repeatable.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print five lines at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--no-diagnose", is_flag=True, help="Do not look for what explains failures.")
@click.option("--recompute", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              help="Evaluate this share of the stored answers anew, chosen at random, such as 0.01; "
              "1 is the proof for a file from elsewhere.")  # fmt: skip
@options.LIMITS
@options.JOBS
@FORCE
def check_command(
    vectors: Path | None,
    runtimes: tuple[str, ...],
    outputs: Path | None,
    select: tuple[str, ...],
    expect: Path | None,
    write_expect: Path | None,
    reports: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    timeout: float,
    memory: int | None,
    jobs: int | None,
    **demanded: Any,
) -> None:
    """Judge a runtime, or outputs made elsewhere, by vectors.

    VECTORS is a vector file or a directory of them; without it, the core vectors installed with
    grucible. An output passes where it is as near to the exact value as the required class of
    arithmetic must be: float64 for float64 vectors, float32 for float32, float16 for float16,
    bfloat16-gemm for bfloat16, unless --arithmetic demands another.

    Exit status 0: conforms, perhaps only where supported, or every failure was expected; 1: does not
    conform, or incomplete, or an expectation is stale; 2: bad usage or input; 70: an error of grucible's
    own; 129: ended by SIGHUP; 130: interrupted by Ctrl-C; 143: ended by SIGTERM.
    """
    to = _Reporting(reports, quiet=quiet, as_json=as_json)
    to.check(len(runtimes), write_expect)
    expected, listed = _expected(expect, write_expect, len(runtimes), demanded["no_diagnose"])
    if bool(runtimes) == (outputs is not None):
        raise click.UsageError("give one of --runtime NAME and --outputs PATH")
    if outputs and demanded["strict"]:
        raise click.UsageError("--strict goes with --runtime: outputs are only read")
    found: list[Report] = []
    try:
        for runtime in runtimes or (None,):
            with options.started(runtime, outputs, timeout, memory, jobs) as source:
                report = _judge(vectors, select, source, expected, **demanded)
                found.append(replace(report, asked=runtime or "", outputs=str(outputs or "")))
            if listed:
                found[-1] = _write_list(listed, found[-1], vectors, select)
            if report.interrupted:
                raise SystemExit(interruption_status())
    finally:  # also after an error: what was judged is reported
        if found:
            to.report(found)
    raise SystemExit(max(report.exit_status for report in found))


def _judge(
    vectors: Path | None,
    select: tuple[str, ...],
    started: Callable[[VectorSet], Source | None],
    expectations: Sequence[Expectation],
    *,
    no_diagnose: bool,
    recompute: float | None,
    require: tuple[str, ...],
    strict: bool,
    allow_stale: bool,
    **criteria: Any,
) -> Report:
    """Judge the started runtime, or outputs, as the options demand."""
    from ...vectors.vector_set import open_set
    from ..judging.criterion import chosen_criteria
    from ..verdict import Demand, judge  # takes as long to import as the runtime to start

    opened = open_set(vectors, select)
    demand = Demand(
        chosen_criteria(**criteria), expectations, require, not no_diagnose, strict, allow_stale,
        recompute or 0.0,
    )  # fmt: skip
    with options.progress_over_cases("checking", opened) as progress:
        source = started(opened)
        assert source
        return judge(opened, source, demand, interruptible=True, advance=progress.advance)


def _expected(
    expect: Path | None, write_expect: Path | None, runtimes: int, undiagnosed: bool
) -> tuple[Sequence[Expectation], FindingList | None]:
    """Load a list of expectations, or the one that is to be written."""
    from ..expecting import load_expectations
    from ..listing import read_list

    if runtimes > 1 and (expect or write_expect):
        raise click.UsageError("--expect and --write-expect go with one --runtime")
    if write_expect is None:
        return (load_expectations(expect) if expect else []), None
    if expect:
        raise click.UsageError("--write-expect names the list by itself; leave --expect out")
    if undiagnosed:
        raise click.UsageError("--write-expect needs the diagnosis; leave --no-diagnose out")
    return [], read_list(write_expect)


def _write_list(
    listed: FindingList, report: Report, vectors: Path | None, select: Sequence[str]
) -> Report:
    """Write the list of what fails in a report, and expect it there."""
    from ..expecting import apply_expectations
    from ..listing import write_list

    if report.interrupted or report.diagnosis.broke_off:
        why = "check was interrupted" if report.interrupted else "diagnosis broke off"
        say(f"{listed.path}: not written, for the {why}", err=True)
        return report
    entries, changes = write_list(listed, report, vectors, select)
    say(f"{listed.path}: {changes}", err=True)
    return apply_expectations(report, entries, vectors, select)


class _Reporting:
    """Where a report goes: the values of `--report`, each FORMAT=FILE or `github` alone, and the terminal.

    Raises click.UsageError for what is none, and GrucibleError for a file that holds something else.
    """

    def __init__(self, reports: Sequence[str], *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json
        self._annotate = ON_GITHUB in reports
        if self._annotate and not os.environ.get(SUMMARY):
            raise click.UsageError(
                f"--report {ON_GITHUB}: {SUMMARY} is not set, as in a run of GitHub Actions; elsewhere "
                f"write the summary to a file: --report {ON_GITHUB}=FILE"
            )
        self._files = [self._file(text) for text in reports if text != ON_GITHUB]

    def _file(self, text: str) -> tuple[Format, Path]:
        """Split `FORMAT=FILE`, and check that the file can be written."""
        from ..reports.formats import FORMATS

        name, _, file = text.partition("=")
        if name not in FORMATS or not file:
            expected = ", ".join([*(f"{one}=FILE" for one in FORMATS), f"or {ON_GITHUB} alone"])
            raise click.UsageError(f"--report {text}: expected {expected}")
        check_replaceable(Path(file), FORMATS[name].begins)
        FORMATS[name].check()
        return FORMATS[name], Path(file)

    def check(self, runtimes: int, write_expect: Path | None) -> None:
        """Raise an error where a format is of one runtime, or where two files have one place."""
        places = [("--report", file) for _, file in self._files]
        check_apart([*places, *([("--write-expect", write_expect)] if write_expect else [])])
        one = [f"--report {form.name}" for form, _ in self._files if not form.side_by_side]
        one += ["--json"] * self._as_json + [f"--report {ON_GITHUB}"] * self._annotate
        if one and runtimes > 1:
            raise click.UsageError(f"{one[0]} is of one runtime; give --runtime once")

    def report(self, reports: Sequence[Report]) -> None:
        """Print reports and write them to files; an error of one form leaves the others."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._write, reports)
            if self._annotate:
                stack.callback(_annotate, reports[0])
            for number, report in enumerate(reports):
                if number:
                    say("")
                self._print(report)

    def _write(self, reports: Sequence[Report]) -> None:
        def write(form: Format, file: Path) -> None:
            write_whole(file, form.write(reports), mark=form.begins)

        with ignoring_interrupts(), contextlib.ExitStack() as stack:
            for form, file in reversed(self._files):
                stack.callback(partial(write, form, file))

    def _print(self, report: Report) -> None:
        from ..report import report_broken_diagnosis
        from ..reports.formats import report_json
        from ..reports.terminal import quiet_lines, report_lines

        report_broken_diagnosis(report.diagnosis)
        if self._as_json:
            put(report_json(report))
            return
        with _no_commands() if self._annotate else contextlib.nullcontext():
            for line in quiet_lines(report) if self._quiet else report_lines(report):
                say(line)


@contextlib.contextmanager
def _no_commands() -> Iterator[None]:
    """Let GitHub Actions read no commands in what is printed, up to a word that nobody can guess."""
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
