"""The digests of a vector file: the same answers, the same digest, on every machine.

`content_sha256` of a block is SHA-256 over its datasets `attributes`, `id`, then all below `inputs/`, below
`outputs/` and below the `outputs/` of each of `readings/`, in this order, and within each in ascending order
of their paths:

    <path in the block> SP <dtype> SP <shape, joined by x> LF

followed by the data: rows in the order of the file, C order, little-endian; a text as its UTF-8
bytes and LF. bfloat16 counts as dtype `bfloat16` with its 16 bits. `tolerance_sha256` is the same over
every dataset below any `tolerance/`.

Those of a file are SHA-256 over the list of its blocks in ascending order of their paths, as sha256sum would
print it: `<digest of the block> SP SP <dtype>/<block> LF`. So a block can be verified without the others.
The root's other attributes and the spec's text are in neither.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping

import h5py
import numpy as np

from ..cases.dtypes import Array
from ..cases.errors import VectorFileError
from .hdf5.folder import Folder, Room
from .hdf5.stored import Stored

_SLICE_BYTES = 8 << 20
MOST_BLOCKS = 4096
"""So many blocks a file may have, 20 KB each while it is open: the largest of ours has some 300."""

Datasets = Iterator[tuple[str, Stored]]


class _Digest:
    """Accumulates the digest of datasets."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, path: str, stored: Stored) -> None:
        """Add the dataset at `path`: its header, then its data, in slices."""
        shape = "x".join(map(str, stored.shape))
        self._sha.update(f"{path} {stored.dtype} {shape}\n".encode())
        if stored.dtype == "text":
            self._sha.update("".join(f"{text}\n" for text in stored.texts()).encode())
            return
        step = max(1, _SLICE_BYTES // max(1, stored.row_bytes))
        for start in range(0, stored.shape[0], step):
            self._sha.update(_little_endian(stored.read(start, start + step)))

    def hexdigest(self) -> str:
        """The digest of everything so far."""
        return self._sha.hexdigest()


def _little_endian(array: Array) -> memoryview:
    little = array.byteswap() if sys.byteorder == "big" else array
    return little.reshape(-1).view(np.uint8).data


def root_folder(file: h5py.File) -> Folder:
    """The root of an open file."""
    return Folder(h5py.h5o.open(file.id, b"/"), f"{file.filename}: ", Room(file.id.get_filesize()))


def blocks_of(root: Folder) -> dict[str, Folder]:
    """The blocks of a file by their paths `<dtype>/<block>`, ascending; nothing in them is looked at.

    Raises VectorFileError where they are more than MOST_BLOCKS.
    """
    dtypes = {dtype: root.group(dtype) for dtype in root.names if dtype != "spec"}
    count = sum(len(group.names) for group in dtypes.values())
    if count > MOST_BLOCKS:
        raise VectorFileError(
            f"{root.where}holds {count:,} blocks; expected at most {MOST_BLOCKS:,}"
        )
    found = {
        f"{dtype}/{name}": block
        for dtype, group in dtypes.items()
        for name, block in group.groups().items()
    }
    return dict(sorted(found.items()))


def content_datasets(block: Folder) -> Datasets:
    """The datasets of a block that `content_sha256` covers, with their paths in it, in its order."""
    for name in ("attributes", "id"):
        yield name, block.dataset(name)
    for name in ("inputs", "outputs"):
        yield from _datasets(block.group(name), name)
    if "readings" in block:
        yield from _sorted(
            _datasets(reading.group("outputs"), f"readings/{name}/outputs")
            for name, reading in block.group("readings").groups().items()
        )


def tolerance_datasets(block: Folder) -> Datasets:
    """The datasets of a block that `tolerance_sha256` covers, with their paths in it, in its order."""
    above = {"": block}
    if "readings" in block:
        for name, reading in block.group("readings").groups().items():
            above[f"readings/{name}/"] = reading
    yield from _sorted(
        _datasets(arrays, f"{path}tolerance/{name}")
        for path, group in above.items()
        if "tolerance" in group
        for name, arrays in group.group("tolerance").groups().items()
    )


def _datasets(group: Folder, path: str) -> Datasets:
    return ((f"{path}/{name}", group.dataset(name)) for name in group.names)


def _sorted(parts: Iterator[Datasets]) -> Datasets:
    found = {path: stored for part in parts for path, stored in part}
    return iter(sorted(found.items()))


DIGESTS: Mapping[str, Callable[[Folder], Datasets]] = {
    "content_sha256": content_datasets,
    "tolerance_sha256": tolerance_datasets,
}
"""The datasets of a block that each digest covers, by the name of the attribute that holds it."""


def file_digest(file: h5py.File, name: str) -> tuple[str, Mapping[str, str]]:
    """The digest called `name` (DIGESTS) of what is in an open vector file, and of its blocks by path."""
    blocks, datasets = blocks_of(root_folder(file)), DIGESTS[name]
    found = {path: block_digest(datasets(block)) for path, block in blocks.items()}
    return digest_of_list(found), found


def digest_of_list(digests: Mapping[str, str]) -> str:
    """The digest of a file, from those of its blocks by path, ascending."""
    listed = "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def _as_it_is(path: str, stored: Stored) -> None:
    """Do nothing with a dataset before it is read."""


def block_digest(datasets: Datasets, before: Callable[[str, Stored], None] = _as_it_is) -> str:
    """SHA-256 over `datasets` of a block; `before` is told each with its path in the block."""
    found = _Digest()
    for path, stored in datasets:
        before(path, stored)
        found.add(path, stored)
    return found.hexdigest()
