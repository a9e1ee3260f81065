"""Runtimes: a function from a question to outputs, found by name or by place."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import json
import os
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cases.commands.interrupts import stop_if_interrupted
from ...cases.commands.others_words import error_sentence, one_line, shortened
from ...cases.dtypes import Array
from ...cases.errors import RuntimeNotUsable
from ...cases.packages import missing, reinstalling
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
"""So many lines of a traceback are kept, and so many characters of each."""
MOST_TRACEBACK = 16 << 10
"""So many bytes of a traceback, as JSON writes them out: a control character is 6."""
RuntimeFunction = Callable[[Question], Mapping[str, Array]]


class RuntimeNotInstalled(RuntimeNotUsable):
    """A runtime that is known by name needs a package that is not there."""


class Unsupported(Exception):
    """Raised by a runtime, with the reason, for a question it declares it does not offer."""


@dataclass(frozen=True)
class Runtime:
    """A runtime ready to be asked: its name, its version ("" where it has none), its function.

    One that is `parallel` declares that several processes of it at a time do not disturb each other:
    its function has an attribute `parallel` that is True. One that compiles may want to see what it is asked
    next: its function has a method `prepare_for`, which takes a list of questions.
    """

    name: str
    version: str
    run: RuntimeFunction
    about: str = ""
    parallel: bool = False
    prepare_for: Callable[[Sequence[Question]], object] | None = None


def load_runtime(name: str) -> Runtime:
    """The runtime called `name` (entry-point group `grucible.runtimes`), or the function at
    `package.module:function` or `./file.py:function`; the working directory is on the path.

    Raises RuntimeNotUsable where it is unknown, not installed, does not import or is no function.
    """
    if ":" not in name:
        return load_registered(registered_runtime(name))
    place, _, attribute = name.rpartition(":")
    if not place.endswith(".py") and (not place or place.startswith(".") or "/" in place):
        raise RuntimeNotUsable(
            f"runtime {name}: {place!r} does not import: it names no module; expected "
            "package.module:function, or ./file.py:function"
        )
    with contextlib.suppress(FileNotFoundError):  # it was removed
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
    with _usable(f"runtime {name}: {place} does not import"):
        module = _load_file(place) if place.endswith(".py") else importlib.import_module(place)
    with _usable(f"runtime {name}: {place} has no function {attribute!r}"):
        function = getattr(module, attribute, None)
    if not callable(function):
        raise RuntimeNotUsable(
            f"runtime {name}: {place} has no function {attribute!r}; "
            f"expected one that takes a question"
        )
    return described(name, function)


@contextlib.contextmanager
def _usable(said: str) -> Iterator[None]:
    """While what is a runtime's own runs: whatever it raises, SystemExit and a test's outcome too, is a
    RuntimeNotUsable that says so."""
    try:
        yield
    except (KeyboardInterrupt, RuntimeNotUsable):
        raise
    except BaseException as error:
        stop_if_interrupted()  # an import may make another error of it
        raise RuntimeNotUsable(f"{said}: {error_sentence(error)}{raised_at(error)}") from error


def _near(name: str, known: Iterable[str]) -> str:
    """What the user may have meant: a function in a file, or a name that is much like it."""
    if name.endswith(".py"):
        return f"did you mean {shlex.quote(f'./{Path(name)}:run')}? "
    if is_file(name) and os.access(name, os.X_OK):
        return f"did you mean {shlex.quote(f'exec: {shlex.quote(name)}')}? "
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}? " if near else ""


def registered_runtimes() -> list[EntryPoint]:
    """The entry points of all runtimes grucible knows by name, sorted."""
    from importlib.metadata import (
        entry_points,  # as long as a fifth of numpy, and not always needed
    )

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def registered_runtime(name: str) -> EntryPoint:
    """The entry point of the runtime called `name`. Raises RuntimeNotUsable, with what may be meant, for
    none, and where several packages call theirs so: which one is asked would hang on their order."""
    points = registered_runtimes()
    registered = {point.name: point for point in points}
    same = {point.value: point for point in points if point.name == name}
    if len(same) > 1:
        who = " and ".join(f"{package_of(point)} ({value})" for value, point in same.items())
        raise RuntimeNotUsable(
            f"runtime {name}: is registered by {who}; uninstall one, or name the function: "
            f"{next(iter(same))}"
        )
    if name not in registered:
        known = ", ".join(registered)
        raise RuntimeNotUsable(
            f"runtime {name!r} is unknown; {_near(name, registered)}expected one of {known}, or "
            "package.module:function, or ./file.py:function, or 'exec: COMMAND'"
        )
    return registered[name]


def package_of(point: EntryPoint) -> str:
    """The package that registers a runtime."""
    return point.dist.name if point.dist else point.value.partition(".")[0].partition(":")[0]


def load_registered(point: EntryPoint) -> Runtime:
    """The runtime at an entry point. Raises RuntimeNotInstalled where a package that it needs is not
    there, and RuntimeNotUsable where one raises anything when it is imported, SystemExit too, and for what
    is no function. For grucible's own the remedy is the extra that brings the package."""
    extra = point.name.partition("-")[0] if point.value.startswith("grucible.") else ""
    try:
        function = point.load()
        if not callable(function):
            raise RuntimeNotUsable(
                f"runtime {point.name}: {point.value} is no function; expected one that takes a question"
            )
        return described(point.name, function)
    except (KeyboardInterrupt, RuntimeNotUsable):
        raise
    except BaseException as error:
        stop_if_interrupted()  # an import may make another error of it
        said = error_sentence(error)
        if missing(error):
            remedy = f"pip install 'grucible[{extra}]'" if extra else "install what it needs"
            raise RuntimeNotInstalled(
                f"runtime {point.name} is not installed ({said}); {remedy}"
            ) from error
        remedy = reinstalling(extra, error) if extra else f"ask who made {package_of(point)}"
        raise RuntimeNotUsable(f"runtime {point.name} does not load: {said}; {remedy}") from error


