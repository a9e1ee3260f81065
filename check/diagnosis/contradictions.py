"""Cases that contradict an explanation: they passed, and would have caught the misreading.

Which misreadings a case catches is computed when a diagnosis asks, and for its candidates alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.readings import ReadingNames
from ...gen.variants.evaluate import catches
from ...gen.variants.work import too_large, work
from ...vectors.block import Block
from ...vectors.reader import open_vectors
from ..judging.criterion import Criterion

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


class Passing:
    """The cases that passed, or, of very many, some of them, evenly taken.

    Those that are too large, and those for which no work is left, contradict nothing. With `criteria`, by
    dtype, a variant is contradicted by what passed these; without, by the loosest tolerance.
    """

    def __init__(
        self, passed: Sequence[Passed], criteria: Mapping[str, Criterion] | None = None
    ) -> None:
        self._passed, self._criteria = passed, criteria or {}
        total = sum(len(one.rows) for one in passed)
        self.every = max(1.0, total / MOST_LOOKED_AT)
        """How many there are for each that is looked at."""
        self.counts = Counter[str]()
        """By dtype, how many cases passed."""
        for one in passed:
            self.counts[one.block.partition("/")[0]] += len(one.rows)
        self._left = MOST_SPENT
        self._known: dict[str, list[Array]] = {}

    @cached_property
    def blocks(self) -> list[Block]:
        """The cases that are looked at."""
        return list(_sampled(self._passed, self.every))

    def caught(self, names: Collection[str]) -> dict[str, list[Array]]:
        """By name of a variant, and of each of `blocks`, which cases would have caught it (n,)."""
        new = [name for name in names if name not in self._known]
        for name in new:
            self._known[name] = [np.zeros(len(block), bool) for block in self.blocks]
        for place, block in enumerate(self.blocks if new else ()):
            for name, caught in self._catching(block, new):
                self._known[name][place] = caught
        return {name: self._known[name] for name in names}

    def contradicting(self, names: Collection[str]) -> Counter[str]:
        """By name of a variant, how many cases would have caught it; an estimate, if some are looked at."""
        found = self.caught(names)
        return Counter(
            {
                name: round(self.every * sum(int(m.sum()) for m in masks))
                for name, masks in found.items()
            }
        )

    def _catching(self, block: Block, names: Collection[str]) -> Iterator[tuple[str, Array]]:
        cost = work(block.question(0)) * len(block) * len(names)
        if too_large(block.question(0)) or cost > self._left:
            return
        self._left -= cost
        demanded = self._criteria.get(block.dtype)
        limits = None if demanded is None else partial(_twice, demanded)
        yield from ((variant.name, caught) for variant, caught in catches(block, names, limits))


def _twice(criterion: Criterion, block: Block, reading: ReadingNames) -> Arrays:
    """Twice what was admitted of what passed: who gives more is not what was observed."""
    return {name: 2.0 * limit for name, limit in criterion.admitted(block, reading).items()}


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
