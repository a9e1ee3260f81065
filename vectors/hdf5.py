"""HDF5 files, written atomically and read as hostile.

A file that someone hands to `check` may be missing, truncated, of another format, or made to hurt:
every dataset is reached by hard links only, is stored in the file itself, is of a plain number or
fixed-length string type, and is no larger than what the file can hold.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, dtype_name
from ..cases.errors import VectorFileError
from .attributes import AttributeReader, any_attribute, attribute, write_text_attribute

FORMAT_VERSION = 2
VECTORS = "grucible vectors"
OUTPUTS = "grucible outputs"
_READ = {VECTORS: (2,), OUTPUTS: (1, 2)}  # nothing in outputs files changed with version 2
_AGAIN = {VECTORS: "; make the file again with: grucible gen", OUTPUTS: ""}

_MOST_EXPANSION = 1000  # a compressed dataset may be this many times larger than it is stored
_SLACK = 1 << 20
_MOST_ROWS = 1 << 22
_MOST_ROW_BYTES = 1 << 30
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[h5py.File]:
    """A new HDF5 file that takes the place of `path`, whole, when the block ends without error.

    Until then it is a temporary file beside `path`; on any error, Ctrl-C included, it is removed
    and what stood at `path` stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            file = h5py.File(temporary, "w", libver=("earliest", "v110"))
        with file:
            yield file
        with _named(path):
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """An OSError of writing as a VectorFileError that names `path`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or _first_line(error)
        raise VectorFileError(f"{path}: cannot be written ({why})") from None


@contextlib.contextmanager
def open_file(path: Path, kind: str) -> Iterator[h5py.File]:
    """A file of `kind` (VECTORS or OUTPUTS) opened for reading; VectorFileError if it is not one."""
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file; expected {kind} (HDF5)")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        why = "is truncated" if "truncated" in str(error) else "is not an HDF5 file"
        raise VectorFileError(f"{path}: {why}; expected {kind}") from None
    with file, damage_of(path):
        _check_format(file, path, kind)
        yield file


def _check_format(file: h5py.File, path: Path, kind: str) -> None:
    """Raise VectorFileError unless the file says it is of `kind`, in a version that is read."""
    version = attribute(file, "format_version")
    if version != 1 or kind == OUTPUTS:  # in version 1 this was a text of variable length
        found = attribute(file, "format") if kind == VECTORS else any_attribute(file, "format")
        if found != kind:
            raise VectorFileError(f"{path}: format is {found!r}; expected {kind!r}")
    if version not in _READ[kind]:
        read = " and ".join(map(str, _READ[kind]))
        raise VectorFileError(
            f"{path}: format_version is {version}; this grucible reads {read}{_AGAIN[kind]}"
        )


@contextlib.contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """What h5py raises on a damaged file, as a VectorFileError; errors of others pass."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeError) as error:
        origin = error.__traceback__
        while origin is not None and origin.tb_next is not None:
            origin = origin.tb_next
        if origin is None or "h5py" not in Path(origin.tb_frame.f_code.co_filename).parts:
            raise
        raise VectorFileError(f"{path}: is damaged ({_first_line(error)})") from None


def children(group: Any, kind: type, where: str) -> list[str]:
    """The names in `group`, sorted, each a hard link to a `kind`; VectorFileError otherwise.

    `where` says in errors where the group is: `file: /path`.
    """
    wanted = h5py.h5o.TYPE_GROUP if kind is h5py.Group else h5py.h5o.TYPE_DATASET
    names = member_names(group, where)
    for name in names:
        _refuse_link(group, name, where)
        if h5py.h5o.get_info(group.id, name.encode()).type != wanted:
            raise VectorFileError(f"{where}/{name}: is not a {kind.__name__.lower()}")
    return names


def member_names(group: Any, where: str) -> list[str]:
    """The names in `group`, sorted; VectorFileError for one that is not UTF-8."""
    names = list(group)
    if not all(isinstance(name, str) for name in names):
        raise VectorFileError(f"{where}: holds a name that is not UTF-8")
    return sorted(names)


def has_member(group: Any, name: str) -> bool:
    """Whether `group` has a link of that name, of any kind."""
    return bool(group.id.links.exists(name.encode()))


def subgroup(group: Any, name: str, where: str) -> Any:
    """The group `name` in `group`; VectorFileError if there is none."""
    return _member(group, name, h5py.Group, where)


def _refuse_link(group: Any, name: str, where: str) -> None:
    try:
        link = group.id.links.get_info(name.encode()).type
    except (KeyError, RuntimeError, OSError):
        raise VectorFileError(f"{where}/{name}: is missing") from None
    if link != h5py.h5l.TYPE_HARD:
        raise VectorFileError(f"{where}/{name}: is a link; expected the thing itself")


