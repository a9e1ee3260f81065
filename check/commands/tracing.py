"""`grucible trace`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import put, say
from ...cases.files import FORCE
from .case_words import CASE_WORDS, vectors_and_case
from .options import MEMORY, RUNTIME_HELP, TIMEOUT

if TYPE_CHECKING:
    from ...vectors.vector_set import VectorSet
    from ..observed.source import Source
    from ..tracing.trace import Part, Traced


@click.command("trace")
@CASE_WORDS
@click.option("--runtime", metavar="NAME", help=f"Against what it gives. {RUNTIME_HELP}")
@click.option("--against", type=click.Path(path_type=Path), metavar="OUTPUTS",
              help="Against outputs made elsewhere, as check --outputs takes them.")  # fmt: skip
@click.option("--direction", type=click.Choice(["forward", "reverse"]), help="Only this one.")
@click.option("--row", type=click.IntRange(0), metavar="N", help="Only this row of the batch.")
@click.option("--step", type=click.IntRange(0), metavar="N",
              help="Only this step, in the order of processing.")  # fmt: skip
@click.option("--full", is_flag=True, help="Print every row, step and number.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--npz", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write all arrays into an .npz file, and print no steps.")  # fmt: skip
@TIMEOUT
@MEMORY
@FORCE
def trace_command(
    words: tuple[str, ...],
    runtime: str | None,
    against: Path | None,
    direction: str | None,
    row: int | None,
    step: int | None,
    full: bool,
    as_json: bool,
    npz: Path | None,
    timeout: float,
    memory: int | None,
) -> None:
    """Show every step of one case, exact: from a failure to its cause.

    Of each direction and row, in the order of processing: pre-activations, gates, what the reset
    gate multiplies, the candidate and the state; proven, and rounded once to the case's dtype. All
    count from 0. CASE is a case id, or a glob that matches one. VECTORS is a vector file or a
    directory of them; without it, the core vectors installed with grucible.

    With --runtime or --against: the first step, row and unit where the observed states leave the
    exact ones by more than their tolerance, and which steps are wrong by themselves, from the
    observed state before them. Then the exit status is 0 if the case passes, and 1 if not.

    \b
    grucible trace onnx.GRU-14/plain/float32/lbr1 --row 0 --step 1
    grucible trace openvino.GRUCell-3/plain/float32/lbr --runtime my_gru:run
    """
    from ...cases.files import check_replaceable
    from ...cases.selection import literal
    from ...vectors.vector_set import open_set
    from ..reports.show import find_case
    from ..tracing.trace import MARK, Part, Traced, trace, trace_json, traced_against

    vectors, wanted = vectors_and_case(words)
    if npz:
        check_replaceable(npz, MARK)
    block, file = find_case(vectors, wanted)
    with (
        open_set(vectors, (literal(block.ids[0]),)) as opened,
        _source(runtime, against, timeout, memory, opened) as source,
    ):
        exact, part = trace(block.case(0)), Part(direction, row, step)
        part.check(exact.directions)
        traced = traced_against(exact, opened, source) if source else Traced(exact)
    if npz:
        _write(traced, npz, err=as_json)
    if as_json:
        put(trace_json(traced, part))
    else:
        _tell(traced, file, part, full=full, steps=npz is None)
    raise SystemExit(0 if traced.found is None or traced.found.passed else 1)


def _write(traced: Traced, npz: Path, *, err: bool) -> None:
    from ...cases.files import write_whole
    from ..tracing.trace import MARK, trace_npz

    write_whole(npz, trace_npz(traced), mark=MARK)
    say(f"{npz}: written", err=err)


def _tell(traced: Traced, file: str, part: Part, *, full: bool, steps: bool) -> None:
    from ..reports.trace import against_lines, head_lines, step_lines

    for line in head_lines(traced.trace, file):
        say(line)
    for line in against_lines(traced, full=full):
        say(line)
    if steps:
        for line in step_lines(traced, part, full=full):
            say(line)


@contextlib.contextmanager
def _source(
    runtime: str | None,
    outputs: Path | None,
    timeout: float,
    memory: int | None,
    vectors: VectorSet,
) -> Iterator[Source | None]:
    """What is held against the exact steps, if anything."""
    from ..observed.exchange import outputs_at
    from ..observed.pool import RuntimePool

    if runtime is not None and outputs is not None:
        raise click.UsageError("give one of --runtime NAME and --against OUTPUTS")
    if memory is not None and runtime is None:
        raise click.UsageError("--memory goes with --runtime")
    if runtime is not None:
        with contextlib.closing(RuntimePool(runtime, timeout, 1, memory)) as pool:
            yield pool
    elif outputs is not None:
        with contextlib.closing(outputs_at(outputs, vectors)) as source:
            yield source
    else:
        yield None
