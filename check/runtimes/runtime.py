"""Runtimes: a function from a question to outputs, found by name or by place."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...cases.console import format_error, join_lines, shorten, suggest
from ...cases.dtypes import Array
from ...cases.errors import RuntimeNotUsable
from ...cases.question import Question

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "grucible.runtimes"
_ROOT = Path(__file__).parents[2]
_LIBRARIES = (
    *(_ROOT / room for room in ("cases", "gen", "vectors", "check")),
    *map(Path, {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}),
)
MOST_FRAMES, MOST_FRAME = 40, 300
"""Maximum lines of a traceback, and characters of a line; a report has one for every case that raised."""
RuntimeFunction = Callable[[Question], Mapping[str, Array]]


class Preparing(Protocol):
    """A runtime that loads a model once, and runs it often."""

    def prepare(self, question: Question) -> RuntimeFunction:
        """Load the model of a question; the function answers it, and others with an equal `model`."""


class RuntimeNotInstalled(RuntimeNotUsable):
    """A runtime that is known by name needs a package that is not installed."""


class Unsupported(Exception):
    """A runtime declares, with the reason, that it does not offer what a question asks."""


@dataclass(frozen=True)
class Runtime:
    """A runtime ready to be asked: its name, its version ("" where it has none), its function.

    `parallel` declares that several processes of the runtime do not disturb each other. Then its function
    has an attribute `parallel` that is True.
    """

    name: str
    version: str
    run: RuntimeFunction
    about: str = ""
    parallel: bool = False


def load_runtime(name: str, takes: Sequence[str] = ("question",)) -> Runtime:
    """Load the runtime called `name`: an entry point of `grucible.runtimes`, or a function at a place.

    The function must be one that can be called with what it `takes`.
    A place is `package.module:function` or `./file.py:function`; the working directory is on the path. Raises
    RuntimeNotUsable for a name that is unknown, does not import (SystemExit, too) or is no function. Raises
    RuntimeNotInstalled, with the remedy, for a registered runtime whose package is not installed.
    """
    point = None if ":" in name else registered_runtime(name)
    try:
        run = point.load() if point else _function_at(name)
        _check_takes(name, run, takes)
        return describe_runtime(name, run)
    except (KeyboardInterrupt, RuntimeNotUsable):
        raise
    except BaseException as error:
        why = format_error(error)
        if point is None:
            place = name.rpartition(":")[0]
            text = f"runtime {name}: {place} does not import: {why}{raised_at(error)}"
            if isinstance(error, ModuleNotFoundError) and error.name == place:
                attribute = name.removeprefix(place)
                text += (
                    f"; name a file by its path, such as ./{place.replace('.', '/')}.py{attribute}"
                )
        elif isinstance(error, ModuleNotFoundError):
            ours = point.value.startswith("grucible.")
            family = name.partition("-")[0]
            missing = (error.name or family).partition(".")[0]
            beside = missing != family and importlib.util.find_spec(family)
            needed = missing if beside else f"'grucible[{family}]'"
            remedy = f"pip install {needed}" if ours else "install what it needs"
            raise RuntimeNotInstalled(
                f"runtime {name} is not installed ({why}); {remedy}"
            ) from error
        else:
            text = f"runtime {name} does not load: {why}; reinstall its package"
        raise RuntimeNotUsable(text) from error


def _function_at(name: str) -> Any:
    """Import the function at a place."""
    place, _, attribute = name.rpartition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    if place.endswith(".py"):
        if not Path(place).is_file():
            near = suggest(Path(place).name, [one.name for one in Path(place).parent.glob("*.py")])
            here = f"the working directory is {Path.cwd()}"
            raise RuntimeNotUsable(f"runtime {name}: there is no file {place}{near}; {here}")
        module = _load_file(place)
    elif not place or place.startswith(".") or "/" in place:
        raise RuntimeNotUsable(
            f"runtime {name}: {place!r} does not import: it names no module; expected "
            "package.module:function, or ./file.py:function"
        )
    else:
        module = importlib.import_module(place)
    if not hasattr(module, attribute):
        known = [one for one, value in vars(module).items() if callable(value)]
        raise RuntimeNotUsable(
            f"runtime {name}: {place} has no {attribute!r}{suggest(attribute, known)}"
        )
    return getattr(module, attribute)


def _check_takes(name: str, run: Any, takes: Sequence[str]) -> None:
    """Raise RuntimeNotUsable for a function that cannot be called with these arguments."""
    try:
        found = inspect.signature(run)
    except (TypeError, ValueError):  # not callable, or written in C
        return
    try:
        found.bind(*takes)
    except TypeError:
        if isinstance(run, type) and len(takes) == 1:
            raise RuntimeNotUsable(
                f"runtime {name}: is a class; name an instance of it, such as run = {run.__name__}()"
            ) from None
        given = ", ".join(takes)
        raise RuntimeNotUsable(
            f"runtime {name}: is called here with ({given}), and takes {join_lines(str(found))}; "
            "`grucible model` calls a runtime with (path, inputs), and what makes a module with (); "
            "the others call with (question)"
        ) from None


def _load_file(place: str) -> Any:
    name = f"grucible_runtime_{Path(place).stem}"  # shadows no module of the same name
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def registered_runtimes() -> list[EntryPoint]:
    """Find the entry points of all runtimes that grucible knows by name, sorted by name."""
    from importlib.metadata import entry_points  # slow to import, and not always needed

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def registered_runtime(name: str) -> EntryPoint:
    """Find the entry point of the runtime called `name`. Raises RuntimeNotUsable, with a suggestion."""
    known = {point.name: point for point in registered_runtimes()}
    if name not in known:
        raise RuntimeNotUsable(
            f"runtime {name!r} is unknown{guess(name, known)}; expected one that `grucible runtimes` lists, "
            "package.module:function, ./file.py:function, or 'exec: COMMAND'"
        )
    return known[name]


def guess(name: str, known: Iterable[str]) -> str:
    """Guess what the user meant: a function in a file, a program, or a similar name."""
    if name.endswith(".py"):
        return f" (did you mean {shlex.quote(f'./{Path(name)}:run')}?)"
    place, _, function = name.rpartition(".")
    if place and os.path.isfile(f"{place.replace('.', '/')}.py"):  # noqa: PTH113
        return f" (did you mean {f'{place}:{function}'!r}?)"
    if os.path.isfile(name) and os.access(name, os.X_OK):  # noqa: PTH113 - any text
        return f" (did you mean {shlex.quote(f'exec: {shlex.quote(name)}')}?)"
    return suggest(name, known)


def describe_runtime(name: str, run: Any) -> Runtime:
    """Make a runtime of a function, else of what is Preparing. Raises RuntimeNotUsable for anything else."""
    prepare = None if callable(run) else getattr(run, "prepare", None)
    if not callable(prepare or run):
        raise RuntimeNotUsable(
            f"runtime {name}: names no function; expected one, such as run(question), or what has prepare"
        )
    doc = getattr(run, "__doc__", None)
    return Runtime(
        name,
        shorten(str(getattr(run, "version", ""))),
        _keep_model(prepare) if prepare else run,
        shorten(doc.strip().partition("\n")[0]) if isinstance(doc, str) else "",
        getattr(run, "parallel", False) is True,
    )


def _keep_model(prepare: Callable[[Question], RuntimeFunction]) -> RuntimeFunction:
    """Make a function of `prepare` that keeps the last model as long as questions have the same."""
    kept: tuple[Any, RuntimeFunction] | None = None

    def run(question: Question) -> Mapping[str, Array]:
        nonlocal kept
        if kept is None or kept[0] != question.model:
            kept = None  # also if it cannot be loaded
            kept = question.model, prepare(question)
        return kept[1](question)

    return run


def raised_at(error: BaseException) -> str:
    """Say where an error was raised, as ` (my_gru.py:20)`, or "".

    The place is the innermost line that is neither in grucible nor in an installed library, if any.
    """
    found = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
        and not any(Path(frame.filename).is_relative_to(place) for place in _LIBRARIES)
    ]
    return f" ({join_lines(Path(found[-1].filename).name)}:{found[-1].lineno})" if found else ""


def traceback_lines(error: BaseException) -> tuple[str, ...]:
    """Return the lines of an error's traceback, as `last_frames` keeps them."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return last_frames(line for line in lines[-MOST_FRAMES:] if line.strip(" ^~"))


def last_frames(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the last lines of a traceback: MOST_FRAMES, each of MOST_FRAME characters."""
    return tuple(join_lines(line)[:MOST_FRAME] for line in [*lines][-MOST_FRAMES:])
