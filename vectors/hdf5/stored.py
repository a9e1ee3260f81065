"""A dataset of an open HDF5 file, read as hostile: its type is plain, its data are in the file itself, and
it is no larger than what the file can hold."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import h5py
import numpy as np

from ...cases.case_size import MOST_CASE_BYTES
from ...cases.dtypes import FLOAT_TYPES, Array, dtype_name
from ...cases.errors import VectorFileError
from .attributes import AttributeReader
from .chunked import chunks_of

_MOST_EXPANSION = 1000  # a compressed dataset may be this many times larger than it is stored
_SLACK = 1 << 20
MOST_ROWS = 1 << 15
"""So many rows a dataset may have: a case takes 20 µs and 2 KB to be found and read, however small it is.
A case spec makes no more than 30,000."""
_MOST_TEXT_BYTES = 1 << 26
MOST_TEXT_WIDTH = 64 << 10
"""So many bytes a text may have, such as an id."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


class Stored:
    """A dataset that has been checked to be readable; `shape` and `dtype` are what it holds.

    `dtype` is a name (`bfloat16` for uint16 marked so, an attribute read by `mark`), or `text` for
    fixed-length UTF-8. `id` is h5py's low-level dataset.
    """

    def __init__(self, data: Any, where: str, mark: AttributeReader) -> None:
        self.id: Any = data
        self.where = where
        self._kept: Array | None = None
        self._texts: list[str] | None = None
        try:
            space = data.get_space()
            if space.get_simple_extent_type() == h5py.h5s.NULL:
                raise VectorFileError(f"{where}: does not hold its data in this file")
            self.shape: tuple[int, ...] = space.get_simple_extent_dims()
            if not self.shape:
                raise TypeError("a scalar")
            stored, self.dtype = _numpy_dtype(data.get_type().encode())
            if self.dtype == "uint16" and mark(self, "dtype") == "bfloat16":
                self.dtype = "bfloat16"
            self._chunks = chunks_of(data, where, self.shape, stored.itemsize)
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise VectorFileError(f"{where}: is damaged ({_first_line(error)})") from None
        self._memory = stored if self.dtype == "text" else stored.newbyteorder("=")
        self.row_bytes: int = stored.itemsize * math.prod(self.shape[1:])
        """The bytes of one row."""
        self._check_size()

    def _check_size(self) -> None:
        if self.dtype == "text" and self._memory.itemsize > MOST_TEXT_WIDTH:
            raise VectorFileError(
                f"{self.where}: has texts of {self._memory.itemsize} bytes; expected at most "
                f"{MOST_TEXT_WIDTH}"
            )
        if self._chunks:
            self._chunks.check_size()
        held = self.id.get_storage_size()
        if self.nbytes > held * (_MOST_EXPANSION if self._chunks else 1) + _SLACK:
            raise VectorFileError(
                f"{self.where}: claims shape {self.shape} but stores {held} bytes"
            )
        if self._chunks:
            self._chunks.check_count()
        if self.shape[0] > MOST_ROWS or self.row_bytes > MOST_CASE_BYTES:
            raise VectorFileError(f"{self.where}: is {self.shape}; no block is so large")

    @property
    def chunk_count(self) -> int:
        """How many chunks it has."""
        return self._chunks.count if self._chunks else 0

    @property
    def nbytes(self) -> int:
        """The bytes of all rows."""
        return self.row_bytes * self.shape[0]

    def keep(self) -> None:
        """Read all rows now, and keep them for `read`; the dataset is closed."""
        self._kept = self.read(0, self.shape[0])
        self.id = None

    def read(self, start: int, stop: int) -> Array:
        """Rows start … stop, in the machine's byte order; bfloat16 as an ml_dtypes array."""
        if self._kept is not None:
            return self._kept[start:stop]
        stop = min(stop, self.shape[0])
        count = max(0, stop - start)
        try:
            if self._chunks:
                self._chunks.check(start, stop)
            array: Array = np.zeros((count, *self.shape[1:]), self._memory)
            if array.size and count == self.shape[0]:
                self.id.read(h5py.h5s.ALL, h5py.h5s.ALL, array)
            elif array.size:
                rows = self.id.get_space()
                rows.select_hyperslab((start, *[0] * (array.ndim - 1)), array.shape)
                self.id.read(h5py.h5s.create_simple(array.shape), rows, array)
        except (OSError, RuntimeError, ValueError) as error:
            raise VectorFileError(f"{self.where}: is damaged ({_first_line(error)})") from None
        return array.view(_BFLOAT16) if self.dtype == "bfloat16" else array

    def texts(self) -> list[str]:
        """All rows of a text dataset."""
        if self._texts is None:
            self._texts = self._decoded()
        return self._texts

    def _decoded(self) -> list[str]:
        if self.dtype != "text" or len(self.shape) != 1 or self.nbytes > _MOST_TEXT_BYTES:
            raise VectorFileError(f"{self.where}: is not a list of texts")
        rows = self.read(0, self.shape[0]).tolist()
        try:
            texts = b"\n".join(rows).decode("utf-8").split("\n") if rows else []
        except UnicodeDecodeError:
            raise VectorFileError(f"{self.where}: is not UTF-8 text") from None
        if len(texts) != len(rows):
            raise VectorFileError(f"{self.where}: a text has a line feed")
        return texts


@lru_cache(maxsize=256)
def _numpy_dtype(encoded: bytes) -> tuple[np.dtype[Any], str]:
    """The numpy dtype of an HDF5 type, and its name; TypeError for a type that is not the format's.

    A file has few types, and HDF5 and numpy take their time over them.
    """
    found: np.dtype[Any] = h5py.h5t.decode(encoded).dtype
    if found.kind == "S":
        return found, "text"
    if found.kind not in "fiu" or found.fields is not None or found.subdtype is not None:
        raise TypeError(f"type {found} is not one of the format's")
    return found, dtype_name(found.newbyteorder("="))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
