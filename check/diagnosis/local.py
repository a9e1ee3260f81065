"""Explanations that are tested on every failing case one step at a time, and on cases that passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, evenly
from .finding import PARTLY, Explanation, names_of
from .places import Split, where
from .steps import Steps, share_left, steps_of

MOST_BLOCKS, CASES_EACH = 24, 6
"""Maximum blocks of passing cases whose steps candidates are tested on, and cases of each: 144 in all."""


class Local:
    """The steps of the failing cases of `parts`, the first of `count`, and of some cases that passed."""

    def __init__(self, parts: Sequence[FailingBlock], passing: Passing, count: int) -> None:
        self.count = count
        self._parts, self._passing = parts, passing
        self._steps: dict[int, list[Steps]] = {}

    def steps_among(self, which: Array) -> Iterator[tuple[Array, Steps]]:
        """Yield the steps of the failing cases `which` (n,), with their places among all."""
        start = 0
        for place, part in enumerate(self._parts):
            if which[start : start + len(part)].any():
                if place not in self._steps:
                    self._steps[place] = steps_of(part)
                for one in self._steps[place]:
                    rows = start + one.stack.rows
                    if which[rows].any():
                        yield rows[which[rows]], one.only(which[rows])
            start += len(part)

    def explained(
        self,
        variants: tuple[Variant, ...],
        passed: Iterable[tuple[Block, Array]] | None = None,
        otherwise: Array | None = None,
    ) -> Explanation | None:
        """Find the cases that variants explain together, and where.

        None where they explain none, or would spoil right states in more than a few and nothing tells
        where. They are tested on cases that `passed`, by blocks, with which of each; against a few, if
        these are not given. And against the failing cases that are known to be `otherwise` (n,).
        """
        found, spoilt, other = np.zeros((3, self.count), bool)
        other |= False if otherwise is None else otherwise
        states, spoiling = list[Split](), list[Split]()
        explained, contradicting = list[tuple[Block, Array]](), list[tuple[Block, Array]]()
        for rows, steps in self.steps_among(~other):
            if not steps.has_all(variants):
                continue
            near = steps.gives(variants)
            cases = steps.explained(near[None])[0]
            found[rows[cases & steps.rest]] = True
            if cases.any():
                off = ~steps.wrong & ~near & _of(cases) & steps.taken[:, None, :, None]
                spoils = np.asarray(off.any(axis=(1, 2, 3)))
                spoilt[rows[spoils]] = True
                states.append((steps, steps.wrong & _of(cases & ~spoils), np.zeros_like(near)))
                spoiling.append((steps, steps.wrong & _of(spoils), off))
                explained.append((steps.part.block, _rows(steps, cases)))
        if not explained:
            return None
        if within := bool(spoilt.sum() > PARTLY * found.sum()):
            states += spoiling
        else:
            found &= ~spoilt
        wrong = sum(int(group.sum()) for _, group, _ in states)
        right = self.passing if passed is None else self._as_right(passed)
        besides = ((steps, True) for _, steps in self.steps_among(other))
        for steps, failed in chain(besides, ((steps, False) for steps in right)):
            if steps.has_all(variants):
                off = steps.shown(variants)
                off &= ~steps.gives(variants) if failed and off.any() else True
                if (cases := np.asarray(off.any(axis=(1, 2, 3)))).any():
                    states.append((steps, np.zeros_like(off), off))
                    contradicting.append((steps.part.block, _rows(steps, cases)))
        one = Explanation(names_of(variants), found, states=wrong)
        if not within and not contradicting:
            return one
        places = [] if within else what_tells_apart(explained, contradicting)
        place = places[0] if places else where(states)
        if within and not place:
            return None
        return replace(one, where=place, certain=bool(place))

    def helped(self, variants: Sequence[Variant], most_left: float, which: Array) -> Array:
        """(n,) Say of which cases of `which` variants leave together no more than a share of the errors."""
        found = np.zeros(self.count, bool)
        for rows, steps in self.steps_among(which):
            if steps.has_all(variants):
                [given] = steps.given([variants])
                taken = steps.taken[:, None, :, None]
                with np.errstate(invalid="ignore"):
                    before, after = (
                        np.where(taken, steps.seen - states, 0.0).reshape(len(taken), -1)
                        for states in (steps.right, given)
                    )
                    better = share_left(before, after) <= most_left
                found[rows[better & before.any(axis=1) & steps.rest]] = True
        return found

    @cached_property
    def passing(self) -> list[Steps]:
        """The steps of some passing cases."""
        blocks = self._passing.blocks
        some = [blocks[place] for place in evenly(np.arange(len(blocks)), MOST_BLOCKS).tolist()]
        rows = [evenly(np.arange(len(block)), CASES_EACH) for block in some]
        return list(self._as_right(zip(some, rows, strict=True)))

    def _as_right(self, passed: Iterable[tuple[Block, Array]]) -> Iterator[Steps]:
        """Yield the steps of cases that passed, taken as exactly right: what they gave is not kept."""
        for block, rows in passed:
            some = block.rows(np.flatnonzero(rows) if rows.dtype == bool else rows)
            right = dict(some.answer.outputs)
            yield from steps_of(FailingBlock(some, right, self._passing.criteria[block.dtype]))


def _of(cases: Array) -> Array:
    """Turn a mask (n,) of cases into one of their states."""
    return cases[:, None, None, None]


def _rows(steps: Steps, cases: Array) -> Array:
    """Turn cases of a stack into a mask of the rows of its block."""
    mask = np.zeros(len(steps.part.block), bool)
    mask[steps.stack.rows[cases]] = True
    return mask
