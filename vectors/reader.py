"""Reading vector files, block by block, each block in slices of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..cases.case_id import why_no_theme
from ..cases.errors import VectorFileError
from ..cases.operators.known import OPERATORS
from ..cases.selection import may_select, selected
from .block_reader import Parsed, open_block, read_ids
from .digest import DIGESTS, block_digest, blocks_of, digest_of_list
from .hdf5.folder import Folder
from .hdf5.opening import VECTORS, open_file
from .hdf5.seal import check_seal
from .hdf5.stored import Stored
from .stored_block import StoredBlock

KEPT_BYTES = 96 << 20
"""So much of a file is kept from when its digests are computed, and not read again."""


@dataclass(frozen=True, eq=False)
class VectorFile:
    """An open vector file: `relative` is its path below the vectors asked for."""

    path: Path
    relative: str
    operator: str
    theme: str
    generator: str
    seed: int
    content_sha256: str
    tolerance_sha256: str
    root: Folder
    parsed: Parsed = field(default_factory=dict)
    _verified: set[str] = field(default_factory=set)

    @property
    def prefix(self) -> str:
        """What every id in the file begins with."""
        return f"{self.operator}/{self.theme}/"

    @cached_property
    def groups(self) -> Mapping[str, Folder]:
        """The groups of the blocks, by path, ascending; VectorFileError where there is none."""
        found = blocks_of(self.root)
        if not found:
            raise VectorFileError(f"{self.path}: holds no block of cases")
        return found

    def ids(self, select: Sequence[str] = ()) -> dict[str, list[str]]:
        """The ids of every block that holds one which `select` matches, by path, ascending.

        Nothing but ids is read, and those only of blocks of dtypes that `select` can match. Raises
        VectorFileError for an id that stands in two of them.
        """
        owner: dict[str, str] = {}
        found = {}
        for path, group in self.groups.items():
            dtype = path.partition("/")[0]
            if not may_select(f"{self.prefix}{dtype}/", select):
                continue
            ids = read_ids(group, dtype, OPERATORS[self.operator], self.theme)
            for case_id in ids:
                if owner.setdefault(case_id, path) != path:
                    raise VectorFileError(
                        f"{group.where}/id: {case_id} is in another block already"
                    )
            if not select or any(selected(case_id, select) for case_id in ids):
                found[path] = ids
        return found

    def blocks(self, select: Sequence[str] = ()) -> Iterator[StoredBlock]:
        """The blocks that hold a case which `select` matches, each checked whole."""
        return (self.block(path) for path in self.ids(select))

    def block(self, path: str) -> StoredBlock:
        """The block at `path`, checked against the operator's description."""
        return open_block(
            self.groups[path], path, OPERATORS[self.operator], self.theme, self.parsed
        )

    def verify_content(
        self, paths: Collection[str] | None = None, *, keep_inputs: bool = True
    ) -> None:
        """Raise VectorFileError unless no byte was changed since the file was written, if it is sealed, and
        content and tolerances of the blocks at `paths`, or of all, are what their digests say.

        The other blocks' digests are believed, and count in the file's. What is read is kept, up to
        KEPT_BYTES, for when the blocks are read; inputs only where they will be.
        """
        if paths is not None and self._verified.issuperset(paths):
            return
        check_seal(self.path)
        keep = _Keeper(KEPT_BYTES, keep_inputs)
        for name, datasets in DIGESTS.items():
            found = {}
            for path, block in self.groups.items():
                found[path] = str(block.attribute(name))
                if paths is not None and path not in paths:
                    continue
                if block_digest(datasets(block), keep) != found[path]:
                    raise self._differs(path, name)
            if digest_of_list(found) != self.root.attribute(name):
                raise self._differs("it", name)
        self._verified.update(self.groups if paths is None else paths)

    def _differs(self, what: str, name: str) -> VectorFileError:
        return VectorFileError(
            f"{self.path}: what {what} holds does not match its {name}; generate the file again"
        )


@dataclass
class _Keeper:
    """Keeps datasets while they fit into `room` bytes."""

    room: int
    inputs: bool

    def __call__(self, path: str, stored: Stored) -> None:
        wanted = stored.dtype != "text" and (self.inputs or not path.startswith("inputs/"))
        if wanted and stored.nbytes <= self.room:
            self.room -= stored.nbytes
            stored.keep()


@contextlib.contextmanager
def open_vectors(path: Path, relative: str = "") -> Iterator[VectorFile]:
    """The vector file at `path`, opened; VectorFileError if it is none."""
    with open_file(path, VECTORS) as root:
        operator, theme = root.attribute("operator"), root.attribute("theme")
        if not isinstance(operator, str) or operator not in OPERATORS:
            raise VectorFileError(
                f"{path}: operator is {operator!r}; expected one of {', '.join(OPERATORS)}"
            )
        if not isinstance(theme, str):
            raise VectorFileError(f"{path}: theme is {theme!r}; expected a name")
        if why := why_no_theme(theme):
            raise VectorFileError(f"{path}: {why}")
        seed = root.attribute("seed")
        if not isinstance(seed, int) or seed < 0:
            raise VectorFileError(f"{path}: seed is {seed!r}; expected an integer, not negative")
        yield VectorFile(
            path=path,
            relative=relative or path.name,
            operator=operator,
            theme=theme,
            generator=str(root.attribute("generator")),
            seed=seed,
            content_sha256=str(root.attribute("content_sha256")),
            tolerance_sha256=str(root.attribute("tolerance_sha256")),
            root=root,
        )
