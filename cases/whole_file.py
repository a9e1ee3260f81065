"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import platform
from pathlib import Path

_MOST_NAME = 100


def _temporary(path: Path, process: str) -> Path:
    """Where a process of this machine writes what will stand at `path`."""
    name = path.name
    if (
        len(os.fsencode(name)) > _MOST_NAME
    ):  # with what is added it may be too long for a file system
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}.{platform.node()}.{process}.tmp")


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of what stands at `path`, on the disk before it appears; OSError where that
    cannot be, and then what was there stays."""
    temporary = _temporary(path, str(os.getpid()))
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise OSError where no file can be made beside `path`: before hours of work, not after."""
    temporary = _temporary(path, str(os.getpid()))
    temporary.touch()
    temporary.unlink()


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that processes of this machine left beside `path`, which are no more."""
    pattern = glob.escape(_temporary(path, "").name.removesuffix(".tmp")) + "*.tmp"
    for left in path.parent.glob(pattern):
        process = left.name.removesuffix(".tmp").rpartition(".")[2]
        if process.isascii() and process.isdigit() and not _runs(int(process)):
            with contextlib.suppress(OSError):
                left.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's
    return True
