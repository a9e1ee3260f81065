"""Writing HDF5: a file appears whole, or not at all; arrays little-endian, texts of fixed length."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.errors import VectorFileError
from ...cases.whole_file import (
    is_hdf5,
    leaving_no_empty_folder,
    prepare_place,
    replace_file,
    writing_to,
)
from .attributes import attribute, write_text_attribute
from .opening import FORMAT_VERSION, not_read
from .seal import has_seal

WhyNot = Callable[[h5py.File | None], str]
"""Why an open file of ours is not replaced, "" where it is; None is a vector file that does not open."""

_NOT_OURS = "is there already, and holds no vectors or outputs; name another place"
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


@contextlib.contextmanager
def atomic_file(
    path: Path,
    last: Callable[[bytes], bytes] = lambda image: image,
    why_not: WhyNot = lambda _: "",
) -> Iterator[h5py.File]:
    """A new HDF5 file that takes the place of `path`, whole, when the block ends without error; `last` makes
    of its bytes those that are written, and `why_not` says what it does not replace.

    It is built in memory, for where the disk is full the HDF5 library crashes, and then written to a
    temporary file beside `path`. On any error, Ctrl-C included, that is removed, as are new folders, and what
    stood at `path` stays. Those that killed processes left there are removed. Raises GrucibleError where it
    cannot be written.
    """
    with leaving_no_empty_folder(path):
        prepare_to_replace(path, why_not)
        with h5py.File(
            path.name, "w", driver="core", backing_store=False, libver=("earliest", "v110")
        ) as file:
            yield file
            file.flush()
            image = file.id.get_file_image()
        with writing_to(path):
            check_replaceable(path, why_not)  # somebody may have put something there
            replace_file(path, last(image))


def prepare_to_replace(path: Path, why_not: WhyNot) -> None:
    """Make the directory of a file at `path`. Raises GrucibleError where the file cannot be written, or would
    replace what it may not: before long work, not after."""
    with writing_to(path):
        prepare_place(path)
        check_replaceable(path, why_not)


def check_replaceable(path: Path, why_not: WhyNot) -> None:
    """Raise VectorFileError for what stands at `path` if grucible did not write it, as a program's source or
    somebody's weights, if a later grucible did, or if `why_not` says so. A damaged vector file may be
    replaced by another; one that cannot be read may be whole, and stays."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        if is_hdf5(path):
            why = _why_kept(path, why_not)
        else:
            why = "is there already, and is no HDF5 file; name another place"
    except OSError as error:
        why = not_read(error)
    if why:
        raise VectorFileError(f"{path}: {why}")


def _why_kept(path: Path, why_not: WhyNot) -> str:
    """Why an HDF5 file is not replaced, "" where it is. Raises OSError where it cannot be read."""
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if not_read(error):
            raise
        return why_not(None) if has_seal(path) else _NOT_OURS  # what is sealed was vectors
    with file:
        return (why_not(file) or _later(file)) if _is_ours(file) else _NOT_OURS


def _is_ours(file: h5py.File) -> bool:
    """Whether an HDF5 file says, as grucible writes it, that it holds vectors or outputs."""
    try:
        return str(attribute(file, "format")).startswith("grucible ")
    except VectorFileError:  # a text as h5py writes a str: somebody else's
        return False


def _later(file: h5py.File) -> str:
    """Why a file of a later format version, which nothing here can read, is not replaced; "" for others."""
    try:
        version = attribute(file, "format_version")
    except VectorFileError:  # a text
        return ""
    if not isinstance(version, int) or version <= FORMAT_VERSION:
        return ""
    return (
        f"is there already, and a later grucible wrote it (format_version {version}; this one writes "
        f"{FORMAT_VERSION}); name another place, or remove it"
    )


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
