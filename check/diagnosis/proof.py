"""Testing what is certain against every case that passed, and the others that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import has_fitted_number, has_number
from .contradictions import Blocks, Passing, excluded
from .explanations import fewest, in_some_cases
from .failing import FailingBlock, any_of, blocks_of, by_part
from .finding import PARTLY, Explanation, Names
from .local import Local

NEARER = 0.4
"""Maximum share of the errors of steps that one mistake of two leaves; without the first, all is left."""
SOME = 3
"""Minimum cases of a curve, a loss of precision, or what is in no catalogue; many fit two by chance.
Maximum unexplained cases that need no reason; more of them speak against what they would show."""
BESIDES = 3
"""Maximum cases whose error a mistake only lowers, by those it explains; each of two shows alone in some."""
FEW = 0.25
"""Maximum unexplained cases that need no reason, for each that is explained; few cases look alike."""
BESIDE = 0.25
"""Minimum explained cases for each unexplained one, up to SOME; one or two fit many mistakes by chance."""


class Proof:
    """The explanations of the failing cases `which` (n,), as far as no other case speaks against them."""

    def __init__(
        self, parts: Sequence[FailingBlock], passing: Passing, local: Local, which: Array
    ) -> None:
        self._parts, self._passing, self._local, self._which = parts, passing, local, which
        self._found: Sequence[Explanation] = ()
        self._proven: dict[int, Explanation] = {}
        """What was tested against all that passed, by identity."""
        self._excluded: dict[Names, Blocks] = {}

    def chosen(self, found: Sequence[Explanation]) -> list[Explanation]:
        """Choose the fewest that explain what any does, and hold them against all cases.

        What passing cases contradict gets a place, or is uncertain, and all are chosen anew. Then failing
        cases are asked.
        """
        while True:
            chosen, self._found = fewest(found), found
            new = [one for one in chosen if one.certain and id(one) not in self._proven]
            if not new:
                break
            nobody = np.zeros_like(self._which)
            tested = {
                id(one): self._placed(one, passed, nobody) if (passed := self._passed(one)) else one
                for one in new
            }
            self._proven |= {id(one): one for one in tested.values()}
            found = [tested.get(id(one), one) for one in found]
            found.sort(key=lambda one: one.rank)
        certain = None
        while certain != (certain := [one.certain for one in chosen]):
            chosen = [self._believed(one, chosen) for one in chosen]
        return chosen

    def _passed(self, one: Explanation) -> Blocks:
        """List the cases that passed and that an explanation excludes, by blocks; look for them once."""
        if one.names not in self._excluded:
            every = self._passing.every_block()
            [self._excluded[one.names]] = self._passing.against(every, [one.variants])
        return self._excluded[one.names]

    def _believed(self, one: Explanation, chosen: Sequence[Explanation]) -> Explanation:
        """Say where an explanation holds; leave it uncertain, if failing cases speak against it.

        Those would show it, and are explained otherwise with certainty, and by no weaker explanation. Or
        nothing explains them, they are no nearer to it, and there are too many of them. Or it explains few
        beside all that nothing explains, of which several variants in one place must explain more; or few, as
        another does that may hold in some place.
        """
        if not one.certain:
            return one
        if one.explains < SOME and (any(map(_of_few_bits, one.names)) or self._has_rival(one)):
            return replace(one, certain=False)
        certain = [other for other in chosen if other.certain]
        others = self._without(one, chosen)
        unexplained = others & ~any_of((other.mask for other in certain), len(others))
        count = int(unexplained.sum())
        least = max(PARTLY * count, min(SOME, BESIDE * count))
        if one.explains < (count if one.where and len(one.names) > 1 else least):
            return replace(one, certain=False)
        left = self._left(one, unexplained)
        against = self._otherwise(one, others, [o for o in certain if not _weaker(o, one)])
        if int(left.sum()) > _admitted(one):
            against |= left
        return self._placed(one, self._passed(one), against) if against.any() else one

    def _has_rival(self, one: Explanation) -> bool:
        """Say whether another as simple explains the same cases, and only cases that passed contradict it."""
        return any(
            other.names != one.names
            and not other.certain
            and len(other.names) <= len(one.names)
            and (other.mask | ~one.mask).all()
            for other in self._found
        )

    def _without(self, one: Explanation, chosen: Sequence[Explanation]) -> Array:
        """(n,) Find the failing cases that nothing certain explains that has all of these variants.

        If they hold in some place alone, another has them if it has them in a place.
        """
        doubted = {other.names for other in chosen if not other.certain}
        with_it = [
            other.mask
            for other in self._found
            if other.certain
            and other.names not in doubted
            and {*other.names, *_whole(other.names) * bool(one.where)} >= {*one.names}
        ]
        return self._which & ~any_of(with_it, len(self._which))

    def _left(self, one: Explanation, unexplained: Array) -> Array:
        """(n,) Find which of the unexplained cases would show an explanation, and are no nearer to it."""
        left, fitted = unexplained, any(map(has_fitted_number, one.names))
        if left.any() and not fitted and all(variant.within_a_step for variant in one.variants):
            helped = self._local.helped(one.variants, NEARER, left)
            left = left & ~helped if helped.sum() <= BESIDES * one.explains else left
        return self._shown(one, left)

    def _otherwise(self, one: Explanation, others: Array, chosen: Iterable[Explanation]) -> Array:
        """(n,) Find which cases of `others` speak against an explanation.

        They would show it, and are explained by something else that was chosen; the two together are not
        what was observed.
        """
        found = np.zeros_like(others)
        for other in chosen:
            if other is not one:
                mine = self._shown(one, others & other.mask)
                found |= mine & ~self._together(one, other, mine)
        return found

    def _together(self, one: Explanation, other: Explanation, which: Array) -> Array:
        """(n,) Find the cases that two explanations explain together: one does not show beside the other."""
        variants = list({v.name: v for v in (*one.variants, *other.variants)}.values())
        if any(variant.arithmetic for variant in variants):
            return np.zeros_like(which)
        both = [variants, variants[::-1]]  # not as what is done last alone
        return self._those(which, lambda part: (part.distances(both) <= 1.0).all(axis=0))

    def _shown(self, one: Explanation, which: Array) -> Array:
        """(n,) Find the failing cases of `which` that would show each variant of an explanation."""

        def show(part: FailingBlock) -> Any:
            operator, each = OPERATORS[part.block.operator], [(v,) for v in one.variants]
            meant = all(variant.means_something_for(operator) for variant in one.variants)
            return meant & excluded(part.block, each, part.criterion).all(axis=0)

        return self._those(which, show)

    def _those(self, which: Array, judge: Callable[[FailingBlock], Any]) -> Array:
        """(n,) Find the failing cases at hand among `which` of which a judge says so."""
        found = np.zeros_like(which)
        of, into = (by_part(self._parts, mask) for mask in (which, found))
        for (part, rows), (_, mine) in zip(of, into, strict=True):
            if rows.any():
                mine[rows] = judge(part.rows(rows))
        return found

    def _placed(self, one: Explanation, passed: Blocks, otherwise: Array) -> Explanation:
        """Say where an explanation holds: not in those that `passed`, nor in failing ones `otherwise` (n,).

        It is uncertain, if nothing tells where.
        """
        if not one.states:
            others = [*passed, *blocks_of(self._parts, otherwise)]
            known = () if otherwise.any() else self._found  # what is given up now, nobody gets
            if (some := in_some_cases(one, known, self._parts, others)).certain:
                return some
        if all(variant.within_a_step for variant in one.variants):
            local = self._local.explained(one.variants, passed, otherwise)
            if local is not None and local.certain and (mask := one.mask & local.mask).any():
                return replace(one, mask=mask, where=local.where)
        return replace(one, certain=False)


def _admitted(one: Explanation) -> float:
    """Say how many cases may be unexplained without a reason, beside those that it explains.

    None may where a number was found in the outputs: a constant may be right, or of another mistake.
    """
    if any(map(has_fitted_number, one.names)) or any(
        v.fills and has_number(v.name) for v in one.variants
    ):
        return 0
    return min(max(SOME, PARTLY * one.explains), FEW * one.explains)


def _whole(names: Names) -> Names:
    """List the names of variants without the places in which they hold."""
    return tuple(name.partition("@")[0] for name in names)


def _weaker(one: Explanation, other: Explanation) -> bool:
    """Say whether more is put together in one explanation than in another, to explain less."""
    return len(one.names) > len(other.names) and one.explains < other.explains


def _of_few_bits(name: str) -> bool:
    """Say whether a variant is a loss of precision, or in no catalogue.

    There are many, and one fits a case of wide tolerances by chance.
    """
    return name not in CATALOGUE or CATALOGUE[name].kind == "precision"
