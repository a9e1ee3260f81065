"""Searching for variants that explain failing cases: alone, and several at once.

A few failing cases, of up to SAMPLED_PARTS blocks, are tried with the whole catalogue, and with what is in
no catalogue and no single step tells; whatever explains one of them is then tried on all. What that takes is
known before it is done (gen.variants.work), and where it is too much, it is done for the cases of least work.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, zip_longest

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import UNLISTED, variant_called
from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .finding import Names, names_of

SAMPLED_PARTS, SAMPLED_ROWS, ROUNDS = 12, 3, 3
"""How many blocks are sampled, how many cases of each, and how often that is done for what is left."""
FIRST_PARTS = 1
"""The catalogue is tried on cases of one block first: where one mistake explains all, that is enough."""
TOGETHER_PARTS = 3
"""Maximum cases on which several variants are tried at once in a round: one explains many others."""
BEAM = 12
"""Maximum combinations that are continued by one more variant."""
LOCAL_PARTS, LOCAL_ROWS, LOCAL_TRIED = 6, 2, 64
"""How many blocks, and how many cases of each, are taken one step at a time; it counts as the work of so many
variants."""
SEARCHING = 3 << 32
"""The work that may go into looking for what explains cases of samples."""
EXPLAINING = 1 << 37
"""The work that may go into trying on all cases what explains one."""
_SHARE = 2
"""What is done next may take one half of what is left: there is something for what comes later."""


class Search:
    """What has been tried: by names of variants, the distance of every failing case.

    `which` (n,) says what is to be explained; where no number was observed, nothing is. Cases behind those of
    the parts are never looked at.
    """

    def __init__(self, parts: Sequence[FailingBlock], which: Array) -> None:
        numbers = np.concatenate([np.zeros(0, bool), *(part.holds_numbers for part in parts)])
        self.parts, self.which = parts, which.copy()
        self.which[: len(numbers)] &= numbers
        self.searching, self.explaining = SEARCHING, EXPLAINING
        self.starts = np.cumsum([0, *map(len, parts)])
        self.by_work = sorted(range(len(parts)), key=lambda place: parts[place].work)
        self.passed_over = np.arange(len(which)) >= self.starts[-1]
        """(n,) the cases on which something was not tried, for it took too long: what explains others, or, in
        whatever case is left, what a stage of the search tries."""
        self.distances: dict[Names, Array] = {}
        self.found: list[Variant] = []
        """What explains failing cases alone, or their steps: what is tried together with others."""

    @property
    def explained(self) -> Array:
        """(n,) whether something explains the case, or nothing needs to."""
        found = ~self.which
        for distance in self.distances.values():
            found |= distance <= 1.0
        return found

    def singles(self) -> None:
        """Try every variant alone on samples, and on all what explains a sampled case."""
        self._alone([v for v in CATALOGUE.values() if v.kind in ("misreading", "approximation")])

    def unlisted(self) -> None:
        """Try, as `singles` does, what is in no catalogue, if one step at a time does not tell it."""
        self._alone([v for v in UNLISTED.values() if not v.within_a_step])

    def sampled(self, which: Array) -> list[FailingBlock]:
        """A few cases of a few blocks among `which`."""
        return [part for _, part in self._sample(which, LOCAL_PARTS, LOCAL_ROWS, LOCAL_TRIED)]

    def _alone(self, variants: Sequence[Variant]) -> None:
        wanted = [(variant,) for variant in variants]
        for parts in (FIRST_PARTS, *[SAMPLED_PARTS] * ROUNDS):
            untried = [one for one in wanted if names_of(one) not in self.distances]
            sample = self._sample(~self.explained, parts, SAMPLED_ROWS, len(untried))
            found = self._explaining(sample, untried)
            if not found and (parts == SAMPLED_PARTS or len(sample) < parts):
                return
            self.on_all(found)

    def together(self, which: Array, pool: Sequence[Variant], most: int) -> None:
        """Try up to `most` variants of a pool at once on what is left of `which`.

        On one case after another: what leaves least of its error is gone on with. None is put beside one that
        has an arithmetic of its own: that knows neither another arithmetic nor functions of variants.
        """
        pool = [v for v in pool if not v.arithmetic]
        for _ in range(ROUNDS):
            left = which & ~self.explained
            if not left.any():
                return
            sample = self._sample(left, TOGETHER_PARTS, 1, most * BEAM * len(pool))
            found = [one for _, part in sample for one in self._grown(part, pool, most)]
            if not found:
                return
            self.on_all(_with_smaller(found))

    def _grown(
        self, part: FailingBlock, pool: Sequence[Variant], most: int
    ) -> list[tuple[Variant, ...]]:
        """Find the fewest variants that explain one case together."""
        operator = OPERATORS[part.block.operator]
        pool = [v for v in pool if v.means_something_for(operator)]
        beam: list[tuple[Variant, ...]] = [()]
        for _ in range(most):
            more = [(*one, v) for one in beam for v in pool if v not in one]
            tried = [*{frozenset(names_of(one)): one for one in more}.values()]
            far, left = part.compare(tried)
            if (far <= 1.0).any():
                return [tried[at] for at in np.flatnonzero(far[:, 0] <= 1.0).tolist()]
            beam = [tried[at] for at in np.argsort(left[:, 0], kind="stable")[:BEAM].tolist()]
        return []

    def best(self, most: int) -> list[Variant]:
        """What explains steps, and what explains most cases alone, in turns."""
        alone = [(names, far) for names, far in self.distances.items() if len(names) == 1]
        alone = [one for one in alone if ((one[1] <= 1.0) & self.which).any()]
        alone.sort(key=lambda one: -int((one[1] <= 1.0).sum()))
        wholes = [variant_called(names[0]) for names, _ in alone]
        kinds = ("misreading", "reading")
        turns = [v for pair in zip_longest(self.found, wholes) for v in pair if v is not None]
        return list({v.name: v for v in turns if v.kind in kinds}.values())[:most]

    def _explaining(
        self, sample: Sequence[tuple[int, FailingBlock]], pool: Sequence[tuple[Variant, ...]]
    ) -> list[tuple[Variant, ...]]:
        """What of a pool explains a case of the sample, each with a part in it."""
        explains = np.zeros(len(pool), bool)
        for _, part in sample:
            operator = OPERATORS[part.block.operator]
            means = {v.name for one in pool for v in one if v.means_something_for(operator)}
            at = [n for n, one in enumerate(pool) if all(v.name in means for v in one)]
            far = self._distances(part, [pool[n] for n in at])
            explains[at] |= (far <= 1.0).any(axis=1)
        return [pool[at] for at in np.flatnonzero(explains).tolist()]

    def _distances(self, part: FailingBlock, several: Sequence[Sequence[Variant]]) -> Array:
        """(len(several), n) the distances of some rows of a block, each by what of the variants
        means anything there."""
        found = np.full((len(several), len(part)), np.inf)
        operator = OPERATORS[part.block.operator]
        meant = [[v for v in one if v.means_something_for(operator)] for one in several]
        at = [number for number, one in enumerate(meant) if one]
        found[at] = part.distances([meant[number] for number in at])
        return found

    def on_all(self, several: Sequence[tuple[Variant, ...]]) -> None:
        """Try combinations of variants on all failing cases, as far as there is work left for it."""
        known = {names for tried in self.distances for names in (tried, tried[::-1])}
        new = [one for one in several if names_of(one) not in known]
        each = [np.full((len(new), len(part)), np.inf) for part in self.parts]
        room = self.explaining // _SHARE
        for place in self.by_work:
            part = self.parts[place]
            room -= (cost := part.work * len(part) * len(new))
            if room < 0:
                self.passed_over[self.starts[place] : self.starts[place + 1]] = True
                continue
            self.explaining -= cost
            each[place] = self._distances(part, new)
        behind = np.full(len(self.which) - self.starts[-1], np.inf)
        for number, one in enumerate(new):
            self.distances[names_of(one)] = np.concatenate(
                [*(found[number] for found in each), behind]
            )

    def _sample(
        self, which: Array, most_parts: int, most_rows: int, tried: int
    ) -> list[tuple[int, FailingBlock]]:
        """Some cases of some parts among `which`, evenly taken, that `tried` combinations of variants may be
        tried on: those of least work, if on all of them it would take too long."""
        wanted = {}
        for place in range(len(self.parts)):
            rows = np.flatnonzero(which[self.starts[place] : self.starts[place + 1]])
            if rows.size:
                wanted[place] = rows
        most = self.searching // _SHARE // max(1, tried)
        places = evenly(np.array(list(wanted), int), most_parts).tolist()
        if not any(self.parts[place].work <= most for place in places):
            places = [place for place in self.by_work if place in wanted][:most_parts]
        sample = []
        for place in sorted(places, key=self.by_work.index):
            rows = evenly(wanted[place], min(most_rows, most // self.parts[place].work))
            if rows.size:
                most -= len(rows) * self.parts[place].work
                self.searching -= len(rows) * self.parts[place].work * tried
                sample.append((place, self.parts[place].rows(rows)))
        if not sample:
            self.passed_over |= which
        return sorted(sample, key=lambda one: one[0])


def _with_smaller(several: Sequence[tuple[Variant, ...]]) -> list[tuple[Variant, ...]]:
    """Combinations, and what is left of each without one of its variants: where that explains a case, what
    was left out has no part in it."""
    smaller = {part for one in several for part in combinations(one, len(one) - 1) if part}
    return [*several, *sorted(smaller, key=names_of)]
