"""Writing HDF5: a file appears whole, or not at all; arrays little-endian, texts of fixed length."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.errors import VectorFileError
from .attributes import write_text_attribute

_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[h5py.File]:
    """A new HDF5 file that takes the place of `path`, whole, when the block ends without error.

    It is built in memory, for where the disk is full the HDF5 library crashes, and then written to a
    temporary file beside `path`. On any error, Ctrl-C included, that is removed and what stood at `path`
    stays. Those that killed processes left there are removed. Raises VectorFileError where it cannot be
    written.
    """
    with _named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _remove_leftovers(path)
        _check_writable(path)
    with h5py.File(
        path.name, "w", driver="core", backing_store=False, libver=("earliest", "v110")
    ) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()
    with _named(path):
        _write(path, image)


def _temporary(path: Path, process: str) -> Path:
    """Where a process of this machine writes what will stand at `path`."""
    return path.with_name(f".{path.name}.{platform.node()}.{process}.tmp")


def _write(path: Path, image: bytes) -> None:
    temporary = _temporary(path, str(os.getpid()))
    try:
        with temporary.open("wb") as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    """Raise OSError where no file can be made beside `path`: before hours of work, not after."""
    temporary = _temporary(path, str(os.getpid()))
    temporary.touch()
    temporary.unlink()


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of processes of this machine that are no more."""
    pattern = glob.escape(_temporary(path, "").name.removesuffix(".tmp")) + "*.tmp"
    for left in path.parent.glob(pattern):
        process = left.name.removesuffix(".tmp").rpartition(".")[2]
        if process.isascii() and process.isdigit() and not _runs(int(process)):
            with contextlib.suppress(OSError):
                left.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's
    return True


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """An OSError of writing as a VectorFileError that names `path`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error).partition("\n")[0]
        raise VectorFileError(f"{path}: cannot be written ({why})") from None


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
