"""`grucible check`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.files import FORCE
from ...cases.process import interruption_status
from .criteria import judged_by
from .expecting import expected
from .option_values import share
from .options import JOBS, MEMORY, RUNTIME_HELP, SELECT, TIMEOUT, VECTORS, progress_over_cases
from .written import Written, written

if TYPE_CHECKING:
    from ...vectors.vector_set import VectorSet
    from ..judging.criterion import Criterion
    from ..observed.source import Source
    from ..report import Report


@click.command("check")
@VECTORS
@click.option("--runtime", "runtimes", multiple=True, metavar="NAME",
              help=f"{RUNTIME_HELP} Repeatable: --report html shows them side by side.")  # fmt: skip
@click.option("--outputs", type=click.Path(path_type=Path), metavar="PATH",
              help="Outputs made elsewhere: an outputs file, a directory of them laid out as VECTORS, "
              "or the directory of `grucible ask` with the answers in it.")  # fmt: skip
@judged_by
@SELECT
@click.option("--require", multiple=True, metavar="GLOB",
              help="Unsupported is a failure where the id matches. Repeatable.")  # fmt: skip
@click.option("--strict", is_flag=True,
              help="Ask what must be refused, too: accepting it is a failure.")  # fmt: skip
@click.option("--expect", type=click.Path(path_type=Path), metavar="FILE",
              help="YAML list of {cases: GLOB, reason, …}: cases that may fail, and how.")  # fmt: skip
@click.option("--write-expect", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write such a list of all that fails now; what is there and holds stays.")  # fmt: skip
@click.option("--allow-stale", is_flag=True,
              help="Entries of --expect that are of no use any more do not make it fail.")  # fmt: skip
@written
@click.option("--no-diagnose", is_flag=True, help="Do not look for what explains failures.")
@click.option("--recompute", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              callback=share,
              help="Evaluate this share of the stored answers anew, chosen at random, such as 0.01; "
              "1 is the proof for a file from elsewhere.")  # fmt: skip
@TIMEOUT
@MEMORY
@JOBS
@FORCE
def check_command(
    vectors: Path | None,
    runtimes: tuple[str, ...],
    outputs: Path | None,
    criteria: Mapping[str, Criterion],
    select: tuple[str, ...],
    require: tuple[str, ...],
    strict: bool,
    expect: Path | None,
    to: Written,
    write_expect: Path | None,
    allow_stale: bool,
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
    conform, or incomplete, or an expectation is stale; 2: bad usage or input; 70: an error of grucible's
    own; 129: ended by SIGHUP; 130: interrupted by Ctrl-C; 143: ended by SIGTERM.
    """
    to.check_takes(len(runtimes), write_expect)
    expectations, finish = expected(expect, write_expect, len(runtimes), no_diagnose=no_diagnose)
    with to.told_at_the_end() as reports:
        for runtime in runtimes or (None,):
            with _source(runtime, outputs, timeout, jobs, memory, strict) as source:
                from ...vectors.vector_set import open_set
                from ..verdict import Demand, judge  # takes as long as the runtime's process

                demand = Demand(
                    criteria, expectations, require, not no_diagnose, strict, allow_stale,
                    recompute or 0.0,
                )  # fmt: skip
                with (
                    open_set(vectors, select) as opened,
                    source(opened) as answering,
                    progress_over_cases("checking", opened) as progress,
                ):
                    found = judge(
                        opened, answering, demand, interruptible=True, advance=progress.advance
                    )
                reports.append(replace(found, asked=runtime or "", outputs=str(outputs or "")))
            if reports[-1].interrupted:
                break
        reports[:] = [finish(report, vectors, select) for report in reports]
    raise SystemExit(_exit_status(reports))


def _exit_status(reports: Sequence[Report]) -> int:
    """That of the worst; of an interruption where there was one."""
    if reports[-1].interrupted:
        return interruption_status()
    return max(report.exit_status for report in reports)


@contextlib.contextmanager
def _source(
    runtime: str | None,
    outputs: Path | None,
    timeout: float,
    jobs: int | None,
    memory: int | None,
    strict: bool,
) -> Iterator[Callable[[VectorSet], contextlib.closing[Source]]]:
    """Start a runtime, whose first process loads it meanwhile; or outputs made elsewhere are judged.

    Gives what opens the source for a set of vectors. Raises click.UsageError where both are given, or
    neither, or an option that outputs made elsewhere have no use for.
    """
    from ..observed.exchange import outputs_at
    from ..observed.pool import RuntimePool

    if outputs is not None and runtime is None:
        given = {"--jobs": jobs, "--memory": memory, "--strict": strict or None}
        for option, value in given.items():
            if value is not None:
                raise click.UsageError(f"{option} goes with --runtime: outputs are only read")
        yield lambda vectors: contextlib.closing(outputs_at(outputs, vectors))
    elif runtime is not None and outputs is None:
        with contextlib.closing(RuntimePool(runtime, timeout, jobs, memory)) as pool:
            yield lambda _: contextlib.closing(pool)
    else:
        raise click.UsageError("give one of --runtime NAME and --outputs PATH")
