"""Explanations that are tested on every failing case one step at a time, and on cases that passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, evenly
from .finding import Explanation, names_of
from .places import Split, where
from .steps import Steps, share_left, steps_of

MOST_BLOCKS, CASES_EACH = 24, 6
"""Maximum blocks of passing cases whose steps candidates are tested on, and cases of each: 144 in all."""


class Local:
    """The steps of the failing cases of `parts`, the first of `count`, and of some cases that passed."""

    def __init__(self, parts: Sequence[FailingBlock], passing: Passing, count: int) -> None:
        self.count = count
        self._parts, self._passing = parts, passing

    @cached_property
    def steps(self) -> list[tuple[int, Steps]]:
        """The steps of the failing cases, each with the number of its block's first case."""
        starts = np.cumsum([0, *map(len, self._parts)]).tolist()
        each = zip(starts, self._parts, strict=False)
        return [(start, one) for start, part in each for one in steps_of(part)]

    def tell(self, variants: tuple[Variant, ...], which: Array, cases: int, states: int) -> bool:
        """Say whether variants explain `cases` of `which` (n,), or `states` of their wrong states."""
        for start, steps in self.steps:
            mine = which[start + steps.stack.rows]
            if mine.any() and steps.has_all(variants):
                some = steps.only(np.flatnonzero(mine))
                [explained] = some.explained(some.gives(variants)[None])
                cases -= int(explained.sum())
                states -= int((some.wrong & _of(explained)).sum())
                if min(cases, states) <= 0:
                    return True
        return False

    def explained(
        self,
        variants: tuple[Variant, ...],
        passed: Iterable[tuple[Block, Array]] | None = None,
        otherwise: Array | None = None,
    ) -> Explanation | None:
        """Find the cases that variants explain together, and where.

        None where they explain none, or would spoil states of these that are right. They are tested on
        cases that `passed`, by blocks, with which of each; against a few, if these are not given. And
        against the failing cases that are known to be `otherwise` (n,).
        """
        found, states = np.zeros(self.count, bool), list[Split]()
        explained, contradicting = list[tuple[Block, Array]](), list[tuple[Block, Array]]()
        for start, steps in self.steps:
            if not steps.has_all(variants):
                continue
            near = steps.gives(variants)
            cases, nothing = steps.explained(near[None])[0], np.zeros_like(near)
            if otherwise is not None:
                besides = otherwise[start + steps.stack.rows]
                cases &= ~besides
                if besides.any():
                    shown = steps.shown(variants) & _of(besides)
                    states.append((steps, nothing, ~near & shown))
            found[start + steps.stack.rows[cases & steps.rest]] = True
            if cases.any():
                only = _of(cases) & steps.taken[:, None, :, None]
                states.append((steps, steps.wrong & only, ~steps.wrong & ~near & only))
                explained.append((steps.part.block, _rows(steps, cases)))
        if not explained:
            return None
        wrong = sum(int(group.sum()) for _, group, _ in states)
        within = any(others.any() for _, _, others in states)
        for steps in self.passing if passed is None else self._as_right(passed):
            if steps.has_all(variants):
                off = steps.shown(variants)
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

    def helped(self, variants: Sequence[Variant], most_left: float) -> Array:
        """(n,) Say of which failing cases variants leave together no more than a share of the errors."""
        found = np.zeros(self.count, bool)
        for start, steps in self.steps:
            if steps.has_all(variants):
                [given] = steps.given([variants])
                taken = steps.taken[:, None, :, None]
                with np.errstate(invalid="ignore"):
                    before, after = (
                        np.where(taken, steps.seen - states, 0.0).reshape(len(taken), -1)
                        for states in (steps.right, given)
                    )
                    better = share_left(before, after) <= most_left
                better &= before.any(axis=1) & steps.rest
                found[start + steps.stack.rows[better]] = True
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
