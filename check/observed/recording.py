"""Running a runtime on vectors and keeping its outputs."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ...cases.errors import VectorFileError
from ...cases.selection import nothing_selected, selected
from ...cases.whole_file import prepare_place, writing_to
from ...vectors.find import find_vectors
from ...vectors.reader import open_vectors
from .observations import observations
from .outputs_file import (
    OutputsWriter,
    check_outputs_place,
    new_outputs_file,
    stored_ids,
    with_errors,
)
from .source import Ending, Source


def record(
    vectors: Path | None,
    source: Source,
    out: Path,
    select: Sequence[str] = (),
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[str, Counter[str]]]:
    """Write an outputs file per vector file; yields its path and how many cases have each status.

    A single vector file gives the single file `out`, a directory (or the core) a directory with the
    same relative paths. Each file appears whole, and files that are done stay where another fails.
    Raises VectorFileError, before anything is asked, where a place holds outputs that would be lost, or is
    that of one file and a directory is needed.
    What goes wrong when the source ends is an error of the last case that was answered: a file is yielded
    again that has it.
    """
    written: list[Path] = []
    for file, relative, path in _places(vectors, out, select):
        counts: Counter[str] = Counter()
        with contextlib.ExitStack() as stack:
            writer: OutputsWriter | None = None
            found = observations([(file, relative)], source, select, advance)
            for _, group in groupby(found, key=lambda part: part.stored.path):
                parts = [(part.block, part.observed) for part in group]
                writer = writer or stack.enter_context(
                    new_outputs_file(path, source.name, source.version)
                )
                ids = [case_id for block, _ in parts for case_id in block.ids]
                writer.write(parts[0][0], ids, parts)
                counts.update(status for _, observed in parts for status in observed.status)
        if counts:
            written.append(path)
            yield str(path), counts
    if not written:
        raise nothing_selected(select)
    if isinstance(source, Ending):
        errors = {case_id: reply.message for case_id, reply in source.finish().items()}
        for path in written if errors else ():
            if counts := with_errors(path, errors):
                yield f"{path}, when the runtime had ended", counts


def _places(vectors: Path | None, out: Path, select: Sequence[str]) -> list[tuple[Path, str, Path]]:
    """The vector files, with their relative paths, and where the outputs of each stand. Raises GrucibleError
    where they cannot."""
    alone = vectors is not None and vectors.is_file()
    if not alone and (out.is_file() or (out.suffix == ".h5" and not out.exists())):
        raise VectorFileError(
            f"{out}: is the place of one file; name a directory, for each vector file gives one of outputs"
        )
    files = [
        (f, relative, out if alone else out / relative)
        for f, relative in find_vectors(vectors, select)
    ]
    for file, relative, path in files:
        if asked := _asked(file, relative, select):
            with writing_to(path):
                prepare_place(path)
                _check_place(path, asked)
    return files


def _asked(vectors: Path, relative: str, select: Sequence[str]) -> set[str]:
    """The ids of a vector file that are selected."""
    with open_vectors(vectors, relative) as opened:
        ids = [one for block in opened.ids(select).values() for one in block]
    return {one for one in ids if selected(one, select)}


def _check_place(path: Path, asked: set[str]) -> None:
    """Raise VectorFileError where outputs are not to stand at `path`, or those that stand there are of other
    cases than will be asked."""
    check_outputs_place(path)
    lost: set[str] = set()
    if path.is_file():
        with contextlib.suppress(VectorFileError):  # what cannot be read is no loss
            lost = stored_ids(path) - asked
    if lost:
        cases = "a case" if len(lost) == 1 else f"{len(lost)} cases"
        raise VectorFileError(
            f"{path}: holds outputs of {cases} that are not asked for now, as {min(lost)}; name another "
            "place for the outputs, or remove that file"
        )
