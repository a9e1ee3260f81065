"""A block of an open vector file, checked; its rows are read in slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import VectorFileError
from ..cases.operators.readings import ReadingNames
from ..cases.operators.signature import Operator
from ..cases.selection import selected
from .block import Block
from .case import Answer
from .hdf5.stored import Stored

SLICE_BYTES = 16 << 20
_INFINITY = 0x7F800000
"""The bits of infinity as float32: those of NaN, and of what has a sign, are larger."""


@dataclass(frozen=True)
class StoredAnswer:
    """The datasets of one answer: by output, and by class of arithmetic and output."""

    outputs: Mapping[str, Stored]
    tolerances: Mapping[str, Mapping[str, Stored]]

    @property
    def row_bytes(self) -> int:
        """The bytes of one row of all of them."""
        folders = [self.outputs, *self.tolerances.values()]
        return sum(stored.row_bytes for folder in folders for stored in folder.values())

    def read(self, start: int, stop: int) -> Answer:
        """Rows start … stop. Raises VectorFileError for a tolerance that is negative, -0 or NaN."""
        return Answer(
            _rows(self.outputs, start, stop),
            {name: _limits(stored, start, stop) for name, stored in self.tolerances.items()},
        )


@dataclass(frozen=True)
class StoredBlock:
    """A block of an open vector file, checked; `read` gives its rows."""

    path: str
    operator: Operator
    dtype: str
    tier: str
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Mapping[str, Stored]
    answers: Mapping[ReadingNames, StoredAnswer]

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, start: int, stop: int, *, inputs: bool = True) -> Block:
        """Rows start … stop; without `inputs`, where nobody looks at them, there are none.

        Raises VectorFileError for a tolerance that is none, and for an expected NaN or infinity where the
        tier is not nonportable.
        """
        answers = {names: stored.read(start, stop) for names, stored in self.answers.items()}
        if self.tier != "nonportable":
            for names, answer in answers.items():
                self._check_finite(self.answers[names].outputs, answer.outputs, start)
        return Block(
            path=self.path,
            operator=self.operator.name,
            dtype=self.dtype,
            tier=self.tier,
            ids=self.ids[start:stop],
            given=self.given[start:stop],
            inputs=_rows(self.inputs, start, stop) if inputs else {},
            answers=answers,
        )

    def _check_finite(self, stored: Mapping[str, Stored], outputs: Arrays, start: int) -> None:
        """Raise VectorFileError for an expected number, of rows from `start` on, that is not finite."""
        for name, array in outputs.items():
            finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
            if not finite.all():
                case_id = self.ids[start + int(np.argmin(finite))]
                raise VectorFileError(
                    f"{stored[name].where}: {case_id} expects NaN or an infinity, and its tier is "
                    f"{self.tier}; expected finite numbers, or the tier nonportable; generate the file again"
                )

    def slices(self) -> Iterator[Block]:
        """The block in slices of rows of some SLICE_BYTES."""
        return (self.read(rows.start, rows.stop) for rows in self.steps())

    def selected(
        self, select: Sequence[str], *, inputs: bool = True
    ) -> Iterator[tuple[Array, Block]]:
        """The rows whose id `select` matches, in slices: which they are, and what is in them."""
        for step in self.steps():
            rows = np.array([row for row in step if selected(self.ids[row], select)])
            if rows.size:
                first = int(rows[0])
                block = self.read(first, int(rows[-1]) + 1, inputs=inputs)
                yield rows, block if len(block) == len(rows) else block.rows(rows - first)

    def steps(self) -> Iterator[range]:
        """The rows of each slice."""
        row = sum(stored.row_bytes for stored in self.inputs.values())
        row += sum(stored.row_bytes for stored in self.answers.values())
        step = max(1, SLICE_BYTES // max(1, row))
        return (range(start, min(start + step, len(self))) for start in range(0, len(self), step))


def _rows(stored: Mapping[str, Stored], start: int, stop: int) -> Arrays:
    return {name: data.read(start, stop) for name, data in stored.items()}


def _limits(stored: Mapping[str, Stored], start: int, stop: int) -> Arrays:
    arrays = _rows(stored, start, stop)
    for name, array in arrays.items():
        if array.view(np.uint32).max(initial=0) > _INFINITY:
            raise VectorFileError(f"{stored[name].where}: a tolerance is negative, -0 or NaN")
    return arrays
