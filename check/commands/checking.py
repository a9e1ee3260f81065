"""`grucible check`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.commands.given_path import GivenPath
from ...cases.commands.terminal import put, say
from ...cases.commands.text_file import REPORT, check_replaceable, replace_text
from .option_values import share
from .options import JOBS, MEMORY, RUNTIME_HELP, SELECT, TIMEOUT, VECTORS, progress_over_cases

if TYPE_CHECKING:
    from ..observed.answers_file import FromAnswers
    from ..observed.outputs_file import FromOutputs
    from ..observed.pool import RuntimePool
    from ..report import Report


@click.command("check")
@VECTORS
@click.option("--runtime", metavar="NAME", help=RUNTIME_HELP)
@click.option("--outputs", type=GivenPath(), metavar="PATH",
              help="Outputs made elsewhere: an outputs file, a directory of them laid out as VECTORS, "
              "or the directory of `grucible ask` with the answers in it.")  # fmt: skip
@click.option("--arithmetic", multiple=True, metavar="[DTYPE=]CLASS",
              help="Demand this class of arithmetic, such as float16=float32. Repeatable.")  # fmt: skip
@click.option("--rtol", type=float, help="Relative tolerance instead, for all dtypes.")
@click.option("--atol", type=float, help="Absolute tolerance instead, for all dtypes.")
@click.option("--ulp", type=float, help="Units in the last place instead, for all dtypes.")
@SELECT
@click.option("--require", multiple=True, metavar="GLOB",
              help="Unsupported is a failure where the id matches. Repeatable.")  # fmt: skip
@click.option("--strict", is_flag=True,
              help="Ask what must be refused, too: accepting it is a failure.")  # fmt: skip
@click.option("--expect", type=GivenPath(), metavar="FILE",
              help="YAML list of {cases: GLOB, reason, link}: cases that may fail.")  # fmt: skip
@click.option(
    "--report", "reports", multiple=True, metavar="json=FILE", help="Write the report to a file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--no-diagnose", is_flag=True, help="Do not look for what explains failures.")
@click.option("--recompute", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              callback=share,
              help="Evaluate this share of the stored answers anew, chosen at random, such as 0.01; "
              "1 is the proof for a file from elsewhere.")  # fmt: skip
@TIMEOUT
@MEMORY
@JOBS
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
    strict: bool,
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
    from ...cases.commands.interrupts import acted_on
    from ..judging.criterion import chosen_criteria
    from ..judging.expectations import load_expectations

    files = [_report_file(text) for text in reports]
    criteria = chosen_criteria(arithmetic, rtol, atol, ulp)
    expectations = load_expectations(expect) if expect else []
    with _observed(runtime, outputs, timeout, jobs, memory, strict) as source:
        from ..verdict import judge  # takes as long as the process of a runtime to start

        with progress_over_cases("checking", vectors, select) as progress:
            report = judge(
                vectors, source, criteria, select, expectations,
                require=require, diagnosis=not no_diagnose, interruptible=True, strict=strict,
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
    strict: bool,
) -> Iterator[RuntimePool | FromOutputs | FromAnswers]:
    """What is judged: a runtime, whose first process starts now, or outputs made elsewhere."""
    from ..observed.answers_file import outputs_at
    from ..observed.pool import RuntimePool

    if outputs is not None and runtime is None:
        given = {"--jobs": jobs, "--memory": memory, "--strict": strict or None}
        for option, value in given.items():
            if value is not None:
                raise click.UsageError(f"{option} goes with --runtime: outputs are only read")
        with contextlib.closing(outputs_at(outputs)) as source:
            yield source
    elif runtime is not None and outputs is None:
        with contextlib.closing(RuntimePool(runtime, timeout, jobs, memory)) as pool:
            yield pool
    else:
        raise click.UsageError("give one of --runtime NAME and --outputs PATH")


def _tell(report: Report, files: Sequence[Path], as_json: bool) -> None:
    """The report, to standard output and to files, each whatever becomes of the others."""
    from ..reports.json import report_json
    from ..reports.terminal import report_lines

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
