"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import platform
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import GrucibleError

_MOST_NAME = 100


def _temporary(path: Path, process: str) -> Path:
    """Where a process of this machine writes what will stand at `path`."""
    name = path.name
    if len(os.fsencode(name)) > _MOST_NAME:  # with more it might be too long for a file system
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}.{platform.node()}.{process}.tmp")


def temporary(path: Path) -> Path:
    """Where this process puts what will stand at `path`, a file or a directory: beside it. `remove_leftovers`
    removes it once the process is no more."""
    return _temporary(path, str(os.getpid()))


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of what stands at `path`, on the disk before it appears; OSError where that
    cannot be, and then what was there stays."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of what stands at `path` when the block ends, on the disk before it
    appears, with the permissions of what it replaces; where the block raises, what was there stays."""
    new = temporary(path)
    try:
        with new.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            new.chmod(stat.S_IMODE(path.stat().st_mode))
        new.replace(path)
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def prepare_place(path: Path) -> None:
    """Make the directory of a file that will stand at `path`, and remove what killed processes left there.
    Raises OSError where no file can be made, and GrucibleError for a device or a pipe: before hours of work,
    not after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    check_possible(path)
    remove_leftovers(path)


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
    new.unlink()


def check_possible(path: Path) -> None:
    """Raise OSError where no file can stand at `path`, whose directory need not be there, and GrucibleError
    for a device or a pipe. Nothing is made."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():
        raise GrucibleError(f"{path}: is no regular file; name another place")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    check_writable(above / path.name)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and directories that processes of this machine left beside `path`, which are
    no more."""
    pattern = glob.escape(_temporary(path, "").name.removesuffix(".tmp")) + "*.tmp"
    for left in path.parent.glob(pattern):
        process = left.name.removesuffix(".tmp").rpartition(".")[2]
        if process.isascii() and process.isdigit() and not _runs(int(process)):
            with contextlib.suppress(OSError):
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's
    return True
