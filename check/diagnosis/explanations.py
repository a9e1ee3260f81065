"""Explanations of failing cases, and the fewest of them that together explain what all do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import has_number, variant_called
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import any_of, by_part
from .finding import PARTLY, Names
from .local import Explained
from .search import Search

ALONE, ALONE_SHARE = 2, 0.02
"""Minimum cases, and share of all, for each further variant or fitted number; a few fit by chance."""
MOST_PLACED = 2
"""Maximum variants of what holds in some place alone: three and a place fit many cases by chance."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Variants that explain the cases of `mask` (n,) of those that failed.

    `near` is the median of the distances; `contradicted` of the passing cases would have shown it. `where`
    names the only cases or places that show it, and it is `certain` if no other case speaks against that.
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
        """How many cases it explains."""
        return int(self.mask.sum())

    @property
    def parts(self) -> int:
        """How many variants it has besides the first, and fitted numbers."""
        return len(self.names) - 1 + any(map(has_number, self.names))

    @property
    def rank(self) -> tuple[float, ...]:
        """A key that sorts the best first: what is certain, has few variants, and is least contradicted.

        Then what is so everywhere, explains more, is in the catalogue without a number, and is nearer.
        """
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
    search: Search, placed: Sequence[Explained], passing: Passing, which: Array
) -> list[Explanation]:
    """List what explains failing cases of `which` (n,) and passing cases do not refute, the best first.

    That is what the search found of whole cases, and what was `placed` one step at a time.
    """
    masks = {names: (far <= 1.0) & which for names, far in search.distances.items()}
    masks = {names: mask for names, mask in masks.items() if mask.any()}
    against = passing.contradicting([tuple(map(variant_called, names)) for names in masks])
    found = []
    for (names, mask), others in zip(masks.items(), against, strict=True):
        count = round(passing.every * sum(int(mask.sum()) for _, mask in others))
        near = float(np.median(search.distances[names][mask]))
        one = Explanation(names, mask, near, count)
        if count > PARTLY * one.explains:
            explained = [(part.block, rows) for part, rows in by_part(search.parts, mask)]
            places = what_tells_apart(explained, others) if len(names) <= MOST_PLACED else []
            where = next(iter(places), "")
            if not where and one.explains <= min(count, which.sum() / 2):
                continue
            one = replace(one, where=where, certain=bool(where))
        found.append(one)
    for placed_one in placed:
        _add(found, placed_one, which)
    return sorted(found, key=lambda one: one.rank)


def _add(found: list[Explanation], placed: Explained, which: Array) -> None:
    """Add what explains one step at a time; to the same explanation, where that is of whole cases."""
    mask = placed.cases & which
    for at, one in enumerate(found):
        if one.names == placed.names and one.certain and not (placed.certain and placed.where):
            more = mask if placed.certain else False
            found[at] = replace(
                one, mask=one.mask | more, certain=placed.certain or bool(one.where)
            )
            return
    if mask.any():
        found.append(
            Explanation(placed.names, mask, 0.5, 0, placed.where, placed.certain, stepwise=True)
        )


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
        cost = max(ALONE, ALONE_SHARE * len(left))
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
