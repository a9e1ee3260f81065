"""Searching for variants that explain failing cases: alone, several at once, and in coarse arithmetic.

A few failing cases, of up to SAMPLED_PARTS blocks, are tried with the whole catalogue; whatever
explains one of them is then tried on all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...gen.variants.catalogue import CATALOGUE, variants_of
from ...gen.variants.variant import Variant
from .failing import FailingBlock

SAMPLED_PARTS, SAMPLED_ROWS, ROUNDS = 12, 3, 3
MOST_TOGETHER = 8
Names = tuple[str, ...]


class Search:
    """What has been tried: by names of variants, the distance of every failing case."""

    def __init__(self, parts: Sequence[FailingBlock], which: Array) -> None:
        self.parts, self.which = parts, which
        self.distances: dict[Names, Array] = {}
        self.loose: dict[Names, bool] = {}
        """What was tried in the coarsest arithmetic too, and whether it explained cases without."""
        self.known = [
            {v.name for v in variants_of(OPERATORS[part.block.operator])} for part in parts
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
        wanted = [(v,) for v in CATALOGUE.values() if v.kind in ("misreading", "approximation")]
        for _ in range(ROUNDS):
            sample = self._sample(~self.explained, SAMPLED_PARTS, SAMPLED_ROWS)
            untried = [one for one in wanted if _names(one) not in self.distances]
            found = self._explaining(sample, untried)
            if not found:
                return
            self._try(found)

    def together(self, which: Array) -> None:
        """Try several at once on what is left of `which`: up to four of those found alone, then one of
        them with any other, then any two."""
        variants = [v for v in CATALOGUE.values() if v.kind in ("misreading", "reading")]
        found = [v for v in variants if (v.name,) in self.distances][:MOST_TOGETHER]
        pools: list[tuple[list[tuple[Variant, ...]], int]] = [
            *((list(combinations(found, count)), 3) for count in (2, 3, 4)),
            ([(a, b) for a in found for b in variants if a.name != b.name], 3),
            (list(combinations(variants, 2)), 1),
        ]
        for pool, places in pools:
            sample = self._sample(which & ~self.explained, places, 1)
            if not sample:
                return
            self._try(self._explaining(sample, pool))
        named: Counter[str] = Counter()
        for names, distance in self.distances.items():
            named.update(dict.fromkeys(names, int((distance <= 1.0).sum())))
        often = [CATALOGUE[name] for name, _ in named.most_common(MOST_TOGETHER)]
        sample = self._sample(which & ~self.explained, 1, 1)
        self._try(self._explaining(sample, list(combinations(often, 3))))

    def loosely(self, which: Array) -> None:
        """Try every variant in the coarsest arithmetic on what is left."""
        for place, part in self._sample(which & ~self.explained, 3, 2):
            tried = [
                (variant,)
                for variant in variants_of(OPERATORS[part.block.operator])
                if variant.kind == "misreading" and (variant.name,) not in self.loose
            ]
            distances = self._distances(place, part, tried, loose=True)
            for one in (v for v, far in zip(tried, distances, strict=True) if (far <= 1.0).all()):
                names = _names(one)
                tight = self.distances.pop(names, None)
                self._try([one], loose=True)
                if tight is not None:
                    self.distances[names] = np.minimum(self.distances[names], tight)
                self.loose[names] = tight is not None

    def _explaining(
        self, sample: Sequence[tuple[int, FailingBlock]], pool: Sequence[tuple[Variant, ...]]
    ) -> list[tuple[Variant, ...]]:
        """What of a pool explains a case of the sample."""
        explains = np.zeros(len(pool), bool)
        for place, part in sample:
            explains |= (self._distances(place, part, pool) <= 1.0).any(axis=1)
        return [pool[at] for at in np.flatnonzero(explains).tolist()]

    def _distances(
        self,
        place: int,
        part: FailingBlock,
        several: Sequence[Sequence[Variant]],
        *,
        loose: bool = False,
    ) -> Array:
        """(len(several), n) the distances of some rows of the block at `place`, each by what of the
        variants means anything there."""
        found = np.full((len(several), len(part)), np.inf)
        meant = [[v for v in one if v.name in self.known[place]] for one in several]
        at = [number for number, one in enumerate(meant) if one]
        found[at] = part.distances([meant[number] for number in at], loose=loose)
        return found

    def _try(self, several: Sequence[tuple[Variant, ...]], *, loose: bool = False) -> None:
        known = {names for tried in self.distances for names in (tried, tried[::-1])}
        new = [one for one in several if _names(one) not in known]
        each = [
            self._distances(place, part, new, loose=loose) for place, part in enumerate(self.parts)
        ]
        for number, one in enumerate(new):
            self.distances[_names(one)] = np.concatenate([found[number] for found in each])

    def _sample(
        self, which: Array, most_parts: int, most_rows: int
    ) -> list[tuple[int, FailingBlock]]:
        """Some cases of some parts among `which`, evenly taken."""
        starts = np.cumsum([0, *map(len, self.parts)])
        wanted = {}
        for place in range(len(self.parts)):
            rows = np.flatnonzero(which[starts[place] : starts[place + 1]])
            if rows.size:
                wanted[place] = rows
        places = _evenly(np.array(list(wanted), int), most_parts)
        return [
            (place, self.parts[place].rows(_evenly(wanted[place], most_rows)))
            for place in places.tolist()
        ]


def _names(variants: Sequence[Variant]) -> Names:
    return tuple(variant.name for variant in variants)


def _evenly(items: Array, most: int) -> Array:
    """At most `most` of the items, evenly taken."""
    if len(items) <= most:
        return items
    return np.asarray(items[np.linspace(0, len(items) - 1, most).round().astype(int)])
