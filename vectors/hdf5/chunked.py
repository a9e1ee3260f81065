"""Chunks of a dataset, read as hostile: few, of filters that are known, each inflating to its size.

The HDF5 library trusts what a chunk inflates to. A shorter one crashes it, and a longer one fills the memory.
So a chunk is inflated here, within bounds, before the library reads it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import h5py

from ...cases.errors import VectorFileError

MOST_CHUNKS = 1 << 14
"""So many chunks a dataset may have: one takes the HDF5 library 17 µs and 4 KB, however small it is."""
_MOST_CHUNK_BYTES = 16 << 20
"""A chunk that is filtered may be so large: it is inflated whole, for each slice that is read of it."""
_MOST_STORED = 2
"""So many times its size a chunk may be stored, and _SLACK: what is compressed badly is a little longer."""
_SLACK = 1 << 10
_CHECKSUM_BYTES = 4
_FILTERS = {
    h5py.h5z.FILTER_DEFLATE: "deflate",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
    h5py.h5z.FILTER_LZF: "lzf",
}
"""The filters that are read. Others crash the HDF5 library where they are damaged, such as scale-offset."""
_COMPRESSIONS = ("deflate", "lzf")


class Chunks:
    """The chunks of an open dataset, h5py's low-level one, of elements of `itemsize` bytes.

    Raises VectorFileError where they have filters that are not read.
    """

    def __init__(self, data: Any, where: str, shape: Sequence[int], itemsize: int) -> None:
        self._data, self._where, self._shape = data, where, shape
        creation = data.get_create_plist()
        self._chunk: tuple[int, ...] = creation.get_chunk()
        if len(self._chunk) != len(shape) or 0 in self._chunk:
            raise VectorFileError(f"{where}: is damaged (chunks of {self._chunk})")
        self._filters = _filters_of(creation, where)
        self._bytes = math.prod(self._chunk) * itemsize
        self._inflated: set[int] = set()
        self.count = math.prod(
            -(-length // chunk) for length, chunk in zip(shape, self._chunk, strict=True)
        )
        """How many there are, counted by the shape."""

    def check_size(self) -> None:
        """Raise VectorFileError where they are too large to be inflated."""
        if self._filters and self._bytes > _MOST_CHUNK_BYTES:
            raise VectorFileError(
                f"{self._where}: is compressed in chunks of more than {_MOST_CHUNK_BYTES >> 20} MiB"
            )

    def check_count(self) -> None:
        """Raise VectorFileError where they are too many."""
        if self.count > MOST_CHUNKS:
            raise VectorFileError(
                f"{self._where}: has {self.count:,} chunks; expected at most {MOST_CHUNKS:,}; "
                "write larger chunks"
            )

    def check(self, start: int, stop: int) -> None:
        """Raise VectorFileError for a filtered chunk of rows start … stop that is not of its size."""
        if not self._filters:
            return
        rows, *others = self._chunk
        for row in range(start // rows * rows, stop, rows):
            if row not in self._inflated:
                for place in self._places(row, others):
                    self._check_one(place)
                self._inflated.add(row)

    def _places(self, row: int, others: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Where the chunks begin whose first row this is."""
        axes = zip(self._shape[1:], others, strict=True)
        return product((row,), *(range(0, length, chunk) for length, chunk in axes))

    def _check_one(self, place: tuple[int, ...]) -> None:
        stored = self._data.get_chunk_info_by_coord(place)
        if stored.byte_offset is None:
            return  # never written: its fill value stands for it
        length = -1
        if stored.size <= _MOST_STORED * self._bytes + _SLACK:
            left_out, held = self._data.read_direct_chunk(place)
            length = self._length(held, left_out)
        if length != self._bytes:
            raise VectorFileError(
                f"{self._where}: is damaged (the chunk at {place} is not of {self._bytes} bytes)"
            )

    def _length(self, held: bytes, left_out: int) -> int:
        """The length of a chunk without its filters, of which it has none whose bit is `left_out`; negative
        where it is damaged."""
        length = len(held)
        for number, name in reversed(list(enumerate(self._filters))):
            if left_out >> number & 1:
                continue
            if name == "fletcher32":
                length -= _CHECKSUM_BYTES
            elif name == "deflate":
                length = _inflated(held[: max(0, length)], self._bytes + _SLACK)
            elif name == "lzf":
                length = _lzf_length(held[: max(0, length)])
            if length < 0:
                break
        return length


