"""The cases of vector files by id: found without reading more than ids, and read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cases.selection import nothing_selected, selected
from ...vectors.block import Block
from ...vectors.case import Case
from ...vectors.find import find_vectors
from ...vectors.reader import open_vectors


class Part(NamedTuple):
    """A block of a vector file; `name` is what tells it from others: `<operator>/<theme>/<its path>`."""

    file: Path
    relative: str
    path: str
    name: str


class Stored:
    """The selected cases of the vector files at a path; without one, of the core vectors.

    `parts` has the ids of each block, in order. Raises GrucibleError where there are none.
    """

    def __init__(self, path: Path | None, select: Sequence[str]) -> None:
        self.parts: dict[Part, list[str]] = {}
        self._place: dict[str, tuple[Part, int]] = {}
        self._verified: set[Path] = set()
        self._read: tuple[Part, range, Block] | None = None
        for file, relative in find_vectors(path, select):
            with open_vectors(file, relative) as vectors:
                for block, ids in vectors.ids(select).items():
                    part = Part(file, relative, block, f"{vectors.prefix}{block}")
                    rows = {one: row for row, one in enumerate(ids) if selected(one, select)}
                    self.parts[part] = list(rows)
                    self._place.update({one: (part, row) for one, row in rows.items()})
        if not self.parts:
            raise nothing_selected(select)

    @property
    def ids(self) -> list[str]:
        """The ids of all cases, in order."""
        return list(self._place)

    def case(self, case_id: str) -> Case:
        """The case of this id, in arrays of its own; its file is verified when it is first asked for."""
        part, row = self._place[case_id]
        if self._read is None or self._read[0] != part or row not in self._read[1]:
            self._read = self._slice(part, row)
        _, rows, block = self._read
        return block.rows(np.array([row - rows.start])).case(0)

    def _slice(self, part: Part, row: int) -> tuple[Part, range, Block]:
        """The slice of a block that holds a row."""
        with open_vectors(part.file, part.relative) as vectors:
            if part.file not in self._verified:
                vectors.verify_content([one.path for one in self.parts if one.file == part.file])
                self._verified.add(part.file)
            stored = vectors.block(part.path)
            rows = next(rows for rows in stored.steps() if row in rows)
            return part, rows, stored.read(rows.start, rows.stop)
