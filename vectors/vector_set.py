"""A set of vectors: the files at a path, opened once; each case is in exactly one of them."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..cases.console import format_command
from ..cases.dtypes import Array
from ..cases.errors import GrucibleError, VectorFileError, texts
from ..cases.files import MOST_NAMES, files_below
from ..cases.operators import OPERATORS
from ..cases.selection import (
    PLAIN,
    WHOLE,
    Ids,
    Shard,
    may_select,
    nothing_selected,
    selected,
    unmade_selected,
)
from .block import Block
from .case import Case
from .hdf5 import CORE
from .reader import VectorFile, open_vectors


class Rows(NamedTuple):
    """Some cases of the block `stored`: `rows` (n,) are their places, `block` has copies of them."""

    file: VectorFile
    stored: Block
    rows: Array
    block: Block


class VectorSet:
    """The open vector files at `path` (None: the core vectors), and the cases that `select` matches.

    The files below `more` are there, too. Of a `shard`, only the blocks that it takes are.
    `files` are those whose operator and theme `select` can match, those of plain themes first. `len` counts
    the selected cases.
    """

    def __init__(
        self,
        path: Path | None,
        select: Sequence[str] = (),
        more: Path | None = None,
        shard: Shard = WHOLE,
    ) -> None:
        self.path, self.select, self.more, self.shard = path, select, more, shard
        roots = dict.fromkeys([CORE if path is None else path, *([more] if more else [])])
        places = [place for root in roots for place in _files(root)]
        files = [open_vectors(*place) for place in places]
        self._prefixes = [file.prefix for file in files]
        self.files = [file for file in files if may_select(file.prefix, select)]
        _check_each_once(self.files)

    def __len__(self) -> int:
        return len(self._places)

    @cached_property
    def wanted(self) -> list[tuple[VectorFile, dict[str, list[str]]]]:
        """The files that hold a selected case, each with the ids of such blocks, by path.

        All ids of a block that holds a selected case are listed, in order; `ids` lists only selected ids.
        """
        found = []
        for file in self.files:
            blocks = file.ids(self.select).items()
            if mine := {path: ids for path, ids in blocks if self.shard.takes(ids[0])}:
                found.append((file, mine))
        return found

    @cached_property
    def whole(self) -> VectorSet:
        """The same cases and those of the other shards."""
        if self.shard == WHOLE:
            return self
        found = copy.copy(self)
        found.shard = WHOLE
        for name in ("wanted", "_places", "tiers"):
            vars(found).pop(name, None)
        return found

    @cached_property
    def _places(self) -> dict[str, tuple[VectorFile, str, int]]:
        """The file, the path of the block and the row of each selected case, by id, in order."""
        return {
            case_id: (file, path, row)
            for file, blocks in self.wanted
            for path, ids in blocks.items()
            for row, case_id in enumerate(ids)
            if selected(case_id, self.select)
        }

    @property
    def ids(self) -> list[str]:
        """The ids of the selected cases, in order."""
        return list(self._places)

    def check_globs(self) -> None:
        """Raise GrucibleError for a glob that matches no case of any dtype, although another does."""
        ids, given = Ids(self.ids), getattr(self.select, "given", self.select)
        for glob in given if ids else ():
            if not ids.matching(glob) and not any(file.ids((glob,)) for file in self.files):
                raise self.nothing_selected([glob])

    def nothing_selected(self, select: Sequence[str] | None = None) -> GrucibleError:
        """Make the error that globs, by default the set's own, select nothing."""
        from ..cases.specs.expand import expand
        from ..cases.specs.spec_file import find_specs

        chosen = select or self.select
        specs = () if self.path else find_specs()
        unmade = sum(len(expand(spec, select=chosen)) for spec in specs)
        if unmade:
            return unmade_selected(chosen, unmade)
        return nothing_selected(chosen, prefixes=self._prefixes)

    @cached_property
    def tiers(self) -> dict[str, str]:
        """The tier of each selected case, as its file has it, by id, in order."""
        return {
            case_id: str(file.groups[path].attribute("tier"))
            for case_id, (file, path, _) in self._places.items()
        }

    def blocks(self) -> Iterator[tuple[VectorFile, Block]]:
        """Return the blocks that hold a selected case, verified file by file against their digests."""
        for file, blocks in self.wanted:
            file.verify_content(blocks)
            for path in blocks:
                yield file, file.block(path)

    def slices(self, *, inputs: bool = True) -> Iterator[Rows]:
        """Return the selected cases in slices of blocks, verified; without `inputs`, cases lack inputs."""
        for file, stored in self.blocks():
            for rows, block in stored.selected(self.select, inputs=inputs):
                yield Rows(file, stored, rows, block)

    def one(self, case_id: str) -> Rows:
        """Return a selected case, verified, as a block of its own. Raises KeyError for any other id."""
        file, path, row = self._places[case_id]
        file.verify_content([path])
        stored = file.block(path)
        return Rows(file, stored, np.array([row]), stored.rows(np.array([row])))


