"""What several commands take: vectors, a selection, a case, criteria, and a runtime with its limits."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from ...cases.console import Progress, format_command, show_progress
from ...cases.errors import GrucibleError
from ...cases.selection import DTYPES, OPERATOR, WHOLE, Selection, Shard
from ...cases.selection import SELECT as _SELECT
from ...gen.making import open_or_make
from ...vectors.vector_set import VectorSet
from ..observed import pool
from ..observed.exchange import outputs_at
from ..observed.source import Source

_SELECTING = ("select", "operators", "dtypes")
"""The parameters of the options that select."""
_JUDGING = ("runtime", "arithmetic", "rtol", "atol", "ulp", "timeout", "memory")
"""The parameters of the options with which vectors are judged again."""
Command = TypeVar("Command", bound=Callable[..., object])
PATH, FILE = click.Path(path_type=Path), click.Path(dir_okay=False, path_type=Path)
TIMEOUT_SECONDS = 120.0
_FUNCTION = re.compile(r".+\.py:[^\W\d]\w*|[^\W\d]\w*(\.\w+)*:[^\W\d]\w*")
_MODEL = "is a model; to judge the GRUs in it: grucible model {} --runtime "
_INSTEAD = {
    ".onnx": f"{_MODEL}onnxruntime",
    ".xml": f"{_MODEL}openvino",
    ".py": "is a program; to judge a function in it: --runtime ./FILE.py:FUNCTION; to judge the GRUs of a "
    "PyTorch module that a function makes: grucible model ./FILE.py:FUNCTION --runtime torch",
    ":": "is a function; to judge it: --runtime {0}; to judge the GRUs of a PyTorch module that it makes: "
    "grucible model {0} --runtime torch",
}
"""What takes a file that is neither vectors nor outputs, by the end of its name."""


class Seconds(click.FloatRange):
    """A time limit, cut to a million seconds."""

    name = "number of seconds, such as 5"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a number of seconds."""
        seconds = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail("nan is not a number of seconds", param, ctx)
        return min(seconds, 1e6)


def _parse_size(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Parse a number of bytes, such as 4G."""
    if value is None:
        return None
    found = re.fullmatch("0*([1-9][0-9]{0,8})([KMGT])", value.upper())
    if not found:
        raise click.BadParameter(f"{value!r}; expected a whole number of K, M, G or T, such as 4G")
    return min(int(found[1]) << 10 * (1 + "KMGT".index(found[2])), (1 << 63) - (1 << 40))


def _format_size(size: int) -> str:
    """Format a number of bytes as `_parse_size` takes it."""
    power = max(n for n in range(1, 5) if not size % (1 << 10 * n))
    return f"{size >> 10 * power}{' KMGT'[power]}"


def selection(usual: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command one `select` from `--select`, `--operator` and `--dtype`; it is empty without them.

    `usual` is what `--operator` and `--dtype` alone select from. What a file gives as defaults does not
    select from VECTORS that the command line names.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def selecting(*, select: tuple[str, ...], **given: Any) -> object:
            parts: list[tuple[str, ...]] = [select, given.pop("operators"), given.pop("dtypes")]
            if given.get("vectors"):
                source = click.get_current_context().get_parameter_source
                typed = [source(name) is not ParameterSource.DEFAULT_MAP for name in _SELECTING]
                parts = [part if mine else () for part, mine in zip(parts, typed, strict=True)]
            chosen = Selection(parts[0], parts[1], parts[2], usual) if any(parts[1:]) else parts[0]
            return command(select=chosen, **given)

        decorated: Any = together(_SELECT, OPERATOR, DTYPES)(selecting)
        return cast("Command", decorated)

    return decorate


def together(*several: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Make several options one decorator."""
    return lambda command: reduce(lambda made, option: option(made), reversed(several), command)


def check_by(path: Path) -> str:
    """Write the command that judges by vectors as this one: same runtime, criteria and limits."""
    context, words = click.get_current_context(), list[str]()
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        if one.name in _JUDGING and source is not ParameterSource.DEFAULT:
            value = context.params[one.name]
            for each in value if isinstance(value, tuple) else (value,):
                words += [one.opts[0], _format_size(each) if one.name == "memory" else str(each)]
    return format_command("check", [path], words)


def refuse_other_files(_: object, __: object, value: Path | None) -> Path | None:
    """Refuse a model or program in place of vectors or outputs, and say which option or command takes it."""
    if value is None or value.is_dir():
        return value
    function = _FUNCTION.fullmatch(str(value)) and not value.exists()
    if instead := _INSTEAD.get(":" if function else value.suffix):
        raise GrucibleError(f"{value}: {instead.format(shlex.quote(str(value)))}")
    return value


VECTORS = click.argument("vectors", metavar="[VECTORS]", required=False, type=PATH,
                         callback=refuse_other_files)  # fmt: skip
SELECT = selection()
CASE_WORDS = click.argument("words", metavar="[VECTORS] CASE", nargs=-1, required=True)
CRITERIA = together(
    click.option("--arithmetic", multiple=True, metavar="[DTYPE=]CLASS",
                 help="Demand this class of arithmetic, such as float16=float32. Repeatable."),
    click.option("--rtol", type=float, help="Relative tolerance to use, for all dtypes."),
    click.option("--atol", type=float, help="Absolute tolerance to use, for all dtypes."),
    click.option("--ulp", type=float, help="Units in the last place to admit, for all dtypes."),
)  # fmt: skip
"""The options that `chosen_criteria` takes."""
MEMORY = click.option("--memory", metavar="SIZE", callback=_parse_size,
                      help="Address space of each process of the runtime, such as 4G or 512M; "
                      "a process that needs more gets an error.")  # fmt: skip
LIMITS = together(
    click.option("--timeout", default=TIMEOUT_SECONDS, show_default=True, metavar="SECONDS",
                 type=Seconds(min=0, min_open=True),
                 help="How long the runtime may take over one case."),
    MEMORY,
)  # fmt: skip
JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N",
                    show_default="the usable CPUs for openvino, onnxruntime and onnx-reference; 1 "
                    "for a function of yours", help="Processes to run the runtime in.")  # fmt: skip
