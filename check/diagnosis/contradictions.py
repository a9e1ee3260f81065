"""Cases that contradict an explanation: they passed, and would have caught the misreading.

Which misreadings a case catches is computed when a diagnosis asks, and for its candidates alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.evaluate import catches
from ...gen.variants.work import too_large, work
from ...vectors.block import Block
from ...vectors.reader import open_vectors

MOST_LOOKED_AT = 2048
"""Of more passed cases than this, as many are looked at, evenly taken: a variant of each costs 0.1 ms."""
MOST_SPENT = 1 << 35
"""The work that may go into that (gen.variants.work)."""


@dataclass(frozen=True)
class Passed:
    """The cases of one block that passed: rows of the block at `block` in a vector file."""

    file: Path
    block: str
    rows: Array


def contradicted(passed: Sequence[Passed], names: Collection[str]) -> Counter[str]:
    """By name of a variant, how many of the `passed` cases would have caught it.

    Of more than MOST_LOOKED_AT cases it is an estimate, from as many. Those that are too large, and those
    for which no work is left, are not looked at.
    """
    found: Counter[str] = Counter()
    total = sum(len(one.rows) for one in passed)
    if not names or not total:
        return found
    every = max(1.0, total / MOST_LOOKED_AT)
    left = MOST_SPENT
    for block in _sampled(passed, every):
        cost = work(block.question(0)) * len(block) * len(names)
        if too_large(block.question(0)) or cost > left:
            continue
        left -= cost
        for variant, caught in catches(block, names):
            found[variant.name] += int(caught.sum())
    return Counter({name: round(count * every) for name, count in found.items()})


def _sampled(passed: Sequence[Passed], every: float) -> Iterator[Block]:
    """Blocks of every so many of the passed cases, counted through all of them."""
    start = 0
    for one in passed:
        at = np.arange(start, start + len(one.rows))
        rows = one.rows[np.floor((at + 1) / every) > np.floor(at / every)]
        start += len(one.rows)
        if rows.size:
            with open_vectors(one.file) as vectors:
                first = int(rows.min())
                yield vectors.block(one.block).read(first, int(rows.max()) + 1).rows(rows - first)
