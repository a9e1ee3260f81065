"""Whose outputs they are that were made elsewhere: of one runtime, in however many files."""

from __future__ import annotations

from pathlib import Path

from ...cases.console import join_lines
from ...cases.errors import VectorFileError

_MOST_SHOWN = 60


class OfOneRuntime:
    """A `Source` of files under `root`: its name and version are those of the runtime that the files name.

    Until one does, it goes by that path. A file that names none is taken for another of the same.
    """

    def __init__(self, root: Path) -> None:
        self.name, self.version = str(root), ""
        self._first: Path | None = None

    def see(self, file: Path, name: str, version: str) -> None:
        """Take what a file names. Raises VectorFileError where an earlier one names another."""
        if not name:
            return
        if self._first and (name, version) != (self.name, self.version):
            here, there = _shown(name, version), _shown(self.name, self.version)
            raise VectorFileError(
                f"{file}: has outputs of {here}, and {self._first} of {there}; judge them apart, with "
                "--select or from directories of their own"
            )
        self.name, self.version, self._first = name, version, self._first or file


def _shown(name: str, version: str) -> str:
    said = join_lines(f"{name} {version}".rstrip())
    return said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}…"
