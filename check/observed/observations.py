"""Going through the selected cases of vector files, with what was observed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Array
from ...cases.selection import selected
from ...vectors.block import Block
from ...vectors.reader import open_vectors
from ...vectors.stored_block import StoredBlock
from .source import Observed, Source


class Slice(NamedTuple):
    """Selected cases of a block: `block` holds them, and no inputs where the source needs none.

    `file` is the vector file, at `relative` below the vectors asked for, `stored` the whole block, and
    `rows` (n,) says which of its rows the cases are.
    """

    file: Path
    relative: str
    stored: StoredBlock
    rows: Array
    block: Block
    observed: Observed


def observations(
    files: Iterable[tuple[Path, str]],
    source: Source,
    select: Sequence[str],
    advance: Callable[[int], None] = lambda _: None,
) -> Iterable[Slice]:
    """The selected cases of the vector files, in slices of blocks, with what was observed of them.

    The content of every file that holds a selected case is verified against its digests first; of the
    others nothing but ids is read, and of a block without a selected case nothing more.
    """
    for file, relative in files:
        with open_vectors(file, relative) as vectors:
            wanted = vectors.ids(select)
            if not wanted:
                continue
            vectors.verify_content(keep_inputs=source.needs_inputs)
            source.check_blocks(relative, list(vectors.groups))
            for path in wanted:
                stored = vectors.block(path)
                source.check_ids(relative, path, stored.ids)
                for rows, block in _slices(stored, select, inputs=source.needs_inputs):
                    observed = source.observe(relative, block)
                    yield Slice(file, relative, stored, rows, block, observed)
                    advance(len(block))


def _slices(
    stored: StoredBlock, select: Sequence[str], *, inputs: bool
) -> Iterator[tuple[Array, Block]]:
    """The selected rows of a block, in slices: which they are, and what is in them."""
    for step in stored.steps():
        rows = np.array([row for row in step if selected(stored.ids[row], select)])
        if rows.size:
            first = int(rows[0])
            block = stored.read(first, int(rows[-1]) + 1, inputs=inputs)
            yield rows, block if len(block) == len(rows) else block.rows(rows - first)
