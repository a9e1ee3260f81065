"""The manifest of an export, which lists its cases and the places of their numbers; and files of numbers.

The models check each manifest that is read. From them comes the JSON Schema beside this module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...cases.dtypes import FLOAT_TYPES, NUMPY_TYPES, Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.question import why_no_id, why_no_theme
from ...cases.strict_json import strict_json
from ..block import TIERS
from ..case import Case
from ..hdf5 import MOST_TEXT_WIDTH

MANIFEST = "manifest.json"
SCHEMA = Path(__file__).with_name("manifest.schema.json")
CASES = "cases"
"""The folder of the cases' files in an export."""
ALIGNED = 64
"""The alignment of tensors in a raw file, in bytes, so that a tensor can be mapped."""
MOST_RANK = 8
"""Maximum axes of a tensor; GRU operators' have at most 4."""
_MOST_SLUG = 80
"""Maximum characters of a file's name that are taken from the case's id."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy

Contents = Literal["questions and answers", "questions", "answers"]
Layout = Literal["raw", "npz", "onnx", "openvino", "webnn"]


class ExportError(GrucibleError):
    """An export that cannot be read or written; the message names the file and the place in it."""


class NotSayable(Exception):
    """A case that a format cannot express; the message is the reason, without numbers of that case."""


_Length = Annotated[int, Field(ge=1, lt=2**40)]
_Dtype = Literal[(*NUMPY_TYPES,)]  # type: ignore[valid-type]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tensor(_Strict):
    """The type of a tensor: its dtype, and the lengths of its axes."""

    dtype: _Dtype
    shape: Annotated[list[_Length], Field(max_length=MOST_RANK)]


class Place(Tensor):
    """A tensor and where it is.

    It is in `file`, in C order and little-endian, from byte `offset` on (raw), under its own path (npz), or
    as the file's format has it.
    """

    file: str
    offset: Annotated[int, Field(ge=0, lt=2**60)] = 0


class Entry(_Strict):
    """A case.

    `attributes` are those written out, infinity as "inf"; `outputs` those that are asked for; `tensors` are
    by the paths that vectors/FORMAT.md gives datasets in a block, such as `inputs/X`.
    """

    id: Annotated[str, Field(max_length=MOST_TEXT_WIDTH)]
    operator: Literal[tuple(OPERATORS)]  # type: ignore[valid-type]
    dtype: Literal[tuple(FLOAT_TYPES)]  # type: ignore[valid-type]
    tier: Literal[TIERS]  # type: ignore[valid-type]
    attributes: dict[str, Any]
    outputs: Annotated[dict[str, Tensor], Field(min_length=1)]
    tensors: dict[str, Place]

    @model_validator(mode="after")
    def _check_id(self) -> Entry:
        theme = self.id.removeprefix(f"{self.operator}/").partition("/")[0]
        if why_no_theme(theme) or why_no_id(self.id, self.operator, theme, self.dtype):
            raise ValueError(f"id is {self.id!r}; expected {self.operator}/THEME/{self.dtype}/WHAT")
        return self


class Manifest(_Strict):
    """What an export holds."""

    format: Literal["grucible cases"]
    format_version: Literal[1]
    made_by: Annotated[str, Field(max_length=1000)]
    layout: Layout
    contents: Contents
    cases: list[Entry]


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the export in `folder`; ExportError if there is no usable one."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate(strict_json(path.read_bytes()))
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}; expected an export of grucible") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        why = first["msg"].removeprefix("Value error, ")
        raise ExportError(f"{path}: {place}: {why}") from None
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path}: is not JSON ({str(error)[:200]})") from None


def manifest_text(manifest: Manifest) -> str:
    """Write a manifest as JSON, with one line for each case."""
    head = manifest.model_copy(update={"cases": []}).model_dump_json(indent=1)
    cases = ",\n".join(f"  {entry.model_dump_json()}" for entry in manifest.cases)
    return head.replace('"cases": []', f'"cases": [\n{cases}\n ]') + "\n"


CaseLayout = Callable[[Path, str, Case, Mapping[str, Array]], dict[str, Place]]
"""A function `write(folder, name, case, arrays)`: it writes a case below `folder`, in files named by `name`.

It returns the place of each array, by the paths of vectors/FORMAT.md. It raises NotSayable only before it
writes."""


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


def write_npz(folder: Path, file: str, arrays: Mapping[str, Array]) -> dict[str, Place]:
    """Write arrays under their names into an .npz file."""
    np.savez(folder / file, **stored_arrays(arrays))  # type: ignore[arg-type]
    return {name: place_of(array, file) for name, array in arrays.items()}


def stored_arrays(arrays: Mapping[str, Array]) -> Arrays:
    """Return arrays as an .npz file holds them: bfloat16 becomes uint16 of the same bits."""
    return {
        name: array.view(np.uint16) if array.dtype == _BFLOAT16 else array
        for name, array in arrays.items()
    }


def read_npz(place: str | Path, *names: str) -> Arrays:
    """Read the arrays `names` of an .npz file, or all, in the machine's byte order; uint16 is bfloat16.

    Raises ValueError for an array without a name and for a name twice, and any error of numpy and zipfile.
    """
    path = Path(place)
    if not path.is_file():
        raise ValueError("is no regular file; expected an .npz file")
    with np.load(path, allow_pickle=False) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array, without a name")
        if len(set(archive.files)) < len(archive.files):
            raise ValueError("it has two arrays of one name")
        found = {name: archive[name] for name in names or archive.files}
    native = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in found.items()}
    return {n: a.view(_BFLOAT16) if a.dtype == np.uint16 else a for n, a in native.items()}


def place_of(array: Array, file: str, offset: int = 0) -> Place:
    """Describe an array that was written to a file."""
    return Place(dtype=dtype_name(array.dtype), shape=list(array.shape), file=file, offset=offset)


def file_name(number: int, case_id: str) -> str:
    """Name the files of the case of this number: `00017_float32_lbr_clip0_5`."""
    _, _, what = case_id.partition("/")
    words = re.sub(r"[^A-Za-z0-9]+", "_", what.partition("/")[2])[:_MOST_SLUG].strip("_")
    return f"{number:05}_{words}"
