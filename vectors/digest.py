"""The content digest of a vector file: the same answers, the same digest, on every machine.

SHA-256 over, for each block in ascending order of its path, and in it for `attributes`, `id`, then
every dataset below `inputs/`, `outputs/` and `readings/` in ascending order of its path:

    <block path>/<dataset path> SP <dtype> SP <shape, joined by x> LF

followed by the data: rows in the order of the file, C order, little-endian; a text as its UTF-8
bytes and LF. bfloat16 counts as dtype `bfloat16` with its 16 bits. Neither the spec's text nor
generator, seed, tolerances or probes are in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np

from ..cases.dtypes import Array
from .hdf5 import Stored, children, member_names, subgroup

_SLICE_BYTES = 8 << 20


class ContentDigest:
    """Accumulates the digest of a vector file from its datasets, in the defined order."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def header(self, path: str, dtype: str, shape: tuple[int, ...]) -> None:
        """Start the dataset at `path`."""
        self._sha.update(f"{path} {dtype} {'x'.join(map(str, shape))}\n".encode())

    def numbers(self, array: Array) -> None:
        """The next rows of a dataset of numbers."""
        little = (
            array
            if array.dtype.itemsize == 1 or array.dtype.byteorder in "=|<"
            else array.byteswap()
        )
        self._sha.update(np.ascontiguousarray(little).view(np.uint8).data)

    def texts(self, texts: list[str]) -> None:
        """The next rows of a dataset of texts."""
        self._sha.update("".join(f"{text}\n" for text in texts).encode())

    def hexdigest(self) -> str:
        """The digest of everything so far."""
        return self._sha.hexdigest()


def block_paths(file: Any) -> list[str]:
    """The paths `<dtype>/<block>` of the blocks of a file, ascending; other datasets are not looked at."""
    found = []
    for name in member_names(file, f"{file.filename}: /"):
        if name != "spec":
            dtype = subgroup(file, name, f"{file.filename}: ")
            found += [
                f"{name}/{block}"
                for block in children(dtype, h5py.Group, f"{file.filename}: /{name}")
            ]
    return sorted(found)


Opener = Callable[[Any, str, str], Stored]
"""Opens the dataset of a name in a group; `Stored` does, or something that remembers what it opened."""


def block_datasets(block: Any, where: str, opened: Opener) -> Iterator[tuple[str, Stored]]:
    """The datasets of a block that the digest covers, with their paths, in its order."""
    for name in ("attributes", "id"):
        yield name, opened(block, name, where)
    yield from _folder(block, "inputs", where, opened)
    yield from _folder(block, "outputs", where, opened)
    if "readings" in block:
        readings = subgroup(block, "readings", where)
        found = []
        for reading in children(readings, h5py.Group, f"{where}/readings"):
            path = f"readings/{reading}"
            for name, stored in _folder(readings[reading], "outputs", f"{where}/{path}", opened):
                found.append((f"{path}/{name}", stored))
        yield from sorted(found, key=lambda pair: pair[0])


def _folder(group: Any, folder: str, where: str, opened: Opener) -> Iterator[tuple[str, Stored]]:
    inside = subgroup(group, folder, where)
    for name in member_names(inside, f"{where}/{folder}"):
        yield f"{folder}/{name}", opened(inside, name, f"{where}/{folder}")


def tolerance_datasets(block: Any, where: str, opened: Opener) -> Iterator[tuple[str, Stored]]:
    """The datasets below every `tolerance` of a block, with their paths, in the digest's order."""
    groups = {"": block}
    if "readings" in block:
        readings = subgroup(block, "readings", where)
        for name in children(readings, h5py.Group, f"{where}/readings"):
            groups[f"readings/{name}/"] = readings[name]
    found = []
    for above, group in groups.items():
        if "tolerance" in group:
            at = f"{where}/{above}".rstrip("/")
            inside = f"{at}/tolerance"
            classes = subgroup(group, "tolerance", at)
            for name in children(classes, h5py.Group, inside):
                for path, stored in _folder(classes, name, inside, opened):
                    found.append((f"{above}tolerance/{path}", stored))
    yield from sorted(found, key=lambda pair: pair[0])


def content_digest(file: Any, opened: Opener = Stored) -> str:
    """The content digest of an open vector file, read in slices."""
    return _digest(file, block_datasets, opened)


def tolerance_digest(file: Any, opened: Opener = Stored) -> str:
    """The digest of an open vector file's tolerances, in the same manner."""
    return _digest(file, tolerance_datasets, opened)


def _digest(
    file: Any,
    datasets: Callable[[Any, str, Opener], Iterator[tuple[str, Stored]]],
    opened: Opener,
) -> str:
    digest = ContentDigest()
    for path in block_paths(file):
        for name, stored in datasets(file[path], f"{file.filename}: /{path}", opened):
            digest.header(f"{path}/{name}", stored.dtype, stored.shape)
            step = max(1, _SLICE_BYTES // max(1, stored.row_bytes))
            for start in range(0, stored.shape[0], step):
                if stored.dtype == "text":
                    digest.texts(stored.texts(start, start + step))
                else:
                    digest.numbers(stored.read(start, start + step))
    return digest.hexdigest()
