"""Exporting vectors: a folder with a manifest, the cases' files, and the digests of all of them."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grucible

from ...cases.dtypes import Array, dtype_name
from ...cases.errors import needing
from ...cases.files import writing_to
from ...cases.operators.known import OPERATORS
from ...cases.selection import nothing_selected
from ..block import TOGETHER, canonical_json
from ..case import Case
from ..vector_set import VectorSet
from .layouts import CASES, CaseLayout, NotSayable, file_name, write_npz_case, write_raw_case
from .manifest import (
    MANIFEST,
    Contents,
    Entry,
    ExportError,
    Layout,
    Manifest,
    Place,
    Tensor,
    manifest_text,
)

SUMS = "SHA256SUMS"
"""The digests of all files of an export, which `sha256sum -c` verifies; its own is the root digest."""


@dataclass(frozen=True)
class Exported:
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
        made_by=f"grucible {grucible.__version__}",
        layout=layout,
        contents=contents,
        cases=entries,
    )
    (folder / MANIFEST).write_text(manifest_text(manifest), encoding="utf-8")
    return Exported(len(entries), _write_sums(folder), left_out)


def _write_sums(folder: Path) -> str:
    """Write the digests of all files; returns the root digest."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    text = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder).as_posix()}\n"
        for file in files
    )
    (folder / SUMS).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def check_place(out: Path) -> None:
    """Raise GrucibleError where no export can be made in the folder `out`: before the work, not after it."""
    with writing_to(out):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ExportError(f"{out}: is there already; name a folder that is new, or empty")
        out.parent.mkdir(parents=True, exist_ok=True)


def _writer(layout: Layout) -> CaseLayout:
    """Return the writer of a layout; those that need a runtime's package import it now."""
    if layout == "onnx":
        with needing("onnx", "onnx", "export --to onnx"):
            from . import onnx_model

        return onnx_model.write_case
    if layout == "openvino":
        with needing("openvino", "openvino", "export --to openvino"):
            from . import openvino_model

        return openvino_model.write_case
    if layout == "webnn":
        from . import webnn

        return webnn.write_case
    return write_raw_case if layout == "raw" else write_npz_case


def arrays_of(case: Case, contents: Contents) -> dict[str, Array]:
    """Return the arrays of a case by the paths that vectors/FORMAT.md gives datasets in a block."""
    found: dict[str, Array] = {}
    if contents != "answers":
        found |= {f"inputs/{name}": array for name, array in case.inputs.items()}
    if contents != "questions":
        for names, answer in case.answers.items():
            above = f"readings/{TOGETHER.join(names)}/" if names else ""
            found |= {f"{above}outputs/{name}": a for name, a in answer.outputs.items()}
            for arithmetic, limits in answer.tolerances.items():
                found |= {f"{above}tolerance/{arithmetic}/{n}": a for n, a in limits.items()}
    return found


def _entry(case: Case, places: dict[str, Place]) -> Entry:
    question = case.question
    attributes: dict[str, Any] = json.loads(canonical_json(question.given))
    return Entry(
        id=case.id,
        operator=OPERATORS[case.operator].name,
        dtype=case.dtype,
        tier=case.tier,
        attributes=attributes,
        outputs={
            name: Tensor(dtype=dtype_name(wanted.dtype), shape=list(wanted.shape))
            for name, wanted in question.outputs.items()
        },
        tensors=places,
    )
