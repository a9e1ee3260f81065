"""Explanations of failing cases, and the fewest of them that together explain what all do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import has_number, variant_called
from ...gen.variants.restricted import can_be_restricted
from .arithmetic import MOST_PASSING, of_a_coarser_type
from .asked import what_tells_apart
from .contradictions import Passing
from .emulations import errors_go_together
from .failing import FailingBlock, any_of, by_part
from .finding import PARTLY, Names
from .local import Explained, Local
from .search import Search

ALONE, ALONE_SHARE = 2, 0.02
"""So many cases, and so large a share, are explained by nothing else but what several variants together, or a
number that was fitted, are said for."""


@dataclass(frozen=True)
class Explanation:
    """Variants that explain the cases of `mask` (n,) of those that failed.

    `near` is the median of the distances; `contradicted` of the passing cases would have shown it. `where`
    says what cases or places have that show it, and no others; it is `certain` if nothing is left to be said.
    It is `stepwise` if it explains steps, and not cases as a whole.
    """

    names: Names
    mask: Array
    near: float
    contradicted: int = 0
    where: str = ""
    certain: bool = True
    stepwise: bool = False

    @property
    def explains(self) -> int:
        """How many cases."""
        return int(self.mask.sum())

    @property
    def rank(self) -> tuple[float, ...]:
        """The better, the less: certain before uncertain, few variants before many, then what fewer cases
        contradict, what is so everywhere, what explains more, what is in the catalogue and has no number, and
        what is nearer."""
        unlisted = sum((name not in CATALOGUE) + has_number(name) for name in self.names)
        return (
            not self.certain,
            len(self.names),
            self.contradicted,
            bool(self.where),
            -self.explains,
            unlisted,
            self.near,
        )


def explanations(
    search: Search, placed: Sequence[Explained], passing: Passing, which: Array, local: Local
) -> list[Explanation]:
    """All that explains failing cases of `which` (n,), as far as passing cases let it be believed: what the
    search found of whole cases, and what was `placed` one step at a time. The better ones come first."""
    masks = {names: (far <= 1.0) & which for names, far in search.distances.items()}
    masks = {names: mask for names, mask in masks.items() if mask.any()}
    against = passing.contradicting({name for names in masks for name in names})
    found = []
    for names, mask in masks.items():
        near = float(np.median(search.distances[names][mask]))
        count = max(against[name] for name in names)
        if names in search.loose and not _coarse(search.parts, names, mask, passing, local):
            found.append(Explanation(names, mask, near, count, certain=False))
            continue
        if count <= PARTLY * mask.sum():
            found.append(Explanation(names, mask, near, count))
            continue
        worst = max(names, key=lambda name: against[name])
        where = _where(search.parts, mask, passing, worst)
        if where or mask.sum() > which.sum() / 2 or mask.sum() > count:
            found.append(Explanation(names, mask, near, count, where, certain=bool(where)))
    for one in placed:
        _add(found, one, which)
    return sorted(found, key=lambda one: one.rank)


def _coarse(
    parts: Sequence[FailingBlock], names: Names, mask: Array, passing: Passing, local: Local
) -> bool:
    """Whether hardly a case passed of a dtype of some failing ones, and all numbers are of a coarser type, or
    what variants leave of the errors of steps goes with an emulation: then all of it is computed coarsely."""
    failed = Counter(part.block.dtype for part in parts for _ in range(len(part)))
    mine = {part.block.dtype for part, rows in by_part(parts, mask) if rows.any()}
    hardly = any(
        passing.counts[one] <= MOST_PASSING * (passing.counts[one] + failed[one]) for one in mine
    )
    base = [v for v in map(variant_called, names) if can_be_restricted(v)]
    return hardly and (of_a_coarser_type(parts, mask) or errors_go_together(local, mask, base))


def _add(found: list[Explanation], placed: Explained, which: Array) -> None:
    """Add what is explained one step at a time; to the same explanation, where that is of whole cases."""
    mask = placed.cases & which
    for at, one in enumerate(found):
        if one.names == placed.names and one.certain and not (placed.certain and placed.where):
            certain = placed.certain or bool(one.where)
            found[at] = replace(
                one, mask=one.mask | mask if placed.certain else one.mask, certain=certain
            )
            return
    if mask.any():
        found.append(
            Explanation(placed.names, mask, 0.5, 0, placed.where, placed.certain, stepwise=True)
        )


def _where(parts: Sequence[FailingBlock], mask: Array, passing: Passing, name: str) -> str:
    """What the explained cases have that those which passed, and would have shown it, have not."""
    explained = [(part.block, rows) for part, rows in by_part(parts, mask)]
    others = list(zip(passing.blocks, passing.caught([name])[name], strict=True))
    return next(iter(what_tells_apart(explained, others)), "")


def fewest(found: Sequence[Explanation]) -> list[Explanation]:
    """The fewest explanations of `found` that together explain what all of them do, the certain ones first.

    Of equally many, those that come first in `found`: the better ones, by Explanation.rank.
    """
    certain = list(_fewest([one for one in found if one.certain]))
    rest = [one for one in found if not one.certain]
    if certain:
        done = any_of((one.mask for one in certain), len(certain[0].mask))
        rest = [one for one in rest if (one.mask & ~done).any()]
    chosen = [_without_needless(one, found) for one in (*certain, *_fewest(rest))]
    return _needed(list({id(one): one for one in chosen}.values()))  # two may be left as one


def _without_needless(one: Explanation, found: Sequence[Explanation]) -> Explanation:
    """The explanation, or what is left of it where one of its variants is needed for hardly a case."""
    for other in found:
        fewer = set(other.names) < set(one.names) and other.certain >= one.certain
        more = int((one.mask & ~other.mask).sum())
        if fewer and more < max(ALONE, ALONE_SHARE * len(one.mask)):
            return _without_needless(other, found)
    return one


def _needed(chosen: list[Explanation]) -> list[Explanation]:
    """Without those that are put together, or have a number, and are needed for hardly a case."""
    for one in sorted(chosen, key=lambda one: one.explains):
        others = [other.mask for other in chosen if other is not one]
        if not others or (len(one.names) == 1 and not has_number(one.names[0])):
            continue
        alone = int((one.mask & ~np.any(others, axis=0)).sum())
        if alone < max(ALONE, ALONE_SHARE * len(one.mask)):
            chosen = [other for other in chosen if other is not one]
    return chosen


def _fewest(order: Sequence[Explanation]) -> Iterable[Explanation]:
    if not order:
        return []
    whole = np.any([one.mask for one in order], axis=0)
    for size in (1, 2, 3):
        tried = order[: (len(order), 60, 24)[size - 1]]
        for chosen in combinations(tried, size):
            if (np.any([one.mask for one in chosen], axis=0) == whole).all():
                return chosen
    return _greedily(order, whole)


def _greedily(order: Sequence[Explanation], whole: Array) -> Iterator[Explanation]:
    left = whole.copy()
    while left.any():
        best = max(order, key=lambda one: int((one.mask & left).sum()))
        yield best
        left &= ~best.mask
