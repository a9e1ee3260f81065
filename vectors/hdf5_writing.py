"""Writing HDF5: a file appears whole, or not at all; arrays little-endian, texts of fixed length."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array
from ..cases.files import check_replaceable, write_whole, writing_to
from .hdf5 import FORMAT_VERSION, OUTPUTS, VECTORS

_HDF5 = rb"\x89HDF\r\n\x1a\n"
MARKS = {
    VECTORS: re.compile(rb"(grucible vectors\n|%b.*grucible vectors)" % _HDF5, re.DOTALL),
    OUTPUTS: re.compile(rb"%b.*grucible outputs" % _HDF5, re.DOTALL),
}
"""What files of each kind begin with; vector files of grucible 0.1 had 512 bytes before HDF5's own."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


@contextlib.contextmanager
def new_file(path: Path, kind: str, *, force: bool = False) -> Iterator[h5py.File]:
    """Open a new file of `kind` that takes the place of `path`, whole, when the block ends without error.

    It is built in memory, for the HDF5 library crashes where a disk is full. Raises GrucibleError where it
    cannot be written, or would replace what grucible did not write, unless `force`.
    """
    prepare_place(path, kind, force=force)
    with h5py.File(
        path.name, "w", driver="core", backing_store=False, libver=("earliest", "v110")
    ) as file:
        write_text_attribute(file, "format", kind)
        file.attrs["format_version"] = FORMAT_VERSION
        yield file
        file.flush()
        image = file.id.get_file_image()
    write_whole(path, image, mark=MARKS[kind], force=force)


def prepare_place(path: Path, kind: str, *, force: bool = False) -> None:
    """Make the directory of a file of `kind` at `path`, and check that it can be written there.

    Raises GrucibleError where it cannot, or would replace something else: before long work, not after it.
    """
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_replaceable(path, MARKS[kind], force=force)


def write_text_attribute(node: Any, name: str, text: str) -> None:
    """Write an attribute of fixed-length UTF-8 text."""
    raw = text.encode("utf-8")
    node.attrs.create(name, np.array(raw, h5py.string_dtype("utf-8", max(1, len(raw)))))


def write_array(group: Any, name: str, start: int, array: Array, total: int) -> None:
    """Write rows of dataset `name`, which is made with `total` rows when it is first written."""
    stored = array.view(np.uint16) if array.dtype == _BFLOAT16 else array
    if name not in group:
        little = stored.dtype.newbyteorder("<")
        data = group.create_dataset(name, (total, *stored.shape[1:]), little)
        if array.dtype == _BFLOAT16:
            write_text_attribute(data, "dtype", "bfloat16")
    group[name][start : start + len(stored)] = stored


def write_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    """Write a dataset of fixed-length UTF-8 texts."""
    encoded = [text.encode("utf-8") for text in texts]
    width = max(map(len, encoded), default=1)
    group.create_dataset(name, data=np.array(encoded, h5py.string_dtype("utf-8", width)))
