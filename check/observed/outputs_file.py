"""Outputs files: what a runtime made of vectors, kept or made elsewhere.

The same block paths as the vector file, each with `id` and `outputs/<name>`, and optionally
`status` and `message` per case; rows match by id, in any order. See vectors/FORMAT.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.errors import VectorFileError
from ...cases.files import check_replaceable
from ...vectors.block import Block
from ...vectors.hdf5 import OUTPUTS, Folder, open_file
from ...vectors.hdf5_writing import (
    MARKS,
    new_file,
    write_array,
    write_text_attribute,
    write_texts,
)
from ...vectors.reader import VectorFile
from .made_by import OfOneRuntime
from .source import Observed, Status


class FromOutputs(OfOneRuntime):
    """A `Source` that reads an outputs file, or a directory of them with the vectors' paths.

    Raises VectorFileError where a file is not an outputs file, or of another runtime than one before, or
    has rows that do not belong to the vectors, or arrays of other shapes or dtypes. What is absent is
    missing.
    """

    needs_inputs = False
    ahead = 1

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise VectorFileError(f"{path}: no such file or directory; expected outputs")
        if not path.is_file() and not path.is_dir():
            raise VectorFileError(f"{path}: is no regular file; expected outputs")
        super().__init__(path)
        self._root = path
        self._open: tuple[Path, Folder] | None = None
        self._at: tuple[tuple[str, str], _StoredOutputs | None] | None = None

    def close(self) -> None:
        """Forget the file at hand."""
        self._open = self._at = None

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:
        """Read the stored outputs of the cases of `block`."""
        observed = self._observed(relative, block)
        return lambda: observed

    def _observed(self, relative: str, block: Block) -> Observed:
        path = self._path(relative)
        stored = self._block(relative, block.path)
        if stored is not None:
            return stored.observed(block)
        place = f"{path}: /{block.path}" if path.exists() else str(path)
        return _missing(block, f"there is no {place}")

    def check_blocks(self, vectors: VectorFile) -> None:
        """Raise VectorFileError for a block that the vectors do not have."""
        file = self._path(vectors.relative)
        if not file.exists():
            return
        known = vectors.groups
        root = self._file(file)
        for dtype in root.names:
            for name in root.group(dtype).names:
                if f"{dtype}/{name}" not in known:
                    raise VectorFileError(f"{file}: /{dtype}/{name}: is not a block of the vectors")

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Raise VectorFileError for rows of a block that the vectors do not have."""
        stored = self._block(relative, path)
        if stored is not None:
            stored.check_ids(ids)

    def _block(self, relative: str, path: str) -> _StoredOutputs | None:
        """The outputs of a block; None where it is absent."""
        if self._at is None or self._at[0] != (relative, path):
            self._at = (relative, path), self._find_block(self._path(relative), path)
        return self._at[1]

    def _find_block(self, file: Path, path: str) -> _StoredOutputs | None:
        if not file.exists():
            return None
        dtype, _, name = path.partition("/")
        root = self._file(file)
        if dtype not in root or name not in root.group(dtype):
            return None
        return _StoredOutputs(root.group(dtype).group(name))

    def _path(self, relative: str) -> Path:
        return self._root if self._root.is_file() else self._root / relative

    def _file(self, path: Path) -> Folder:
        if self._open is None or self._open[0] != path:
            root = open_file(path, OUTPUTS)
            self._open = path, root
            runtime = root.attribute("runtime")
            if isinstance(runtime, str):
                version = str(root.attribute("runtime_version") or "")
                self.see(path, runtime, version)
        return self._open[1]


class _StoredOutputs:
    """A block of an outputs file: VectorFileError where it names a case twice."""

    def __init__(self, group: Folder) -> None:
        self._group, self._where = group, group.where
        self._ids = group.dataset("id").texts()
        self._rows = {case_id: row for row, case_id in enumerate(self._ids)}
        if len(self._rows) != len(self._ids):
            raise VectorFileError(f"{self._where}/id: names a case twice")
        self._status = self._texts("status") if "status" in group else None
        self._message = self._texts("message") if self._status and "message" in group else None
        if self._status and not set(self._status) <= set(get_args(Status)):
            [wrong, *_] = sorted(set(self._status) - set(get_args(Status)))
            raise VectorFileError(
                f"{self._where}/status: {wrong!r}; expected one of {', '.join(get_args(Status))}"
            )

    def _texts(self, name: str) -> list[str]:
        stored, total = self._group.dataset(name), len(self._ids)
        if stored.shape != (total,):
            raise VectorFileError(f"{stored.where}: is {stored.shape}; expected ({total},), as id")
        return stored.texts()

    def check_ids(self, ids: Sequence[str]) -> None:
        """Raise VectorFileError for a row that is none of the vectors' `ids`."""
        unknown = sorted(self._rows.keys() - set(ids))
        if unknown:
            raise VectorFileError(
                f"{self._where}/id: {unknown[0]!r} is not a case of the vectors' block"
            )

    def observed(self, block: Block) -> Observed:
        """What is stored of the cases of `block`."""
        at = [self._rows.get(case_id, -1) for case_id in block.ids]
        absent = f"not in {self._where}"
        status = [_at(self._status, row, "ok", "missing") for row in at]
        messages = [_at(self._message, row, "", absent) for row in at]
        return Observed(cast(list[Status], status), messages, self._arrays(block, np.array(at)))

    def _arrays(self, block: Block, at: Array) -> Arrays:
        arrays = {}
        outputs, total = self._group.group("outputs"), len(self._ids)
        in_order = len(at) > 0 and at[0] >= 0 and bool((np.diff(at) == 1).all())
        for name, expected in block.answer.outputs.items():
            stored = outputs.dataset(name)
            shape = (total, *expected.shape[1:])
            if stored.shape != shape or stored.dtype != block.dtype:
                raise VectorFileError(
                    f"{stored.where}: is {stored.dtype} {stored.shape}; "
                    f"expected {block.dtype} {shape}"
                )
            if in_order:
                arrays[name] = stored.read(int(at[0]), int(at[-1]) + 1)
            else:
                everything = stored.read(0, total)
                arrays[name] = np.zeros_like(expected)
                arrays[name][at >= 0] = everything[at[at >= 0]]
        return arrays


