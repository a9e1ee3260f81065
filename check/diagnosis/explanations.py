"""Explanations of failing cases, and the fewest of them that together explain what all do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.known import variant_called
from .asked import what_tells_apart
from .contradictions import Blocks, Passing
from .failing import FailingBlock, any_of, blocks_of
from .finding import PARTLY, Explanation
from .search import Search, least_besides

MOST_PLACED = 2
"""Maximum variants of what holds in some place alone: three and a place fit many cases by chance."""


def explanations(
    search: Search, placed: Sequence[Explanation], passing: Passing, which: Array
) -> list[Explanation]:
    """List what explains failing cases of `which` (n,) and passing cases do not refute, the best first.

    That is what the search found of whole cases, and what was `placed` one step at a time.
    """
    masks = {names: (far <= 1.0) & which for names, far in search.distances.items()}
    masks = {names: mask for names, mask in masks.items() if mask.any()}
    against = passing.against(
        passing.blocks, [tuple(map(variant_called, names)) for names in masks]
    )
    found = []
    for (names, mask), others in zip(masks.items(), against, strict=True):
        count = round(passing.every * sum(int(mask.sum()) for _, mask in others))
        near = float(np.median(search.distances[names][mask]))
        found.append(Explanation(names, mask, near, count))
    found = [
        in_some_cases(one, found, search.parts, others)
        if one.contradicted > PARTLY * one.explains
        else one
        for one, others in zip(found, against, strict=True)
    ]
    left = which & ~any_of((one.mask for one in found if one.certain), len(which))
    found = [
        one for one in found if one.certain or one.explains > min(one.contradicted, left.sum() / 2)
    ]
    for one in placed:
        one = replace(one, mask=one.mask & which)
        if len(one.names) > 1 and not one.certain:
            [others] = passing.against(passing.blocks, [one.variants])
            one = in_some_cases(one, found, search.parts, others)
        _add(found, one)
    return sorted(found, key=lambda one: one.rank)


def in_some_cases(
    one: Explanation, found: Sequence[Explanation], parts: Sequence[FailingBlock], others: Blocks
) -> Explanation:
    """Say what is true of the cases that it explains, and of none of the `others`.

    Where nothing is, it is what is true of those that none of `found` explains with fewer of its variants. It
    is uncertain, if nothing is true of these, either.
    """
    fewer = any_of((o.mask for o in found if {*o.names} < {*one.names}), len(one.mask))
    alone = [one.mask & ~fewer] if (one.mask & fewer).any() else []
    for mask in (one.mask, *alone) if len(one.names) <= MOST_PLACED else ():
        if places := what_tells_apart(blocks_of(parts, mask), others):
            where = one.where if one.where in places else places[0]
            return replace(one, mask=mask, where=where, certain=True, states=0)
    return replace(one, certain=False)


def _add(found: list[Explanation], placed: Explanation) -> None:
    """Add what explains one step at a time; to the same explanation, where that is of whole cases."""
    for at, one in enumerate(found):
        if one.names == placed.names and one.certain and not (placed.certain and placed.where):
            mask = one.mask | placed.mask if placed.certain else one.mask
            found[at] = replace(one, mask=mask, certain=placed.certain or bool(one.where))
            return
    if placed.mask.any():
        found.append(placed)


def fewest(found: Sequence[Explanation]) -> list[Explanation]:
    """Choose the fewest explanations of `found` that explain what all of them do, the certain ones first.

    Where two explain as much, it is the one that comes first in `found`: the better one, by Explanation.rank.
    """
    chosen: list[Explanation] = []
    for certain in (True, False):
        chosen = _more(chosen, [one for one in found if one.certain is certain])
    return chosen


def _more(chosen: list[Explanation], order: Sequence[Explanation]) -> list[Explanation]:
    """Add what explains most of what is left, until nothing is; drop what others explain as well.

    Beside others, each further variant and each fitted number must explain some cases more.
    """
    new = list(chosen)
    while order:
        left = ~any_of((one.mask for one in new), len(order[0].mask))
        cost = least_besides(len(left))
        gained = np.array([int((one.mask & left).sum()) for one in order])
        score = np.where(
            gained > 0, gained - cost * np.array([one.parts for one in order]), -np.inf
        )
        best = int(np.argmax(score))
        if gained[best] == 0 or (new and score[best] < 0):
            break
        new.append(order[best])
    for one in new[len(chosen) :]:
        others = [other for other in new if other is not one]
        if not (one.mask & ~any_of((other.mask for other in others), len(one.mask))).any():
            new = others
    return new
