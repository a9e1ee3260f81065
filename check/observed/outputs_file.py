"""Outputs files: what a runtime made of vectors, kept or made elsewhere.

The same block paths as the vector file, each with `id` and `outputs/<name>`, and optionally
`status` and `message` per case; rows match by id, in any order. See vectors/FORMAT.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import h5py
import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Arrays
from ...cases.errors import VectorFileError
from ...vectors.attributes import any_attribute, write_text_attribute
from ...vectors.block import Block
from ...vectors.hdf5 import (
    FORMAT_VERSION,
    OUTPUTS,
    Stored,
    atomic_file,
    damage_of,
    has_member,
    member_names,
    open_file,
    subgroup,
    write_array,
    write_texts,
)
from .source import Observed, Status


class FromOutputs:
    """A `Source` that reads an outputs file, or a directory of them with the vectors' paths.

    Raises VectorFileError where a file is not an outputs file, or has rows that do not belong to
    the vectors, or arrays of other shapes or dtypes. What is absent is missing.
    """

    needs_inputs = False

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise VectorFileError(f"{path}: no such file or directory; expected outputs")
        self._root = path
        self._open: tuple[Path, h5py.File] | None = None
        self._at: tuple[tuple[str, str], tuple[Any, dict[str, int]] | None] | None = None
        self._stack = contextlib.ExitStack()
        self.name, self.version = str(path), ""

    def close(self) -> None:
        """Close the file at hand."""
        self._stack.close()

    def observe(self, relative: str, block: Block) -> Observed:
        """The stored outputs of the cases of `block`."""
        path = self._path(relative)
        where = f"{path}: /{block.path}"
        with damage_of(path):
            stored = self._block(relative, block.path)
            if stored is None:
                return _missing(block, f"there is no {where if path.exists() else path}")
            return _rows(block, *stored, where)

    def check_blocks(self, relative: str, paths: Sequence[str]) -> None:
        """Raise VectorFileError for a block that the vectors do not have."""
        file = self._path(relative)
        if not file.exists():
            return
        with damage_of(file):
            root = self._file(file)
            for dtype in member_names(root, f"{file}: "):
                if dtype in FLOAT_TYPES:
                    folder = subgroup(root, dtype, f"{file}: ")
                    for name in member_names(folder, f"{file}: /{dtype}"):
                        if f"{dtype}/{name}" not in paths:
                            raise VectorFileError(
                                f"{file}: /{dtype}/{name}: is not a block of the vectors"
                            )

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Raise VectorFileError for rows of a block that the vectors do not have."""
        file = self._path(relative)
        with damage_of(file):
            stored = self._block(relative, path)
            unknown = sorted(set(stored[1]) - set(ids)) if stored else []
            if unknown:
                raise VectorFileError(
                    f"{file}: /{path}/id: {unknown[0]!r} is not a case of the vectors' block"
                )

    def _block(self, relative: str, path: str) -> tuple[Any, dict[str, int]] | None:
        """The group of a block in the outputs and the row of each id; None where it is absent."""
        if self._at is None or self._at[0] != (relative, path):
            self._at = (relative, path), self._find_block(relative, path)
        return self._at[1]

    def _find_block(self, relative: str, path: str) -> tuple[Any, dict[str, int]] | None:
        file = self._path(relative)
        if not file.exists():
            return None
        dtype, _, name = path.partition("/")
        root = self._file(file)
        if not has_member(root, dtype):
            return None
        folder = subgroup(root, dtype, f"{file}: ")
        if not has_member(folder, name):
            return None
        group = subgroup(folder, name, f"{file}: /{dtype}")
        ids = Stored(group, "id", f"{file}: /{path}", any_attribute)
        rows = {case_id: row for row, case_id in enumerate(ids.texts(0, ids.shape[0]))}
        if len(rows) != ids.shape[0]:
            raise VectorFileError(f"{file}: /{path}/id: names a case twice")
        return group, rows

    def _path(self, relative: str) -> Path:
        return self._root if self._root.is_file() else self._root / relative

    def _file(self, path: Path) -> Any:
        if self._open is None or self._open[0] != path:
            self._stack.close()
            file = self._stack.enter_context(open_file(path, OUTPUTS))
            self._open = path, file
            runtime = any_attribute(file, "runtime")
            if isinstance(runtime, str):
                self.name, self.version = runtime, str(any_attribute(file, "runtime_version") or "")
        return self._open[1]