JSON = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
RUNTIME_HELP = (
    "A name from `grucible runtimes`, or package.module:function, or ./file.py:function, or 'exec: "
    "COMMAND', a program in any language (check/protocol/README.md)."
)


def vectors_and_case(words: tuple[str, ...]) -> tuple[Path | None, str]:
    """Split `[VECTORS] CASE` into the vectors, None for the core ones, and the id or glob of the case.

    VECTORS alone stand for their only case.
    Raises click.UsageError for more words, and for an empty word.
    """
    if len(words) > 2:
        raise click.UsageError(f"unexpected {words[2]!r} after CASE")
    if not all(words):
        raise click.UsageError("an empty text is no case and no path; was a variable not set?")
    alone = len(words) == 1 and (Path(words[0]).exists() or words[0].endswith(".h5"))
    *before, case = (*words, "*") if alone else words
    if before and Path(case).exists() and not Path(before[0]).exists():
        before, case = [case], before[0]  # given in the wrong order
    for word in words:
        refuse_other_files(None, None, Path(word))
    return (Path(before[0]) if before else None), case


@contextlib.contextmanager
def started(
    runtime: str | None, outputs: Path, timeout: float, memory: int | None, jobs: int | None
) -> Iterator[Callable[[VectorSet], Source]]:
    """Start a runtime, which loads in the background; or make a function that opens `outputs`."""
    if runtime is not None:
        with contextlib.closing(pool.RuntimePool(runtime, timeout, jobs, memory)) as source:
            yield lambda _: source
        return
    for option, value in {"--jobs": jobs, "--memory": memory}.items():
        if value is not None:
            raise click.UsageError(f"{option} goes with --runtime: outputs are only read")
    yield partial(outputs_at, outputs)


@contextlib.contextmanager
def opened_with_progress(
    what: str, path: Path | None, select: Sequence[str], shard: Shard = WHOLE
) -> Iterator[tuple[VectorSet, Progress]]:
    """Open a set of vectors, and show the progress over its selected cases."""
    vectors = open_or_make(path, select, shard)
    with show_progress(what, len(vectors) if sys.stderr.isatty() else None) as progress:
        yield vectors, progress
