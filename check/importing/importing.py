"""Importing: cases of others, read by a process of their own, become vector files with exact answers.

What they expect becomes outputs files beside. A reader is a generator of tests: functions that read one case
each, and raise NotAsked for one that no operator here can ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from re import sub
from typing import Any

import numpy as np

from ...cases.apart import NotParsed, Tree, parse_apart
from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.files import check_replaceable, files_below, writing_to
from ...cases.operators import OPERATORS
from ...cases.operators.signature import Operator
from ...cases.pose import pose
from ...cases.question import Question, why_no_theme
from ...gen.posed import Imported, Posed, write_answered
from ...vectors.block import Block, attributes_from_json, canonical_json
from ...vectors.hdf5 import OUTPUTS, VECTORS
from ...vectors.reader import open_vectors
from ...vectors.writer import MARKS, prepare_place
from ..observed.outputs_file import new_outputs_file
from ..observed.source import Observed, Status

SECONDS = 600
"""Maximum CPU time to read a suite; an export of all shipped cases takes a tenth of it."""
_MOST_NAME = 160
"""Maximum characters of a name in an id."""


class NotAsked(Exception):
    """A foreign case is none that any operator here can ask; the message is the reason."""


@dataclass(frozen=True)
class ForeignCase:
    """A case of others: a question with its id, and the outputs that they expect, if any.

    It is nonportable where they say so.
    """

    question: Question
    expected: Arrays
    nonportable: bool = False


Tests = Iterable[Callable[[], ForeignCase]]


def case_id(operator: Operator, theme: str, dtype: str, name: str) -> str:
    """Make the id of a foreign case called `name`, of printable words without spaces."""
    words = [
        sub(r"[^A-Za-z0-9._+=]+", "-", text).strip(".-")[:_MOST_NAME] or "unnamed"
        for text in (theme, name)
    ]
    return f"{operator.name}/{words[0]}/{dtype}/{words[1]}"


def collect(about: str, tests: Tests) -> Tree:
    """Read tests into a tree: what they are, their cases, and how many were left out, by the reason.

    A number is added to an id that was there before.
    """
    cases: dict[str, Tree] = {}
    again: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for read in tests:
        try:
            case = read()
        except NotAsked as reason:
            left_out[str(reason)] += 1
            continue
        question = case.question
        new = question.id
        while new in cases:
            again[question.id] += 1
            new = f"{question.id}-{again[question.id] + 1}"
        cases[new] = {
            "id": new,
            "operator": question.operator,
            "given": canonical_json(question.given),
            "inputs": dict(question.inputs),
            "outputs": list(question.outputs),
            "expected": case.expected,
            "nonportable": case.nonportable,
        }
    return {"about": about, "cases": list(cases.values()), "left_out": left_out}


def read_export(folder: str) -> Tree:
    """Parse an export of ours, in any format. Raises ExportError."""
    from ...vectors.exchange.export import open_export

    export = open_export(Path(folder))
    about = f"imported from an export to {export.manifest.layout}, {export.root_sha256}"
    return collect(
        about,
        (
            partial(ForeignCase, one.question, one.expected, one.tier == "nonportable")
            for one in export.cases()
        ),
    )


@dataclass(frozen=True)
class Suite:
    """Foreign cases, what they are, and how many were left out, by the reason."""

    about: str
    cases: Sequence[Tree]
    left_out: Counter[str]


def read_suite(place: Path | None, reader: Callable[..., Tree], *arguments: str | None) -> Suite:
    """Have a reader parse what stands at `place`, in a process of its own. Raises GrucibleError."""
    try:
        found = parse_apart(reader, str(place) if place else None, *arguments, seconds=SECONDS)
    except NotParsed as error:
        raise GrucibleError(f"{place}: cannot be read ({error})") from None
    return Suite(found["about"], found["cases"], Counter(found["left_out"]))


@dataclass(frozen=True)
class Made:
    """A vector file, and where the outputs that its owner expects stand, None where there are none."""

    vectors: Imported
    outputs: Path | None


def write_suite(
    suite: Suite, out: Path, advance: Callable[[int], None] = lambda _: None
) -> list[Made]:
    """Write the cases as vector files, and what is expected of them as outputs files.

    `out` is a file `*.h5` where all are of one operator and theme, with outputs in `*.outputs.h5`; else a
    directory, with outputs in a directory of its name and `-outputs`. Raises GrucibleError where nothing
    can be written.
    """
    groups: dict[str, list[Tree]] = {}
    for case in suite.cases:
        groups.setdefault("/".join(case["id"].split("/")[:2]), []).append(case)
    if not groups:
        raise GrucibleError(f"there is no case to import{_first(suite.left_out)}")
    one_file = out.suffix == ".h5"
    if one_file and len(groups) > 1:
        raise GrucibleError(
            f"{out}: the cases are of {len(groups)} operators and themes; name a directory"
        )
    places = {
        prefix: (out, outputs_place(out))
        if one_file
        else (out / f"{prefix}.h5", outputs_place(out) / f"{prefix}.h5")
        for prefix in groups
    }
    expecting = {name for name, cases in groups.items() if any(one["expected"] for one in cases)}
    for prefix, (vectors, outputs) in places.items():
        _check_group(prefix, outputs, expected=prefix in expecting)
        prepare_place(vectors, VECTORS)
        if prefix in expecting:
            prepare_place(outputs, OUTPUTS)
    if not one_file:
        _check_each_once(out, groups)
    made = []
    for prefix, cases in groups.items():
        vectors, outputs = places[prefix]
        posed = [Posed(case["id"], partial(_question, case), case["nonportable"]) for case in cases]
        written = write_answered(vectors, posed, suite.about, advance)
        if prefix in expecting:
            _write_expected(vectors, outputs, suite.about, cases)
        made.append(Made(written, outputs if prefix in expecting else None))
    return made


def _question(case: Tree) -> Question:
    """Return the question of a case, in arrays of its own."""
    operator = OPERATORS[case["operator"]]
    given = attributes_from_json(case["given"], operator)
    inputs = {name: np.array(array) for name, array in case["inputs"].items()}
    return pose(operator, given, inputs, case_id=case["id"], outputs=case["outputs"])


def _check_group(prefix: str, outputs: Path, *, expected: bool) -> None:
    """Raise GrucibleError for a theme that is none, and for outputs beside vectors that expect none.

    They would be judged as if these cases expected them.
    """
    if why := why_no_theme(prefix.rpartition("/")[2]):
        raise GrucibleError(f"{prefix}: {why}; rename the folder or file of the cases")
    if not expected and outputs.exists():
        raise GrucibleError(
            f"{outputs}: holds outputs of an earlier import, and these cases expect none; remove it, or name "
            "another place with -o"
        )


def _check_each_once(out: Path, groups: Mapping[str, Sequence[Tree]]) -> None:
    """Raise GrucibleError where other vectors below the directory `out` hold one of the cases.

    Files that will be replaced do not count.
    """
    new = {case["id"] for cases in groups.values() for case in cases}
    replaced = {(out / f"{prefix}.h5").resolve() for prefix in groups}
    for file in files_below(out, ".h5"):
        twice: set[str] = set()
        try:
            opened = open_vectors(file)
            if opened.prefix.removesuffix("/") in groups and file.resolve() not in replaced:
                twice = new & set(chain.from_iterable(opened.ids().values()))
        except VectorFileError:  # others do not matter
            continue
        if twice:
            raise GrucibleError(
                f"{file}: holds {min(twice)} already, and a case stands in one file; name another place for "
                "what is imported"
            )


def check_place(out: Path) -> None:
    """Raise GrucibleError where `out` cannot be written, as far as that is known before anything is read."""
    if out.suffix == ".h5":
        prepare_place(out, VECTORS)
        if (beside := outputs_place(out)).exists():
            check_replaceable(beside, MARKS[OUTPUTS])
        return
    for path in (out, outputs_place(out)):
        if path.exists() and not path.is_dir():
            raise GrucibleError(f"{path}: is no directory; name another place, or a file *.h5")
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)


def outputs_place(out: Path) -> Path:
    """Return the place of the outputs that are expected of vectors at `out`.

    It is a file beside a file, a directory beside a directory. Raises GrucibleError for the root directory.
    """
    if out.suffix == ".h5":
        return out.with_suffix(".outputs.h5")
    whole = out.resolve()
    if not whole.name:
        raise GrucibleError(f"{out}: name a directory that is not the root")
    return (out if out.name not in ("", "..") else whole).with_name(f"{whole.name}-outputs")


def _first(left_out: Counter[str]) -> str:
    return "".join(f"; {count} left out: {why}" for why, count in left_out.most_common(1))


def _write_expected(vectors: Path, outputs: Path, about: str, cases: Sequence[Tree]) -> None:
    """Write what is expected of the cases as outputs; a case whose outputs do not fit is an error."""
    by_id: dict[str, Mapping[str, Array]] = {case["id"]: case["expected"] for case in cases}
    opened = open_vectors(vectors)
    with new_outputs_file(outputs, about, "") as writer:
        for stored in opened.blocks():
            parts = [
                _observed(block, [by_id[case_id] for case_id in block.ids])
                for _, block in stored.selected()
            ]
            writer.write(stored.path, stored.ids, parts)


def _observed(block: Block, expected: Iterable[Mapping[str, Array]]) -> Observed:
    """Return what is expected of the cases of a block, as if a runtime had given it."""
    status: list[Status] = []
    messages = []
    stacked = {name: np.zeros_like(array) for name, array in block.answer.outputs.items()}
    for row, arrays in enumerate(expected):
        wrong = next(_misfits(block, arrays), "")
        status.append("error" if wrong else "ok")
        messages.append(wrong)
        if not wrong:
            for name, array in stacked.items():
                array[row] = arrays[name]
    return Observed(status, messages, stacked)


def _misfits(block: Block, arrays: Mapping[str, Any]) -> Iterator[str]:
    """Say which outputs do not fit the block."""
    for name, ours in block.answer.outputs.items():
        if name not in arrays:
            yield f"expects no {name}"
        elif (theirs := arrays[name]).shape != ours.shape[1:] or theirs.dtype != ours.dtype:
            yield (
                f"expects {name} of {dtype_name(theirs.dtype)} {theirs.shape}; "
                f"it is {block.dtype} {ours.shape[1:]}"
            )