def _rows(block: Block, group: Any, rows: dict[str, int], where: str) -> Observed:
    total = len(rows)
    at = np.array([rows.get(case_id, -1) for case_id in block.ids])
    status: list[Status] = ["ok"] * len(block)
    messages = [""] * len(block)
    if "status" in group:
        told = _texts(group, "status", where, total)
        said = _texts(group, "message", where, total) if "message" in group else [""] * total
        for row, source in enumerate(at):
            if source >= 0:
                if told[source] not in get_args(Status):
                    raise VectorFileError(
                        f"{where}/status: {told[source]!r}; expected one of {', '.join(get_args(Status))}"
                    )
                status[row], messages[row] = told[source], said[source]
    for row, source in enumerate(at):
        if source < 0:
            status[row], messages[row] = "missing", f"not in {where}"
    return Observed(status, messages, _arrays(block, group, at, total, where))


def _texts(group: Any, name: str, where: str, total: int) -> list[str]:
    stored = Stored(group, name, where, any_attribute)
    if stored.shape != (total,):
        raise VectorFileError(f"{stored.where}: is {stored.shape}; expected ({total},), as id")
    return stored.texts(0, total)


def _arrays(block: Block, group: Any, at: Any, total: int, where: str) -> Arrays:
    arrays = {}
    outputs = subgroup(group, "outputs", where)
    in_order = len(at) > 0 and at[0] >= 0 and bool((np.diff(at) == 1).all())
    for name, expected in block.answer.outputs.items():
        stored = Stored(outputs, name, f"{where}/outputs", any_attribute)
        shape = (total, *expected.shape[1:])
        expected_dtype = block.dtype
        if stored.shape != shape or stored.dtype != expected_dtype:
            raise VectorFileError(
                f"{stored.where}: is {stored.dtype} {stored.shape}; expected {expected_dtype} {shape}"
            )
        if in_order:
            arrays[name] = stored.read(int(at[0]), int(at[-1]) + 1)
        else:
            everything = stored.read(0, total)
            arrays[name] = np.zeros_like(expected)
            arrays[name][at >= 0] = everything[at[at >= 0]]
    return arrays


def _missing(block: Block, why: str) -> Observed:
    zeros = {name: np.zeros_like(expected) for name, expected in block.answer.outputs.items()}
    return Observed(["missing"] * len(block), [why] * len(block), zeros)


class OutputsWriter:
    """An open, unfinished outputs file. Make one with `new_outputs_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, block: Block, ids: list[str], parts: list[tuple[Block, Observed]]) -> None:
        """Write a block: `ids` of all its rows, and the observed outputs of each slice."""
        group = self._file.create_group(block.path)
        write_texts(group, "id", ids)
        write_texts(group, "status", [s for _, observed in parts for s in observed.status])
        write_texts(group, "message", [m for _, observed in parts for m in observed.messages])
        start = 0
        for part, observed in parts:
            for name, array in observed.outputs.items():
                write_array(group.require_group("outputs"), name, start, array, len(ids))
            start += len(part)


@contextlib.contextmanager
def new_outputs_file(path: Path, runtime: str, version: str) -> Iterator[OutputsWriter]:
    """An outputs file being written; it appears at `path`, whole, when the block ends without error."""
    with atomic_file(path) as file:
        write_text_attribute(file, "format", OUTPUTS)
        file.attrs["format_version"] = FORMAT_VERSION
        write_text_attribute(file, "runtime", runtime)
        write_text_attribute(file, "runtime_version", version)
        yield OutputsWriter(file)
