"""`grucible check`, and `grucible report`, which merges its reports."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...cases.console import Progress, put, say
from ...cases.files import FORCE, check_apart, read_limited
from ...cases.process import interruption_status
from ...cases.selection import SHARD, WHOLE, Shard
from ...cases.strict_json import format_json
from ...gen.cluster import SCHEDULER, open_cluster
from ...vectors.vector_set import VectorSet
from ..clustered import Remote, RuntimeThere, remote_runtime
from ..expecting import apply_expectations, load_expectations
from ..judging.criterion import chosen_criteria
from ..judging.expectations import Expectation
from ..listing import FindingList, read_list, write_list
from ..observed.source import Source
from ..report import Report
from ..stored import MAX_BYTES, failed_before
from ..verdict import Demand, judge
from . import options
from .reporting import Writing, reporting


@click.command("check")
@options.VECTORS
@click.option("--runtime", "runtimes", multiple=True, metavar="NAME",
              help=f"{options.RUNTIME_HELP} Repeatable: --report html shows them side by side.")  # fmt: skip
@click.option("--outputs", type=options.PATH, metavar="PATH", callback=options.refuse_other_files,
              help="Outputs made elsewhere: an outputs file, a directory of them laid out as VECTORS, "
              "or the directory of `grucible ask` with the answers in it.")  # fmt: skip
@options.CRITERIA
@options.SELECT
@SHARD
@click.option("--require", multiple=True, metavar="GLOB",
              help="Unsupported is a failure where the id matches. Repeatable.")  # fmt: skip
@click.option("--strict", is_flag=True,
              help="Ask what must be refused, too: accepting it is a failure.")  # fmt: skip
@click.option("--expect", type=options.PATH, metavar="FILE",
              help="YAML list of {cases: GLOB, reason, …}: cases that may fail, and how.")  # fmt: skip
@click.option("--write-expect", type=options.FILE, metavar="FILE",
              help="Write such a list of all that fails now; its entries that still hold stay.")  # fmt: skip
@click.option("--allow-stale", is_flag=True,
              help="Stale entries of --expect do not make the check fail.")  # fmt: skip
@reporting
@click.option("--no-diagnose", is_flag=True, help="Do not look for what explains failures.")
@click.option("--recompute", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              help="Evaluate this share of the stored answers anew, chosen at random, such as 0.01; "
              "1 proves a file from elsewhere.")  # fmt: skip
@click.option("--maxfail", type=click.IntRange(1), metavar="N",
              help="Stop soon after N failures that are not expected; cases come in groups.")  # fmt: skip
@click.option("-x", "maxfail", flag_value=1, type=int, help="The same as --maxfail 1.")
@click.option("--last-failed", type=options.FILE, metavar="REPORT",
              help="Ask only what failed unexpectedly in this JSON report; all if nothing did.")  # fmt: skip
@options.LIMITS
@options.JOBS
@SCHEDULER
@FORCE
def check_command(
    vectors: Path | None,
    runtimes: tuple[str, ...],
    outputs: Path | None,
    select: Sequence[str],
    shard: Shard,
    require: tuple[str, ...],
    strict: bool,
    expect: Path | None,
    write_expect: Path | None,
    allow_stale: bool,
    writing: Writing,
    no_diagnose: bool,
    recompute: float | None,
    maxfail: int | None,
    last_failed: Path | None,
    timeout: float,
    memory: int | None,
    jobs: int | None,
    scheduler: str | None,
    **criteria: Any,
) -> None:
    """Judge a runtime, or outputs made elsewhere, by vectors.

    VECTORS is a vector file or a directory of them; without it, the core vectors installed with
    grucible. An output passes if it is as near to the exact value as the required class of
    arithmetic must be: float64 for float64 vectors, float32 for float32, float16 for float16,
    bfloat16-gemm for bfloat16, unless --arithmetic demands another.

    Exit status 0: conforms, perhaps only where supported, or every failure was expected; 1: does not
    conform, or incomplete, or an expectation is stale; 2: bad usage or input; 70: an error of grucible's
    own; 129: ended by SIGHUP; 130: interrupted by Ctrl-C; 143: ended by SIGTERM.
    """
    check_apart([*writing.places, *([("--write-expect", write_expect)] if write_expect else [])])
    given = {"--expect": expect, "--write-expect": write_expect}
    _check_side_by_side(runtimes, [*filter(given.get, given), *writing.of_one])
    expectations, listed = _read_expectations(expect, write_expect, no_diagnose, shard)
    typed, select = select, failed_before(last_failed, select, vectors)
    _check_source(runtimes, outputs, scheduler, strict=strict)
    demands = not no_diagnose, strict, allow_stale, recompute or 0.0, maxfail, select is not typed
    demand = Demand(chosen_criteria(**criteria), expectations, require, *demands)
    found: list[Report] = []
    try:
        for runtime in runtimes or (None,):
            starting = options.started(runtime, outputs or Path(), timeout, memory, jobs)
            asking = options.opened_with_progress("checking", vectors, select, shard)
            remote = remote_runtime(runtime or "", timeout, memory)
            report = _judge(starting, asking, demand, scheduler, remote)
            here = "" if outputs or scheduler else f"{platform.system()} {platform.machine()}"
            asked = replace(report, asked=runtime or "", outputs=str(outputs or ""), machine=here)
            found.append(asked)
            if listed:
                found[-1] = _write_list(listed, found[-1], vectors, select)
            if report.broken_by:
                raise report.broken_by
            if report.interrupted:
                raise SystemExit(interruption_status())
    finally:  # also after an error: what was judged is reported
        writing.write(found)
    raise SystemExit(max(report.exit_status for report in found))


@click.command("report")
@click.argument("paths", metavar="REPORT...", nargs=-1, required=True, type=options.FILE)
@reporting
@FORCE
def report_command(paths: tuple[Path, ...], writing: Writing) -> None:
    """Merge reports of shards, or of several machines, into one.

    REPORT is what `grucible check --report json=FILE` wrote of one runtime and the same vectors, or `fuzz`
    of other questions. The exit status is that of `check` on all cases, or of `fuzz` on all questions.
    """
    from ..fuzz_report import BEGINS, fuzz_value, merge_fuzz
    from ..merging import merge_reports
    from .fuzzing import fuzz_lines

    if BEGINS.match(read_limited(paths[0], MAX_BYTES)[:99]):
        found = merge_fuzz(paths)
        if writing.files or writing.on_github:
            raise click.UsageError("--report goes with reports of check; use --json")
        put(
            format_json(fuzz_value(found))
            if writing.as_json
            else "".join(f"{line}\n" for line in fuzz_lines(found))
        )
        raise SystemExit(found.exit_status)
    merged = merge_reports(paths)
    writing.write([merged])
    raise SystemExit(merged.exit_status)


def _judge(
    starting: AbstractContextManager[Callable[[VectorSet], Source]],
    asking: AbstractContextManager[tuple[VectorSet, Progress]],
    demand: Demand,
    scheduler: str | None,
    remote: Remote,
) -> Report:
    """Judge a runtime in processes of this machine, or on a cluster."""
    with open_cluster(scheduler) as cluster:
        if cluster:
            with asking as (opened, progress):
                source = RuntimeThere(cluster, remote, len(opened))
                showing = progress.advance, progress.begin
                return judge(opened, source, demand, *showing, interruptible=True)
    with starting as start, asking as (opened, progress):
        showing = progress.advance, progress.begin
        return judge(opened, start(opened), demand, *showing, interruptible=True)


def _check_source(
    runtimes: Sequence[str],
    outputs: Path | None,
    scheduler: str | None,
    *,
    strict: bool,
) -> None:
    """Raise click.UsageError unless answers come from one place, which can do what is asked of it."""
    if bool(runtimes) == (outputs is not None):
        raise click.UsageError("give one of --runtime NAME and --outputs PATH")
    if outputs and (strict or scheduler):
        raise click.UsageError("--strict and --scheduler go with --runtime: outputs are only read")


def _check_side_by_side(runtimes: Sequence[str], of_one: Sequence[str]) -> None:
    """Raise click.UsageError for the first option that takes only one runtime, if there are more."""
    if len(runtimes) > 1 and of_one:
        raise click.UsageError(f"{of_one[0]} takes one runtime; give --runtime once")


def _read_expectations(
    expect: Path | None, write_expect: Path | None, undiagnosed: bool, shard: Shard
) -> tuple[Sequence[Expectation], FindingList | None]:
    """Read the expectations of --expect, or the list that --write-expect names."""
    if write_expect is None:
        return (load_expectations(expect) if expect else []), None
    if expect:
        raise click.UsageError("--write-expect names the list by itself; leave --expect out")
    if shard != WHOLE:
        raise click.UsageError("--write-expect goes with all cases; leave --shard out")
    if undiagnosed:
        raise click.UsageError("--write-expect needs the diagnosis; leave --no-diagnose out")
    return [], read_list(write_expect)


def _write_list(
    listed: FindingList, report: Report, vectors: Path | None, select: Sequence[str]
) -> Report:
    """Write the list of what fails in a report; return the report with that list expected."""
    if report.unfinished or report.diagnosis.broke_off:
        why = "check did not ask all cases" if report.unfinished else "diagnosis broke off"
        say(f"{listed.path}: not written, for the {why}", err=True)
        return report
    entries, changes = write_list(listed, report, vectors, select)
    say(f"{listed.path}: {changes}", err=True)
    return apply_expectations(report, entries, vectors, select)
