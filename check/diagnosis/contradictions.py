"""Cases that contradict an explanation: they passed, and would have caught the misreading.

Which misreadings a case catches is computed when a diagnosis asks, and for its candidates alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.readings import ReadingNames
from ...gen.variants.evaluate import catches, stacks_of, variant_outputs
from ...gen.variants.variant import Variant
from ...gen.variants.work import too_large, work
from ...vectors.block import Block
from ...vectors.case import difference
from ...vectors.reader import open_vectors
from ..judging.criterion import Criterion, chosen_criteria
from .failing import elements, room

MOST_LOOKED_AT = 2048
"""Of more passed cases than this, as many are looked at, evenly taken: a variant of each costs 0.1 ms."""
MOST_SPENT = 1 << 35
"""The work that may go into that (gen.variants.work)."""
MOST_PROVEN = 1 << 34
"""The work that may go into holding one explanation against all cases that passed."""


@dataclass(frozen=True)
class Passed:
    """The cases of one block that passed: rows of the block at `block` in a vector file."""

    file: Path
    block: str
    rows: Array


class Passing:
    """The cases that passed, or, of very many, some of them, evenly taken.

    Those that are too large, and those for which no work is left, contradict nothing. `criteria` are what
    they passed, by dtype; those of the required classes, if none are given.
    """

    def __init__(
        self, passed: Sequence[Passed], criteria: Mapping[str, Criterion] | None = None
    ) -> None:
        self._passed, self.criteria = passed, criteria or chosen_criteria()
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
        limits = partial(twice, self.criteria[block.dtype])
        yield from ((variant.name, caught) for variant, caught in catches(block, names, limits))

    def excluding(
        self, variants: Sequence[Variant], share: float = 1.0
    ) -> list[tuple[Block, Array]]:
        """Of all cases that passed, by blocks, those of which variants together give what was not observed;
        also if they change no more than a share of what they do."""
        found, left = [], MOST_PROVEN
        for block in self.every_block():
            operator = OPERATORS[block.operator]
            meant = [v for v in variants if v.means_something_for(operator)]
            cost = work(block.question(0)) * len(block)
            if not meant or too_large(block.question(0)) or cost > left:
                continue
            left -= cost
            mask = excluded(block, meant, self.criteria[block.dtype], share)
            if mask.any():
                found.append((block, mask))
        return found

    def every_block(self) -> Iterable[Block]:
        """All cases that passed, one block after another."""
        return self.blocks if self.every == 1.0 else _sampled(self._passed, 1.0)


def twice(criterion: Criterion, block: Block, reading: ReadingNames) -> Arrays:
    """Twice what was admitted of what passed: who gives more is not what was observed."""
    return {name: 2.0 * limit for name, limit in criterion.admitted(block, reading).items()}


def excluded(
    block: Block, variants: Sequence[Variant], criterion: Criterion, share: float = 1.0
) -> Array:
    """(n,) of which cases of a block, all of which passed, variants give together what was not observed: it
    is further from every accepted answer than what passed may be, and than what explains may be from it."""
    kind = FLOAT_TYPES[block.dtype]
    given = elements(variant_outputs(block, stacks_of(block), [variants]), 2)
    found = np.ones(len(block), bool)
    with np.errstate(invalid="ignore", over="ignore"):
        for reading, answer in block.answers.items():
            right, limit = (
                elements(answer.outputs, 1),
                elements(criterion.admitted(block, reading), 1),
            )
            most = limit + room(limit, given, right, kind)
            within = share * difference(given, right) <= most
            found &= ~within[0].all(axis=-1)
    return found


def _sampled(passed: Sequence[Passed], every: float) -> Iterator[Block]:
    """Blocks of every so many of the passed cases, counted through all of them."""
    start = 0
    for file, blocks in groupby(passed, lambda one: one.file):
        vectors = open_vectors(file)
        for one in blocks:
            at = np.arange(start, start + len(one.rows))
            rows = one.rows[np.floor((at + 1) / every) > np.floor(at / every)]
            start += len(one.rows)
            if rows.size:
                yield vectors.block(one.block).rows(rows)
