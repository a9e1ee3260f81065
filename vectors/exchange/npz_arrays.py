"""The arrays of an .npz file of somebody's, read as hostile: bounded, and without pickle."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Arrays
from .manifest import ExportError

MOST_ARRAYS = 64
"""So many arrays may be in a file: the largest operator has 6 inputs and 2 outputs."""
MOST_BYTES = 256 << 20
"""So many bytes all arrays of a file may have."""


def read_npz(path: Path) -> Arrays:
    """The arrays by name, in the machine's byte order; uint16 as bfloat16. Raises ExportError."""
    found: Arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_ARRAYS or sum(m.file_size for m in members) > MOST_BYTES:
                raise ValueError(
                    f"it has {len(members)} arrays of {sum(m.file_size for m in members) >> 20} MiB; "
                    f"expected at most {MOST_ARRAYS} of {MOST_BYTES >> 20}"
                )
            for member in members:
                with archive.open(member) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                found[member.filename.removesuffix(".npy")] = _native(array)
    except (
        OSError,
        ValueError,
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        NotImplementedError,
    ) as error:
        said = str(error).partition("\n")[0][:200]
        raise ExportError(f"{path}: is no .npz file that can be read ({said})") from None
    return found


def _native(array: np.ndarray) -> np.ndarray:
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    return array.view(FLOAT_TYPES["bfloat16"].numpy) if array.dtype == np.uint16 else array
