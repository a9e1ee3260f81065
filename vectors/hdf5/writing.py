"""Writing HDF5: a file appears whole, or not at all; arrays little-endian, texts of fixed length."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...cases.commands.text_file import is_hdf5
from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.errors import VectorFileError
from ...cases.whole_file import prepare_place, replace_file, writing_to
from .attributes import attribute, write_text_attribute
from .seal import has_seal

_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


@contextlib.contextmanager
def atomic_file(
    path: Path, last: Callable[[bytes], bytes] = lambda image: image
) -> Iterator[h5py.File]:
    """A new HDF5 file that takes the place of `path`, whole, when the block ends without error; `last` makes
    of its bytes those that are written.

    It is built in memory, for where the disk is full the HDF5 library crashes, and then written to a
    temporary file beside `path`. On any error, Ctrl-C included, that is removed and what stood at `path`
    stays. Those that killed processes left there are removed. Raises GrucibleError where it cannot be
    written.
    """
    with writing_to(path):
        prepare_place(path)
        _check_replaceable(path)
    with h5py.File(
        path.name, "w", driver="core", backing_store=False, libver=("earliest", "v110")
    ) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()
    with writing_to(path):
        _check_replaceable(path)  # somebody may have put something there
        replace_file(path, last(image))


def _check_replaceable(path: Path) -> None:
    """Raise VectorFileError for what stands at `path` if grucible did not write it: a program's source,
    somebody's weights. A damaged vector file may be replaced."""
    if path.exists() and path.stat().st_size and not is_hdf5(path):
        raise VectorFileError(f"{path}: is there already, and is no HDF5 file; name another place")
    if path.exists() and path.stat().st_size and not _is_ours(path):
        raise VectorFileError(
            f"{path}: is there already, and holds no vectors or outputs; name another place"
        )


def _is_ours(path: Path) -> bool:
    """Whether an HDF5 file says, as grucible writes it, that it holds vectors or outputs. One that cannot be
    opened, because it is damaged or somebody writes it, is ours if it has our seal."""
    try:
        with h5py.File(path, "r") as file:
            return str(attribute(file, "format")).startswith("grucible ")
    except OSError:
        return has_seal(path)
    except VectorFileError:  # a text as h5py writes a str: somebody else's
        return False


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
