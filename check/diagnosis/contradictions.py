"""Cases that contradict an explanation: they passed, and the misreading would have failed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.operators import OPERATORS
from ...gen.variants.evaluate import batches, stacks_of, variant_outputs
from ...gen.variants.variant import Variant
from ...gen.variants.work import too_large, work
from ...vectors.block import Block
from ...vectors.case import difference
from ...vectors.reader import VectorFile
from ..judging.criterion import Criterion, chosen_criteria
from .failing import Room, elements

MOST_LOOKED_AT = 2048
"""Maximum passed cases that candidates are tested against, evenly taken: a variant of each costs 0.1 ms."""
MOST_WORK = 1 << 35
"""Maximum work of holding candidates, or one explanation, against cases that passed (gen.variants.work)."""

Blocks = Sequence[tuple[Block, Array]]
"""Blocks, each with a mask of some of its cases."""


@dataclass(frozen=True)
class Passed:
    """The cases of one block that passed: rows of the block at `block` in a vector file."""

    file: VectorFile
    block: str
    rows: Array


class Passing:
    """The cases that passed.

    Those that are too large, and those for which no work is left, contradict nothing. `criteria` are what
    they passed, by dtype; those of the required classes, if none are given.
    """

    def __init__(
        self, passed: Sequence[Passed], criteria: Mapping[str, Criterion] | None = None
    ) -> None:
        self._passed, self.criteria = passed, criteria or chosen_criteria()
        total = sum(len(one.rows) for one in passed)
        self.every = max(1.0, total / MOST_LOOKED_AT)
        """How many there are for each that candidates are tested against."""
        self.complete = self.every == 1.0
        """Whether these are all that passed."""
        self.counts = Counter[str]()
        """By dtype, how many cases passed."""
        for one in passed:
            self.counts[one.block.partition("/")[0]] += len(one.rows)

    @cached_property
    def blocks(self) -> list[Block]:
        """The cases that candidates are tested against."""
        return list(_sampled(self._passed, self.every))

    def every_block(self) -> Iterable[Block]:
        """Yield all cases that passed, one block after another."""
        return self.blocks if self.every == 1.0 else _sampled(self._passed, 1.0)

    def against(
        self, blocks: Iterable[Block], several: Sequence[Sequence[Variant]], share: float = 1.0
    ) -> list[Blocks]:
        """List, for each combination of variants, those of passed cases that it gives otherwise.

        With a `share`, also if it changes no more than that share of what it does.
        """
        found: list[list[tuple[Block, Array]]] = [[] for _ in several]
        left = MOST_WORK
        for block in blocks:
            operator = OPERATORS[block.operator]
            meant = [[v for v in one if v.means_something_for(operator)] for one in several]
            at = [number for number, one in enumerate(meant) if one]
            cost = work(block.question(0)) * len(block) * len(at)
            if not at or too_large(block.question(0)) or cost > left:
                continue
            left -= cost
            masks = excluded(
                block, [meant[number] for number in at], self.criteria[block.dtype], share
            )
            for number, mask in zip(at, masks, strict=True):
                if mask.any():
                    found[number].append((block, mask))
        return [*found]


def excluded(
    block: Block,
    combinations: Sequence[Sequence[Variant]],
    criterion: Criterion,
    share: float = 1.0,
) -> Array:
    """(c, n) Say of which cases of a block, had they passed, combinations of variants give something else.

    That is further from every accepted answer than what passed may be, and than what explains may be from it.
    """
    kind, stacked, found = FLOAT_TYPES[block.dtype], stacks_of(block), []
    each = []
    for reading, answer in block.answers.items():
        right = elements(answer.outputs, 1)
        limit = elements(criterion.admitted(block, reading), 1)
        each.append((right, limit, Room(limit, right, kind)))
    for batch in batches(block, combinations):
        given = elements(variant_outputs(block, stacked, batch), 2)
        mine = np.ones(given.shape[:2], bool)
        with np.errstate(invalid="ignore", over="ignore"):
            for right, limit, room in each:
                most = limit + room.of(given)
                mine &= ~(share * difference(given, right) <= most).all(axis=-1)
        found.append(mine)
    return np.concatenate(found)


def _sampled(passed: Sequence[Passed], every: float) -> Iterator[Block]:
    """Yield blocks of one of `every` passed cases, counted through all of them."""
    start = 0
    for one in passed:
        at = np.arange(start, start + len(one.rows))
        rows = one.rows[np.floor((at + 1) / every) > np.floor(at / every)]
        start += len(one.rows)
        if rows.size:
            yield one.file.block(one.block).rows(rows)
