"""The digests of a vector file: the same answers, the same digest, on every machine.

`content_sha256` of a block is SHA-256 over its datasets `attributes`, `id`, and all below `inputs/`, below
`outputs/` and below the `outputs/` of each of `readings/`, in ascending order of their paths:

    <path in the block> SP <dtype> SP <shape, joined by x> LF

followed by the data: rows in the order of the file, C order, little-endian; a text as its UTF-8
bytes and LF. bfloat16 counts as dtype `bfloat16` with its 16 bits. `tolerance_sha256` is the same over
every dataset below any `tolerance/`.

The digests of a file are SHA-256 over the list of its blocks in ascending order of their paths, as sha256sum
would print it: `<digest of the block> SP SP <dtype>/<block> LF`. So a block can be verified without the
others. Neither digest covers the root's other attributes or the spec's text.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from .hdf5 import CORE, Folder

DIGESTS = {
    "content_sha256": re.compile(r"attributes|id|(inputs|outputs|readings/[^/]+/outputs)/[^/]+"),
    "tolerance_sha256": re.compile(r"(readings/[^/]+/)?tolerance/[^/]+/[^/]+"),
}
"""The paths of the datasets of a block that each digest covers, by the name of the digest's attribute."""


def blocks_of(root: Folder) -> dict[str, Folder]:
    """Return the blocks of a file by their paths `<dtype>/<block>`, ascending."""
    found = {
        f"{dtype}/{name}": block
        for dtype in root.names
        if dtype != "spec"
        for name, block in root.group(dtype).groups().items()
    }
    return dict(sorted(found.items()))


def file_digest(root: Folder, name: str) -> tuple[str, Mapping[str, str]]:
    """Compute the digest called `name` (DIGESTS) of a vector file, and of its blocks by path."""
    found = {path: block_digest(block, name) for path, block in blocks_of(root).items()}
    return digest_of_list(found), found


def digest_of_list(digests: Mapping[str, str]) -> str:
    """Compute the digest of a file from the digests of its blocks, by ascending path."""
    listed = "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def root_digest(files: Mapping[str, tuple[str, str]]) -> str:
    """Compute one digest of many files, from those of content and of tolerances by relative path.

    It is SHA-256 over both lists, one after the other, as sha256sum would print them by ascending path.
    """
    paths = sorted(files)
    lists = "".join(f"{files[path][which]}  {path}\n" for which in (0, 1) for path in paths)
    return hashlib.sha256(lists.encode()).hexdigest()


def root_of(digests: Mapping[str, str]) -> str:
    """Compute the root digest of the files of a report: by path, its digests of content and of tolerances."""
    return root_digest({path: both.partition(" ")[::2] for path, both in digests.items()})


def block_digest(block: Folder, name: str) -> str:
    """Compute the digest called `name` of a block: of the datasets that it covers, by ascending path."""
    sha = hashlib.sha256()
    covered = {path: place for path, place in _below(block) if DIGESTS[name].fullmatch(path)}
    for path, folder in sorted(covered.items()):
        stored = folder.dataset(path.rpartition("/")[2])
        shape = "x".join(map(str, stored.shape))
        sha.update(f"{path} {stored.dtype} {shape}\n".encode())
        if stored.dtype == "text":
            sha.update("".join(f"{text}\n" for text in stored.texts()).encode())
        else:
            array = stored.array.byteswap() if sys.byteorder == "big" else stored.array
            sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def _below(folder: Folder, above: str = "") -> Iterator[tuple[str, Folder]]:
    """Yield the path of each dataset below a group, and the group that it is in."""
    for name in folder.names:
        if folder.has_group(name):
            yield from _below(folder.group(name), f"{above}{name}/")
        else:
            yield f"{above}{name}", folder


GENERATOR = 1
"""The number of the generator. Raise it when `gen` writes other content into a file: files of an older
generator are then made again."""


VERSION = 1
"""The version of the published vectors. Raise it for a release whose digests are not the last one's."""


def published_digests(listed: str = "digests.txt") -> dict[str, str]:
    """Return the content digest of each published file by relative path, e.g. `openvino/gru_cell/core.h5`."""
    text = Path(__file__).with_name(listed).read_text(encoding="utf-8")
    parts = (line.partition("  ") for line in text.splitlines())
    return {relative: digest for digest, _, relative in parts}


def published_tolerances() -> dict[str, str]:
    """Return the digest of the tolerances of each published file by relative path."""
    return published_digests("tolerance_digests.txt")


@cache
def published_pairs(*, core: bool = False) -> frozenset[tuple[str, str]]:
    """Return the digests of content and of tolerances of each published file, or of the core ones."""
    tolerances = published_tolerances()
    return frozenset(
        (digest, tolerances[name])
        for name, digest in published_digests().items()
        if not core or (CORE / name).exists()
    )
