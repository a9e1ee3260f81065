"""Making vector files of foreign cases: their questions with our exact answers, their answers beside."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from ...cases.dtypes import Arrays, dtype_name
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.files import check_replaceable, files_below
from ...cases.question import why_no_theme
from ...cases.whole_file import check_possible, leaving_no_empty_folder, writing_to
from ...gen.posed import Imported, Posed, write_answered
from ...vectors.block import Block
from ...vectors.exchange.read_export import open_export
from ...vectors.hdf5 import OUTPUTS, VECTORS
from ...vectors.hdf5_writing import MARKS, prepare_place
from ...vectors.reader import open_vectors
from ..observed.recording import check_outputs_place, new_outputs_file
from ..observed.source import Observed, Status
from .foreign import ForeignCase, each_once


@dataclass(frozen=True)
class Suite:
    """Foreign cases, what they are, and how many were left out, by the reason."""

    about: str
    cases: Sequence[ForeignCase]
    left_out: Counter[str]


@dataclass(frozen=True)
class Made:
    """A vector file, and where the outputs that its owner expects stand, None where there are none."""

    vectors: Imported
    outputs: Path | None


def of_export(folder: Path) -> Suite:
    """The cases of an export of ours, in whatever format. Raises ExportError."""
    export = open_export(folder)
    cases = [
        ForeignCase(
            entry.id,
            partial(export.question, entry),
            partial(export.outputs, entry),
            entry.tier == "nonportable",
        )
        for entry in export.manifest.cases
    ]
    about = f"imported from an export to {export.manifest.layout}, {export.root_sha256}"
    return Suite(about, cases, Counter())


def write_suite(
    suite: Suite, out: Path, advance: Callable[[int], None] = lambda _: None
) -> list[Made]:
    """Write the cases as vector files, and what is expected of them as outputs files.

    `out` is a file `*.h5` where all are of one operator and theme, with outputs in `*.outputs.h5`; else a
    directory, with outputs in a directory of its name and `-outputs`. Raises GrucibleError where nothing
    can be written.
    """
    groups: dict[str, list[ForeignCase]] = {}
    for case in each_once(suite.cases):
        groups.setdefault("/".join(case.id.split("/")[:2]), []).append(case)
    if not groups:
        raise GrucibleError(f"there is no case to import{_first(suite.left_out)}")
    one_file = out.suffix == ".h5"
    if one_file and len(groups) > 1:
        raise GrucibleError(
            f"{out}: the cases are of {len(groups)} operators and themes; name a directory"
        )
    expecting = {name for name, cases in groups.items() if any(one.expected() for one in cases)}
    for prefix in groups:
        if why := why_no_theme(prefix.rpartition("/")[2]):
            raise GrucibleError(f"{prefix}: {why}; rename the folder or file of the cases")
        if prefix not in expecting:
            _check_no_outputs(_beside(out, prefix))
    paths = {prefix: out if one_file else out / f"{prefix}.h5" for prefix in groups}
    with leaving_no_empty_folder(*paths.values()):
        for prefix, path in paths.items():
            prepare_place(path, VECTORS)
            if prefix in expecting:
                prepare_place(_beside(out, prefix), OUTPUTS)
        if not one_file:
            _check_each_once(out, groups)
        made = []
        for prefix, cases in groups.items():
            posed = [Posed(case.id, case.question, case.nonportable) for case in cases]
            written = write_answered(paths[prefix], posed, suite.about, advance)
            outputs = _beside(out, prefix) if prefix in expecting else None
            if outputs:
                _write_expected(paths[prefix], outputs, suite.about, cases)
            made.append(Made(written, outputs))
    return made


def _check_no_outputs(beside: Path) -> None:
    """Raise GrucibleError where outputs stand beside vectors whose cases expect nothing: they would be judged
    as if these cases expected them."""
    if beside.exists():
        raise GrucibleError(
            f"{beside}: holds outputs of an earlier import, and these cases expect none; remove it, or name "
            "another place with -o"
        )


def _check_each_once(out: Path, groups: Mapping[str, Sequence[ForeignCase]]) -> None:
    """Raise GrucibleError where vectors below the directory `out` hold one of the cases, but for those that
    will be replaced: nothing could be done with both."""
    new = {case.id for cases in groups.values() for case in cases}
    replaced = {(out / f"{prefix}.h5").resolve() for prefix in groups}
    for file in files_below(out, ".h5"):
        twice: set[str] = set()
        with (
            contextlib.suppress(VectorFileError),
            open_vectors(file) as opened,
        ):  # others do not matter
            if opened.prefix.removesuffix("/") in groups and file.resolve() not in replaced:
                twice = new & set(chain.from_iterable(opened.ids().values()))
        if twice:
            raise GrucibleError(
                f"{file}: holds {min(twice)} already, and a case stands in one file; name another place for "
                "what is imported"
            )


def check_place(out: Path) -> None:
    """Raise GrucibleError where what stands at `out`, or where the outputs will, is not to be replaced, as
    far as that is known before anything is read."""
    beside = outputs_place(out)
    if out.suffix != ".h5":
        for path in (out, beside):
            if path.exists() and not path.is_dir():
                raise GrucibleError(f"{path}: is no directory; name another place, or a file *.h5")
        with writing_to(out):
            check_possible(out / "any.h5")
        return
    with writing_to(out):
        check_possible(out)
        check_replaceable(out, MARKS[VECTORS])
    if beside.exists():
        check_outputs_place(beside)


def outputs_place(out: Path) -> Path:
    """Where the outputs that are expected of vectors at `out` stand: a file beside a file, a directory beside
    a directory. Raises GrucibleError for the root directory."""
    if out.suffix == ".h5":
        return out.with_suffix(".outputs.h5")
    whole = out.resolve()
    if not whole.name:
        raise GrucibleError(f"{out}: name a directory that is not the root")
    return (out if out.name not in ("", "..") else whole).with_name(f"{whole.name}-outputs")


def _beside(out: Path, prefix: str) -> Path:
    """Where the outputs stand that are expected of the cases whose ids begin with `prefix`."""
    return outputs_place(out) if out.suffix == ".h5" else outputs_place(out) / f"{prefix}.h5"


def _first(left_out: Counter[str]) -> str:
    return "".join(f"; {count} left out: {why}" for why, count in left_out.most_common(1))


def _write_expected(vectors: Path, outputs: Path, about: str, cases: Sequence[ForeignCase]) -> None:
    """Write what is expected of the cases of a vector file."""
    by_id = {case.id: case for case in cases}
    with open_vectors(vectors) as opened, new_outputs_file(outputs, about, "") as writer:
        for stored in opened.blocks():
            parts = [
                _observed(block, [by_id[case_id].expected() for case_id in block.ids])
                for block in stored.slices()
            ]
            writer.write(stored.path, stored.ids, parts)


def _observed(block: Block, expected: Sequence[Arrays]) -> Observed:
    """What is expected of the cases of a block, as if a runtime had given it."""
    status: list[Status] = []
    messages = []
    stacked = {name: np.zeros_like(array) for name, array in block.answer.outputs.items()}
    for row, arrays in enumerate(expected):
        wrong = _wrong(block, arrays)
        status.append("error" if wrong else "ok")
        messages.append(wrong)
        if not wrong:
            for name, array in stacked.items():
                array[row] = arrays[name]
    return Observed(status, messages, stacked)


def _wrong(block: Block, arrays: Arrays) -> str:
    """What of some outputs does not fit the block; "" where all do."""
    for name, ours in block.answer.outputs.items():
        if name not in arrays:
            return f"expects no {name}"
        theirs = arrays[name]
        if theirs.shape != ours.shape[1:] or theirs.dtype != ours.dtype:
            return (
                f"expects {name} of {dtype_name(theirs.dtype)} {theirs.shape}; "
                f"it is {block.dtype} {ours.shape[1:]}"
            )
    return ""
