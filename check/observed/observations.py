"""Going through the selected cases of vector files, with what was observed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cases.selection import selected
from ...vectors.block import Block
from ...vectors.digest import block_paths
from ...vectors.reader import open_vectors
from ...vectors.stored_block import StoredBlock
from .source import Observed, Source


class Slice(NamedTuple):
    """Selected cases of a block: `block` holds them, and no inputs where the source needs none.

    `file` is the vector file, at `relative` below the vectors asked for, and `stored` the whole block.
    """

    file: Path
    relative: str
    stored: StoredBlock
    block: Block
    observed: Observed


def observations(
    files: Iterable[tuple[Path, str]],
    source: Source,
    select: Sequence[str],
    advance: Callable[[int], None] = lambda _: None,
) -> Iterable[Slice]:
    """The selected cases of the vector files, in slices of blocks, with what was observed of them.

    Every file's content is verified against its digest first.
    """
    for file, relative in files:
        with open_vectors(file, relative) as vectors:
            vectors.verify_content()
            source.check_blocks(relative, block_paths(vectors.file))
            for stored in vectors.blocks():
                source.check_ids(relative, stored.path, stored.ids)
                for whole in stored.slices(inputs=source.needs_inputs):
                    keep = np.array([selected(i, select) for i in whole.ids] if select else [True])
                    if keep.any():
                        block = whole if keep.all() else whole.rows(keep)
                        observed = source.observe(relative, block)
                        yield Slice(file, relative, stored, block, observed)
                        advance(len(block))
