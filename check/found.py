"""The vector files of what fuzzing found: several runs may write into one folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..cases.errors import GrucibleError
from ..cases.files import writing_to
from ..cases.operators import OPERATORS
from ..cases.question import Question
from ..gen.making import SHRUNK
from ..gen.posed import Posed, write_answered
from ..vectors.vector_set import open_set
from .fuzz import Fuzzed


def check_out(folder: Path) -> None:
    """Raise GrucibleError where `write_found` could not write: before long work rather than after it."""
    there = next(one for one in (folder, *folder.resolve().parents) if one.exists())
    if not os.access(there, os.W_OK):
        raise GrucibleError(f"{folder}: cannot be written; name another directory")
    for name in OPERATORS:
        _found_before(folder / f"{name}.h5")


def _found_before(path: Path) -> list[Question]:
    """Read the questions in a file of what was found. Raises GrucibleError for a file of other cases."""
    if not path.exists():
        return []
    there = open_set(path)
    if [file.prefix for file in there.files] != [f"{path.stem}/{SHRUNK}/"]:
        raise GrucibleError(f"{path}: holds other cases than those that fuzz finds; move it away")
    return [question for _, block in there.blocks() for question in block.questions()]


def write_found(found: Fuzzed, folder: Path) -> list[Path]:
    """Write the cases of new findings to a vector file for each operator, with what is there already."""
    posed: dict[str, dict[str, Question]] = {}
    for one in found.new:
        for question in one.questions():
            posed.setdefault(question.operator, {})[question.id] = question
    paths = list[Path]()
    if not posed:
        return paths
    with _locked(folder):
        for operator, questions in posed.items():
            path = folder / f"{operator}.h5"
            questions = {one.id: one for one in _found_before(path)} | questions
            name = f"{found.runtime} {found.version}".strip()
            about = f"found by grucible fuzz, which {name} gets wrong"
            write_answered(path, [Posed(i, lambda q=q: q) for i, q in questions.items()], about)  # type: ignore[misc]
            paths.append(path)
    return paths


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make a folder, and wait until no other run writes into it."""
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl

            place = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, place)
            with suppress(OSError):  # a network disk that locks no folder
                fcntl.flock(place, fcntl.LOCK_EX)
        yield