def _member(group: Any, name: str, kind: type, where: str) -> Any:
    _refuse_link(group, name, where)
    try:
        member = group[name]
    except (KeyError, OSError, ValueError, RuntimeError):
        raise VectorFileError(f"{where}/{name}: is damaged") from None
    if not isinstance(member, kind):
        raise VectorFileError(f"{where}/{name}: is not a {kind.__name__.lower()}")
    return member


class Stored:
    """A dataset that has been checked to be readable; `shape` and `dtype` are what it holds.

    `dtype` is a name (`bfloat16` for uint16 marked so, an attribute read by `mark`), or `text` for
    fixed-length UTF-8.
    """

    def __init__(
        self, group: Any, name: str, where: str, mark: AttributeReader = attribute
    ) -> None:
        self.where = f"{where}/{name}"
        data = _member(group, name, h5py.Dataset, where)
        try:
            shape, dtype, creation = data.shape, data.dtype, data.id.get_create_plist()
            layout = creation.get_layout()
            if shape is None or layout == h5py.h5d.VIRTUAL or creation.get_external_count():
                raise VectorFileError(f"{self.where}: does not hold its data in this file")
            if not shape:
                raise TypeError("a scalar")
            self.shape: tuple[int, ...] = shape
            self.dtype = _stored_dtype(data, dtype, mark)
            self._itemsize: int = dtype.itemsize
            stored = data.id.get_storage_size()
            factor = _MOST_EXPANSION if layout == h5py.h5d.CHUNKED else 1
            if self._itemsize * math.prod(shape) > stored * factor + _SLACK:
                raise VectorFileError(
                    f"{self.where}: claims shape {self.shape} but stores {stored} bytes"
                )
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise VectorFileError(f"{self.where}: is damaged ({_first_line(error)})") from None
        if self.shape[0] > _MOST_ROWS or self.row_bytes > _MOST_ROW_BYTES:
            raise VectorFileError(f"{self.where}: is {self.shape}; no block is so large")
        self._data = data

    @property
    def row_bytes(self) -> int:
        """The bytes of one row."""
        return self._itemsize * math.prod(self.shape[1:])

    def read(self, start: int, stop: int) -> Array:
        """Rows start … stop, in the machine's byte order; bfloat16 as an ml_dtypes array."""
        try:
            array: Array = self._data[start:stop]
        except (OSError, RuntimeError, ValueError) as error:
            raise VectorFileError(f"{self.where}: is damaged ({_first_line(error)})") from None
        if self.dtype == "text":
            return array
        if self.dtype == "bfloat16":
            return array.astype(np.uint16, copy=False).view(_BFLOAT16)
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def texts(self, start: int, stop: int) -> list[str]:
        """Rows start … stop of a text dataset."""
        if self.dtype != "text" or len(self.shape) != 1:
            raise VectorFileError(f"{self.where}: is not a list of texts")
        try:
            texts = [value.decode("utf-8") for value in self.read(start, stop).tolist()]
        except UnicodeDecodeError:
            raise VectorFileError(f"{self.where}: is not UTF-8 text") from None
        if any("\n" in text for text in texts):
            raise VectorFileError(f"{self.where}: a text has a line feed")
        return texts


def _stored_dtype(data: Any, dtype: np.dtype[Any], mark: AttributeReader) -> str:
    if dtype.kind == "S":
        return "text"
    if dtype.kind not in "fiu" or dtype.fields is not None or dtype.subdtype is not None:
        raise TypeError(f"type {dtype} is not one of the format's")
    if dtype == np.uint16 and mark(data, "dtype") == "bfloat16":
        return "bfloat16"
    return dtype_name(dtype.newbyteorder("="))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def write_array(group: Any, name: str, start: int, array: Array, total: int) -> None:
    """Write rows of dataset `name`, which is made with `total` rows when it is first written."""
    stored = array.view(np.uint16) if array.dtype == _BFLOAT16 else array
    if name not in group:
        little = stored.dtype.newbyteorder("<")
        data = group.create_dataset(name, (total, *stored.shape[1:]), little)
        if array.dtype == _BFLOAT16:
            write_text_attribute(data, "dtype", "bfloat16")
    group[name][start : start + len(stored)] = stored


def write_texts(group: Any, name: str, texts: list[str]) -> None:
    """Write a dataset of fixed-length UTF-8 texts."""
    encoded = [text.encode("utf-8") for text in texts]
    width = max(map(len, encoded), default=1)
    group.create_dataset(name, data=np.array(encoded, h5py.string_dtype("utf-8", width)))
