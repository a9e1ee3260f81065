"""Vector files: their attributes, their ids, and their blocks, verified against their digests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..cases.errors import VectorFileError
from ..cases.operators import OPERATORS
from ..cases.question import why_no_theme
from ..cases.selection import may_select, selected
from .digest import DIGESTS, block_digest, blocks_of, digest_of_list
from .hdf5 import VECTORS, Folder, open_attributes, open_file
from .stored_block import Parsed, StoredBlock, open_block, read_ids


@dataclass(frozen=True, eq=False)
class VectorFile:
    """A vector file: `relative` is its path below the vectors asked for.

    Its blocks are read when they are first asked for.
    """

    path: Path
    relative: str
    operator: str
    theme: str
    attributes: Folder
    _parsed: Parsed = field(default_factory=dict)
    _blocks: dict[str, StoredBlock] = field(default_factory=dict)
    _verified: set[str] = field(default_factory=set)

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no file stays open."""

    @property
    def prefix(self) -> str:
        """What every id in the file begins with."""
        return f"{self.operator}/{self.theme}/"

    @property
    def content_sha256(self) -> str:
        """The digest of its questions and answers, as it says."""
        return str(self.root.attribute("content_sha256"))

    @property
    def tolerance_sha256(self) -> str:
        """The digest of its tolerances, as it says."""
        return str(self.root.attribute("tolerance_sha256"))

    @cached_property
    def root(self) -> Folder:
        """All that is in the file."""
        return open_file(self.path, VECTORS)

    @cached_property
    def groups(self) -> Mapping[str, Folder]:
        """The groups of the blocks, by path, ascending; VectorFileError where there is none."""
        found = blocks_of(self.root)
        if not found:
            raise VectorFileError(f"{self.path}: holds no block of cases")
        return found

    def ids(self, select: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return the ids of every block that holds one which `select` matches, by path, ascending.

        Only blocks of dtypes that `select` can match are looked at. Raises VectorFileError for an id that
        stands in two of them.
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
        """Return the blocks that hold a case which `select` matches, each checked whole."""
        return (self.block(path) for path in self.ids(select))

    def block(self, path: str) -> StoredBlock:
        """Return the block at `path`, checked against the operator's description."""
        if path not in self._blocks:
            self._blocks[path] = open_block(
                self.groups[path], path, OPERATORS[self.operator], self.theme, self._parsed
            )
        return self._blocks[path]

    def verify_content(self, paths: Collection[str] | None = None) -> None:
        """Raise VectorFileError unless the blocks at `paths`, or all, are what their digests say.

        The other blocks' digests are believed, and count in the file's.
        """
        if self._verified.issuperset(self.groups if paths is None else paths):
            return
        for name, datasets in DIGESTS.items():
            found = {}
            for path, block in self.groups.items():
                found[path] = str(block.attribute(name))
                if paths is not None and path not in paths:
                    continue
                if block_digest(datasets(block)) != found[path]:
                    raise self._differs(path, name)
            if digest_of_list(found) != self.root.attribute(name):
                raise self._differs("it", name)
        self._verified.update(self.groups if paths is None else paths)

    def _differs(self, what: str, name: str) -> VectorFileError:
        return VectorFileError(
            f"{self.path}: what {what} holds does not match its {name}; generate the file again"
        )


def open_vectors(path: Path, relative: str = "") -> VectorFile:
    """Open the vector file at `path`; VectorFileError if it is none."""
    attributes = open_attributes(path, VECTORS)
    operator, theme = attributes.attribute("operator"), attributes.attribute("theme")
    if not isinstance(operator, str) or operator not in OPERATORS:
        raise VectorFileError(
            f"{path}: operator is {operator!r}; expected one of {', '.join(OPERATORS)}"
        )
    if not isinstance(theme, str):
        raise VectorFileError(f"{path}: theme is {theme!r}; expected a name")
    if why := why_no_theme(theme):
        raise VectorFileError(f"{path}: {why}")
    seed = attributes.attribute("seed")
    if not isinstance(seed, int) or seed < 0:
        raise VectorFileError(f"{path}: seed is {seed!r}; expected an integer, not negative")
    return VectorFile(path, relative or path.name, operator, theme, attributes)
