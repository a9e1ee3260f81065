"""Text files that commands write: whole, or what was there stays."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import GrucibleError
from ..whole_file import check_writable, replace_file

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MOST_LINKS = 40  # as Linux follows
_PLACES = (0, 512, 1024, 2048)
"""Where HDF5's signature may stand: behind a user block, too."""

DIGESTS = re.compile(rb"(?:[0-9a-f]{64}  [^\n]+\.h5\n)+[^\n]*\Z")
"""What a list of digests begins with, of whatever files."""
PAGE = re.compile(rb"# (Other people's suites|What runtimes can do)\n")
"""What a page that a command makes begins with."""
_BEGINNING = 4096
_NO_MARKDOWN = re.compile(rb"\A\s*(\{\s*[\"}]|\[\s*[\"{])|\0")
"""What JSON begins with, and what no text holds."""


def digests_of(files: Iterable[str]) -> re.Pattern[bytes]:
    """What a list of digests begins with that names some of these files, and no others."""
    names = b"|".join(re.escape(os.fsencode(name)) for name in files)
    return re.compile(rb"(?:[0-9a-f]{64}  (?:%b)\n)+[^\n]*\Z" % names)


def replace_text(path: Path, text: str, like: re.Pattern[bytes]) -> None:
    """Put `text` in the place of what stands at `path`, or where links from there lead; what is no regular
    file is written to as it is.

    Raises GrucibleError where it cannot be written, and where something else stands there than an earlier
    one, which would begin `like` it: vectors, a spec, a program. What was there stays then.
    """
    replace_data(path, text.encode("utf-8"), like)


def replace_data(path: Path, data: bytes, like: re.Pattern[bytes]) -> None:
    """Put bytes in the place of what stands at `path`, as `replace_text` does."""
    check_replaceable(path, like)
    try:
        if _is_stream(path):
            _write_into(path, data)
        else:
            replace_file(path.resolve(), data)
    except (OSError, RuntimeError) as error:
        raise GrucibleError(f"{path}: cannot be written ({_why(error)})") from None


def _why(error: OSError | RuntimeError) -> str:
    if getattr(error, "errno", 0) == errno.ENXIO:
        return "a pipe that nobody reads"
    return getattr(error, "strerror", None) or str(error)


def append_text(path: Path, text: str) -> None:
    """Add `text` to what stands at `path`. Raises GrucibleError where it cannot be written, and for what
    `check_appendable` refuses."""
    check_appendable(path)
    try:
        if _is_stream(path):
            _write_into(path, text.encode("utf-8"))
        else:
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise GrucibleError(f"{path}: cannot be written ({_why(error)})") from None


def check_appendable(path: Path) -> None:
    """Raise GrucibleError where no Markdown can be added to: a directory, a path in no directory, a pipe, and
    a file of HDF5, of JSON or of bytes."""
    if path.is_dir():
        raise GrucibleError(f"{path}: is a directory; expected a file")
    if path.resolve().is_fifo():  # standard output, where it is one, resolves to none
        raise GrucibleError(f"{path}: is a pipe; expected a file")
    if not path.parent.is_dir():
        raise GrucibleError(f"{path}: there is no directory {path.parent}")
    with _reading(path):
        if is_hdf5(path):
            raise GrucibleError(f"{path}: is an HDF5 file; name another place")
        if not _is_stream(path) and _NO_MARKDOWN.search(_beginning(path)):
            raise GrucibleError(f"{path}: holds no Markdown; name another place")


def check_replaceable(path: Path, like: re.Pattern[bytes]) -> None:
    """Raise GrucibleError for a directory, for a regular file that holds something, and does not begin `like`
    what replaces it, and where no file can be made: before long work, not after."""
    if path.is_dir():
        raise GrucibleError(f"{path}: is a directory; expected a file")
    with _reading(path):
        if is_hdf5(path):
            raise GrucibleError(f"{path}: is an HDF5 file; name another place")
        if _is_stream(path):
            return
        beginning = _beginning(path)
    if beginning and not like.match(beginning):
        raise GrucibleError(
            f"{path}: is there already, and holds something else; name another place"
        )
    try:
        if not path.resolve().parent.is_dir():
            raise GrucibleError(f"{path}: there is no directory {path.parent}")
        check_writable(path.resolve())
    except (OSError, RuntimeError) as error:
        raise GrucibleError(f"{path}: cannot be written ({_why(error)})") from None


def check_apart(places: Iterable[tuple[str, Path]]) -> None:
    """Raise GrucibleError where two of these (option, path) lead to one place, even by a symlink: only what
    is written last would stand there."""
    known: dict[str, str] = {}
    for option, path in places:
        place = os.path.realpath(path)
        if place in known:
            both = " and ".join(dict.fromkeys((known[place], option)))
            raise GrucibleError(f"{both}: {path} is named twice; name another place")
        known[place] = option


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn an OSError of reading what stands at `path` into a GrucibleError: it may be anything."""
    try:
        yield
    except OSError as error:
        raise GrucibleError(
            f"{path}: is there already, and cannot be read ({_why(error)}); name another place"
        ) from None


def _beginning(path: Path) -> bytes:
    """What a file begins with; nothing where there is none. Raises OSError where it cannot be read."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_BEGINNING)


def _is_stream(path: Path) -> bool:
    """Whether what is at a path is no regular file, or is reached as an open one: /dev/stdout."""
    place = path
    for _ in range(_MOST_LINKS):
        if not place.is_symlink():
            break
        place = place.parent / place.readlink()
        if place.is_relative_to("/proc"):
            return True
    return path.exists() and not path.is_file()


def _write_into(path: Path, data: bytes) -> None:
    """Write into a pipe or a device; OSError for a pipe that nobody reads, which would wait for ever."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK), "wb") as file:
        os.set_blocking(file.fileno(), True)
        file.write(data)


def is_hdf5(path: Path) -> bool:
    """Whether a regular file is one of HDF5: vectors or outputs, which no text replaces. Raises OSError where
    it cannot be read."""
    if not path.is_file() or _is_stream(path):
        return False
    with path.open("rb") as file:
        head = file.read(_PLACES[-1] + len(_HDF5))
    return any(head.startswith(_HDF5, place) for place in _PLACES)
