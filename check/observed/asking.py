"""Writing the questions of vectors into files, for a program to which no pipe leads."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...cases.errors import GrucibleError
from ...cases.files import check_replaceable
from ...cases.selection import nothing_selected
from ...cases.whole_file import prepare_place, replacing, writing_to
from ...vectors.find import find_vectors
from ...vectors.reader import VectorFile, open_vectors
from ..protocol.header import hello_lines, question_parts
from ..protocol.stream import Exchange, exchange

_QUESTIONS = re.compile(rb"grucible \d")
"""What a file of questions begins with."""


class Asked(NamedTuple):
    """A file of questions that was written: where it stands and where its answers belong, how many questions
    it holds, and its size in bytes."""

    files: Exchange
    questions: int
    bytes: int


def ask(
    vectors: Path | None,
    out: Path,
    select: Sequence[str] = (),
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Asked]:
    """Write the selected questions of the vector files at a path (None: the core) into the directory `out`, a
    file for each that holds any; yields what was written.

    A file is the judge's side of the protocol: its hello, then question after question, in the order of the
    vectors. It appears whole. Raises GrucibleError where it cannot be written, and where answers stand
    beside its place that are to other questions: with new ones they would be taken for theirs.
    """
    nothing = True
    for file, relative in find_vectors(vectors, select):
        with open_vectors(file, relative) as opened:
            wanted = opened.ids(select)
            if not wanted:
                continue
            opened.verify_content(wanted)
            nothing = False
            yield _write(opened, wanted, exchange(out, relative), select, advance)
    if nothing:
        raise nothing_selected(select)


def _write(
    vectors: VectorFile,
    blocks: Iterable[str],
    files: Exchange,
    select: Sequence[str],
    advance: Callable[[int], None],
) -> Asked:
    count = size = 0
    with writing_to(files.questions):
        prepare_place(files.questions)
        check_replaceable(files.questions, _QUESTIONS)
        with replacing(files.questions) as file:
            size += file.write(hello_lines())
            for path in blocks:
                for _, block in vectors.block(path).selected(select):
                    for question in block.questions():
                        size += sum(map(file.write, question_parts(question)))
                        count += 1
                    advance(len(block))
            file.flush()
            _check_answers(files, Path(file.name))
    return Asked(files, count, size)


def _check_answers(files: Exchange, new: Path) -> None:
    """Raise GrucibleError where answers are there, and not to the new questions."""
    if not files.answers.exists():
        return
    if not files.questions.exists() or not filecmp.cmp(files.questions, new, shallow=False):
        raise GrucibleError(
            f"{files.answers}: is there already, and answers other questions than these; move it away, "
            "or name another directory"
        )
