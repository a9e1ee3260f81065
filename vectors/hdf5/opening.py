"""Opening HDF5 files that may be anything: truncated, damaged, or of another format or version."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import h5py

from ...cases.errors import VectorFileError
from .attributes import AttributeReader, attribute
from .folder import Folder, Room
from .variable_texts import VariableTexts

FORMAT_VERSION = 2
VECTORS = "grucible vectors"
OUTPUTS = "grucible outputs"

_READ = {VECTORS: (2,), OUTPUTS: (1, 2)}  # nothing in outputs files changed with version 2
_LOCKED = (errno.EAGAIN, errno.EACCES)
_AGAIN = {VECTORS: "; make the file again with: grucible gen", OUTPUTS: ""}


@contextlib.contextmanager
def open_file(path: Path, kind: str) -> Iterator[Folder]:
    """The root of a file of `kind` (VECTORS or OUTPUTS), for reading; VectorFileError if it is none."""
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file; expected {kind} (HDF5)")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if why := not_read(error):
            raise VectorFileError(f"{path}: {why}") from None
        why = "is truncated" if "truncated" in str(error) else "is not an HDF5 file"
        raise VectorFileError(f"{path}: {why}; expected {kind}") from None
    reader: AttributeReader = attribute if kind == VECTORS else VariableTexts(path)
    with file, damage_of(path):
        root = h5py.h5o.open(file.id, b"/")
        _check_format(file, path, kind, reader)
        yield Folder(root, f"{path}: ", Room(path.stat().st_size), reader)


def not_read(error: OSError) -> str:
    """Why HDF5 did not read a file at all, with the remedy; "" where it did, and the bytes are at fault."""
    said = str(error)
    if "lock file" in said and error.errno in _LOCKED:
        return "is open in another program; close it there, and try again"
    if "already open for" in said:
        return "is marked as open for writing; close the program that writes it, or remove the file"
    if error.errno is None:
        return ""
    return f"cannot be read ({os.strerror(error.errno)}); make it readable, or name another place"


def _check_format(file: h5py.File, path: Path, kind: str, reader: AttributeReader) -> None:
    """Raise VectorFileError unless the file says it is of `kind`, in a version that is read."""
    version = attribute(file, "format_version")
    if version != 1 or kind == OUTPUTS:  # in version 1 this was a text of variable length
        found = reader(file, "format")
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
        why = str(error).partition("\n")[0]
        raise VectorFileError(f"{path}: is damaged ({why})") from None
