"""What several commands take: vectors, a selection, and how long and how large a runtime may be."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ...cases.selection import of_dtypes
from .option_values import seconds, size_in_bytes

if TYPE_CHECKING:
    from ...cases.console import Progress
    from ...vectors.vector_set import VectorSet

Command = TypeVar("Command", bound=Callable[..., object])
VECTORS = click.argument(
    "vectors", metavar="[VECTORS]", required=False, type=click.Path(path_type=Path)
)
_DTYPES = "grucible.dtypes"
"""Where `--dtype` leaves what it was given, for `--select`, which is looked at after it."""


def _dtypes(context: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    from ...cases.dtypes import FLOAT_TYPES

    for name in value:
        if name not in FLOAT_TYPES:
            raise click.BadParameter(f"{name}; expected one of {', '.join(FLOAT_TYPES)}")
    context.meta[_DTYPES] = value


def selection(usual: Sequence[str] = ()) -> Callable[[Command], Command]:
    """The options `--select` and `--dtype`, which together give a command its `select`: globs, none where
    nothing is given. `usual` is what the command selects then."""

    def select(
        context: click.Context, _: click.Parameter, value: tuple[str, ...]
    ) -> tuple[str, ...]:
        dtypes = context.meta[_DTYPES]
        return of_dtypes(value, dtypes, usual) if dtypes else value

    def options(command: Command) -> Command:
        dtype = click.option("--dtype", multiple=True, metavar="D", callback=_dtypes, is_eager=True,
                             expose_value=False, help="Only cases of this dtype. Repeatable.")  # fmt: skip
        globs = click.option("--select", multiple=True, metavar="GLOB", callback=select,
                             help="Only cases whose id matches. Repeatable.")  # fmt: skip
        return globs(dtype(command))

    return options


SELECT = selection()
TIMEOUT_SECONDS = 120.0
TIMEOUT = click.option("--timeout", default=TIMEOUT_SECONDS, show_default=True, metavar="SECONDS",
                       type=click.FloatRange(min=0, min_open=True), callback=seconds,
                       help="How long the runtime may take over one case.")  # fmt: skip
JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N",
                    show_default="the usable CPUs for openvino, onnxruntime and onnx-reference; 1 "
                    "for a function of yours", help="Processes to run the runtime in.")  # fmt: skip
MEMORY = click.option("--memory", metavar="SIZE", callback=size_in_bytes,
                      help="Address space of each process of the runtime, such as 4G or 512M; "
                      "what needs more gets an error.")  # fmt: skip
RUNTIME_HELP = (
    "A name from `grucible runtimes`, or package.module:function, or ./file.py:function, or 'exec: "
    "COMMAND', a program in any language (check/protocol/README.md)."
)


@contextlib.contextmanager
def progress_over_cases(what: str, vectors: VectorSet) -> Iterator[Progress]:
    """Show the progress over the selected cases of a set, which are counted where it is drawn."""
    from ...cases.console import show_progress

    with show_progress(what, len(vectors) if sys.stderr.isatty() else 0) as progress:
        yield progress


@contextlib.contextmanager
def opened_with_progress(
    what: str, path: Path | None, select: tuple[str, ...]
) -> Iterator[tuple[VectorSet, Progress]]:
    """Open a set of vectors, and show the progress over its selected cases."""
    from ...vectors.vector_set import open_set

    with open_set(path, select) as vectors, progress_over_cases(what, vectors) as progress:
        yield vectors, progress
