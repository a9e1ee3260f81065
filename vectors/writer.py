"""Writing vector files, block by block, so that memory does not grow with the number of cases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .block import TOGETHER, Block, BlockKey, canonical_json
from .digest import DIGESTS, file_digest
from .hdf5 import VECTORS, Folder, tree_of
from .hdf5_writing import new_file, write_array, write_text_attribute, write_texts


class VectorWriter:
    """An open, unfinished vector file. Make one with `new_vector_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.content_sha256 = self.tolerance_sha256 = ""

    def start_block(
        self, key: BlockKey, ids: Sequence[str], given: Sequence[dict[str, Any]]
    ) -> None:
        """Start the block of `key` with all its ids (ascending) and the attributes of each case."""
        group = self._file.create_group(key.path)
        for symbol, length in key.sizes:
            group.attrs[symbol] = length
        write_text_attribute(group, "tier", key.tier)
        write_texts(group, "id", list(ids))
        write_texts(group, "attributes", [canonical_json(g) for g in given])

    def write(self, key: BlockKey, start: int, block: Block) -> None:
        """Write the rows of `block` from row `start` on."""
        group = self._file[key.path]
        total = group["id"].shape[0]
        folders = {"inputs": block.inputs}
        for names, answer in block.answers.items():
            above = f"readings/{TOGETHER.join(names)}/" if names else ""
            folders[f"{above}outputs"] = answer.outputs
            for name, limits in answer.tolerances.items():
                folders[f"{above}tolerance/{name}"] = limits
        for folder, arrays in folders.items():
            for name, array in arrays.items():
                write_array(group.require_group(folder), name, start, array, total)

    def write_block(self, key: BlockKey, parts: Sequence[Block]) -> None:
        """Write the block of `key` whole: the rows of all `parts`, in order."""
        ids = [case_id for part in parts for case_id in part.ids]
        self.start_block(key, ids, [given for part in parts for given in part.given])
        start = 0
        for part in parts:
            self.write(key, start, part)
            start += len(part)

    def is_incomplete(self) -> None:
        """Say that the file lacks cases that it should hold: a later `gen` makes it again."""
        write_text_attribute(self._file, "made_from", "")

    def finish(self) -> None:
        """Take the digests of what was written."""
        self._file.flush()
        self.content_sha256, self.tolerance_sha256 = write_digests(self._file)


def write_digests(file: Any) -> Sequence[str]:
    """Write the digests of an open vector file and of its blocks, and return the file's."""
    taken = []
    root = Folder(tree_of(file), f"{file.filename}: ")
    for name in DIGESTS:
        digest, of_blocks = file_digest(root, name)
        for path, one in of_blocks.items():
            write_text_attribute(file[path], name, one)
        write_text_attribute(file, name, digest)
        taken.append(digest)
    return taken


@contextlib.contextmanager
def new_vector_file(
    path: Path,
    *,
    operator: str,
    theme: str,
    spec_text: str,
    seed: int,
    generator: str,
    made_from: str,
    force: bool = False,
) -> Iterator[VectorWriter]:
    """Return a vector file being written; it appears at `path`, whole, when the block ends without error.

    The ids of its cases begin with `<operator>/<theme>/`. `made_from` names everything the file was
    made from, so that a later `gen` can tell whether it
    would make the same again.
    """
    with new_file(path, VECTORS, force=force) as file:
        write_text_attribute(file, "operator", operator)
        write_text_attribute(file, "theme", theme)
        write_text_attribute(file, "generator", generator)
        file.attrs["seed"] = seed
        write_text_attribute(file, "made_from", made_from)
        text = np.frombuffer(spec_text.encode("utf-8"), np.uint8)
        write_array(file, "spec", 0, text, len(text))
        writer = VectorWriter(file)
        yield writer
        writer.finish()