def is_file(place: str) -> bool:
    """Whether there is a file at a place; none is at one with a name that no file can have: a longer one."""
    return os.path.isfile(place)  # noqa: PTH113


def _load_file(place: str) -> Any:
    path = Path(place)
    if not is_file(place):
        raise RuntimeNotUsable(f"runtime {place}: no such file; expected ./file.py:function")
    name = f"grucible_runtime_{path.stem}"  # shadows no module of the same name
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def name_of(run: Any) -> str:
    """What a function, or an object that can be called, is named by; RuntimeNotUsable if it cannot say."""
    kind = type(run).__name__
    with _usable(f"runtime {kind}: has no name"):
        return str(getattr(run, "__name__", kind))


def described(name: str, run: Any) -> Runtime:
    """The runtime that is the function `run`; RuntimeNotUsable if it cannot say what it is."""
    with _usable(f"runtime {name}: has no docstring"):
        doc = getattr(run, "__doc__", None)
        about = shortened(doc.strip().partition("\n")[0]) if isinstance(doc, str) else ""
    with _usable(f"runtime {name}: has no version"):
        version = shortened(str(getattr(run, "version", "")))
    with _usable(f"runtime {name}: does not say whether it is parallel"):
        parallel = getattr(run, "parallel", False) is True
    with _usable(f"runtime {name}: does not say whether it prepares for questions"):
        prepare_for = getattr(run, "prepare_for", None)
    wants = prepare_for if callable(prepare_for) else None
    return Runtime(name, version, run, about, parallel, wants)


def raised_at(error: BaseException) -> str:
    """Where an error was raised, as ` (my_gru.py:20)`: the innermost line that is neither in grucible nor in
    an installed library; "" where there is none."""
    found = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
        and not any(Path(frame.filename).is_relative_to(place) for place in _LIBRARIES)
    ]
    return f" ({one_line(Path(found[-1].filename).name)}:{found[-1].lineno})" if found else ""


def frames(error: BaseException) -> tuple[str, ...]:
    """The lines of an error's traceback, as `last_frames` keeps them."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return last_frames(line for line in lines[-MOST_FRAMES:] if line.strip(" ^~"))


def last_frames(lines: Iterable[str]) -> tuple[str, ...]:
    """The last lines of a traceback, each in one line of bounded length: MOST_FRAMES of them at most, and
    MOST_TRACEBACK bytes."""
    kept: list[str] = []
    room = MOST_TRACEBACK
    for line in reversed([*lines][-MOST_FRAMES:]):
        one = one_line(line)[:MOST_FRAME]
        room -= len(json.dumps(one))
        if room < 0:
            break
        kept.append(one)
    return tuple(reversed(kept))
