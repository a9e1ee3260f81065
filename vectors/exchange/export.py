"""Writing and reading exports of vectors: folders with a manifest, the cases' files, and their digests.

Another process (`cases.apart`) reads an export, with limits on memory and time.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import __version__
from ...cases.conversion import NotExpressible, ask, nearest
from ...cases.dtypes import Array, Arrays, dtype_name, numpy_dtype
from ...cases.errors import needing
from ...cases.files import writing_to
from ...cases.operators import OPERATORS
from ...cases.operators.readings import STORED
from ...cases.operators.signature import Operator
from ...cases.question import Question, pose
from ..block import arrays_by_path, attributes_from_json, canonical_json
from ..case import Answer, Case
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
    read_npz,
    write_npz,
    write_raw_case,
)

SUMS = "SHA256SUMS"
"""The file with the digests of all other files, for `sha256sum -c`; its own digest is the root digest."""


class Exported(NamedTuple):
    """The number of cases of an export, and the SHA-256 of its SUMS.

    `left_out` counts the cases that the format cannot express, by operator and reason.
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

    Raises ExportError if `out` holds something already, GrucibleError if no case is selected or none can be
    written. Then `out` stays as it was.
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
    write, left_out = _writer(layout, contents), Counter[tuple[str, str]]()
    entries: list[Entry] = []
    for case in (case for rows in vectors.slices() for case in rows.block.cases()):
        name = file_name(len(entries) + 1, case.id)
        try:
            entries.append(_entry(case, write(folder, name, case, arrays_of(case, contents))))
        except NotSayable as why:
            left_out[case.operator, str(why)] += 1
        advance(1)
    if not entries and not left_out:
        raise vectors.nothing_selected()
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
    """Raise GrucibleError if no export can be made in the folder `out`; call this before the work."""
    with writing_to(out):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ExportError(f"{out}: is there already; name a folder that is new, or empty")
        out.parent.mkdir(parents=True, exist_ok=True)


def _writer(layout: Layout, contents: Contents) -> CaseLayout:
    """Return the writer of a layout; those that need a runtime's package import it now."""
    if layout == "raw":
        return write_raw_case
    if layout == "npz":
        return lambda folder, name, _, a: write_npz(folder, f"{CASES}/{name}.npz", a)
    with needing(layout, layout, f"export --to {layout}"):
        module = import_module(f".{layout}_model", __package__)
    write_own: CaseLayout = module.write_case

    def write(folder: Path, name: str, case: Case, arrays: Mapping[str, Array]) -> dict[str, Place]:
        if OPERATORS[case.operator] in module.OPERATORS:
            return write_own(folder, name, case, arrays)
        asked = _asked_as(module.OPERATORS, case)
        write_own(folder, name, asked, arrays_of(asked, contents))
        return write_npz(folder, f"{CASES}/{name}.own.npz", arrays)

    return write


def _asked_as(operators: Collection[Operator], case: Case) -> Case:
    """Convert a case into one of another owner's operators. Raises NotSayable where that is not exact."""
    if case.tier != "required":
        raise NotSayable(f"another operator has one right answer, and these cases are {case.tier}")
    try:
        asked = ask(case.question, nearest(case.operator, operators))
    except NotExpressible as reason:
        raise NotSayable(str(reason)) from None
    outputs = asked.expected(case.answer.outputs)
    tolerances = {name: asked.expected(limits) for name, limits in case.answer.tolerances.items()}
    needed = {t.name for t in OPERATORS[asked.question.operator].outputs if t.required}
    kept = {n: one for n, one in asked.question.outputs.items() if n in needed | outputs.keys()}
    question = replace(asked.question, outputs=kept)
    return Case(question, case.tier, {STORED: Answer(outputs, tolerances)})


def arrays_of(case: Case, contents: Contents) -> dict[str, Array]:
    """Return the arrays of a case by their paths in a block, which vectors/FORMAT.md lists."""
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


class Export(NamedTuple):
    """An export whose digests have been verified."""

    folder: Path
    manifest: Manifest
    root_sha256: str

    def cases(self) -> Iterator[tuple[Question, Arrays, str]]:
        """Yield each question, its expected outputs, and its tier; ExportError for an invalid question."""
        for entry in self.manifest.cases:
            try:
                question, expected = self._read(entry)
            except Exception as error:  # zipfile, numpy, protobuf and onnx raise many types
                why = str(error).partition("\n")[0][:200] or type(error).__name__
                raise ExportError(f"{self.folder}: {entry.id!r} cannot be read: {why}") from None
            yield question, expected, entry.tier

    def _read(self, entry: Entry) -> tuple[Question, Arrays]:
        inputs, expected = (
            {
                path.removeprefix(above): _read_array(self.folder / at.file, path, at)
                for path, at in entry.tensors.items()
                if path.startswith(above)
            }
            for above in ("inputs/", "outputs/")
        )
        operator = OPERATORS[entry.operator]
        given = attributes_from_json(json.dumps(entry.attributes), operator)
        question = pose(operator, given, inputs, case_id=entry.id, outputs=list(entry.outputs))
        if question.dtype != entry.dtype:
            raise ValueError(f"it is of {question.dtype}, not {entry.dtype}")
        return question, expected


def _read_array(path: Path, name: str, place: Place) -> Array:
    """Read an array of an export; ValueError if it is not as the manifest says."""
    if path.suffix == ".npz":
        array = read_npz(path, name)[name]
    elif path.suffix == ".pb":
        with needing("onnx", "onnx", "an export to onnx"):
            from .onnx_model import read_tensor
        array = read_tensor(path.read_bytes())
    else:
        count = math.prod(place.shape)
        array = np.fromfile(path, numpy_dtype(place.dtype), count, offset=place.offset)
        array = array.byteswap() if sys.byteorder == "big" else array
        array = array.reshape(place.shape)
    if dtype_name(array.dtype) != place.dtype or list(array.shape) != place.shape:
        raise ValueError(f"{name} of {path.name} is {dtype_name(array.dtype)} {array.shape}")
    return array


def open_export(folder: Path) -> Export:
    """Open the export in `folder`.

    Raises ExportError if it was changed, was not finished, is not grucible's, or holds only answers.
    """
    if not (folder / MANIFEST).exists():
        raise ExportError(
            f"{folder}: holds no {MANIFEST}, so it is no export of grucible; for others' cases see --from"
        )
    if not (folder / SUMS).is_file():
        raise ExportError(f"{folder}: has no {SUMS}: the export was not finished; make it again")
    lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    _check_sum(folder, MANIFEST, sums)
    manifest = read_manifest(folder)
    for name in sorted({at.file for entry in manifest.cases for at in entry.tensors.values()}):
        _check_sum(folder, name, sums)
    if manifest.contents == "answers":
        raise ExportError(f"{folder}: holds answers alone; import the questions they belong to")
    return Export(folder, manifest, _sha256(folder / SUMS))


def _check_sum(folder: Path, name: str, listed: Mapping[str, str]) -> None:
    """Raise ExportError for a file outside the folder, or one that does not match its listed digest."""
    path = folder / name
    inside = path.resolve().is_relative_to(folder.resolve())
    if name not in listed or not inside or not path.is_file():
        raise ExportError(f"{folder / SUMS}: names no file {name!r}, which the export needs")
    if _sha256(path) != listed[name]:
        raise ExportError(f"{path}: was changed: it is not what {SUMS} says")
