"""What is to be said with certainty is held against every case that passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...gen.variants.known import variant_called
from .asked import what_tells_apart
from .contradictions import Passing
from .explanations import Explanation, fewest
from .failing import FailingBlock, by_part
from .local import Local


class Proof:
    """The explanations of failing cases, as far as no passing case speaks against them."""

    def __init__(self, parts: Sequence[FailingBlock], passing: Passing, local: Local) -> None:
        self._parts, self._passing, self._local = parts, passing, local
        self._proven: dict[int, Explanation] = {}
        """What has been held against all, by identity."""

    def chosen(self, found: Sequence[Explanation]) -> list[Explanation]:
        """The fewest that explain what any does. No case that passed contradicts one that is certain: what
        is contradicted is left uncertain, and all are chosen anew."""
        while True:
            chosen = fewest(found)
            new = [one for one in chosen if one.certain and id(one) not in self._proven]
            if not new:
                return chosen
            held = {id(one): self._held(one) for one in new}
            self._proven |= {id(one): one for one in held.values()}
            found = [held.get(id(one), one) for one in found]
            found.sort(key=lambda one: one.rank)

    def _held(self, one: Explanation) -> Explanation:
        """The explanation with where it holds, or uncertain, if cases that passed speak against it."""
        variants = tuple(map(variant_called, one.names))
        against = self._passing.excluding(variants)
        if not against:
            return one
        if not one.stepwise:
            explained = [(part.block, rows) for part, rows in by_part(self._parts, one.mask)]
            if told := what_tells_apart(explained, against):
                return one if one.where in told else replace(one, where=told[0])
        if all(variant.within_a_step for variant in variants):
            held = self._local.explained(variants, against)
            if held is not None and held.certain:
                return replace(one, mask=one.mask & held.cases, where=held.where)
        return replace(one, certain=False)
