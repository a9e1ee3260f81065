"""`grucible check`, `run`, `show`, `score` and `runtimes`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cases.commands.given_path import GivenPath
from ..cases.commands.terminal import put, say
from ..cases.commands.text_file import REPORT, check_replaceable, replace_text
from .option_values import seconds, share, size_in_bytes

if TYPE_CHECKING:
    from ..cases.commands.progress import Progress
    from .observed.outputs_file import FromOutputs
    from .observed.pool import RuntimePool
    from .report import Report


_VECTORS = click.argument("vectors", metavar="[VECTORS]", required=False, type=GivenPath())
_SELECT = click.option("--select", multiple=True, metavar="GLOB",
                       help="Only cases whose id matches. Repeatable.")  # fmt: skip
_TIMEOUT = click.option("--timeout", default=120.0, show_default=True, metavar="SECONDS",
                        type=click.FloatRange(min=0, min_open=True), callback=seconds,
                        help="How long the runtime may take over one case.")  # fmt: skip
_JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N",
                     show_default="the usable CPUs for openvino, onnxruntime and onnx-reference; 1 "
                     "for a function of yours", help="Processes to run the runtime in.")  # fmt: skip
_MEMORY = click.option("--memory", metavar="SIZE", callback=size_in_bytes,
                       help="Address space of each process of the runtime, such as 4G or 512M; "
                       "what needs more gets an error.")  # fmt: skip
_RUNTIME_HELP = (
    "A name from `grucible runtimes`, or package.module:function, or ./file.py:function, or 'exec: "
    "COMMAND', a program in any language (check/protocol/README.md)."
)


@click.command("check")
@_VECTORS
@click.option("--runtime", metavar="NAME", help=_RUNTIME_HELP)
@click.option("--outputs", type=GivenPath(), metavar="PATH",
              help="Outputs made elsewhere: a file, or a directory laid out as VECTORS.")  # fmt: skip
@click.option("--arithmetic", multiple=True, metavar="[DTYPE=]CLASS",
              help="Demand this class of arithmetic, such as float16=float32. Repeatable.")  # fmt: skip
@click.option("--rtol", type=float, help="Relative tolerance instead, for all dtypes.")
@click.option("--atol", type=float, help="Absolute tolerance instead, for all dtypes.")
@click.option("--ulp", type=float, help="Units in the last place instead, for all dtypes.")
@_SELECT
@click.option("--require", multiple=True, metavar="GLOB",
              help="Unsupported is a failure where the id matches. Repeatable.")  # fmt: skip
@click.option("--expect", type=GivenPath(), metavar="FILE",
              help="YAML list of {cases: GLOB, reason, link}: cases that may fail.")  # fmt: skip
@click.option(
    "--report", "reports", multiple=True, metavar="json=FILE", help="Write the report to a file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--no-diagnose", is_flag=True, help="Do not look for what explains failures.")
@click.option("--recompute", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              callback=share,
              help="Evaluate this share of the stored answers anew, such as 0.01 or 1: the proof "
              "for a file from elsewhere.")  # fmt: skip
@_TIMEOUT
@_MEMORY
@_JOBS
def check_command(
    vectors: Path | None,
    runtime: str | None,
    outputs: Path | None,
    arithmetic: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    ulp: float | None,
    select: tuple[str, ...],
    require: tuple[str, ...],
    expect: Path | None,
    reports: tuple[str, ...],
    as_json: bool,
    no_diagnose: bool,
    recompute: float | None,
    timeout: float,
    memory: int | None,
    jobs: int | None,
) -> None:
    """Judge a runtime, or outputs made elsewhere, by vectors.

    VECTORS is a vector file or a directory of them; without it, the core vectors installed with
    grucible. An output passes where it is as near to the exact value as the required class of
    arithmetic must be: float64 for float64 vectors, float32 for float32, float16 for float16,
    bfloat16-gemm for bfloat16, unless --arithmetic demands another.

    Exit status 0: conforms, perhaps only where supported, or every failure was expected; 1: does not
    conform, or incomplete; 2: bad usage or input; 70: an error of grucible's own.
    """
    from ..cases.commands.interrupts import acted_on
    from .judging.criterion import chosen_criteria
    from .judging.expectations import load_expectations

    files = [_report_file(text) for text in reports]
    criteria = chosen_criteria(arithmetic, rtol, atol, ulp)
    expectations = load_expectations(expect) if expect else []
    with _observed(runtime, outputs, timeout, jobs, memory) as source:
        from .verdict import judge  # takes as long as the process of a runtime to start

        with _progress("checking", vectors, select) as progress:
            report = judge(
                vectors, source, criteria, select, expectations,
                require=require, diagnosis=not no_diagnose, interruptible=True,
                recompute_share=recompute or 0.0, advance=progress.advance,
            )  # fmt: skip
    if report.interrupted:
        acted_on()
    _tell(report, files, as_json)
    raise SystemExit(report.exit_status)


@contextlib.contextmanager
def _observed(
    runtime: str | None,
    outputs: Path | None,
    timeout: float,
    jobs: int | None,
    memory: int | None,
) -> Iterator[RuntimePool | FromOutputs]:
    """What is judged: a runtime, whose first process starts now, or outputs made elsewhere."""
    from .observed.outputs_file import FromOutputs
    from .observed.pool import RuntimePool

    if outputs is not None and runtime is None:
        for option, value in (("--jobs", jobs), ("--memory", memory)):
            if value is not None:
                raise click.UsageError(f"{option} goes with --runtime: outputs are only read")
        with contextlib.closing(FromOutputs(outputs)) as source:
            yield source
    elif runtime is not None and outputs is None:
        with contextlib.closing(RuntimePool(runtime, timeout, jobs, memory)) as pool:
            yield pool
    else:
        raise click.UsageError("give one of --runtime NAME and --outputs PATH")


def _tell(report: Report, files: Sequence[Path], as_json: bool) -> None:
    """The report, to standard output and to files, each whatever becomes of the others."""
    from .reports.json import report_json
    from .reports.terminal import report_lines

    with contextlib.ExitStack() as stack:
        for file in reversed(files):
            stack.callback(replace_text, file, report_json(report), REPORT)
        if as_json:
            put(report_json(report))
        else:
            for line in report_lines(report):
                say(line)


def _report_file(text: str) -> Path:
    """The file of `json=FILE`."""
    kind, equals, name = text.partition("=")
    if kind != "json" or not equals or not name:
        raise click.UsageError(f"--report {text}: expected json=FILE")
    path = Path(name)
    if path.is_dir():
        raise click.UsageError(f"--report {text}: {path} is a directory")
    check_replaceable(path, REPORT)
    if not path.parent.is_dir():
        raise click.UsageError(f"--report {text}: there is no directory {path.parent}")
    return path


@click.command("run")
@_VECTORS
@click.option("--runtime", required=True, metavar="NAME", help=_RUNTIME_HELP)
@click.option("-o", "--out", required=True, type=GivenPath(), metavar="OUTPUTS",
              help="Where the outputs go: a file if VECTORS is one, else a directory.")  # fmt: skip
@_SELECT
@_TIMEOUT
@_MEMORY
@_JOBS
def run_command(
    vectors: Path | None,
    runtime: str,
    out: Path,
    select: tuple[str, ...],
    timeout: float,
    memory: int | None,
    jobs: int | None,
) -> None:
    """Run a runtime on vectors and keep its outputs, for `grucible check --outputs`."""
    from .observed.pool import RuntimePool
    from .observed.recording import record

    source = RuntimePool(runtime, timeout, jobs, memory)
    with contextlib.closing(source), _progress("running", vectors, select) as progress:
        for relative, counts in record(vectors, source, out, select, progress.advance):
            told = ", ".join(f"{count} {status}" for status, count in counts.items())
            progress.say(f"{relative}: {told}")


@click.command("show")
@click.argument("words", metavar="[VECTORS] CASE", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Print arrays whole.")
def show_command(words: tuple[str, ...], full: bool) -> None:
    """Show one case: what it asks, its inputs, its expected outputs.

    CASE is a case id, or a glob that matches one. VECTORS is a vector file or a directory of them;
    without it, the core vectors installed with grucible.
    """
    from .reports.show import show_lines

    if len(words) > 2:
        raise click.UsageError(f"unexpected {words[2]!r} after CASE")
    if not all(words):
        raise click.UsageError("an empty text is no case and no path; was a variable not set?")
    *before, case = words
    if before and Path(case).exists() and not Path(before[0]).exists():
        before, case = [case], before[0]  # the other way round, which can only mean this
    for line in show_lines(Path(before[0]) if before else None, case, full):
        say(line)


@click.command("score")
@_VECTORS
@click.option("--misreading", default="", metavar="NAME", help="Of one misreading, all there is.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@_SELECT
def score_command(
    vectors: Path | None, misreading: str, as_json: bool, select: tuple[str, ...]
) -> None:
    """Show which misreadings of the specification vectors would catch.

    Every misreading of the catalogue is computed for every case and held against the stored answers,
    at the loosest tolerance of the dtype. Exit status 1 where fewer than three cases of a dtype
    catch one.
    """
    from .reports.score import score_json, score_lines
    from .score import score

    with _progress("scoring", vectors, select) as progress:
        found = score(vectors, select, misreading, progress.advance)
    if as_json:
        put(score_json(found))
    else:
        for line in score_lines(found, detail=bool(misreading)):
            say(line)
    raise SystemExit(1 if found.weak() or any(found.undeciding.values()) else 0)


@click.command("runtimes")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def runtimes_command(as_json: bool) -> None:
    """List the runtimes grucible knows by name, with versions and what each supports."""
    import json

    from ..cases.errors import RuntimeNotUsable
    from .runtimes.runtime import load_runtime, registered_runtimes

    rows = []
    for point in registered_runtimes():
        try:
            loaded = load_runtime(point.name)
            rows.append({"name": point.name, "version": loaded.version, "about": loaded.about})
        except RuntimeNotUsable as error:
            rows.append({"name": point.name, "version": "", "about": str(error)})
    if as_json:
        put(json.dumps(rows, indent=1) + "\n")
        return
    for row in rows:
        say(f"{row['name']}  {row['version'] or 'not installed'}")
        say(f"    {row['about']}")
    say("any other: --runtime package.module:function, or ./file.py:function")


def _progress(
    what: str, vectors: Path | None, select: tuple[str, ...]
) -> contextlib.AbstractContextManager[Progress]:
    """The progress over the selected cases of the vectors; they are counted where it is drawn."""
    from ..cases.commands.progress import progress_over
    from ..cases.selection import selected
    from ..vectors.find import case_ids

    total = (
        sum(selected(i, select) for i in case_ids(vectors, select)) if sys.stderr.isatty() else 0
    )
    return progress_over(what, total)
