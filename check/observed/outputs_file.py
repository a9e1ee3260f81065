"""Outputs files: a runtime's answers to the questions of vectors, written here or elsewhere.

An outputs file has the block paths of its vector file, each with `id` and `outputs/<name>`, and optionally
`status` and `message` per case. Rows are matched by id, in any order. See vectors/FORMAT.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast, get_args

from ...cases.console import shorten
from ...cases.dtypes import FLOAT_TYPES
from ...cases.errors import VectorFileError
from ...cases.files import is_forced
from ...cases.question import Question
from ...cases.selection import selected
from ...vectors.hdf5 import OUTPUTS, Folder, open_file
from ...vectors.vector_set import VectorSet
from ...vectors.writer import (
    new_file,
    prepare_place,
    write_array,
    write_text_attribute,
    write_texts,
)
from ..protocol.header import Reply, Status
from .observations import Slice, observe
from .source import Observed, Source


class FromFiles:
    """A `Source` of files with one runtime's outputs; until a file names the runtime, its name is `path`."""

    def __init__(self, path: Path) -> None:
        self.name, self.version = str(path), ""
        self._first: Path | None = None

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def see(self, file: Path, name: str, version: str) -> None:
        """Take the runtime that a file names. Raises VectorFileError where an earlier file names another."""
        if not name:
            return
        if self._first and (name, version) != (self.name, self.version):
            here, there = f"{name} {version}".rstrip(), f"{self.name} {self.version}".rstrip()
            raise VectorFileError(
                f"{file}: has outputs of {shorten(here, 60)}, and {self._first} of {shorten(there, 60)}; "
                "judge them apart, with --select or from directories of their own"
            )
        self.name, self.version, self._first = name, version, self._first or file


class FromOutputs(FromFiles):
    """A `Source` that reads an outputs file, or a directory of them with the relative paths of `vectors`.

    Raises VectorFileError where a file is not an outputs file, names another runtime than an earlier one, or
    has cases that the vectors lack; `answer` does for wrong arrays. A case without outputs is missing.
    """

    def __init__(self, path: Path, vectors: VectorSet) -> None:
        if not path.is_file() and not path.is_dir():
            raise VectorFileError(f"{path}: is no file or directory; expected outputs")
        super().__init__(path)
        self._path = path
        self._places: dict[str, tuple[_StoredOutputs, int]] = {}
        for file, blocks in vectors.wanted:
            place = path if path.is_file() else path / file.relative
            if not place.exists():
                continue
            root = open_file(place, OUTPUTS)
            if isinstance(runtime := root.attribute("runtime"), str):
                self.see(place, runtime, str(root.attribute("runtime_version") or ""))
            for block, group in _stored_blocks(root).items():
                if block not in file.groups:
                    raise VectorFileError(f"{place}: /{block}: is not a block of the vectors")
                if block in blocks:
                    stored = _StoredOutputs(group, blocks[block])
                    self._places |= {i: (stored, row) for row, i in enumerate(stored.ids)}

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield what is stored for each question."""
        for question in questions:
            if question.id in self._places:
                stored, row = self._places[question.id]
                yield stored.reply(row, question)
            else:
                yield Reply("missing", {}, f"has no outputs in {self._path}")


class _StoredOutputs:
    """A block of an outputs file, whose rows are cases of the block with the ids `known`.

    Raises VectorFileError for another case, for a case that stands twice, and for an unknown status.
    """

    def __init__(self, group: Folder, known: Iterable[str]) -> None:
        self._group = group
        self.ids = group.dataset("id").texts()
        self._status, self._message = self._texts("status", "ok"), self._texts("message", "")
        if len(set(self.ids)) != len(self.ids):
            raise VectorFileError(f"{group.where}/id: names a case twice")
        if unknown := sorted(set(self.ids) - set(known)):
            raise VectorFileError(
                f"{group.where}/id: {unknown[0]!r} is not a case of the vectors' block"
            )
        if wrong := sorted(set(self._status) - set(get_args(Status))):
            raise VectorFileError(
                f"{group.where}/status: {wrong[0]!r}; expected one of {', '.join(get_args(Status))}"
            )

    def _texts(self, name: str, default: str) -> list[str]:
        if name not in self._group:
            return [default] * len(self.ids)
        texts = self._group.dataset(name).texts()
        if len(texts) != len(self.ids):
            raise VectorFileError(f"{self._group.where}/{name}: has other rows than id")
        return texts

    def reply(self, row: int, question: Question) -> Reply:
        """Give a row's outputs, or why there are none. Raises VectorFileError for a wrong shape or dtype."""
        status, arrays = cast("Status", self._status[row]), {}
        if status == "ok":
            outputs = self._group.group("outputs")
            for name, wanted in question.outputs.items():
                stored, shape = outputs.dataset(name), (len(self.ids), *wanted.shape)
                if stored.shape != shape or stored.dtype != question.dtype:
                    raise VectorFileError(
                        f"{stored.where}: is {stored.dtype} {stored.shape}; "
                        f"expected {question.dtype} {shape}"
                    )
                arrays[name] = stored.array[row]
        return Reply(status, arrays, self._message[row])


