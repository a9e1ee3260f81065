"""The commands about one case: `grucible show`, `trace` and `shrink`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ...cases.console import format_command, put, say, show_progress
from ...cases.errors import GrucibleError
from ...cases.files import FORCE, check_replaceable, is_forced, write_whole
from ...cases.process import interruption_status
from ...cases.question import Question, shapes
from ...cases.selection import literal
from ...gen.making import SHRUNK, open_or_make
from ...gen.posed import Posed, write_answered
from ...vectors.hdf5 import VECTORS
from ...vectors.reader import open_vectors
from ...vectors.writer import prepare_place
from ..judging.criterion import chosen_criteria
from ..observed import pool
from ..reports.findings import how_far_off
from ..reports.show import find_case, show_lines
from ..reports.text import wrap
from ..reports.trace import MARK, against_lines, head_lines, step_lines, trace_json, trace_npz
from ..scripts.script import observed_lines, refuse_large
from ..scripts.script import script as script_of
from ..shrink import Shrunk, shrink
from ..trace import StepRange, Traced, trace, traced_against
from . import options


@click.command("show")
@options.CASE_WORDS
@click.option("--full", is_flag=True, help="Print arrays whole.")
@click.option("--script", metavar="NAME", help="Print a script that asks the runtime NAME this case "
              "without grucible, for a bug report; `onnx` saves a test of ONNX's.")  # fmt: skip
def show_command(words: tuple[str, ...], full: bool, script: str | None) -> None:
    """Show one case: what it asks, its inputs, its expected outputs.

    CASE is a case id, or a glob that matches one. VECTORS is a vector file or a directory of them;
    without it, the core vectors installed with grucible.

    Exit status 0: shown; 2: bad usage or input, such as an unknown CASE; 70: an error of grucible's
    own; 130: interrupted by Ctrl-C.
    """
    vectors, wanted = options.vectors_and_case(words)
    if script is None:
        for line in show_lines(vectors, wanted, full):
            say(line)
        return
    if full:
        raise click.UsageError("--full does not go with --script, which holds every number")

    case = find_case(vectors, wanted)[0].case(0)
    refuse_large(case)
    operands = [*map(str, [vectors] if vectors else []), case.id]
    made_by = format_command("show", operands, ["--script", script])
    put(script_of(case, script, observed_lines(case, script, options.TIMEOUT_SECONDS), made_by))


@click.command("trace")
@options.CASE_WORDS
@click.option("--runtime", metavar="NAME",
              help=f"Compare its outputs; '' compares none. {options.RUNTIME_HELP}")  # fmt: skip
@click.option("--against", type=options.PATH, metavar="OUTPUTS",
              help="Compare outputs made elsewhere, as check --outputs takes them.")  # fmt: skip
@click.option("--direction", type=click.Choice(["forward", "reverse"]), help="Only this direction.")
@click.option("--row", type=click.IntRange(0), metavar="N", help="Only this row of the batch.")
@click.option("--step", type=click.IntRange(0), metavar="N",
              help="Only this step, in the order of processing.")  # fmt: skip
@click.option("--full", is_flag=True, help="Print every row, step and number.")
@options.JSON
@click.option("--npz", type=options.FILE, metavar="FILE",
              help="Write all arrays into an .npz file, and print no steps.")  # fmt: skip
@options.LIMITS
@FORCE
def trace_command(
    words: tuple[str, ...],
    runtime: str | None,
    against: Path | None,
    full: bool,
    as_json: bool,
    npz: Path | None,
    timeout: float,
    memory: int | None,
    **part_of: Any,
) -> None:
    """Show every step of one case, exact: from a failure to its cause.

    For each direction and row, in the order of processing: pre-activations, gates, what the reset
    gate multiplies, the candidate and the state; proven, and rounded once to the case's dtype. Rows,
    steps and units count from 0. CASE is a case id, or a glob that matches one. VECTORS is a vector file or a
    directory of them; without it, the core vectors installed with grucible.

    With --runtime or --against: the first step, row and unit where the observed states leave the
    exact ones by more than their tolerance, and which steps are wrong by themselves: they do not
    follow from the observed state before them. The exit status is 0 if the case passes, else 1.

    \b
    grucible trace onnx.GRU-14/plain/float32/lbr1 --row 0 --step 1
    grucible trace openvino.GRUCell-3/plain/float32/lbr --runtime my_gru:run
    """
    runtime = runtime or None
    if runtime is not None and against is not None:
        raise click.UsageError("give one of --runtime NAME and --against OUTPUTS")
    vectors, wanted = options.vectors_and_case(words)
    if npz:
        check_replaceable(npz, MARK)
    block, file = find_case(vectors, wanted)
    opened, part = open_or_make(vectors, (literal(block.ids[0]),)), StepRange(**part_of)
    limits = timeout, memory, 1 if runtime else None
    starting = options.started(runtime, against or Path(), *limits)
    with starting as start, show_progress("tracing", 0):
        exact = trace(block.case(0))
        part.check(exact.directions)
        asked = runtime is not None or against is not None
        traced = traced_against(exact, opened, start(opened)) if asked else Traced(exact)
    if npz:
        write_whole(npz, trace_npz(traced), mark=MARK)
        say(f"{npz}: written", err=as_json)
    if as_json:
        put(trace_json(traced, part))
    else:
        steps = () if npz else step_lines(traced, part, full=full)
        for line in (*head_lines(traced.trace, file), *against_lines(traced, full=full), *steps):
            say(line)
    raise SystemExit(0 if traced.found is None or traced.found.passed else 1)


@click.command("shrink")
@options.CASE_WORDS
@click.option("--runtime", required=True, metavar="NAME", help=options.RUNTIME_HELP)
@click.option("-o", "--out", default="shrunk.h5", show_default=True, metavar="FILE", type=options.FILE,
              help="Vector file for the smaller case.")  # fmt: skip
@click.option("--seconds", default=300.0, show_default=True, metavar="SECONDS",
              type=options.Seconds(0, min_open=True),
              help="How long to look for something smaller.")  # fmt: skip
@options.CRITERIA
@options.LIMITS
@FORCE
def shrink_command(
    words: tuple[str, ...],
    runtime: str,
    out: Path,
    seconds: float,
    timeout: float,
    memory: int | None,
    **criteria: Any,
) -> None:
    """Find the smallest case that still fails the way CASE does.

    Rows, steps, units, inputs and attributes are left out, and numbers are made rounder, as long as
    the runtime is still wrong in the same way. Every smaller question gets its exact answer, so the
    smaller case is as good as the first one. Its id ends with that of CASE.

    Exit status 0: the smaller case is written; 2: bad usage or input, or CASE does not fail; 129, 130 or 143:
    ended by SIGHUP, Ctrl-C or SIGTERM, and the smallest case so far is written.
    """
    demanded = chosen_criteria(**criteria)
    vectors, wanted = options.vectors_and_case(words)
    block, _ = find_case(vectors, wanted)
    prepare_place(out, VECTORS)
    if (
        out.is_file()
        and out.stat().st_size
        and not is_forced()
        and open_vectors(out).theme != SHRUNK
    ):
        raise GrucibleError(
            f"{out}: holds vectors that were not shrunk; name another place, or --force"
        )
    endless = pool.RuntimePool(runtime, timeout, 1, memory, gives_up=False)
    with contextlib.closing(endless) as source, show_progress("shrinking", None) as progress:
        progress.begin(_so_far(block.question(0)))
        found = shrink(
            block, source, demanded, seconds, lambda one: progress.advance(1, _so_far(one)),
            restart=source.restart,
        )  # fmt: skip
        name = f"{source.name} {source.version}".strip()
    question = found.question
    about = f"shrunk from {block.ids[0]}, which {name} gets wrong{found.rows}"
    write_answered(out, [Posed(question.id, lambda: question)], about)
    for line in _format_shrunk(found, block.ids[0], name, out):
        say(line)
    say(f"judge by it: {options.check_by(out)}")
    if found.interrupted:
        raise SystemExit(interruption_status())


def _format_shrunk(found: Shrunk, first_id: str, runtime: str, out: Path) -> Iterator[str]:
    """Format the case that failed, and the smaller one."""
    yield f"{first_id}{found.rows}"
    yield from wrap(f"{runtime}: {how_far_off(found.first.result)}", indent=2, more=4)
    if found.first.looks_like:
        yield from wrap(f"this case alone looks like: {found.first.looks_like}", indent=2, more=4)
    last = {(one.rpartition(" ")[0] if one[-1:].isdigit() else one): one for one in found.left_out}
    smaller = f"made smaller: {', '.join(last.values())}"
    yield ""
    yield from wrap(smaller if last else "nothing of it can be left out", indent=0, more=2)
    yield from ("", "what is left fails:", f"  {found.question.id}")
    yield from wrap(how_far_off(found.result), indent=4)
    inputs = found.question.inputs
    lengths = [f"; {n} is {a.tolist()}" for n, a in inputs.items() if a.dtype.kind == "i"]
    yield from wrap(f"inputs: {shapes(inputs)}{''.join(lengths)}", indent=4, more=6)
    ended = "interrupted" if found.interrupted else "time ran out" if found.cut_short else ""
    late = f"; {ended} before it was as small as can be" if ended else ""
    yield from wrap(f"asked {found.asked} questions{late}; written to {out}", indent=0)
    yield f"see: {format_command('show', [out, '*'])}"


def _so_far(question: Question) -> str:
    """Say how many numbers the smallest case has, for the live line."""
    return f"shrinking {sum(array.size for array in question.inputs.values())} numbers"
