"""Messages in files, where no pipe leads to the program: questions in one, the answers to them beside it.

Nothing of a file is held but the message at hand, and no more is read than the file has.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...cases.errors import VectorFileError
from .header import MOST_LINE_BYTES, header_lines, line_too_long

QUESTIONS, ANSWERS = ".questions", ".answers"


class Exchange(NamedTuple):
    """The file of the questions of a vector file, and that of the answers to them."""

    questions: Path
    answers: Path


def exchange(root: Path, relative: str) -> Exchange:
    """Where the questions of the vector file at `relative` and their answers stand in a directory."""
    name = relative.removesuffix(".h5")
    return Exchange(root / f"{name}{QUESTIONS}", root / f"{name}{ANSWERS}")


class CutShort(Exception):
    """The file ends in the middle of a message."""


class Stream:
    """An open file of messages; `at` is the byte at which the next thing is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._size = file, os.fstat(file.fileno()).st_size
        self.at = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at >= self._size

    def lines(self) -> list[str]:
        """The lines of the header at `at`, without its `end`. Raises CutShort and ProtocolError."""
        self._file.seek(self.at)
        return header_lines(self._line)

    def _line(self) -> bytes:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self.at += len(line)
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > MOST_LINE_BYTES:
            raise line_too_long()
        raise CutShort

    def skip(self, count: int) -> None:
        """Pass over `count` bytes; CutShort where there are fewer."""
        if count > self._size - self.at:
            raise CutShort
        self.at += count

    def data(self, count: int) -> bytes:
        """The next `count` bytes; CutShort where there are fewer."""
        start = self.at
        self.skip(count)
        self._file.seek(start)
        data = self._file.read(count)
        if len(data) < count:
            raise CutShort
        return data


@contextlib.contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """The stream of the regular file at `path`; VectorFileError for what is none, such as a pipe."""
    if not path.is_file():
        raise VectorFileError(f"{path}: is no regular file; expected one of messages")
    with path.open("rb") as file:
        yield Stream(file)
