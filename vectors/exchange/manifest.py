"""The manifest of an export: which cases it holds, and where their numbers are.

The models check a manifest that is read, and give the JSON Schema that stands beside this module.
"""

from __future__ import annotations

import json
import math
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ...cases.dtypes import FLOAT_TYPES, INTEGER_TYPES
from ...cases.errors import GrucibleError
from ...cases.operators.known import OPERATORS
from ...cases.question import why_no_id, why_no_theme
from ...cases.strict_json import strict_json
from ..block import TIERS
from ..hdf5 import MOST_TEXT_WIDTH

MANIFEST = "manifest.json"
SCHEMA = Path(__file__).with_name("manifest.schema.json")
MOST_RANK = 8
"""Maximum axes of a tensor; GRU operators' have at most 4."""

Contents = Literal["questions and answers", "questions", "answers"]
Layout = Literal["raw", "npz", "onnx", "openvino", "webnn"]


class ExportError(GrucibleError):
    """An export cannot be used, or not be written; names the file and the place in it."""


def _check_inside(text: str) -> str:
    path = PurePosixPath(text)
    if not text.isprintable() or path.is_absolute() or ".." in path.parts or not path.name:
        raise ValueError("expected a path inside the export")
    return text


def _check_printable(text: str) -> str:
    if not text.isprintable() or not text:
        raise ValueError("expected printable text")
    return text


def _check_plain(attributes: dict[str, Any]) -> dict[str, Any]:
    for name, value in attributes.items():
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, (list, dict)) for part in parts) or math.inf in parts:
            raise ValueError(f"{name[:80]!r} has a value that no attribute has")
    return attributes


_File = Annotated[str, AfterValidator(_check_inside)]
_Text = Annotated[str, AfterValidator(_check_printable), Field(max_length=1000)]
_Length = Annotated[int, Field(ge=1, lt=2**40)]
_Dtype = Literal[(*FLOAT_TYPES, *INTEGER_TYPES)]  # type: ignore[valid-type]


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

    file: _File
    offset: Annotated[int, Field(ge=0, lt=2**60)] = 0


class Entry(_Strict):
    """A case.

    `attributes` are those written out, infinity as "inf"; `outputs` those that are asked for; `tensors` are
    by the paths that vectors/FORMAT.md gives datasets in a block, such as `inputs/X`.
    """

    id: Annotated[str, AfterValidator(_check_printable), Field(max_length=MOST_TEXT_WIDTH)]
    operator: Literal[tuple(OPERATORS)]  # type: ignore[valid-type]
    dtype: Literal[tuple(FLOAT_TYPES)]  # type: ignore[valid-type]
    tier: Literal[TIERS]  # type: ignore[valid-type]
    attributes: Annotated[dict[str, Any], AfterValidator(_check_plain)]
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
    made_by: _Text
    layout: Layout
    contents: Contents
    cases: list[Entry]


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the export in `folder`; ExportError where there is none that can be used."""
    path = folder / MANIFEST
    try:
        found = strict_json(path.read_bytes())
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}; expected an export of grucible") from None
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path}: is not JSON ({str(error)[:200]})") from None
    cases = found.get("cases") if isinstance(found, dict) else None
    if not isinstance(cases, list):
        raise ExportError(f"{path}: cases: is no list; expected an export of grucible")
    head = _validate(Manifest, {**found, "cases": []}, path, "")
    entries: dict[str, Entry] = {}
    for number, case in enumerate(cases):
        entry = _validate(Entry, case, path, f"cases.{number}.")
        if entries.setdefault(entry.id, entry) is not entry:
            raise ExportError(f"{path}: {entry.id} stands there twice")
    return head.model_copy(update={"cases": list(entries.values())})


_Model = TypeVar("_Model", bound=BaseModel)


def _validate(model: type[_Model], value: Any, path: Path, above: str) -> _Model:
    """Check a part of a manifest; ExportError where it is not as the model has it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = above + ".".join(map(str, first["loc"]))
        why = first["msg"].removeprefix("Value error, ")
        raise ExportError(f"{path}: {place.rstrip('.') or 'it'}: {why}") from None


def manifest_text(manifest: Manifest) -> str:
    """Write a manifest as JSON, a case a line."""
    head = manifest.model_copy(update={"cases": []}).model_dump_json(indent=1)
    cases = ",\n".join(f"  {entry.model_dump_json()}" for entry in manifest.cases)
    return head.replace('"cases": []', f'"cases": [\n{cases}\n ]') + "\n"


def manifest_schema() -> str:
    """Write the JSON Schema of manifests; SCHEMA holds it."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Manifest.model_json_schema(),
    }
    return json.dumps(schema, indent=1) + "\n"
