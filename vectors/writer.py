"""Writing vector files, block by block, so that memory does not grow with the number of cases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .case import Block, BlockKey, canonical_json
from .digest import content_digest, tolerance_digest
from .hdf5 import FORMAT_VERSION, VECTORS, atomic_file, write_array, write_texts


class VectorWriter:
    """An open, unfinished vector file. Make one with `new_vector_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.content_sha256 = ""

    def start_block(
        self, key: BlockKey, ids: Sequence[str], given: Sequence[dict[str, Any]]
    ) -> None:
        """Start the block of `key` with all its ids (ascending) and the attributes of each case."""
        group = self._file.create_group(key.path)
        for symbol, length in key.sizes:
            group.attrs[symbol] = length
        group.attrs["tier"] = key.tier
        write_texts(group, "id", list(ids))
        write_texts(group, "attributes", [canonical_json(g) for g in given])

    def write(self, key: BlockKey, start: int, block: Block) -> None:
        """Write the rows of `block` from row `start` on."""
        group = self._file[key.path]
        total = group["id"].shape[0]
        folders = {"inputs": block.inputs, "outputs": block.outputs} | {
            f"readings/{name}/outputs": arrays for name, arrays in block.readings.items()
        }
        for reading, classes in block.tolerances.items():
            above = f"readings/{reading}/" if reading else ""
            folders |= {f"{above}tolerance/{name}": arrays for name, arrays in classes.items()}
        for folder, arrays in folders.items():
            for name, array in arrays.items():
                write_array(group.require_group(folder), name, start, array, total)
        if block.probes:
            if start == 0:
                write_texts(group, "probe_names", list(block.probes))
            caught = np.stack(list(block.probes.values()), axis=1).astype(np.uint8)
            write_array(group, "probes", start, caught, total)

    def finish(self) -> None:
        """Take the content digest of what was written."""
        self._file.flush()
        self.content_sha256 = content_digest(self._file)
        self._file.attrs["content_sha256"] = self.content_sha256
        self._file.attrs["tolerance_sha256"] = tolerance_digest(self._file)


@contextlib.contextmanager
def new_vector_file(
    path: Path, *, operator: str, spec_text: str, seed: int, generator: str, made_from: str
) -> Iterator[VectorWriter]:
    """A vector file being written; it appears at `path`, whole, when the block ends without error.

    `made_from` names everything the file was made from, so that a later `gen` can tell whether it
    would make the same again.
    """
    with atomic_file(path) as file:
        file.attrs["format"] = VECTORS
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["operator"] = operator
        file.attrs["generator"] = generator
        file.attrs["seed"] = seed
        file.attrs["made_from"] = made_from
        text = np.frombuffer(spec_text.encode("utf-8"), np.uint8)
        write_array(file, "spec", 0, text, len(text))
        writer = VectorWriter(file)
        yield writer
        writer.finish()
