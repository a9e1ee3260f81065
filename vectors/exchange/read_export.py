"""Reading an export, for who imports it: its questions, and the outputs that it expects.

What is here runs in a process of its own (`cases.apart`), which bounds memory and time.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name, numpy_dtype
from ...cases.errors import needing
from ...cases.operators.known import OPERATORS
from ...cases.pose import QuestionError, pose
from ...cases.question import Question
from ..block import attributes_from_json
from .export import SUMS
from .manifest import MANIFEST, Entry, ExportError, Manifest, Place, read_manifest

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


class ExportedCase(NamedTuple):
    """A case of an export: its question, the outputs that it expects, if any, and its tier."""

    question: Question
    expected: Arrays
    tier: str


class Export(NamedTuple):
    """An export whose digests have been verified."""

    folder: Path
    manifest: Manifest
    root_sha256: str

    def cases(self) -> Iterator[ExportedCase]:
        """Read all cases; ExportError where tensors or attributes make no question."""
        for entry in self.manifest.cases:
            yield ExportedCase(self._question(entry), self._arrays(entry, "outputs/"), entry.tier)

    def _question(self, entry: Entry) -> Question:
        operator = OPERATORS[entry.operator]
        inputs = self._arrays(entry, "inputs/")
        try:
            given = attributes_from_json(json.dumps(entry.attributes), operator)
            question = pose(operator, given, inputs, case_id=entry.id, outputs=list(entry.outputs))
        except (QuestionError, ValueError) as error:
            raise ExportError(f"{self.folder}: {entry.id}: {error}") from None
        if question.dtype != entry.dtype:
            raise ExportError(f"{self.folder}: {entry.id}: is {question.dtype}, not {entry.dtype}")
        return question

    def _arrays(self, entry: Entry, below: str) -> Arrays:
        wanted = {path: at for path, at in entry.tensors.items() if path.startswith(below)}
        return {path.removeprefix(below): self._array(path, at) for path, at in wanted.items()}

    def _array(self, name: str, place: Place) -> Array:
        path = self.folder / place.file
        read = {".npz": _read_npz, ".pb": _read_tensor_proto}.get(path.suffix, _read_raw)
        try:
            array = read(path, name, place)
        except ExportError:
            raise
        except Exception as error:  # of zipfile, numpy, protobuf and onnx, of many types
            why = str(error).partition("\n")[0][:200] or type(error).__name__
            raise ExportError(f"{path}: {name} cannot be read ({why})") from None
        if place.dtype == "bfloat16" and array.dtype == np.uint16:
            array = array.view(_BFLOAT16)
        if dtype_name(array.dtype) != place.dtype or list(array.shape) != place.shape:
            raise ExportError(
                f"{path}: {name} cannot be read (it is {dtype_name(array.dtype)} {array.shape})"
            )
        return array


def _read_npz(path: Path, name: str, _: Place) -> Array:
    with np.load(path, allow_pickle=False) as arrays:
        array: Array = arrays[name]
    return array.astype(array.dtype.newbyteorder("="))


def _read_tensor_proto(path: Path, _: str, __: Place) -> Array:
    """Read a TensorProto, whose data are in itself; needs the onnx package."""
    with needing("onnx", "onnx", "an export to onnx"):
        from onnx import TensorProto, numpy_helper

    proto = TensorProto()
    proto.ParseFromString(path.read_bytes())
    if proto.data_location == TensorProto.EXTERNAL:
        raise ValueError("its data are in another file")
    array: Array = numpy_helper.to_array(proto)
    return array


def _read_raw(path: Path, _: str, place: Place) -> Array:
    dtype, count = numpy_dtype(place.dtype), math.prod(place.shape)
    array = np.fromfile(path, dtype, count, offset=place.offset)
    if array.size != count:
        raise ValueError(f"the file ends after {array.size} of {count} elements")
    array = array.reshape(place.shape)
    return array.byteswap() if sys.byteorder == "big" else array


def open_export(folder: Path) -> Export:
    """Open the export in `folder`.

    Raises ExportError where it was changed, was not finished, is none of ours, or holds answers alone.
    """
    if not (folder / MANIFEST).exists():
        raise ExportError(
            f"{folder}: holds no {MANIFEST}, so it is no export of grucible; for others' cases see --from"
        )
    listed, root_sha256 = _read_sums(folder)
    _check_sums(folder, [MANIFEST], listed)
    manifest = read_manifest(folder)
    files = {place.file for entry in manifest.cases for place in entry.tensors.values()}
    _check_sums(folder, sorted(files), listed)
    if manifest.contents == "answers":
        raise ExportError(f"{folder}: holds answers alone; import the questions they belong to")
    return Export(folder, manifest, root_sha256)


def _read_sums(folder: Path) -> tuple[Mapping[str, str], str]:
    """Return the digests that the list of an export names, by file, and the list's own."""
    path = folder / SUMS
    if not _is_inside(folder, SUMS):
        raise ExportError(
            f"{path}: is no list of digests; the export was not finished: make it again"
        )
    raw = path.read_bytes()
    listed: dict[str, str] = {}
    for number, line in enumerate(raw.decode("utf-8", "replace").removesuffix("\n").split("\n"), 1):
        parts = _LINE.fullmatch(line)
        if not parts:
            raise ExportError(
                f"{path}: line {number} is not 64 hex digits, two spaces and a file; export again"
            )
        digest, name = parts.groups()
        if listed.setdefault(name, digest) != digest:
            raise ExportError(f"{path}: names {name[:200]!r} twice")
    return listed, hashlib.sha256(raw).hexdigest()


def _check_sums(folder: Path, files: Collection[str], listed: Mapping[str, str]) -> None:
    """Raise ExportError for one of `files` that is not as the list of digests says."""
    for name in files:
        if name not in listed or not _is_inside(folder, name):
            raise ExportError(f"{folder / SUMS}: names no file {name!r}, which the export needs")
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != listed[name]:
            raise ExportError(f"{folder / name}: was changed: it is not what {SUMS} says")


def _is_inside(folder: Path, name: str) -> bool:
    """Say whether `folder` itself holds a regular file of that name: no symlink leads out of it."""
    at = folder
    for part in Path(name).parts:
        at /= part
        if at.is_symlink():
            return False
    return at.is_file()
