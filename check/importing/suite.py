"""Suites of others: their cases become vector files with exact answers, what they expect outputs files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from re import sub
from typing import NamedTuple

import numpy as np

from ...cases.apart import NotParsed, Tree, parse_apart
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.files import files_below, writing_to
from ...cases.operators import OPERATORS
from ...cases.question import Question, QuestionError, pose, why_no_theme
from ...gen.posed import Imported, Posed, write_answered
from ...vectors.block import attributes_from_json, canonical_json
from ...vectors.hdf5 import OUTPUTS, VECTORS
from ...vectors.reader import open_vectors
from ...vectors.writer import prepare_place
from ..observed.outputs_file import new_outputs_file, write_outputs
from ..observed.source import stack_replies
from ..protocol.header import Reply

SECONDS = 600
"""Maximum CPU time to read a suite; an export of all shipped cases takes a tenth of it."""
_MOST_NAME = 160
"""Maximum characters of a name in an id."""


class NotAsked(Exception):
    """A foreign case is none that any operator here can ask; the message is the reason."""


@dataclass(frozen=True)
class ForeignCase:
    """A case of others: a question, and the outputs that they expect, if any.

    It is nonportable where they say so.
    """

    question: Question
    expected: Arrays
    nonportable: bool = False


Tests = Iterable[tuple[str, Callable[[], ForeignCase]]]
"""Tests by name; each is read by a function, which raises NotAsked for one that asks no operator here."""


def collect(about: str, theme: str, tests: Tests) -> Tree:
    """Read tests into a tree: what they are, their cases, and how many were left out, by the reason.

    A question without an id gets one of its theme and name, and a number where that is there already.
    Raises GrucibleError for a place that cannot be read.
    """
    cases: dict[str, Tree] = {}
    left_out: Counter[str] = Counter()
    for name, read in tests:
        try:
            case = read()
        except (NotAsked, QuestionError) as reason:
            left_out[str(reason)] += 1
            continue
        except GrucibleError:
            raise
        except Exception as error:  # of libraries that read what is damaged, of many types
            why = " ".join(str(error).split())[:200] or type(error).__name__
            left_out[f"{name[:_MOST_NAME]}: cannot be read ({why})"] += 1
            continue
        question = case.question
        words = [sub(r"[^A-Za-z0-9._+=]+", "-", text).strip(".-") for text in (theme, name)]
        where, what = (word[:_MOST_NAME] or "unnamed" for word in words)
        new = first = question.id or f"{question.operator}/{where}/{question.dtype}/{what}"
        number = 1
        while new in cases:
            number += 1
            new = f"{first}-{number}"
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


class ReadSuite(NamedTuple):
    """Foreign cases, what they are, and how many were left out, by the reason."""

    about: str
    cases: Sequence[Tree]
    left_out: Counter[str]


def read_suite(
    place: Path | None, reader: Callable[..., Tree], *arguments: str | None
) -> ReadSuite:
    """Have a reader parse what stands at `place`, in a process of its own. Raises GrucibleError."""
    try:
        found = parse_apart(reader, str(place) if place else None, *arguments, seconds=SECONDS)
    except NotParsed as error:
        raise GrucibleError(f"{place}: cannot be read ({error})") from None
    return ReadSuite(found["about"], found["cases"], Counter(found["left_out"]))


class Made(NamedTuple):
    """A vector file, and where the outputs that its owner expects stand, None where there are none."""

    vectors: Imported
    outputs: Path | None


def write_suite(
    suite: ReadSuite, out: Path, advance: Callable[[int], None] = lambda _: None
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
        first = "".join(
            f"; {count} left out: {why}" for why, count in suite.left_out.most_common(1)
        )
        raise GrucibleError(f"there is no case to import{first}")
    places = {
        prefix: (out / f"{prefix}.h5", outputs_place(out) / f"{prefix}.h5") for prefix in groups
    }
    if out.suffix == ".h5":
        if len(groups) > 1:
            raise GrucibleError(
                f"{out}: the cases are of {len(groups)} operators and themes; name a directory"
            )
        places = dict.fromkeys(groups, (out, outputs_place(out)))
    for prefix, cases in groups.items():
        if why := why_no_theme(prefix.rpartition("/")[2]):
            raise GrucibleError(f"{prefix}: {why}; rename the folder or file of the cases")
        vectors, outputs = places[prefix]
        prepare_place(vectors, VECTORS)
        if any(case["expected"] for case in cases):
            prepare_place(outputs, OUTPUTS)
        elif outputs.exists():  # and would be judged as if these cases expected them
            raise GrucibleError(
                f"{outputs}: holds outputs of an earlier import, and these cases expect none; remove it, or "
                "name another place with -o"
            )
    if out.suffix != ".h5":
        _check_each_once(out, groups)
    return [_write(suite.about, cases, *places[one], advance) for one, cases in groups.items()]


def _write(
    about: str, cases: Sequence[Tree], path: Path, outputs: Path, advance: Callable[[int], None]
) -> Made:
    """Write the cases of one operator and theme; expected outputs that do not fit a case are errors."""
    posed = [Posed(case["id"], partial(_question, case), case["nonportable"]) for case in cases]
    written = write_answered(path, posed, about, advance)
    expected: dict[str, Arrays] = {case["id"]: case["expected"] for case in cases}
    if not any(expected.values()):
        return Made(written, None)
    with new_outputs_file(outputs, about, "") as file:
        for stored in open_vectors(path).blocks():
            slices = [
                stack_replies(block, [Reply("ok", expected[one]) for one in block.ids])
                for _, block in stored.selected()
            ]
            write_outputs(file, stored.path, stored.ids, slices)
    return Made(written, outputs)


def _question(case: Tree) -> Question:
    """Return the question of a case, in arrays of its own."""
    operator = OPERATORS[case["operator"]]
    inputs = {name: np.array(array) for name, array in case["inputs"].items()}
    question = pose(
        operator, attributes_from_json(case["given"], operator), inputs, outputs=case["outputs"]
    )
    return replace(question, id=case["id"])


def _check_each_once(out: Path, groups: Mapping[str, Sequence[Tree]]) -> None:
    """Raise GrucibleError where other vectors below the directory `out` hold one of the cases.

    Files that will be replaced do not count.
    """
    new = {case["id"] for cases in groups.values() for case in cases}
    replaced = {(out / f"{prefix}.h5").resolve() for prefix in groups}
    for file in files_below(out, ".h5"):
        try:
            opened = open_vectors(file)
            twice = file.resolve() not in replaced and opened.prefix.removesuffix("/") in groups
            both = new.intersection(chain.from_iterable(opened.ids().values())) if twice else set()
        except VectorFileError:  # others do not matter
            continue
        if both:
            raise GrucibleError(
                f"{file}: holds {min(both)} already, and a case stands in one file; name another place for "
                "what is imported"
            )


def check_place(out: Path) -> None:
    """Raise GrucibleError where `out` cannot be written, as far as that is known before anything is read."""
    outputs_place(out)
    if out.suffix == ".h5":
        prepare_place(out, VECTORS)
    else:
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
