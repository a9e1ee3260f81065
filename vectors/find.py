"""Finding vector files, each case in one of them alone, and loading their cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..cases.commands.arguments import texts
from ..cases.commands.command_line import command_line
from ..cases.errors import VectorFileError
from ..cases.files_below import MOST_NAMES, files_below
from ..cases.selection import PLAIN, may_select, nothing_selected, selected
from .case import Case
from .reader import open_vectors

CORE = Path(__file__).parent
"""The directory in which the core vectors lie."""


def find_vectors(path: Path | None, select: Sequence[str] = ()) -> list[tuple[Path, str]]:
    """The vector files at `path`, a file or a directory, with their relative paths; None: the core.

    Of each the attributes are read. Those that hold no case that `select` can match, by their operator
    and theme, are left out. Raises VectorFileError where there is no file, where one is no vector file,
    and where two hold the same case.
    """
    found: list[tuple[Path, str]] = []
    alike: dict[str, list[Path]] = {}
    for file, relative in _files(CORE if path is None else path):
        with open_vectors(file, relative) as vectors:
            if may_select(vectors.prefix, select):
                found.append((file, relative))
                alike.setdefault(vectors.prefix, []).append(file)
    for files in alike.values():
        if len(files) > 1:
            _check_each_once(files)
    return found


def load_vectors(
    path: str | Path | None = None, select: str | Sequence[str] = ()
) -> Iterator[Case]:
    """The cases of a vector file or a directory of them; without a path, of the core vectors.

    `select` has globs of case ids, or is one. Raises VectorFileError for anything that is not a vector file
    of this format version, and where two files hold the same case, and GrucibleError where nothing is
    selected.
    """
    chosen, nothing = texts("select", select), True
    for file, relative in find_vectors(None if path is None else Path(path), chosen):
        with open_vectors(file, relative) as vectors:
            for block in vectors.blocks(chosen):
                for _, rows in block.selected(chosen):
                    nothing = False
                    yield from rows.cases()
    if nothing:
        raise nothing_selected(chosen)


def case_ids(path: Path | None, select: Sequence[str] = ()) -> Iterator[str]:
    """The ids of the cases of the vector files at `path` that can hold what `select` matches."""
    for file, relative in find_vectors(path, select):
        with open_vectors(file, relative) as vectors:
            for ids in vectors.ids(select).values():
                yield from ids


def case_tiers(path: Path | None, select: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """The selected cases of the vector files at `path`: the id of each, and its tier as the file has it."""
    for file, relative in find_vectors(path, select):
        with open_vectors(file, relative) as vectors:
            for block, ids in vectors.ids(select).items():
                tier = str(vectors.groups[block].attribute("tier"))
                yield from ((one, tier) for one in ids if selected(one, select))


def _files(root: Path) -> list[tuple[Path, str]]:
    try:
        root.stat()
    except PermissionError as error:
        raise VectorFileError(
            f"{root}: cannot be read ({error.strerror}); make it readable, or name another place"
        ) from None
    except (OSError, ValueError):  # there is none; no file can have a name that is too long
        raise VectorFileError(
            f"{root}: no such file or directory; make vectors with: {_made_by(root)}"
        ) from None
    if root.is_file():
        return [(root, root.name)]
    if not root.is_dir():
        raise VectorFileError(f"{root}: is neither a file nor a directory; name another place")
    try:
        files = sorted(files_below(root, ".h5", most=MOST_NAMES), key=_plain_first)
    except OSError as error:
        raise VectorFileError(f"{error.filename or root}: {error.strerror}") from None
    found = [(file, file.relative_to(root).as_posix()) for file in files]
    if not found:
        raise VectorFileError(
            f"{root}: holds no vector file (*.h5); make some with: {_made_by(root)}"
        )
    return found


def _made_by(root: Path) -> str:
    return command_line("gen", (), ["-o", root])


def _plain_first(file: Path) -> tuple[bool, Path]:
    """The order of files: those of plain questions are asked before all others."""
    return (not file.stem.startswith(PLAIN), file)


def _check_each_once(files: Sequence[Path]) -> None:
    """Raise VectorFileError where two files, of the same operator and theme, hold the same case."""
    owner: dict[str, Path] = {}
    for file in files:
        with open_vectors(file) as vectors:
            for case_id in itertools.chain.from_iterable(vectors.ids().values()):
                other = owner.setdefault(case_id, file)
                if other != file:
                    raise VectorFileError(
                        f"{file}: holds {case_id}, which {other} holds too; remove one of the files"
                    )
