"""Exporting vectors: a folder with a manifest, the cases' files, and the digests of all of them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grucible

from ...cases.dtypes import Array, dtype_name
from ...cases.operators.known import OPERATORS
from ...cases.packages import needing
from ...cases.selection import nothing_selected
from ...cases.whole_file import (
    check_possible,
    leaving_no_empty_folder,
    remove_leftovers,
    replace_file,
    temporary_folder,
    writing_to,
)
from ..block import TOGETHER, canonical_json
from ..case import Case
from ..find import find_vectors
from ..reader import open_vectors
from . import webnn
from .layout import CASES, CaseLayout, NotSayable, file_name, npz, raw
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
from .sums import SUMS, write_sums

_NAME = "export"
"""What the temporary folder of an export is called after."""
_HOLDS = (CASES, MANIFEST, SUMS)
"""What stands in the folder of an export, in the order in which it is moved there."""


@dataclass(frozen=True)
class Exported:
    """What an export holds: how many cases, the SHA-256 of its list of digests, and of how many cases the
    format cannot say, by operator and reason."""

    cases: int
    root_sha256: str
    left_out: Counter[tuple[str, str]]


def export_vectors(
    vectors: Path | None,
    out: Path,
    layout: Layout,
    *,
    select: Sequence[str] = (),
    contents: Contents = "questions and answers",
    advance: Callable[[int], None] = lambda _: None,
) -> Exported:
    """Export the cases of vector files (None: of the core) that `select` matches into the folder `out`.

    Raises ExportError where `out` holds something already, GrucibleError where no case is selected
    or cannot be used. Then nothing is left in `out`.
    """
    check_place(out)
    write, left_out = _layout(layout), Counter[tuple[str, str]]()
    entries: list[Entry] = []
    files = {MANIFEST}
    with _whole_or_not(out) as new:
        for case in _cases(vectors, select):
            name = file_name(len(entries) + 1, case.id)
            try:
                with writing_to(out):
                    written = write(new, name, case, arrays_of(case, contents))
                    files |= written.files
                    entries.append(_entry(case, written.places))
            except NotSayable as reason:
                left_out[case.operator, str(reason)] += 1
            advance(1)
        if not entries and not left_out:
            raise nothing_selected(select)
        if not entries:
            raise ExportError(
                f"{layout} can say none of the {left_out.total()} cases: {_why(left_out)}"
            )
        manifest = Manifest(
            format="grucible cases",
            format_version=1,
            made_by=f"grucible {grucible.__version__}",
            layout=layout,
            contents=contents,
            cases=entries,
        )
        with writing_to(out):
            replace_file(new / MANIFEST, manifest_text(manifest).encode())
            root_sha256 = write_sums(new, files)
    return Exported(len(entries), root_sha256, left_out)


@contextlib.contextmanager
def _whole_or_not(out: Path) -> Iterator[Path]:
    """A temporary folder in `out`, which is new or empty, for all that the export holds. When the block ends
    that is moved into `out`; where it raises, what was made is removed."""
    with leaving_no_empty_folder(out / _NAME), contextlib.ExitStack() as held:
        with writing_to(out):
            out.mkdir(parents=True, exist_ok=True)
            new = held.enter_context(temporary_folder(out / _NAME))
            (new / CASES).mkdir()
            if any((out / name).exists() for name in _HOLDS):  # another has made its own meanwhile
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        yield new
        with writing_to(out):
            _move(new, out)


def _move(new: Path, out: Path) -> None:
    """Move what an export holds from one folder to another; where that fails, remove what was moved."""
    ours = {name: (new / name).stat() for name in _HOLDS}
    try:
        for name in _HOLDS:
            (new / name).rename(out / name)
    except BaseException:
        for name, moved in ours.items():
            with contextlib.suppress(OSError):
                if os.path.samestat((out / name).stat(), moved):
                    _remove(out / name)
        raise


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _why(left_out: Counter[tuple[str, str]]) -> str:
    [((operator, reason), _)] = left_out.most_common(1)
    return f"{operator}: {reason}"


def _layout(name: Layout) -> CaseLayout:
    """The layout of this name; those that need a runtime's package import it now."""
    if name == "raw":
        return raw
    if name == "npz":
        return npz
    if name == "onnx":
        with needing("onnx", "onnx", "export --to onnx"):
            from . import onnx_test

        return onnx_test.write
    if name == "openvino":
        with needing("openvino", "openvino", "export --to openvino"):
            from . import openvino_ir

        return openvino_ir.write
    return webnn.write


def check_place(out: Path) -> None:
    """Raise GrucibleError where no export can be made in the folder `out`: before the work, not after."""
    with writing_to(out):
        remove_leftovers(out / _NAME)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ExportError(f"{out}: is there already; name a folder that is new, or empty")
        check_possible(out / MANIFEST)


def _cases(vectors: Path | None, select: Sequence[str]) -> Iterator[Case]:
    """The selected cases, of blocks that were verified against their digests."""
    for file, relative in find_vectors(vectors, select):
        with open_vectors(file, relative) as opened:
            wanted = opened.ids(select)
            opened.verify_content(wanted)
            for path in wanted:
                for _, block in opened.block(path).selected(select):
                    yield from block.cases()


def arrays_of(case: Case, contents: Contents) -> dict[str, Array]:
    """The arrays of a case by the paths that vectors/FORMAT.md gives datasets in a block."""
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
