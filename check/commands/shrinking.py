"""`grucible shrink`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, put, say
from ...cases.files import FORCE
from ...cases.process import interruption_status
from .case_words import CASE_WORDS, vectors_and_case
from .criteria import judged_by
from .option_values import seconds as in_seconds
from .options import MEMORY, RUNTIME_HELP, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...cases.question import Question
    from ..judging.criterion import Criterion
    from ..shrinking.shrink import Shrunk


@click.command("shrink")
@CASE_WORDS
@click.option("--runtime", required=True, metavar="NAME", help=RUNTIME_HELP)
@click.option("-o", "--out", default="shrunk.h5", show_default=True, metavar="FILE",
              type=click.Path(dir_okay=False, path_type=Path),
              help="Vector file for the smaller case.")  # fmt: skip
@click.option("--seconds", default=300.0, show_default=True, metavar="SECONDS",
              type=click.FloatRange(0, min_open=True), callback=in_seconds,
              help="How long to look for something smaller.")  # fmt: skip
@judged_by
@TIMEOUT
@MEMORY
@FORCE
def shrink_command(
    words: tuple[str, ...],
    runtime: str,
    out: Path,
    seconds: float,
    criteria: Mapping[str, Criterion],
    timeout: float,
    memory: int | None,
) -> None:
    """Find the smallest case that still fails the way CASE does.

    Rows, steps, units, inputs and attributes are left out, and numbers are made rounder, as long as
    the runtime is still wrong in the same way. Every smaller question gets its exact answer, so the
    smaller case is as good as the first one. Its id ends with that of CASE.

    Exit status 0: the smaller case is written; 2: bad usage or input, or CASE does not fail; 129, 130 or 143:
    ended by SIGHUP, Ctrl-C or SIGTERM, and the smallest case so far is written.
    """
    from ...gen.posed import Posed, write_answered
    from ...vectors.hdf5 import VECTORS
    from ...vectors.hdf5_writing import prepare_place
    from ..observed.isolated import ENDLESS
    from ..observed.pool import RuntimePool
    from ..reports.show import find_case
    from ..shrinking.shrink import shrink

    place, wanted = vectors_and_case(words)
    block, _ = find_case(place, wanted)
    prepare_place(out, VECTORS)
    with contextlib.closing(RuntimePool(runtime, timeout, 1, memory, ENDLESS)) as pool:
        found = shrink(block, pool, criteria, seconds, _draw, interruptible=True)
        _erase()
        name = f"{pool.name} {pool.version}".strip()
    question = found.question
    about = f"shrunk from {block.ids[0]}, which {name} gets wrong"
    write_answered(out, [Posed(question.id, lambda: question)], about)
    for line in _lines(found, block.ids[0], name, out):
        say(line)
    if found.interrupted:
        raise SystemExit(interruption_status())


def _lines(found: Shrunk, first_id: str, runtime: str, out: Path) -> Iterator[str]:
    """What was found, as a person reads it."""
    from ..reports.findings import how_far_off, id_line
    from ..reports.text import wrap

    yield id_line(first_id, 0)
    yield from wrap(f"{runtime}: {how_far_off(found.first.result)}", indent=2, more=4)
    if found.first.looks_like:
        yield from wrap(f"looks like: {found.first.looks_like}", indent=2, more=4)
    yield ""
    if not found.left_out:
        yield "nothing of it can be left out"
    else:
        yield from wrap(f"made smaller: {', '.join(_told(found.left_out))}", indent=0, more=2)
    yield ""
    yield "what is left fails the same way:"
    yield id_line(found.question.id, 2)
    yield from wrap(how_far_off(found.result), indent=4)
    inputs = found.question.inputs.items()
    sizes = ", ".join(f"{name} {'x'.join(map(str, array.shape))}" for name, array in inputs)
    yield from wrap(f"inputs: {sizes}", indent=4, more=6)
    ended = "interrupted" if found.interrupted else "time ran out" if found.cut_short else ""
    late = f"; {ended} before it was as small as can be" if ended else ""
    yield from wrap(f"asked {found.asked} questions{late}; written to {out}", indent=0, cut=False)
    yield f"see: {format_command('show', [out, '*'])}"


def _told(left_out: Sequence[str]) -> list[str]:
    """What was left out, of the same thing the last one alone."""
    last: dict[str, str] = {}
    for one in left_out:
        key = one.rpartition(" ")[0] if one[-1:].isdigit() else one
        last.pop(key, None)
        last[key] = one
    return list(last.values())


def _draw(question: Question) -> None:
    """How large the smallest case is by now, in place, where standard error is a terminal."""
    if sys.stderr.isatty():
        numbers = sum(array.size for array in question.inputs.values())
        put(f"\r\033[K{numbers} numbers", err=True)


def _erase() -> None:
    if sys.stderr.isatty():
        put("\r\033[K", err=True)
