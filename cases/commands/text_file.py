"""Text files that commands write: whole, or what was there stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ..errors import GrucibleError
from ..whole_file import replace_file

_HDF5 = b"\x89HDF\r\n\x1a\n"


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the place of what stands at `path`; what is no regular file is written to as it is.

    Raises GrucibleError where it cannot be written; what was there stays then.
    """
    data = text.encode("utf-8")
    try:
        if path.exists() and not path.is_file():
            _write_into(path, data)
        else:
            replace_file(path, data)
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.ENXIO:
            why = "a pipe that nobody reads"
        raise GrucibleError(f"{path}: cannot be written ({why})") from None


def _write_into(path: Path, data: bytes) -> None:
    """Write into a pipe or a device; OSError for a pipe that nobody reads, which would wait for ever."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as file:
        os.set_blocking(file.fileno(), True)
        file.write(data)


def is_hdf5(path: Path) -> bool:
    """Whether a regular file begins as an HDF5 file does: vectors or outputs, which no text replaces."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_HDF5)) == _HDF5
    except OSError:
        return False
