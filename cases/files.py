"""Files: read up to a limit, found below a directory, and written whole or not at all.

Of files that exist already, grucible replaces those that are empty or carry the mark of its own files. It
replaces others only with --force.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from .console import suggest
from .errors import GrucibleError

MOST_NAMES = 100_000
"""Maximum files and directories below a directory; looking through them takes a second."""
MOST_BESIDE = 1000
"""Maximum names that are compared with a mistaken one."""
Mark = bytes | re.Pattern[bytes]
"""A pattern that matches the beginning of files that grucible writes."""
_BEGINNING = 4096
"""Maximum bytes at a file's beginning that a mark matches."""

FORCE = click.option(
    "--force", is_flag=True, expose_value=False, help="Replace files that grucible did not write.",
    callback=lambda context, _, given: context.meta.__setitem__(__name__, given),
)  # fmt: skip
"""The option that lets a command replace any file."""


def read_limited(
    path: Path, most: int, error: type[GrucibleError] = GrucibleError, remedy: str = ""
) -> bytes:
    """Read a regular file of at most `most` bytes. Raises `error`, with the `remedy`, where it cannot."""
    end = f"; {remedy}" if remedy else ""
    try:
        if path.exists() and not path.is_file():
            raise error(f"{path}: is no regular file{end}")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        raise error(f"{path}: there is no such file{_suggest_beside(path)}") from None
    except (OSError, ValueError) as why:  # ValueError: no file can have such a name
        raise error(f"{path}: cannot be read ({_reason(why)}){end}") from None
    if len(data) > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most} bytes"
        raise error(f"{path}: is larger than {size}{end}")
    return data


def _suggest_beside(path: Path) -> str:
    """Suggest a file with the same ending, beside one that is not there."""
    with contextlib.suppress(OSError):
        beside = (one.stem for one in path.parent.iterdir() if one.suffix == path.suffix)
        return suggest(path.stem, sorted(beside)[:MOST_BESIDE], path.name)
    return ""


def files_below(root: Path, *endings: str, most: float = math.inf) -> Iterator[Path]:
    """Find files whose names have one of the endings, in a directory and below it.

    Links are followed, and each directory is entered once. Raises OSError for a directory that cannot be
    read, and GrucibleError where more than `most` files and directories are below it.
    """
    seen, left = set(), most

    def stop(error: OSError) -> None:
        raise error

    for place, below, names in os.walk(root, onerror=stop, followlinks=True):
        if (real := os.path.realpath(place)) in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        left -= len(below) + len(names)
        if left < 0:
            raise GrucibleError(
                f"{root}: more than {most:,} files and directories are below it; name a smaller directory"
            )
        yield from (Path(place, name) for name in names if name.endswith(endings))


def write_whole(path: Path, data: bytes | str, *, mark: Mark, force: bool = False) -> None:
    """Replace the file at `path` by `data`, as `whole_file` does; a text is written as UTF-8."""
    with whole_file(path, mark=mark, force=force) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextlib.contextmanager
def whole_file(path: Path, *, mark: Mark, force: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that replaces the one at `path` when the `with` ends without error.

    A device or pipe is written directly. Raises GrucibleError where `check_replaceable` does, and where the
    file cannot be written.
    """
    check_replaceable(path, mark, force=force)
    if _is_stream(path):
        with writing_to(path), path.open("ab") as stream:
            yield stream
        return
    place = path.resolve()  # the file to which links lead
    new = place.with_name(f".grucible.{secrets.token_hex(8)}.tmp")
    with writing_to(path):
        try:
            with new.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if place.exists():
                shutil.copymode(place, new)
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn an OSError in the body of the `with` into a GrucibleError that names `path`."""
    try:
        yield
    except OSError as error:
        raise GrucibleError(f"{path}: cannot be written ({_reason(error)})") from None


def check_replaceable(path: Path, mark: Mark, *, force: bool = False) -> None:
    """Raise GrucibleError if `path` cannot be written: before long work rather than after it.

    Without `force`, a file that is neither empty nor begins with the `mark` is not replaced.
    """
    if path.is_dir():
        raise GrucibleError(f"{path}: is a directory; expected a file")
    if _is_stream(path):
        return
    if not path.resolve().parent.is_dir():
        raise GrucibleError(f"{path}: there is no directory {path.parent}")
    with writing_to(path):
        if path.exists() and not (force or is_forced()):
            with path.open("rb") as file:
                beginning = file.read(_BEGINNING)
            if beginning and not re.match(mark, beginning):
                raise GrucibleError(
                    f"{path}: is there already, and holds something else; name another place, or --force"
                )
    if not os.access(path.resolve().parent, os.W_OK):
        raise GrucibleError(f"{path}: cannot be written (the directory is read-only)")


def check_apart(places: Iterable[tuple[str, Path]]) -> None:
    """Raise GrucibleError if the paths of two options lead to one place, even by a link."""
    known: dict[str, str] = {}
    for option, path in places:
        if other := known.get(os.path.realpath(path)):
            raise GrucibleError(f"{other} and {option}: {path} is named twice; name another place")
        known[os.path.realpath(path)] = option


def is_forced() -> bool:
    """Say whether the running command was given --force."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(__name__))


def _is_stream(path: Path) -> bool:
    """Say whether a path leads to a device or a pipe, or to an open file such as /dev/stdout."""
    return path.is_relative_to("/dev") or (path.exists() and not path.is_file())


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0]
