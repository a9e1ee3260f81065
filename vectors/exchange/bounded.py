"""Reading a whole file of somebody's, which may say that it is empty and have no end."""

from __future__ import annotations

import os
from pathlib import Path

from .manifest import ExportError


def bounded_bytes(path: Path, most: int) -> bytes:
    """The bytes of a regular file; ExportError where it is none, has more than `most` or cannot be read."""
    try:
        if not path.is_file():
            raise ExportError(f"{path}: is no regular file")
        with path.open("rb") as file:
            said = os.fstat(file.fileno()).st_size
            raw = file.read(min(said, most) + 1)
            if len(raw) > said:
                raw += file.read(most + 1 - len(raw))
    except OSError as error:
        raise ExportError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(raw) > most:
        raise ExportError(f"{path}: has more than {most >> 20} MiB")
    return raw
