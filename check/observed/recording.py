"""Running a runtime on vectors and keeping its outputs in files."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ...cases.errors import VectorFileError
from ...cases.files import check_replaceable, is_forced
from ...cases.selection import nothing_selected, selected
from ...vectors.hdf5 import OUTPUTS
from ...vectors.vector_set import VectorSet
from ...vectors.writer import (
    MARKS,
    new_file,
    prepare_place,
    write_array,
    write_text_attribute,
    write_texts,
)
from .observations import Slice, observe
from .outputs_file import stored_ids
from .source import Observed, Source


def record(
    vectors: VectorSet,
    source: Source,
    out: Path,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[str, Counter[str]]]:
    """Write an outputs file per vector file; yield its path and how many cases have each status.

    A single vector file gives the single file `out`, a directory (or the core) a directory with the same
    relative paths. Each file appears whole, and files that are done stay where another fails. Raises
    VectorFileError, before anything is asked, where a place holds outputs that would be lost, or is that of
    one file and a directory is needed.
    """
    places = _places(vectors, out)
    found = observe(vectors, source, advance)
    for path, asked in places:
        counts: Counter[str] = Counter()
        with new_outputs_file(path, source.name, source.version) as writer:
            parts = _take(found, len(asked))
            for block, some in groupby(parts, key=lambda part: part.stored.path):
                slices = list(some)
                ids = [case_id for one in slices for case_id in one.block.ids]
                writer.write(block, ids, [one.observed for one in slices])
                counts.update(status for one in slices for status in one.observed.status)
        yield str(path), counts


def _take(found: Iterator[Slice], cases: int) -> Iterator[Slice]:
    """Take slices of a number of cases, without a look at the next one, which may fail."""
    while cases:
        part = next(found)
        cases -= len(part.block)
        yield part


class _Place(NamedTuple):
    """Where the outputs of a vector file stand, and the ids of its selected cases."""

    path: Path
    asked: set[str]


def _places(vectors: VectorSet, out: Path) -> list[_Place]:
    """Find where the outputs of each vector file stand; GrucibleError where they cannot."""
    alone = vectors.path is not None and vectors.path.is_file()
    if not alone and (out.is_file() or (out.suffix == ".h5" and not out.exists())):
        raise VectorFileError(
            f"{out}: is the place of one file; name a directory, for each vector file gives one of outputs"
        )
    if not vectors.wanted:
        raise nothing_selected(vectors.select)
    places = []
    for file, blocks in vectors.wanted:
        path = out if alone else out / file.relative
        asked = {i for ids in blocks.values() for i in ids if selected(i, vectors.select)}
        prepare_place(path, OUTPUTS)
        if not is_forced():
            _check_lost(path, asked)
        places.append(_Place(path, asked))
    return places


def _check_lost(path: Path, asked: set[str]) -> None:
    """Raise VectorFileError where outputs of other cases would be lost."""
    lost: set[str] = set()
    if path.is_file() and path.stat().st_size:
        with contextlib.suppress(VectorFileError):  # what cannot be read is no loss
            lost = stored_ids(path) - asked
    if lost:
        cases = "a case" if len(lost) == 1 else f"{len(lost)} cases"
        raise VectorFileError(
            f"{path}: holds outputs of {cases} that are not asked for now, as {min(lost)}; name another "
            "place for the outputs, or add --force"
        )


class OutputsWriter:
    """An open, unfinished outputs file. Make one with `new_outputs_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, path: str, ids: list[str], slices: Sequence[Observed]) -> None:
        """Write a block: `ids` of all its rows, and what was observed of each slice."""
        group = self._file.create_group(path)
        write_texts(group, "id", ids)
        write_texts(group, "status", [status for one in slices for status in one.status])
        write_texts(group, "message", [message for one in slices for message in one.messages])
        start = 0
        for one in slices:
            for name, array in one.outputs.items():
                write_array(group.require_group("outputs"), name, start, array, len(ids))
            start += len(one.status)


def check_outputs_place(path: Path) -> None:
    """Raise GrucibleError where outputs cannot stand at `path`, or would replace something else."""
    check_replaceable(path, MARKS[OUTPUTS])


@contextlib.contextmanager
def new_outputs_file(path: Path, runtime: str, version: str) -> Iterator[OutputsWriter]:
    """Write an outputs file; it appears at `path`, whole, when the block ends without error."""
    with new_file(path, OUTPUTS) as file:
        write_text_attribute(file, "runtime", runtime)
        write_text_attribute(file, "runtime_version", version)
        yield OutputsWriter(file)
