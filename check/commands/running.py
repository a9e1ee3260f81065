"""`grucible run`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from ...cases.files import FORCE
from .options import JOBS, MEMORY, RUNTIME_HELP, SELECT, TIMEOUT, VECTORS, opened_with_progress


@click.command("run")
@VECTORS
@click.option("--runtime", required=True, metavar="NAME", help=RUNTIME_HELP)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="OUTPUTS",
              help="Where the outputs go: a file if VECTORS is one, else a directory.")  # fmt: skip
@SELECT
@TIMEOUT
@MEMORY
@JOBS
@FORCE
def run_command(
    vectors: Path | None,
    runtime: str,
    out: Path,
    select: tuple[str, ...],
    timeout: float,
    memory: int | None,
    jobs: int | None,
) -> None:
    """Run a runtime on vectors and keep its outputs, for `grucible check --outputs`.

    Outputs of the same cases are replaced; those of others are not, and nothing is run then. Where no
    runtime can be run from here, see `grucible ask`.
    """
    from ..observed.pool import RuntimePool
    from ..observed.recording import record

    with (
        contextlib.closing(RuntimePool(runtime, timeout, jobs, memory)) as source,
        opened_with_progress("running", vectors, select) as (opened, progress),
    ):
        for relative, counts in record(opened, source, out, progress.advance):
            told = ", ".join(f"{count} {status}" for status, count in counts.items())
            progress.say(f"{relative}: {told}")