def _at(told: list[str] | None, row: int, untold: str, absent: str) -> str:
    """What is told of a row: `absent` of one that is not there."""
    if row < 0:
        return absent
    return told[row] if told else untold


def _missing(block: Block, why: str) -> Observed:
    zeros = {name: np.zeros_like(expected) for name, expected in block.answer.outputs.items()}
    return Observed(["missing"] * len(block), [why] * len(block), zeros)


class OutputsWriter:
    """An open, unfinished outputs file. Make one with `new_outputs_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, block: Block, ids: list[str], parts: list[tuple[Block, Observed]]) -> None:
        """Write a block: `ids` of all its rows, and the observed outputs of each slice."""
        observed = [one for _, one in parts]
        status = [said for one in observed for said in one.status]
        messages = [said for one in observed for said in one.messages]
        self._write(block.path, ids, status, messages, [one.outputs for one in observed])

    def write_again(self, path: str, stored: Folder, errors: Mapping[str, str]) -> Counter[str]:
        """Write a block as it is `stored` in another file, but for `errors`: of cases that were answered,
        by id, why they are errors all the same. Gives how many cases have each status."""
        ids, status, messages = (stored.dataset(n).texts() for n in ("id", "status", "message"))
        for row, case_id in enumerate(ids):
            if case_id in errors and status[row] in ("ok", "unsupported"):
                status[row], messages[row] = "error", errors[case_id]
        outputs = stored.group("outputs")
        arrays = {name: outputs.dataset(name).read(0, len(ids)) for name in outputs.names}
        self._write(path, ids, status, messages, [arrays])
        return Counter(status)

    def _write(
        self,
        path: str,
        ids: list[str],
        status: Sequence[str],
        messages: Sequence[str],
        slices: Sequence[Arrays],
    ) -> None:
        group = self._file.create_group(path)
        for name, texts in (("id", ids), ("status", status), ("message", messages)):
            write_texts(group, name, texts)
        start = 0
        for outputs in slices:
            for name, array in outputs.items():
                write_array(group.require_group("outputs"), name, start, array, len(ids))
            start += max(map(len, outputs.values()), default=0)


def check_outputs_place(path: Path) -> None:
    """Raise GrucibleError where outputs cannot stand at `path`, or would replace something else."""
    check_replaceable(path, MARKS[OUTPUTS])


@contextlib.contextmanager
def new_outputs_file(path: Path, runtime: str, version: str) -> Iterator[OutputsWriter]:
    """An outputs file being written; it appears at `path`, whole, when the block ends without error."""
    with new_file(path, OUTPUTS) as file:
        write_text_attribute(file, "runtime", runtime)
        write_text_attribute(file, "runtime_version", version)
        yield OutputsWriter(file)


def with_errors(path: Path, errors: Mapping[str, str]) -> Counter[str]:
    """Replace an outputs file by one in which cases are errors, by id with the reason, that had been
    answered. Gives how many cases have each status; nothing where it has none of those cases."""
    root = open_file(path, OUTPUTS)
    blocks = _blocks(root)
    if not _ids(blocks) & errors.keys():
        return Counter()
    who = [str(root.attribute(name) or "") for name in ("runtime", "runtime_version")]
    with new_outputs_file(path, *who) as writer:
        counts = [writer.write_again(name, one, errors) for name, one in blocks.items()]
    return sum(counts, Counter())


def stored_ids(path: Path) -> set[str]:
    """The ids of the cases of which an outputs file holds something."""
    return _ids(_blocks(open_file(path, OUTPUTS)))


def _blocks(root: Folder) -> dict[str, Folder]:
    return {
        f"{dtype}/{name}": root.group(dtype).group(name)
        for dtype in root.names
        for name in root.group(dtype).names
    }


def _ids(blocks: Mapping[str, Folder]) -> set[str]:
    return {one for stored in blocks.values() for one in stored.dataset("id").texts()}
