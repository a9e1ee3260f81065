"""Reading vector files, block by block, each block in slices of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cases.errors import VectorFileError
from ..cases.operators.known import OPERATORS
from .attributes import attribute
from .block_reader import check_ids, open_block
from .digest import block_paths, content_digest, tolerance_digest
from .hdf5 import VECTORS, Stored, open_file
from .stored_block import StoredBlock


@dataclass(frozen=True)
class VectorFile:
    """An open vector file: `relative` is its path below the vectors asked for."""

    path: Path
    relative: str
    operator: str
    theme: str
    generator: str
    seed: int
    content_sha256: str
    file: Any
    datasets: dict[str, Stored] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """What every id in the file begins with."""
        return f"{self.operator}/{self.theme}/"

    def ids(self) -> Iterator[str]:
        """The ids of all cases, of which nothing else is read."""
        for path in block_paths(self.file):
            where = f"{self.path}: /{path}"
            stored = self.opened(self.file[path], "id", where)
            ids = stored.texts(0, stored.shape[0])
            dtype = path.partition("/")[0]
            check_ids(ids, f"{self.prefix}{dtype}/", f"{where}/id")
            yield from ids

    def blocks(self) -> Iterator[StoredBlock]:
        """The blocks of the file, each checked against the operator's description."""
        paths = block_paths(self.file)
        if not paths:
            raise VectorFileError(f"{self.path}: holds no block of cases")
        seen: set[str] = set()
        for path in paths:
            block = self.block(path)
            if not seen.isdisjoint(block.ids):
                [twice, *_] = sorted(seen.intersection(block.ids))
                raise VectorFileError(
                    f"{self.path}: /{path}/id: {twice} is in another block already"
                )
            seen.update(block.ids)
            yield block

    def block(self, path: str) -> StoredBlock:
        """The block at `path`, checked against the operator's description."""
        return open_block(self.file, path, OPERATORS[self.operator], self.theme, self.opened)

    def opened(self, group: Any, name: str, where: str) -> Stored:
        """The dataset `name` of `group`, opened and checked once."""
        key = f"{where}/{name}"
        if key not in self.datasets:
            self.datasets[key] = Stored(group, name, where)
        return self.datasets[key]

    def verify_content(self) -> None:
        """Raise VectorFileError unless content and tolerances are what their digests say."""
        for name, digest in (
            ("content_sha256", content_digest),
            ("tolerance_sha256", tolerance_digest),
        ):
            if digest(self.file, self.opened) != attribute(self.file, name):
                raise VectorFileError(
                    f"{self.path}: what it holds does not match its {name}; generate the file again"
                )


@contextlib.contextmanager
def open_vectors(path: Path, relative: str = "") -> Iterator[VectorFile]:
    """The vector file at `path`, opened; VectorFileError if it is none."""
    with open_file(path, VECTORS) as file:
        operator, theme = attribute(file, "operator"), attribute(file, "theme")
        if not isinstance(operator, str) or operator not in OPERATORS:
            raise VectorFileError(
                f"{path}: operator is {operator!r}; expected one of {', '.join(OPERATORS)}"
            )
        if not isinstance(theme, str) or not theme or "/" in theme:
            raise VectorFileError(f"{path}: theme is {theme!r}; expected a name without /")
        seed = attribute(file, "seed")
        if not isinstance(seed, int) or seed < 0:
            raise VectorFileError(f"{path}: seed is {seed!r}; expected an integer, not negative")
        yield VectorFile(
            path,
            relative or path.name,
            operator,
            theme,
            str(attribute(file, "generator")),
            seed,
            str(attribute(file, "content_sha256")),
            file,
        )
