"""What C code prints on standard output, kept from there."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import tempfile
from collections.abc import Iterator

_TIME = re.compile(r"\[\d\d:\d\d:\d\d\]")
"""What begins the lines in which MNN's converter says what it does."""


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """A list that holds, at the end, what C code printed on standard output in the meantime."""
    held: list[str] = []
    flush = ctypes.CDLL(None).fflush
    flush(None)
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield held
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines = file.read().decode(errors="replace").splitlines()
            held.append(" ".join(line for line in lines if not _TIME.match(line)))
