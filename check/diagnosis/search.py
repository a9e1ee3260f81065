"""Searching for variants that explain failing cases: alone, and several at once.

Each is tried on a few failing cases. What explains one of them is then tried on all. The work is known before
it is done (gen.variants.work): where it is too much, those of least work are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, zip_longest

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...gen.variants.known import variant_called
from ...gen.variants.variant import Variant
from .failing import FailingBlock, evenly
from .finding import Names, names_of

SAMPLED_PARTS, SAMPLED_ROWS = 12, 3
"""Maximum blocks sampled, and cases of each: what explains most failures explains one of these."""
ROUNDS = 3
"""Maximum samples of what is left: runtimes hardly have more mistakes than are found in three rounds."""
FIRST_PARTS = 1
"""Blocks of the first sample: where one mistake explains all, that is enough."""
TOGETHER_PARTS = 2
"""Maximum cases on which several variants are tried at once in a round: one explains many others."""
BEAM = 12
"""Maximum pairs, and more, that are continued by one more variant: each takes as long as the whole pool."""
SEARCHING = 3 << 32
"""Maximum work of looking for what explains sampled cases: some 13 s (gen.variants.work)."""
RIVALS = SEARCHING // 8
"""Maximum work of looking for what explains as much as what was found."""
ALONE, ALONE_SHARE = 2, 0.02
"""Minimum cases, and share of all, for each further variant or fitted number; a few fit by chance."""
_SHARE = 2
"""A stage may take one half of what is left: so there is something for what comes later."""


class Search:
    """What has been tried: by names of variants, the distance of every failing case.

    `which` (n,) says what needs an explanation. Cases behind those of the parts are never looked at.
    """

    def __init__(self, parts: Sequence[FailingBlock], which: Array) -> None:
        self.parts, self.which = parts, which
        self.searching = SEARCHING
        self.starts = np.cumsum([0, *map(len, parts)])
        self.passed_over = np.arange(len(which)) >= self.starts[-1]
        """(n,) the cases that were not looked at, or among which a stage would take too long."""
        self.distances: dict[Names, Array] = {}
        self.sampled = np.zeros_like(which)
        """(n,) the cases of all samples."""
        self.found: list[Variant] = []
        """What explains failing cases alone, or their steps: what is tried together with others."""

    @property
    def unexplained(self) -> Array:
        """(n,) What needs an explanation and has none."""
        found = ~self.which
        for distance in self.distances.values():
            found |= distance <= 1.0
        return ~found

    def left(self, besides: Array) -> Array:
        """(n,) Find what needs an explanation yet, if something else explains `besides` (n,).

        Nothing does where one explanation leaves less than two variants must explain beside it.
        """
        left = self.unexplained & ~besides
        each = (int((self.which & (far > 1.0)).sum()) for far in self.distances.values())
        all_of_them = int(self.which.sum())
        best = min(each, default=all_of_them)
        few = best < all_of_them and best < least_besides(len(left))
        return np.zeros_like(left) if few else left

    def each(self, several: Sequence[tuple[Variant, ...]]) -> None:
        """Try each combination on samples, and on all what explains a sampled case."""
        for parts in (FIRST_PARTS, *[SAMPLED_PARTS] * ROUNDS):
            untried = [one for one in several if names_of(one) not in self.distances]
            runs = 1 + sum(not all(v.of_outputs_alone for v in one) for one in untried)
            sample = self.sample(self.unexplained, parts, SAMPLED_ROWS, runs)
            explains = np.zeros(len(untried), bool)
            for part in sample:
                explains |= (part.distances(untried) <= 1.0).any(axis=1)
            if not explains.any() and (parts == SAMPLED_PARTS or len(sample) < parts):
                return
            self.on_all([untried[at] for at in np.flatnonzero(explains).tolist()])

    def rivals(self, several: Sequence[tuple[Variant, ...]]) -> None:
        """Try combinations on all, unless that takes long; without passing cases, many may fit."""
        if len(several) * sum(part.work * len(part) for part in self.parts) <= RIVALS:
            self.on_all(several)

    def together(self, besides: Array, pool: Sequence[Variant], most: int) -> None:
        """Try up to `most` variants of a pool at once on what is left, without `besides` (n,).

        That is done on a few cases: all pairs, for two mistakes may make an error larger that each makes.
        Then the pairs that leave least of the error are continued. None is put beside one that has an
        arithmetic of its own: that knows neither another arithmetic nor functions of variants.
        """
        pool = [v for v in pool if not v.arithmetic]
        for _ in range(ROUNDS):
            left = self.left(besides)
            if not left.any():
                return
            tried = len(pool) * (len(pool) // 2 + BEAM * (most - 2))
            sample = self.sample(left, TOGETHER_PARTS, 1, tried)
            found = [one for part in sample for one in _grown(part, pool, most)]
            if not found:
                return
            self.on_all(_with_smaller(found))

    def best(self, most: int) -> list[Variant]:
        """List what explains steps, and what explains most cases alone, in turns."""
        alone = [(names, far) for names, far in self.distances.items() if len(names) == 1]
        alone = [one for one in alone if ((one[1] <= 1.0) & self.which).any()]
        alone.sort(key=lambda one: -int((one[1] <= 1.0).sum()))
        wholes = [variant_called(names[0]) for names, _ in alone]
        kinds = ("misreading", "reading")
        turns = [v for pair in zip_longest(self.found, wholes) for v in pair if v is not None]
        return list({v.name: v for v in turns if v.kind in kinds}.values())[:most]

    def on_all(self, several: Sequence[tuple[Variant, ...]]) -> None:
        """Try combinations of variants on all failing cases."""
        known = {names for tried in self.distances for names in (tried, tried[::-1])}
        new = [one for one in several if names_of(one) not in known]
        each = [np.full((len(new), len(self.which) - int(self.starts[-1])), np.inf)]
        found = np.concatenate([*(part.distances(new) for part in self.parts), *each], axis=1)
        self.distances |= dict(zip(map(names_of, new), found, strict=True))

    def sample(
        self, which: Array, most_parts: int, most_rows: int, tried: int
    ) -> list[FailingBlock]:
        """Take some cases of some parts among `which`, evenly, to try combinations on.

        It takes those of least work, if it would take too long to try `tried` combinations on all of them.
        """
        most = self.searching // _SHARE // max(1, tried)
        each = [np.flatnonzero(which[start:end]) for start, end in pairwise(self.starts)]
        works = [part.work for part in self.parts]
        places = [at for at, rows in enumerate(each) if rows.size and works[at] <= most]
        sample = []
        for place in sorted(evenly(np.array(places, int), most_parts), key=works.__getitem__):
            part = self.parts[place]
            rows = evenly(each[place], min(most_rows, most // part.work))
            if rows.size:
                most -= len(rows) * part.work
                self.searching -= len(rows) * part.work * tried
                self.sampled[self.starts[place] + rows] = True
                sample.append(part.rows(rows))
        if not sample:
            self.passed_over |= which
        return sample


def least_besides(count: int) -> float:
    """Compute how many of `count` cases each further variant or fitted number must explain."""
    return max(ALONE, ALONE_SHARE * count)


def _grown(part: FailingBlock, pool: Sequence[Variant], most: int) -> list[tuple[Variant, ...]]:
    """Find the fewest variants, two or more, that explain one case together."""
    operator = OPERATORS[part.block.operator]
    pool = [v for v in pool if v.means_something_for(operator)]
    tried: list[tuple[Variant, ...]] = [one for one in combinations(pool, 2) if _apart(one)]
    while tried:
        far, left = part.compare(tried)
        if (far <= 1.0).any():
            return [tried[at] for at in np.flatnonzero(far[:, 0] <= 1.0).tolist()]
        beam = [tried[at] for at in np.argsort(left[:, 0], kind="stable")[:BEAM].tolist()]
        more = [(*one, v) for one in beam if len(one) < most for v in pool if v not in one]
        tried = [*{frozenset(names_of(one)): one for one in more if _apart(one)}.values()]
    return []


def _apart(several: Sequence[Variant]) -> bool:
    """Say whether no two variants replace the same input: together they say what neither does."""
    replaced = [one.replaces for one in several if one.replaces]
    return len(replaced) == len({*replaced})


def _with_smaller(several: Sequence[tuple[Variant, ...]]) -> list[tuple[Variant, ...]]:
    """Add what is left of each combination without one of its variants.

    Where that explains a case, what was left out has no part in it.
    """
    smaller = {part for one in several for part in combinations(one, len(one) - 1) if part}
    return [*several, *sorted(smaller, key=names_of)]
