"""The commands that compare: two reports (`compare`), and vectors with misreadings (`score`, `audit`)."""

from __future__ import annotations

import contextlib
import math
import re
from pathlib import Path

import click

from ...cases.console import format_command, put, say, suggest
from ...cases.errors import GrucibleError
from ...cases.files import FORCE, check_replaceable, write_whole
from ...cases.ledger import ledger_entries
from ...cases.strict_json import format_json
from ...gen.variants.evaluate import Limits
from ...gen.variants.known import variant_called
from ...vectors.exchange.rtol_atol import Pair, by_own_pairs, by_pair
from ..comparing import compare, comparison_lines
from ..judging.criterion import chosen_criteria
from ..reports.formats import as_summary, workflow_command
from ..reports.suites import (
    about_lines,
    audit,
    audit_lines,
    caught_lines,
    ledger_lines,
    score_json,
    score_lines,
    word_lines,
)
from ..score import check_misreading, score
from ..stored import StoredReport, read_report
from . import options
from .reporting import annotate, parse_place

_PAGE = rb"# Other people's suites\n"
"""The start of the page, by which an earlier page is recognized."""
_SUMMARY = re.compile(rb"## grucible compare: ")


@click.command("compare")
@click.argument("before", metavar="BEFORE", type=click.Path(path_type=Path))
@click.argument("after", metavar="AFTER", type=click.Path(path_type=Path))
@options.JSON
@click.option("--report", metavar="github[=FILE]",
              help="Annotate a run of GitHub Actions, or write its summary to a file.")  # fmt: skip
@FORCE
def compare_command(before: Path, after: Path, as_json: bool, report: str | None) -> None:
    """Show what changed between two reports, as by an upgrade.

    BEFORE and AFTER are what `grucible check --report json=FILE` wrote. Worse is
    a case that no longer passes, or is unsupported now; a coarser class of
    arithmetic; a finding with a new misreading; an invalid question that is no
    longer refused. A larger error within the tolerance is shown, but is not
    worse.

    \b
    Exit status
      0    nothing is worse
      1    something is worse
      2    a file is no report, or no case or invalid question is in both
    """
    place = parse_place(report, {"github": _SUMMARY}) if report else None
    found = compare(read_report(before, StoredReport), read_report(after, StoredReport))
    lines, worse = list(comparison_lines(found)), found["outcome"] == "worse"
    if as_json:
        put(format_json(found))
    else:
        for line in lines:
            say(line)
    if report:
        words = "; ".join([*found["worse"], *found["better"]]) or "nothing is worse or better"
        text = as_summary("grucible compare", found["outcome"], words, "\n".join(lines))
        if place:
            write_whole(place[1], text, mark=_SUMMARY)
        else:
            kind = "error" if worse else "notice"
            annotate([workflow_command(kind, "grucible compare", words)], text)
    raise SystemExit(worse)


@click.command("score")
@options.VECTORS
@options.JSON
@click.option("--rtol", type=click.FloatRange(0), help="With --atol: judge by this pair instead, as "
              "suites without derived tolerances do.")  # fmt: skip
@click.option("--atol", type=click.FloatRange(0), help="Absolute part of the pair.")
@click.option("--pairs", is_flag=True,
              help="Judge by the rtol and atol that an export to onnx gives each case.")  # fmt: skip
@options.SELECT
def score_command(
    vectors: Path | None,
    as_json: bool,
    rtol: float | None,
    atol: float | None,
    pairs: bool,
    select: tuple[str, ...],
) -> None:
    """Show which mistakes in reading the specification vectors catch.

    Every mistake of grucible's catalogue is computed for every case and compared with the stored answers,
    at the loosest tolerance of the dtype. Exit status 1: fewer than three cases of a dtype catch a
    mistake, or a case says too little to decide.
    """
    limits: Limits | None = by_own_pairs if pairs else None
    if rtol is not None or atol is not None:
        if pairs:
            raise click.UsageError("--pairs does not go with --rtol and --atol")
        chosen_criteria(rtol=rtol, atol=atol)  # finite
        limits = by_pair(Pair(rtol or 0.0, atol or 0.0))
    with options.opened_with_progress("scoring", vectors, select) as (opened, progress):
        found = score(opened, advance=progress.advance, limits=limits)
    if as_json:
        put(score_json(found))
    else:
        for line in score_lines(found):
            say(line)
    raise SystemExit(1 if found.weak() or any(found.undeciding.values()) else 0)


@click.command("explain")
@click.argument("name", metavar="NAME")
@options.VECTORS
@options.SELECT
def explain_command(name: str, vectors: Path | None, select: tuple[str, ...]) -> None:
    """Explain a mistake that a report names, and show the cases that catch it; or an ambiguous point.

    NAME stands in brackets behind a finding of `check`, such as lbr-assumed. The cases are those of
    VECTORS; without it, the core vectors installed with grucible.

    `grucible explain ledger NAME` prints what a specification leaves open, what grucible takes it to say,
    and why: NAME stands behind "ledger:", as in (ledger: b-optional). A word of reports, such as
    unexplained, is explained, too.
    """
    ledger = name == "ledger" and vectors is not None
    if ledger:
        name, vectors = str(vectors), None
        if name not in ledger_entries():
            near = suggest(name, ledger_entries())
            raise GrucibleError(f"{name!r} is no entry of a ledger{near}")
    if lines := [*ledger_lines(name), *word_lines(name)]:
        for line in lines:
            say(line)
        return
    check_misreading(name)
    for line in about_lines(name, select):
        say(line)
    if variant_called(name).kind == "reading":  # it is accepted: no case catches it
        return
    with options.opened_with_progress("finding cases that catch it", vectors, select) as (
        opened,
        progress,
    ):
        found = score(opened, name, progress.advance)
        for line in caught_lines(found, opened, name):
            say(line)


@click.command("audit")
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@click.option("-o", "--out", type=options.FILE, help="Write the page here, instead of printing it.")
@FORCE
def audit_command(suites: tuple[str, ...], out: Path | None) -> None:
    """Show what other people's suites would never notice, as a page.

    SUITE is a vector file that `grucible import` made, and what the suite's
    own harness admits: FILE.h5:RTOL:ATOL, such as onnx.h5:1e-3:1e-7. Without
    numbers, the derived tolerances count. If FILE.outputs.h5 stands beside it,
    what the suite expects is judged, too.
    """
    if out:
        check_replaceable(out, _PAGE)
    found = [audit(*_suite(text)) for text in suites]
    command = format_command("audit", (Path(text).name for text in suites))
    lines = list(audit_lines(found, command))
    if out:
        write_whole(out, "".join(f"{line}\n" for line in lines), mark=_PAGE)
        return
    for line in lines:
        say(line)


def _suite(text: str) -> tuple[Path, Pair | None]:
    """Parse FILE.h5, or FILE.h5:RTOL:ATOL."""
    if Path(text).exists() or text.count(":") < 2:
        return Path(text), None
    name, *numbers = text.rsplit(":", 2)
    with contextlib.suppress(ValueError):
        pair = Pair(*map(float, numbers))
        if all(math.isfinite(number) and number >= 0 for number in pair):
            return Path(name), pair
    raise click.UsageError(f"{text}: expected FILE.h5, or FILE.h5:RTOL:ATOL, finite numbers")
