"""Text files that commands write: whole, or what was there stays."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ..errors import GrucibleError

_HDF5 = b"\x89HDF\r\n\x1a\n"


def replace_text(path: Path, text: str) -> None:
    """Write `text` to `path` by a temporary file beside it; what is no regular file is written as it is.

    Raises GrucibleError where it cannot be written; what was there stays then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.exists() and not path.is_file():  # a pipe, a device
            path.write_text(text, encoding="utf-8")
            return
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise GrucibleError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_hdf5(path: Path) -> bool:
    """Whether a regular file begins as an HDF5 file does: vectors or outputs, which no text replaces."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_HDF5)) == _HDF5
    except OSError:
        return False
