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
from functools import cache
from pathlib import Path

import numpy as np

from .hdf5 import Folder, Stored

Datasets = Iterator[tuple[str, Stored]]


def blocks_of(root: Folder) -> dict[str, Folder]:
    """Return the blocks of a file by their paths `<dtype>/<block>`, ascending."""
    found = {
        f"{dtype}/{name}": block
        for dtype in root.names
        if dtype != "spec"
        for name, block in root.group(dtype).groups().items()
    }
    return dict(sorted(found.items()))


def content_datasets(block: Folder) -> Datasets:
    """Return the datasets of a block that `content_sha256` covers, with their paths in it, in its order."""
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
    """Return the datasets of a block that `tolerance_sha256` covers, with their paths in it, in its order."""
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


def file_digest(root: Folder, name: str) -> tuple[str, Mapping[str, str]]:
    """Compute the digest called `name` (DIGESTS) of a vector file, and of its blocks by path."""
    found = {path: block_digest(DIGESTS[name](block)) for path, block in blocks_of(root).items()}
    return digest_of_list(found), found


def digest_of_list(digests: Mapping[str, str]) -> str:
    """Compute the digest of a file from those of its blocks by path, ascending."""
    listed = "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def block_digest(datasets: Datasets) -> str:
    """Compute SHA-256 over datasets of a block, each with its path in the block."""
    sha = hashlib.sha256()
    for path, stored in datasets:
        shape = "x".join(map(str, stored.shape))
        sha.update(f"{path} {stored.dtype} {shape}\n".encode())
        if stored.dtype == "text":
            sha.update("".join(f"{text}\n" for text in stored.texts()).encode())
        else:
            array = stored.array.byteswap() if sys.byteorder == "big" else stored.array
            sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


GENERATOR = 1
"""The generator that makes files. Raise it when what `gen` writes into a file changes: files made by an older
one are then made again."""


def published_digests() -> dict[str, str]:
    """Content digest by relative path, e.g. `openvino/gru_cell/core.h5`."""
    return _published("digests.txt")


def published_tolerances() -> dict[str, str]:
    """Digest of the tolerances by relative path."""
    return _published("tolerance_digests.txt")


@cache
def published_pairs() -> frozenset[tuple[str, str]]:
    """Return the digests of content and of tolerances of each published file."""
    tolerances = published_tolerances()
    return frozenset((digest, tolerances[name]) for name, digest in published_digests().items())


def _published(name: str) -> dict[str, str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    parts = (line.partition("  ") for line in text.splitlines())
    return {relative: digest for digest, _, relative in parts}
