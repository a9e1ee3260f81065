"""Explanations that are held against every failing case one step at a time, and against cases that passed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from ..judging.criterion import Criterion
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock
from .places import where
from .steps import Steps, steps_of

MOST_PASSING = 24
"""So many blocks of passing cases are looked at, one step at a time."""
ROWS_EACH = 6
MOST_WORK = 1 << 33
"""The work that may go into trying one variant on the steps of all cases (gen.variants.work)."""


@dataclass(frozen=True)
class Explained:
    """What a variant explains one step at a time: `cases` (n,) of those that failed, `where` it holds, and
    whether it is so everywhere that it would show (`certain`). `states` of theirs are wrong by themselves."""

    variant: Variant
    cases: Array
    where: str
    certain: bool
    states: int


def all_of(placed: Iterable[Explained], count: int) -> Array:
    """(count,) the failing cases that certain ones of those explain."""
    found = np.zeros(count, bool)
    for one in placed:
        found |= one.cases & one.certain
    return found


class Local:
    """The steps of all failing cases, and of some that passed."""

    def __init__(self, parts: Sequence[FailingBlock], passing: Passing, count: int) -> None:
        self.count = count
        starts = np.cumsum([0, *map(len, parts)])
        self.steps: list[tuple[int, Steps]] = []
        left = MOST_WORK
        for place in sorted(range(len(parts)), key=lambda place: parts[place].work):
            left -= 2 * parts[place].work * len(parts[place])
            if left < 0:
                break
            self.steps += [(int(starts[place]), one) for one in steps_of(parts[place])]
        criteria = {part.block.dtype: part.criterion for part in parts}
        self._passing, self._criteria = passing, criteria

    def explained(self, variant: Variant) -> Explained | None:
        """The cases that the variant explains, and where; None where it explains none."""
        found = np.zeros(self.count, bool)
        seen: list[Steps] = []
        group: list[Array] = []
        others: list[Array] = []
        explained: list[tuple[Block, Array]] = []
        for start, steps in self.steps:
            if not variant.means_something_for(OPERATORS[steps.part.block.operator]):
                continue
            near, cases = _explains(steps, variant)
            found[start + steps.stack.rows[cases]] = True
            if cases.any():
                only = cases[:, None, None, None] & steps.taken[:, None, :, None]
                seen.append(steps)
                group.append(steps.wrong & only)
                others.append(~steps.wrong & ~near & only)
                explained.append((steps.part.block, _rows(steps, cases)))
        if not found.any():
            return None
        states = sum(int(mask.sum()) for mask in group)
        within = any(mask.any() for mask in others)
        contradicting = self._contradicting(variant, seen, group, others)
        if not within and not contradicting:
            return Explained(variant, found, "", True, states)
        told = [] if within else what_tells_apart(explained, contradicting)
        place = told[0] if told else where(seen, group, others)
        return Explained(variant, found, place, bool(place), states)

    def _contradicting(
        self, variant: Variant, seen: list[Steps], group: list[Array], others: list[Array]
    ) -> list[tuple[Block, Array]]:
        """The passing cases that the variant would have failed; their states are added to the others."""
        found = []
        for steps in self.passing:
            if not variant.means_something_for(OPERATORS[steps.part.block.operator]):
                continue
            near, _ = _explains(steps, variant)
            off = ~near & steps.taken[:, None, :, None]
            cases = off.any(axis=(1, 2, 3))
            if cases.any():
                seen.append(steps)
                group.append(np.zeros_like(off))
                others.append(off)
                found.append((steps.part.block, _rows(steps, cases)))
        return found

    @cached_property
    def passing(self) -> list[Steps]:
        """The steps of some passing cases, as right as their answers."""
        blocks = [b for b in self._passing.blocks if b.dtype in self._criteria]
        places = np.linspace(0, len(blocks) - 1, min(len(blocks), MOST_PASSING)).round()
        return [
            steps
            for place in dict.fromkeys(places.astype(int).tolist())
            for steps in steps_of(_as_right(blocks[place], self._criteria[blocks[place].dtype]))
        ]


def _as_right(block: Block, criterion: Criterion) -> FailingBlock:
    rows = np.linspace(0, len(block) - 1, min(len(block), ROWS_EACH)).round().astype(int)
    some = block.rows(np.unique(rows))
    return FailingBlock(some, dict(some.answer.outputs), criterion)


def _explains(steps: Steps, variant: Variant) -> tuple[Array, Array]:
    """Which states are as near as admitted to what the variant gives, and (n,) which cases it explains."""
    near = steps.near(steps.given([[variant]]))[0]
    wrong = steps.wrong
    return near, (near | ~wrong).all(axis=(1, 2, 3)) & wrong.any(axis=(1, 2, 3))


def _rows(steps: Steps, cases: Array) -> Array:
    """Cases of a stack as a mask of the rows of its block."""
    mask = np.zeros(len(steps.part.block), bool)
    mask[steps.stack.rows[cases]] = True
    return mask
