"""The arrays of an .npz file of somebody's, read as hostile: bounded, and without pickle."""

from __future__ import annotations

import contextlib
import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from .manifest import ExportError

MOST_ARRAYS = 64
"""So many arrays may be in a file: the largest operator has 6 inputs and 2 outputs."""
MOST_BYTES = 64 << 20
"""So many bytes all arrays of a file may have: a case has at most 32 MiB."""
MOST_EXPANSION = 100
"""An array of more than a mebibyte may be so many times larger than it is stored: numbers hardly shrink."""
_MOST_CONTENTS = 256 << 10
"""So many bytes the table of contents of an archive may have: of some hundred arrays it has some 20 KiB."""


UNREADABLE = (
    OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, OverflowError, MemoryError,
    NotImplementedError, IndexError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What zipfile, zlib and numpy raise on files that are damaged, encrypted, or lie about their size."""


class _Contents(io.BufferedReader):
    """A file of which zipfile, while it looks for the table of contents, reads no more at once than that may
    have: it takes the size of the table from the file, and the file may be sparse."""

    found = False

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.found and size is not None and size > _MOST_CONTENTS:
            raise zipfile.BadZipFile(
                f"its table of contents has {size >> 10} KiB; expected at most {_MOST_CONTENTS >> 10}"
            )
        return super().read(size)


@contextlib.contextmanager
def npz_archive(raw: io.FileIO) -> Iterator[zipfile.ZipFile]:
    """The archive in an open file. Raises one of UNREADABLE."""
    with _Contents(raw) as file, zipfile.ZipFile(file) as archive:
        file.found = True
        yield archive


def read_npz(path: Path) -> Arrays:
    """The arrays by name, in the machine's byte order; uint16 as bfloat16. Raises ExportError."""
    found: Arrays = {}
    if not path.is_file():
        raise ExportError(f"{path}: is no regular file; expected an .npz file")
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        why = error.strerror or error
        raise ExportError(
            f"{path}: cannot be read ({why}); make it readable, or name another place"
        ) from None
    try:
        with file, npz_archive(file) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if len(members) > MOST_ARRAYS or size > MOST_BYTES:
                raise ValueError(
                    f"it has {len(members)} arrays of {size >> 20} MiB; expected at most "
                    f"{MOST_ARRAYS} of {MOST_BYTES >> 20}"
                )
            for member in members:
                if member.file_size > max(1 << 20, MOST_EXPANSION * member.compress_size):
                    raise ValueError("it has an array that is compressed too well")
                name = member.filename.removesuffix(".npy")
                if name in found:
                    raise ValueError(f"it has two arrays {name!r}")
                found[name] = _bfloat16(member_array(archive, member))
    except UNREADABLE as error:
        raise ExportError(f"{path}: is no .npz file that can be read ({reason(error)})") from None
    return found


def member_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """An array of an open .npz file, in the machine's byte order, no larger than its header says. Raises one
    of UNREADABLE."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is compressed otherwise than numpy's are")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in read:
            raise ValueError(f"it is of version {version}")
        shape, _, dtype = read[version](file)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize > member.file_size:
            raise ValueError(f"it says {dtype} {shape}, and has {member.file_size} bytes"[:200])
    with archive.open(member) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def reason(error: BaseException) -> str:
    """What an error says, in a short line."""
    return (str(error).partition("\n")[0] or type(error).__name__)[:200]


def _bfloat16(array: Array) -> Array:
    return array.view(FLOAT_TYPES["bfloat16"].numpy) if array.dtype == np.uint16 else array