def _stored_blocks(root: Folder) -> dict[str, Folder]:
    """List the blocks of an open outputs file by path; ignore everything else in it."""
    return {
        f"{dtype}/{name}": root.group(dtype).group(name)
        for dtype in FLOAT_TYPES
        if dtype in root
        for name in root.group(dtype).names
    }


def record(
    vectors: VectorSet,
    source: Source,
    out: Path,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[str, Counter[str]]]:
    """Write an outputs file per vector file; yield its path and how many cases have each status.

    For a single vector file, `out` is a file. For a directory or the core, `out` is a directory with the same
    relative paths. Each file appears only when complete, and complete files stay if another fails. Raises
    VectorFileError, before anything is asked, where outputs would be lost, or `out` has to be a directory.
    """
    places = _places(vectors, out)
    found = observe(vectors, source, advance)
    for path, asked in places:
        counts: Counter[str] = Counter()
        with new_outputs_file(path, source.name, source.version) as file:
            parts = _take(found, len(asked))
            for block, some in groupby(parts, key=lambda part: part.stored.path):
                slices = list(some)
                ids = [case_id for one in slices for case_id in one.block.ids]
                write_outputs(file, block, ids, [one.observed for one in slices])
                counts.update(status for one in slices for status in one.observed.status)
        yield str(path), counts


def _take(found: Iterator[Slice], cases: int) -> Iterator[Slice]:
    """Take slices that hold `cases` cases in all; do not ask for the next slice, which may fail."""
    while cases:
        part = next(found)
        cases -= len(part.block)
        yield part


def _places(vectors: VectorSet, out: Path) -> list[tuple[Path, set[str]]]:
    """Find a place for the outputs of each vector file, and the ids of its selected cases.

    Raises GrucibleError where the outputs cannot be written there.
    """
    alone = vectors.path is not None and vectors.path.is_file()
    if not alone and (out.is_file() or (out.suffix == ".h5" and not out.exists())):
        raise VectorFileError(
            f"{out}: names one file; name a directory, for each vector file gives a file of outputs"
        )
    if not vectors.wanted:
        raise vectors.nothing_selected()
    places = []
    for file, blocks in vectors.wanted:
        path = out if alone else out / file.relative
        asked = {i for ids in blocks.values() for i in ids if selected(i, vectors.select)}
        prepare_place(path, OUTPUTS)
        if not is_forced():
            _check_lost(path, asked)
        places.append((path, asked))
    return places


def _check_lost(path: Path, asked: set[str]) -> None:
    """Raise VectorFileError where outputs of other cases would be lost."""
    lost: set[str] = set()
    if path.is_file() and path.stat().st_size:
        try:
            groups = _stored_blocks(open_file(path, OUTPUTS)).values()
            lost = {one for group in groups for one in group.dataset("id").texts()} - asked
        except VectorFileError as error:
            raise VectorFileError(
                f"{error}; name another place for the outputs, or add --force"
            ) from None
    if lost:
        cases = "a case" if len(lost) == 1 else f"{len(lost)} cases"
        raise VectorFileError(
            f"{path}: holds outputs of {cases} that are not selected now, such as {min(lost)}; name another "
            "place for the outputs, or add --force"
        )


@contextlib.contextmanager
def new_outputs_file(path: Path, runtime: str, version: str) -> Iterator[Any]:
    """Open a new outputs file for `write_outputs`; it appears when the `with` ends without error."""
    with new_file(path, OUTPUTS) as file:
        write_text_attribute(file, "runtime", runtime)
        write_text_attribute(file, "runtime_version", version)
        yield file


def write_outputs(file: Any, path: str, ids: list[str], slices: Sequence[Observed]) -> None:
    """Write a block: the `ids` of its rows, and what was observed of each of its slices."""
    group = file.create_group(path)
    write_texts(group, "id", ids)
    write_texts(group, "status", [status for one in slices for status in one.status])
    write_texts(group, "message", [message for one in slices for message in one.messages])
    start = 0
    for one in slices:
        for name, array in one.outputs.items():
            write_array(group.require_group("outputs"), name, start, array, len(ids))
        start += len(one.status)
