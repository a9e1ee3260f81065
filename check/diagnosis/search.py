"""Searching for variants that explain failing cases: alone, several at once, and in coarse arithmetic.

A few failing cases of every block are tried with the whole catalogue; whatever explains one of them
is then tried on all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...gen.variants.catalogue import CATALOGUE, variants_of
from ...gen.variants.variant import Variant
from .failing import FailingBlock

SAMPLED_BLOCKS, SAMPLED_ROWS, ROUNDS = 12, 3, 3
MOST_TOGETHER = 8
Names = tuple[str, ...]


class Search:
    """What has been tried: by names of variants, the `FailingBlock.distance` of every failing case."""

    def __init__(self, blocks: Sequence[FailingBlock], which: Array) -> None:
        self.blocks, self.which = blocks, which
        self.distances: dict[Names, Array] = {}
        self.loose: dict[Names, bool] = {}
        """What was tried in the coarsest arithmetic too, and whether it explained cases without."""
        self.known = [
            {v.name for v in variants_of(OPERATORS[failing.block.operator])} for failing in blocks
        ]

    @property
    def explained(self) -> Array:
        """(n,) whether something explains the case, or nothing needs to."""
        found = ~self.which
        for distance in self.distances.values():
            found |= distance <= 1.0
        return found

    def singles(self) -> None:
        """Try every variant alone on samples, and on all what explains a sampled case."""
        wanted = [v for v in CATALOGUE.values() if v.kind in ("misreading", "approximation")]
        for _ in range(ROUNDS):
            sample = self._sample(~self.explained, SAMPLED_BLOCKS, SAMPLED_ROWS)
            new = [
                v
                for v in wanted
                if (v.name,) not in self.distances
                and any(
                    (self._distance(place, failing, [v]) <= 1.0).any() for place, failing in sample
                )
            ]
            if not new:
                return
            for variant in new:
                self._try([variant])

    def together(self, which: Array) -> None:
        """Try several at once on what is left of `which`: up to four of those found alone, then one of
        them with any other, then any two."""
        variants = [v for v in CATALOGUE.values() if v.kind in ("misreading", "reading")]
        found = [v for v in variants if (v.name,) in self.distances][:MOST_TOGETHER]
        pools: list[tuple[Iterable[tuple[Variant, ...]], int]] = [
            *((combinations(found, count), 3) for count in (2, 3, 4)),
            (((a, b) for a in found for b in variants if a.name != b.name), 3),
            (combinations(variants, 2), 1),
        ]
        for pool, places in pools:
            sample = self._sample(which & ~self.explained, places, 1)
            if not sample:
                return
            for several in pool:
                if any((self._distance(*one, several) <= 1.0).any() for one in sample):
                    self._try(several)
        named: Counter[str] = Counter()
        for names, distance in self.distances.items():
            named.update(dict.fromkeys(names, int((distance <= 1.0).sum())))
        often = [CATALOGUE[name] for name, _ in named.most_common(MOST_TOGETHER)]
        for several in combinations(often, 3):
            for place, failing in self._sample(which & ~self.explained, 1, 1):
                if (self._distance(place, failing, several) <= 1.0).any():
                    self._try(several)

    def loosely(self, which: Array) -> None:
        """Try every variant in the coarsest arithmetic on what is left."""
        for place, failing in self._sample(which & ~self.explained, 3, 2):
            for variant in variants_of(OPERATORS[failing.block.operator]):
                names = (variant.name,)
                if variant.kind != "misreading" or names in self.loose:
                    continue
                if (self._distance(place, failing, [variant], loose=True) <= 1.0).all():
                    tight = self.distances.pop(names, None)
                    self._try([variant], loose=True)
                    if tight is not None:
                        self.distances[names] = np.minimum(self.distances[names], tight)
                    self.loose[names] = tight is not None

    def _distance(
        self, place: int, failing: FailingBlock, variants: Sequence[Variant], *, loose: bool = False
    ) -> Array:
        meant = [v for v in variants if v.name in self.known[place]]
        return failing.distance(meant, loose=loose) if meant else np.full(len(failing), np.inf)

    def _try(self, variants: Sequence[Variant], *, loose: bool = False) -> None:
        names = tuple(v.name for v in variants)
        if names not in self.distances and names[::-1] not in self.distances:
            self.distances[names] = np.concatenate(
                [
                    self._distance(place, failing, variants, loose=loose)
                    for place, failing in enumerate(self.blocks)
                ]
            )

    def _sample(
        self, which: Array, most_blocks: int, most_rows: int
    ) -> list[tuple[int, FailingBlock]]:
        """Some cases of some blocks among `which`, evenly taken."""
        starts = np.cumsum([0, *map(len, self.blocks)])
        wanted = {}
        for place in range(len(self.blocks)):
            rows = np.flatnonzero(which[starts[place] : starts[place + 1]])
            if rows.size:
                wanted[place] = rows
        places = _evenly(np.array(list(wanted), int), most_blocks)
        return [
            (place, self.blocks[place].rows(_evenly(wanted[place], most_rows)))
            for place in places.tolist()
        ]


def _evenly(items: Array, most: int) -> Array:
    """At most `most` of the items, evenly taken."""
    if len(items) <= most:
        return items
    return np.asarray(items[np.linspace(0, len(items) - 1, most).round().astype(int)])
