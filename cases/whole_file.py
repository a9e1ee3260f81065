"""Files that appear whole or not at all: written beside their place, then renamed.

What is temporary is held by a shared lock (flock) while it is in use. The lock ends with the process, however
that ends, and every process of the machine sees it, also one in another container, to which process ids say
nothing. HDF5 takes a shared lock to read, so this one hinders nobody who reads the file at its place.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import platform
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import GrucibleError

_MOST_NAME = 100
"""With more bytes of the name that it goes before, a temporary one might be too long for a file system."""
_RANDOM_BYTES = 8
"""Two processes may have one id, in two containers; nobody has these bytes twice."""


def _before(path: Path) -> str:
    """What the names of temporary files begin with that a process of this machine makes for `path`."""
    name = path.name
    if len(os.fsencode(name)) > _MOST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.{platform.node()}."


def temporary(path: Path) -> Path:
    """A place that no other process takes for what will stand at `path`: beside it."""
    return path.with_name(f"{_before(path)}{secrets.token_hex(_RANDOM_BYTES)}.{os.getpid()}.tmp")


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of what stands at `path`, on the disk before it appears; OSError where that
    cannot be, and then what was there stays."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of what stands at `path` when the block ends, on the disk before it
    appears, with the permissions of what it replaces; where the block raises, what was there stays."""
    with temporary_file(path) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
        new = Path(file.name)
        with contextlib.suppress(FileNotFoundError):
            new.chmod(stat.S_IMODE(path.stat().st_mode))
        new.replace(path)


def prepare_place(path: Path) -> None:
    """Make the directory of a file that will stand at `path`, and remove what killed processes left there.
    Raises OSError where no file can be made, and GrucibleError for a device or a pipe: before hours of work,
    not after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    check_possible(path)
    remove_leftovers(path)


@contextlib.contextmanager
def leaving_no_empty_folder(*files: Path) -> Iterator[None]:
    """Where the block raises, the folders above `files` that were not there before go, if they are empty."""
    made = {folder for file in files for folder in file.parents if not os.path.lexists(folder)}
    try:
        yield
    except BaseException:
        for folder in sorted(made, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):  # files are there, or it was never made
                folder.rmdir()
        raise


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """An OSError of writing as a GrucibleError that names `path`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error).partition("\n")[0]
        raise GrucibleError(f"{path}: cannot be written ({why})") from None


def check_writable(path: Path) -> None:
    """Raise OSError where no file can be made beside `path`: before hours of work, not after."""
    new = temporary(path)
    new.touch()
    new.unlink(missing_ok=True)


def check_possible(path: Path) -> None:
    """Raise OSError where no file can stand at `path`, whose directory need not be there, and GrucibleError
    for a device or a pipe. Nothing is made."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():
        raise GrucibleError(f"{path}: is no regular file; name another place")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    check_writable(above / path.name)


@contextlib.contextmanager
def temporary_file(path: Path) -> Iterator[BinaryIO]:
    """A new file for what will stand at `path`, whose `name` is its path, held until the block ends; where it
    has its name still, it is removed then."""
    while True:
        new = temporary(path)
        with new.open("x+b") as file:  # some file systems lock only what may be read
            if not _held(file.fileno(), new):
                continue
            try:
                yield file
                return
            finally:
                with contextlib.suppress(OSError):
                    new.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # a process that was forked may have it open
                    fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """A new folder for what will stand at `path`, held until the block ends, and then removed."""
    new, descriptor = _new_folder(path)
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(descriptor)


def _new_folder(path: Path) -> tuple[Path, int]:
    while True:
        new = temporary(path)
        new.mkdir()
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(new, os.O_RDONLY)
            if _held(descriptor, new):
                return new, descriptor
            os.close(descriptor)


def _held(descriptor: int, new: Path) -> bool:
    """Lock what was made at `new`, and say whether it is there still: another process may have removed it
    before it was locked. Where the file system has no locks, no other process gets one either."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        return os.path.samestat(os.fstat(descriptor), new.stat())
    except FileNotFoundError:
        return False


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders that processes of this machine left beside `path`: which no
    process holds, and whose process is no more."""
    for left in path.parent.glob(glob.escape(_before(path)) + "*.tmp"):
        process = left.name.removesuffix(".tmp").rpartition(".")[2]
        if process.isascii() and process.isdigit() and not _runs(int(process)):
            with contextlib.suppress(OSError):
                _remove_unheld(left)


def _remove_unheld(left: Path) -> None:
    """Remove a file or folder; OSError where a process holds it, or where that cannot be known."""
    folder = left.is_dir()
    flags = (
        os.O_RDONLY if folder else os.O_RDWR
    )  # some file systems lock alone only what may be written
    descriptor = os.open(left, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left) if folder else left.unlink()
    finally:
        os.close(descriptor)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's
    return True


_HDF5 = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Whether a regular file is one of HDF5. Raises OSError where it cannot be read."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_HDF5)) == _HDF5
