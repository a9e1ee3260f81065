"""Outputs files: what a runtime made of vectors, kept or made elsewhere.

The same block paths as the vector file, each with `id` and `outputs/<name>`, and optionally `status` and
`message` per case; rows match by id, in any order. See vectors/FORMAT.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast, get_args

from ...cases.console import shorten
from ...cases.dtypes import Arrays
from ...cases.errors import VectorFileError
from ...cases.question import Question
from ...vectors.hdf5 import OUTPUTS, Folder, open_file
from ...vectors.reader import VectorFile
from ...vectors.vector_set import VectorSet
from .source import Reply, Status


class Maker:
    """The one runtime whose outputs some files hold: until one names it, it goes by the files' path."""

    def __init__(self, path: Path) -> None:
        self.name, self.version = str(path), ""
        self._first: Path | None = None

    def see(self, file: Path, name: str, version: str) -> None:
        """Take what a file names; VectorFileError where an earlier one names another."""
        if not name:
            return
        if self._first and (name, version) != (self.name, self.version):
            here, there = (
                shorten(" ".join(who).rstrip(), 60)
                for who in ((name, version), (self.name, self.version))
            )
            raise VectorFileError(
                f"{file}: has outputs of {here}, and {self._first} of {there}; judge them apart, with "
                "--select or from directories of their own"
            )
        self.name, self.version, self._first = name, version, self._first or file


class FromOutputs:
    """A `Source` that reads an outputs file, or a directory of them with the paths of `vectors`.

    Raises VectorFileError where a file is not an outputs file, or is of another runtime than one before, or
    has cases that the vectors lack, or arrays of other shapes or dtypes. What is absent is missing.
    """

    def __init__(self, path: Path, vectors: VectorSet) -> None:
        if not path.exists():
            raise VectorFileError(f"{path}: no such file or directory; expected outputs")
        if not path.is_file() and not path.is_dir():
            raise VectorFileError(f"{path}: is no regular file; expected outputs")
        self._maker = Maker(path)
        self._places: dict[str, tuple[_StoredOutputs, int]] = {}
        self._files: dict[str, Path] = {}
        """By operator and theme, the outputs file of the vectors."""
        for file, blocks in vectors.wanted:
            place = path if path.is_file() else path / file.relative
            self._files[file.prefix] = place
            if place.exists():
                self._see(place, file, blocks)

    def _see(self, place: Path, vectors: VectorFile, blocks: Mapping[str, list[str]]) -> None:
        """Find the cases of an outputs file, and check that the vectors have them."""
        root = open_file(place, OUTPUTS)
        runtime = root.attribute("runtime")
        if isinstance(runtime, str):
            self._maker.see(place, runtime, str(root.attribute("runtime_version") or ""))
        for path, group in stored_blocks(root).items():
            if path not in vectors.groups:
                raise VectorFileError(f"{place}: /{path}: is not a block of the vectors")
            if path in blocks:
                stored = _StoredOutputs(group)
                stored.check_ids(blocks[path])
                for row, case_id in enumerate(stored.ids):
                    self._places[case_id] = stored, row

    @property
    def name(self) -> str:
        """The name of the runtime that made them."""
        return self._maker.name

    @property
    def version(self) -> str:
        """The version of that runtime."""
        return self._maker.version

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield what is stored for each question."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> Reply:
        if question.id in self._places:
            stored, row = self._places[question.id]
            return stored.reply(row, question)
        file = self._files[f"{question.operator}/{question.theme}/"]
        return Reply("missing", {}, f"{'not in' if file.exists() else 'there is no'} {file}")

    def finish(self) -> Reply | None:
        """Nothing ends."""
        return None

    def close(self) -> None:
        """Nothing is open."""


class _StoredOutputs:
    """A block of an outputs file: VectorFileError where it names a case twice."""

    def __init__(self, group: Folder) -> None:
        self._group, self._where = group, group.where
        self.ids = group.dataset("id").texts()
        if len(set(self.ids)) != len(self.ids):
            raise VectorFileError(f"{self._where}/id: names a case twice")
        self._status = self._texts("status") if "status" in group else None
        self._message = self._texts("message") if self._status and "message" in group else None
        if wrong := sorted(set(self._status or ()) - set(get_args(Status))):
            raise VectorFileError(
                f"{self._where}/status: {wrong[0]!r}; expected one of {', '.join(get_args(Status))}"
            )
        self._arrays: Arrays = {}

    def _texts(self, name: str) -> list[str]:
        stored, total = self._group.dataset(name), len(self.ids)
        if stored.shape != (total,):
            raise VectorFileError(f"{stored.where}: is {stored.shape}; expected ({total},), as id")
        return stored.texts()

    def check_ids(self, ids: list[str]) -> None:
        """Raise VectorFileError for a row that is none of the vectors' `ids`."""
        if unknown := sorted(set(self.ids) - set(ids)):
            raise VectorFileError(
                f"{self._where}/id: {unknown[0]!r} is not a case of the vectors' block"
            )

    def reply(self, row: int, question: Question) -> Reply:
        """Give the outputs of a row, or why there are none."""
        self._arrays = self._arrays or self._checked(question)
        status = cast("Status", self._status[row]) if self._status else "ok"
        message = self._message[row] if self._message else ""
        arrays = self._arrays if status == "ok" else {}
        return Reply(status, {name: array[row] for name, array in arrays.items()}, message)

    def _checked(self, question: Question) -> Arrays:
        """Give the arrays of a block; VectorFileError unless they are what its cases ask for."""
        arrays = {}
        outputs, total = self._group.group("outputs"), len(self.ids)
        for name, wanted in question.outputs.items():
            stored, shape = outputs.dataset(name), (total, *wanted.shape)
            if stored.shape != shape or stored.dtype != question.dtype:
                raise VectorFileError(
                    f"{stored.where}: is {stored.dtype} {stored.shape}; "
                    f"expected {question.dtype} {shape}"
                )
            arrays[name] = stored.array
        return arrays


def stored_blocks(root: Folder) -> dict[str, Folder]:
    """List the blocks of an open outputs file, by path."""
    return {
        f"{dtype}/{name}": root.group(dtype).group(name)
        for dtype in root.names
        for name in root.group(dtype).names
    }


def stored_ids(path: Path) -> set[str]:
    """List the ids of the cases of which an outputs file holds something."""
    groups = stored_blocks(open_file(path, OUTPUTS)).values()
    return {one for group in groups for one in group.dataset("id").texts()}