def chunks_of(data: Any, where: str, shape: Sequence[int], itemsize: int) -> Chunks | None:
    """The chunks of a dataset; None of one that lies in one piece.

    Raises VectorFileError, too, where its data are not in its own file, of which other files' are no part.
    """
    if data.get_offset() is not None:
        return None
    creation = data.get_create_plist()
    if creation.get_layout() == h5py.h5d.VIRTUAL or creation.get_external_count():
        raise VectorFileError(f"{where}: does not hold its data in this file")
    chunked = creation.get_layout() == h5py.h5d.CHUNKED
    chunks = Chunks(data, where, shape, itemsize) if chunked else None
    if _has_no_fill_value(creation) and not _is_whole(data, creation, shape, chunks):
        raise VectorFileError(
            f"{where}: was not written as a whole, and has no fill value for the rest; write all of it"
        )
    return chunks


def _has_no_fill_value(creation: Any) -> bool:
    """Whether nothing stands for what was not written: the library leaves there what memory holds."""
    never = creation.get_fill_time() == h5py.h5d.FILL_TIME_NEVER
    return bool(never or creation.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED)


def _is_whole(data: Any, creation: Any, shape: Sequence[int], chunks: Chunks | None) -> bool:
    """Whether there is a place in the file for all elements of a dataset that does not lie in one piece."""
    if chunks:
        return bool(data.get_num_chunks() >= chunks.count)
    return bool(creation.get_layout() == h5py.h5d.COMPACT or 0 in shape)


def _filters_of(creation: Any, where: str) -> list[str]:
    """The names of the filters, in the order in which they were applied; VectorFileError where they are not
    read."""
    names = []
    for number in range(creation.get_nfilters()):
        code, _, _, called = creation.get_filter(number)
        if code not in _FILTERS:
            name = called.decode("utf-8", "replace") or str(code)
            raise VectorFileError(
                f"{where}: has the filter {name!r}; expected {', '.join(_FILTERS.values())} or none"
            )
        names.append(_FILTERS[code])
    order = [name for name in names if name != "fletcher32"]
    compressions = [name for name in names if name in _COMPRESSIONS]
    if len(set(names)) < len(names) or len(compressions) > 1 or order[1:] == ["shuffle"]:
        raise VectorFileError(
            f"{where}: has the filters {', '.join(names)}; expected shuffle before one of "
            f"{' and '.join(_COMPRESSIONS)}, each once"
        )
    return names


def _inflated(held: bytes, most: int) -> int:
    """The length of what zlib compressed; -1 where it is damaged, or longer than `most`."""
    inflating = zlib.decompressobj()
    try:
        length = len(inflating.decompress(held, most))
    except zlib.error:
        return -1
    return length if inflating.eof else -1


def _lzf_length(held: bytes) -> int:
    """The length of what LZF compressed; -1 where it is damaged.

    A byte below 32 says that so many bytes and one follow as they are. Another one, and the byte behind it,
    stand for a repetition, as long as its upper three bits say and 2; where they are 7, a byte between says
    how much longer.
    """
    at = length = 0
    while at < len(held):
        control = held[at]
        if control < 32:
            length += control + 1
            at += control + 2
        elif control < 224:
            length += (control >> 5) + 2
            at += 2
        else:
            length += 9 + (held[at + 1] if at + 1 < len(held) else 0)
            at += 3
    return length if at == len(held) else -1
