"""Old names of what `vector_set` gives; they go when their last caller has gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .hdf5 import CORE
from .vector_set import load_vectors, open_set

__all__ = ["CORE", "case_ids", "case_tiers", "find_vectors", "load_vectors"]


def find_vectors(path: Path | None, select: Sequence[str] = ()) -> list[tuple[Path, str]]:
    """The vector files at `path`, with their relative paths."""
    with open_set(path, select) as vectors:
        return [(file.path, file.relative) for file in vectors.files]


def case_ids(path: Path | None, select: Sequence[str] = ()) -> Iterator[str]:
    """The ids of the cases of the vector files at `path` that can hold what `select` matches."""
    with open_set(path, select) as vectors:
        for _, blocks in vectors.wanted:
            for ids in blocks.values():
                yield from ids


def case_tiers(path: Path | None, select: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """The selected cases of the vector files at `path`: the id and the tier of each."""
    with open_set(path, select) as vectors:
        yield from vectors.tiers.items()
