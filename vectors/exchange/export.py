"""Exports of vectors, written and read: a folder with a manifest, the cases' files, and all their digests.

An export is read by a process of its own (`cases.apart`), which bounds memory and time.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import __version__
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name, numpy_dtype
from ...cases.errors import needing
from ...cases.files import writing_to
from ...cases.operators import OPERATORS
from ...cases.question import Question, QuestionError, pose
from ...cases.selection import nothing_selected
from ..block import arrays_by_path, attributes_from_json, canonical_json
from ..case import Case
from ..vector_set import VectorSet
from .manifest import (
    CASES,
    MANIFEST,
    CaseLayout,
    Contents,
    Entry,
    ExportError,
    Layout,
    Manifest,
    NotSayable,
    Place,
    Tensor,
    file_name,
    manifest_text,
    read_manifest,
    write_npz_case,
    write_raw_case,
)

SUMS = "SHA256SUMS"
"""The digests of all files of an export, which `sha256sum -c` verifies; its own is the root digest."""
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


class Exported(NamedTuple):
    """The number of cases of an export, and the SHA-256 of its SUMS.

    `left_out` counts the cases that the format cannot say, by operator and reason.
    """

    cases: int
    root_sha256: str
    left_out: Counter[tuple[str, str]]


def export_vectors(
    vectors: VectorSet,
    out: Path,
    layout: Layout,
    *,
    contents: Contents = "questions and answers",
    advance: Callable[[int], None] = lambda _: None,
) -> Exported:
    """Export the selected cases into the folder `out`, which appears whole.

    Raises ExportError where `out` holds something already, GrucibleError where no case is selected or can be
    written. Then `out` is as it was.
    """
    check_place(out)
    with writing_to(out):
        new = out.with_name(f".{out.name}.{secrets.token_hex(8)}.tmp")
        (new / CASES).mkdir(parents=True)
        try:
            exported = _export(vectors, new, layout, contents, advance)
            new.replace(out)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return exported


def _export(
    vectors: VectorSet,
    folder: Path,
    layout: Layout,
    contents: Contents,
    advance: Callable[[int], None],
) -> Exported:
    write, left_out = _writer(layout), Counter[tuple[str, str]]()
    entries: list[Entry] = []
    for case in (case for rows in vectors.slices() for case in rows.block.cases()):
        name = file_name(len(entries) + 1, case.id)
        try:
            entries.append(_entry(case, write(folder, name, case, arrays_of(case, contents))))
        except NotSayable as why:
            left_out[case.operator, str(why)] += 1
        advance(1)
    if not entries and not left_out:
        raise nothing_selected(vectors.select)
    if not entries:
        [((operator, reason), _)] = left_out.most_common(1)
        raise ExportError(
            f"{layout} can say none of the {left_out.total()} cases: {operator}: {reason}"
        )
    manifest = Manifest(
        format="grucible cases",
        format_version=1,
        made_by=f"grucible {__version__}",
        layout=layout,
        contents=contents,
        cases=entries,
    )
    (folder / MANIFEST).write_text(manifest_text(manifest), encoding="utf-8")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    text = "".join(f"{_sha256(one)}  {one.relative_to(folder).as_posix()}\n" for one in files)
    (folder / SUMS).write_text(text, encoding="utf-8")
    return Exported(len(entries), _sha256(folder / SUMS), left_out)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_place(out: Path) -> None:
    """Raise GrucibleError where no export can be made in the folder `out`: before the work, not after it."""
    with writing_to(out):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ExportError(f"{out}: is there already; name a folder that is new, or empty")
        out.parent.mkdir(parents=True, exist_ok=True)


def _writer(layout: Layout) -> CaseLayout:
    """Return the writer of a layout; those that need a runtime's package import it now."""
    if layout == "webnn":
        from .webnn import write_case

        return write_case
    if layout in ("onnx", "openvino"):
        with needing(layout, layout, f"export --to {layout}"):
            write: CaseLayout = import_module(f".{layout}_model", __package__).write_case
        return write
    return write_raw_case if layout == "raw" else write_npz_case


def arrays_of(case: Case, contents: Contents) -> dict[str, Array]:
    """Return the arrays of a case by the paths that vectors/FORMAT.md gives datasets in a block."""
    inputs = {} if contents == "answers" else case.inputs
    return arrays_by_path(inputs, {} if contents == "questions" else case.stored)


def _entry(case: Case, places: dict[str, Place]) -> Entry:
    return Entry(
        id=case.id,
        operator=case.operator,
        dtype=case.dtype,
        tier=case.tier,
        attributes=json.loads(canonical_json(case.given)),
        outputs={
            name: Tensor(dtype=dtype_name(wanted.dtype), shape=list(wanted.shape))
            for name, wanted in case.question.outputs.items()
        },
        tensors=places,
    )


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

    proto = TensorProto.FromString(path.read_bytes())
    if proto.data_location == TensorProto.EXTERNAL:
        raise ValueError("its data are in another file")
    array: Array = numpy_helper.to_array(proto)
    return array


def _read_raw(path: Path, _: str, place: Place) -> Array:
    count = math.prod(place.shape)
    array = np.fromfile(path, numpy_dtype(place.dtype), count, offset=place.offset)
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
    sums = _read_sums(folder)
    _check_sum(folder, MANIFEST, sums)
    manifest = read_manifest(folder)
    for name in sorted({at.file for entry in manifest.cases for at in entry.tensors.values()}):
        _check_sum(folder, name, sums)
    if manifest.contents == "answers":
        raise ExportError(f"{folder}: holds answers alone; import the questions they belong to")
    return Export(folder, manifest, _sha256(folder / SUMS))


def _read_sums(folder: Path) -> Mapping[str, str]:
    """Return the digests that the list of an export names, by file."""
    path = folder / SUMS
    if not _is_inside(folder, SUMS):
        raise ExportError(
            f"{path}: is no list of digests; the export was not finished: make it again"
        )
    listed: dict[str, str] = {}
    text = path.read_bytes().decode("utf-8", "replace").removesuffix("\n")
    for number, line in enumerate(text.split("\n"), 1):
        parts = _LINE.fullmatch(line)
        if not parts or parts[2] in listed:
            raise ExportError(
                f"{path}: line {number} is not 64 hex digits, two spaces and another file; export again"
            )
        listed[parts[2]] = parts[1]
    return listed


def _check_sum(folder: Path, name: str, listed: Mapping[str, str]) -> None:
    """Raise ExportError for a file that is not as the list of digests says."""
    if name not in listed or not _is_inside(folder, name):
        raise ExportError(f"{folder / SUMS}: names no file {name!r}, which the export needs")
    if _sha256(folder / name) != listed[name]:
        raise ExportError(f"{folder / name}: was changed: it is not what {SUMS} says")


def _is_inside(folder: Path, name: str) -> bool:
    """Say whether a regular file of that name is in `folder`: no symlink leads out of it."""
    path = folder / name
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())
