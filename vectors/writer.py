"""Writing HDF5 files: each appears whole or not at all.

Arrays are little-endian; texts have a fixed length. Vector files are written block by block.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..cases.dtypes import Array, dtype_name
from ..cases.errors import GrucibleError
from ..cases.files import check_replaceable, is_forced, write_whole, writing_to
from .block import Block, BlockKey, arrays_by_path, canonical_json
from .digest import DIGESTS, file_digest
from .hdf5 import FORMAT_VERSION, OUTPUTS, STORED_AS, VECTORS, Folder, is_later, tree_of

_HDF5 = rb"\x89HDF\r\n\x1a\n"
MARKS = {
    VECTORS: re.compile(rb"(grucible vectors\n|%b.*grucible vectors)" % _HDF5, re.DOTALL),
    OUTPUTS: re.compile(rb"%b.*grucible outputs" % _HDF5, re.DOTALL),
}
"""The beginnings of files of each kind; those of grucible 0.1 had 512 bytes before HDF5's own."""


@contextlib.contextmanager
def new_file(path: Path, kind: str, *, force: bool = False) -> Iterator[h5py.File]:
    """Open a new file of `kind` that replaces `path` whole when the `with` ends without error.

    The file is built in memory, because the HDF5 library crashes on a full disk. Raises GrucibleError if it
    cannot be written or, without `force`, would replace a file that grucible did not write.
    """
    prepare_place(path, kind, force=force)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fapl_core(backing_store=False)
    access.set_libver_bounds(h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V110)
    create = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    create.set_attr_phase_change(64, 0)  # attributes stay at the file's beginning, where marks are
    name = path.name.encode()
    with h5py.File(h5py.h5f.create(name, h5py.h5f.ACC_TRUNC, create, access)) as file:
        write_text_attribute(file, "format", kind)
        file.attrs["format_version"] = FORMAT_VERSION
        yield file
        file.flush()
        image = file.id.get_file_image()
    write_whole(path, image, mark=MARKS[kind], force=force)


def prepare_place(path: Path, kind: str, *, force: bool = False) -> None:
    """Make the directory of `path`, and check that a file of `kind` can be written at `path`.

    Raises GrucibleError, before long work rather than after it, if it cannot or would replace something else.
    """
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_replaceable(path, MARKS[kind], force=force)
    if not (force or is_forced()) and is_later(path):
        raise GrucibleError(
            f"{path}: is there already, from a later grucible; name another place, or --force"
        )


def write_text_attribute(node: Any, name: str, text: str) -> None:
    """Write an attribute of fixed-length UTF-8 text."""
    raw = text.encode("utf-8")
    node.attrs.create(name, np.array(raw, h5py.string_dtype("utf-8", max(1, len(raw)))))


def write_array(group: Any, name: str, start: int, array: Array, total: int) -> None:
    """Write rows of dataset `name` from `start` on; the first call makes it, with `total` rows."""
    name_of = dtype_name(array.dtype)
    stored = array.view(STORED_AS[name_of]) if name_of in STORED_AS else array
    if start:
        group[name][start : start + len(stored)] = stored
        return
    whole = stored if len(stored) == total else None
    little = stored.dtype.newbyteorder("<")
    data = group.create_dataset(name, (total, *stored.shape[1:]), little, data=whole)
    if whole is None:
        data[: len(stored)] = stored
    if name_of in STORED_AS:
        write_text_attribute(data, "dtype", name_of)


def write_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    """Write a dataset of fixed-length UTF-8 texts."""
    encoded = [text.encode("utf-8") for text in texts]
    width = max(map(len, encoded), default=1)
    group.create_dataset(name, data=np.array(encoded, h5py.string_dtype("utf-8", width)))


class VectorWriter:
    """An open, unfinished vector file. Make one with `new_vector_file`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.content_sha256 = self.tolerance_sha256 = ""

    def write_block(self, key: BlockKey, parts: Sequence[Block]) -> None:
        """Write the whole block of `key`: the rows of all `parts` in order, with ascending ids."""
        group = self._file.create_group(key.path)
        for symbol, length in key.sizes:
            group.attrs[symbol] = length
        write_text_attribute(group, "tier", key.tier)
        ids = [case_id for part in parts for case_id in part.ids]
        write_texts(group, "id", ids)
        write_texts(group, "attributes", [canonical_json(g) for part in parts for g in part.given])
        start = 0
        for part in parts:
            for path, array in arrays_by_path(part.inputs, part.answers).items():
                write_array(group, path, start, array, len(ids))
            start += len(part)

    def is_incomplete(self) -> None:
        """Mark the file as lacking cases, so that a later `gen` makes it again."""
        write_text_attribute(self._file, "made_from", "")


def write_digests(file: Any) -> list[str]:
    """Write the digests of an open vector file and of its blocks; return those of the file."""
    root = Folder(tree_of(file), f"{file.filename}: ")
    digests = {name: file_digest(root, name) for name in DIGESTS}
    for name, (digest, of_blocks) in digests.items():
        for path, one in of_blocks.items():
            write_text_attribute(file[path], name, one)
        write_text_attribute(file, name, digest)
    return [digest for digest, _ in digests.values()]


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
    """Open a new vector file, which appears whole at `path` when the `with` ends without error.

    The ids of its cases begin with `<operator>/<theme>/`. `made_from` names everything that the file is made
    from, so that a later `gen` can tell whether it would make the same file again.
    """
    with new_file(path, VECTORS, force=force) as file:
        file.attrs["seed"] = seed
        texts = {"operator": operator, "theme": theme, "generator": generator}
        for name, value in {**texts, "made_from": made_from}.items():
            write_text_attribute(file, name, value)
        text = np.frombuffer(spec_text.encode("utf-8"), np.uint8)
        write_array(file, "spec", 0, text, len(text))
        writer = VectorWriter(file)
        yield writer
        file.flush()
        writer.content_sha256, writer.tolerance_sha256 = write_digests(file)
