"""How an export lays out the numbers of a case; the layouts `raw` and `npz`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ..case import Case
from .manifest import Place

CASES = "cases"
"""The folder, in an export, of the cases' files."""
ALIGNED = 64
"""Each tensor of a raw file begins at a multiple of this, so that it can be mapped."""
_MOST_SLUG = 80
"""Maximum characters of a file's name that are taken from the case's id."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


class NotSayable(Exception):
    """The format cannot say a case; the message is the reason, without numbers of that case."""


CaseLayout = Callable[[Path, str, Case, Mapping[str, Array]], dict[str, Place]]
"""`write(folder, name, case, arrays)` writes a case below `folder`, its files called after `name`, and
returns where each array is, by the paths of vectors/FORMAT.md. It raises NotSayable before it writes."""


def write_raw_case(
    folder: Path, name: str, _: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write one binary file for the case: tensor after tensor, little-endian and in C order."""
    file, places, at = f"{CASES}/{name}.bin", {}, 0
    with (folder / file).open("wb") as out:
        for path, array in arrays.items():
            at += out.write(b"\0" * (-at % ALIGNED))
            places[path] = place_of(array, file, at)
            little = array.byteswap() if sys.byteorder == "big" else array
            at += out.write(little.tobytes())
    return places


def write_npz_case(
    folder: Path, name: str, _: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write one .npz file for the case."""
    return write_npz(folder, f"{CASES}/{name}.npz", arrays)


def write_npz(folder: Path, file: str, arrays: Mapping[str, Array]) -> dict[str, Place]:
    """Write arrays under their names into an .npz file."""
    np.savez(folder / file, **stored_arrays(arrays))  # type: ignore[arg-type]
    return {name: place_of(array, file) for name, array in arrays.items()}


def stored_arrays(arrays: Mapping[str, Array]) -> Arrays:
    """Arrays as an .npz file holds them: bfloat16 as its 16 bits, uint16."""
    return {
        name: array.view(np.uint16) if array.dtype == _BFLOAT16 else array
        for name, array in arrays.items()
    }


def place_of(array: Array, file: str, offset: int = 0) -> Place:
    """Describe an array that was written to a file."""
    return Place(dtype=dtype_name(array.dtype), shape=list(array.shape), file=file, offset=offset)


def file_name(number: int, case_id: str) -> str:
    """Name the files of the case of this number: `00017_float32_lbr_clip0_5`."""
    _, _, what = case_id.partition("/")
    words = re.sub(r"[^A-Za-z0-9]+", "_", what.partition("/")[2])[:_MOST_SLUG].strip("_")
    return f"{number:05}_{words}"