def open_set(path: Path | None = None, select: Sequence[str] = ()) -> VectorSet:
    """Open the vector files at `path`, a file or a directory; None: the core vectors.

    `select` has globs of case ids; an empty one selects all. At first only the files' attributes are read;
    ids and blocks are read when they are asked for. Raises VectorFileError if there is no file, if one is no
    vector file, or if two hold the same case.
    """
    return VectorSet(path, select)


def load_vectors(
    path: str | Path | None = None, select: str | Sequence[str] = ()
) -> Iterator[Case]:
    """Yield the cases of a vector file or a directory of them; without a path, of the core vectors.

    `select` is a glob of case ids, or several. Raises VectorFileError for a file that is no vector file of
    this format version or does not match its digests, and for two files that hold the same case. Raises
    GrucibleError if nothing is selected.
    """
    opened, nothing = open_set(None if path is None else Path(path), texts("select", select)), True
    for part in opened.slices():
        nothing = False
        yield from part.block.cases()
    if nothing:
        raise opened.nothing_selected()


def _files(root: Path) -> list[tuple[Path, str]]:
    """Return the vector files at `root` with their relative paths, those of plain themes first."""
    folder = root.parent if root.suffix == ".h5" else root  # gen makes a folder of files
    made = (
        f"make vectors with: {format_command('gen', (), ['-o', folder if folder.name else 'out'])}"
    )
    try:
        if root.is_file():
            return [(root, root.name)]
        if root.exists() and not root.is_dir():
            raise VectorFileError(f"{root}: is neither a file nor a directory; name another place")
        found = files_below(root, ".h5", most=MOST_NAMES) if root.exists() else ()
        files = sorted(found, key=lambda file: (not file.stem.startswith(PLAIN), file))
    except OSError as error:
        raise VectorFileError(
            f"{error.filename or root}: cannot be read ({error.strerror}); make it readable, or name "
            "another place"
        ) from None
    if not root.exists() and root.as_posix().partition("/")[0] in OPERATORS:
        raise VectorFileError(
            f"{root}: names cases, where vectors are expected; give one CASE, or --select GLOB"
        )
    if not files:
        why = "holds no vector file (*.h5)" if root.exists() else "no such file or directory"
        raise VectorFileError(f"{root}: {why}; {made}")
    return [(file, file.relative_to(root).as_posix()) for file in files]


def _check_each_once(files: Sequence[VectorFile]) -> None:
    """Raise VectorFileError where two files, of the same operator and theme, hold the same case."""
    alike, owner = Counter(file.prefix for file in files), dict[str, Path]()
    for file in (file for file in files if alike[file.prefix] > 1):
        for case_id in chain.from_iterable(file.ids().values()):
            if (other := owner.setdefault(case_id, file.path)) != file.path:
                raise VectorFileError(
                    f"{file.path}: holds {case_id}, which {other} holds too; remove one of the files"
                )
