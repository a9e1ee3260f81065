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
from .block_reader import open_block
from .case import Case
from .digest import block_paths, content_digest, tolerance_digest
from .hdf5 import VECTORS, Stored, open_file
from .stored_block import StoredBlock

CORE = Path(__file__).parent


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


def find_vectors(path: Path | None) -> list[tuple[Path, str]]:
    """The vector files at `path`, a file or a directory, with their relative paths; None: the core.

    Raises VectorFileError where there is none.
    """
    root = CORE if path is None else path
    if not root.exists():
        raise VectorFileError(
            f"{root}: no such file or directory; make vectors with: grucible gen -o {root}"
        )
    if root.is_file():
        return [(root, root.name)]
    found = [(file, file.relative_to(root).as_posix()) for file in sorted(root.rglob("*.h5"))]
    if not found:
        raise VectorFileError(
            f"{root}: holds no vector file (*.h5); make some with: grucible gen -o {root}"
        )
    return found


def load_vectors(path: str | Path | None = None) -> Iterator[Case]:
    """The cases of a vector file or a directory of them; without a path, of the core vectors.

    Raises VectorFileError for anything that is not a vector file of this format version.
    """
    for file, relative in find_vectors(None if path is None else Path(path)):
        with open_vectors(file, relative) as vectors:
            for block in vectors.blocks():
                for rows in block.slices():
                    yield from rows.cases()


def case_ids(path: Path | None) -> Iterator[str]:
    """The ids of the cases of a vector file or a directory of them; None: of the core vectors."""
    for file, _ in find_vectors(path):
        with open_file(file, VECTORS) as opened:
            for block in block_paths(opened):
                ids = Stored(opened[block], "id", f"{file}: /{block}")
                yield from ids.texts(0, ids.shape[0])
