"""Vector files: their attributes, their ids, and their blocks, verified against their digests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..cases.errors import VectorFileError
from ..cases.operators import OPERATORS
from ..cases.operators.signature import Operator
from ..cases.question import why_no_theme
from ..cases.selection import may_select, selected
from .block import Block
from .digest import DIGESTS, block_digest, blocks_of, digest_of_list
from .hdf5 import VECTORS, Folder, open_file
from .stored_block import open_block, read_ids


@dataclass(frozen=True, eq=False)
class VectorFile:
    """A vector file; `relative` is its path below the directory that was opened.

    A block is read when it is first asked for.
    """

    path: Path
    relative: str
    operator: Operator
    theme: str
    attributes: Folder
    _blocks: dict[str, Block] = field(default_factory=dict)
    _verified: set[str] = field(default_factory=set)

    @property
    def prefix(self) -> str:
        """The beginning of every id in the file."""
        return f"{self.operator.name}/{self.theme}/"

    @property
    def content_sha256(self) -> str:
        """The digest of questions and answers, as the file states it."""
        return str(self.root.attribute("content_sha256"))

    @property
    def tolerance_sha256(self) -> str:
        """The digest of tolerances, as the file states it."""
        return str(self.root.attribute("tolerance_sha256"))

    @cached_property
    def root(self) -> Folder:
        """The whole content of the file."""
        return open_file(self.path, VECTORS)

    @cached_property
    def groups(self) -> Mapping[str, Folder]:
        """The groups of the blocks, by path, ascending; VectorFileError where there is none."""
        found = blocks_of(self.root)
        if not found:
            raise VectorFileError(f"{self.path}: holds no block of cases")
        return found

    def ids(self, select: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return, by ascending path, all ids of each block in which `select` matches an id.

        Only blocks of dtypes that `select` can match are looked at. Raises VectorFileError for an id that
        stands in two of these blocks.
        """
        owner: dict[str, str] = {}
        found = {}
        for path, group in self.groups.items():
            dtype = path.partition("/")[0]
            if not may_select(f"{self.prefix}{dtype}/", select):
                continue
            ids = read_ids(group, dtype, self.operator, self.theme)
            for case_id in ids:
                if owner.setdefault(case_id, path) != path:
                    raise VectorFileError(
                        f"{group.where}/id: {case_id} is in another block already"
                    )
            if any(selected(case_id, select) for case_id in ids):
                found[path] = ids
        return found

    def blocks(self, select: Sequence[str] = ()) -> Iterator[Block]:
        """Return the blocks in which `select` matches a case; all rows of a block are checked."""
        return map(self.block, self.ids(select))

    def block(self, path: str) -> Block:
        """Return the block at `path`, checked against the operator's description."""
        if path not in self._blocks:
            self._blocks[path] = open_block(self.groups[path], path, self.operator, self.theme)
        return self._blocks[path]

    def verify_content(self, paths: Collection[str] | None = None) -> None:
        """Raise VectorFileError unless the blocks at `paths`, or all, are what their digests say.

        The file's digest is computed from all blocks' digests; those of other blocks are believed.
        """
        wanted = set(self.groups if paths is None else paths) - self._verified
        if not wanted:
            return
        for name in DIGESTS:
            found = {path: str(block.attribute(name)) for path, block in self.groups.items()}
            wrong = [p for p in wanted if block_digest(self.groups[p], name) != found[p]]
            if wrong or digest_of_list(found) != self.root.attribute(name):
                raise VectorFileError(
                    f"{self.path}: what {min(wrong, default='it')} holds does not match its {name}; "
                    "generate the file again"
                )
        self._verified.update(wanted)


def open_vectors(path: Path, relative: str = "") -> VectorFile:
    """Open the vector file at `path`; VectorFileError if it is no vector file."""
    attributes = open_file(path, VECTORS, whole=False)
    operator, theme, seed = (attributes.attribute(name) for name in ("operator", "theme", "seed"))
    if operator not in OPERATORS:
        why = f"operator is {operator!r}; expected one of {', '.join(OPERATORS)}"
    elif not isinstance(seed, int) or seed < 0:
        why = f"seed is {seed!r}; expected an integer, not negative"
    else:
        why = why_no_theme(theme if isinstance(theme, str) else "")
    if why:
        raise VectorFileError(f"{path}: {why}")
    return VectorFile(path, relative or path.name, OPERATORS[str(operator)], str(theme), attributes)
