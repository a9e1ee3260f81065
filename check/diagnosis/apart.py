"""What sets one group apart from another: conditions that all of the one fulfil, and none of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, factorial

import numpy as np

from ...cases.dtypes import Array

FEWEST = 3
"""Minimum members of each group, and of others that a condition excludes: fewer share much by chance."""
SURE, ENOUGH = 20, 12
"""Minimum ways to choose the group for each feature tried: chance finds one in 5 % of searches.
Maximum members that count for that: with more the number only grows."""
FEWEST_REAL, SHARE_REAL = 12, 0.1
"""Minimum members of each group, and others by members, where a threshold may lie anywhere."""
REAL_EXCEPTIONS = 0.05
"""Maximum share of the others beyond such a threshold: with more of them, some threshold always fits."""
MOST_TOGETHER = 3
"""Maximum conditions in one sentence: nobody reads a place out of four."""


@dataclass(frozen=True)
class Feature:
    """Something that every member has: for each block, `values` that broadcast to the masks of its members.

    `words` are those of each comparison that is tried (`==`, `>=`, `<`), with {value} for the number compared
    with. That of a `real` feature lies between the values of the two groups.
    """

    values: Sequence[Array]
    words: Mapping[str, str]
    real: bool = False


def whether(values: Sequence[Array], yes: str, no: str = "") -> Feature:
    """Make a feature of what is so or not, with the words for either."""
    return Feature(values, {">=": yes, "<": no})


@dataclass(frozen=True)
class Condition:
    """What all members of the group fulfil, and `exceptions` of the others, in words."""

    words: str
    feature: Feature
    comparison: str
    number: float
    exceptions: int


@dataclass(frozen=True)
class Groups:
    """Masks of the members and of the others: one of each for a block."""

    members: Sequence[Array]
    others: Sequence[Array]

    @property
    def counts(self) -> tuple[int, int]:
        """How many members and others there are."""
        return _count(self.members), _count(self.others)

    def within(self, condition: Condition) -> Groups:
        """Keep the others that fulfil a condition."""
        values, number = condition.feature.values, condition.number
        compare = {"==": np.equal, ">=": np.greater_equal, "<": np.less}[condition.comparison]
        pairs = zip(self.others, values, strict=True)
        return replace(self, others=[mask & compare(value, number) for mask, value in pairs])


def _count(masks: Sequence[Array]) -> int:
    return sum(int(mask.sum()) for mask in masks)


def enough(members: int, others: int, tried: int) -> bool:
    """Say whether groups are so large that no feature of all that are tried separates them by chance."""
    fewer = min(members, others)
    return fewer >= FEWEST and comb(members + others, min(fewer, ENOUGH)) >= SURE * tried


def conditions(
    features: Sequence[Feature], groups: Groups, exceptions: float = 0.0
) -> Iterator[Condition]:
    """Find what all members fulfil, and no more than a share of the others; in the order of the features."""
    members, others = groups.counts
    if not enough(members, others, len(features)):
        return
    many = members >= FEWEST_REAL and others >= max(FEWEST_REAL, SHARE_REAL * members)
    for feature in features:
        share = min(exceptions, REAL_EXCEPTIONS) if feature.real else exceptions
        if many or not feature.real:
            yield from _of_feature(feature, groups, share * others)


def _of_feature(feature: Feature, groups: Groups, most: float) -> Iterator[Condition]:
    inside, _ = _values(feature, groups.members)
    outside, counts = _values(feature, groups.others)
    if not (np.isfinite(inside).all() and np.isfinite(outside).all()):
        return
    least, largest = inside.min(), inside.max()
    below, above = outside < least, outside > largest
    found: dict[str, tuple[float, Array]] = {}
    if least == largest:
        found["=="] = least, outside != least
    if below.any():
        low = outside[below].max()
        found[">="] = _between(low, least) if feature.real else least, below
    if above.any():
        high = outside[above].min()
        found["<"] = _between(largest, high) if feature.real else high, above
    for comparison, words in feature.words.items():
        number, excluded = found.get(comparison, (0.0, below))
        rest = int(counts[~excluded].sum())
        if words and comparison in found and excluded.any() and rest <= most:
            words = words.replace("{value}", f"{number:g}")
            yield Condition(words, feature, comparison, float(number), rest)


def _values(feature: Feature, masks: Sequence[Array]) -> tuple[Array, Array]:
    """List the values of a feature, each with how many of the masks have it there."""
    found = [(np.zeros(0), np.zeros(0, np.int64))]
    for value, mask in zip(feature.values, masks, strict=True):
        same = tuple(axis for axis, size in enumerate(value.shape) if size == 1)
        counts = mask.sum(axis=same, keepdims=True)
        found.append((value[counts > 0], counts[counts > 0]))
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def _between(low: float, high: float) -> float:
    """Find the number of fewest digits between two."""
    for digits in range(1, 17):
        middle = float(f"{(low + high) / 2:.{digits}g}")
        if low < middle < high:
            return middle
    return high


def choose_conditions(
    features: Sequence[Feature], groups: Groups, most: int, exceptions: float
) -> tuple[list[Condition], Groups]:
    """Choose conditions of fewest exceptions until no others are left; return the groups then, too."""
    chosen = list[Condition]()
    while len(chosen) < most:
        found = conditions(features, groups, exceptions)
        best = min(found, key=lambda one: one.exceptions, default=None)
        if best is None:
            break
        chosen.append(best)
        groups = groups.within(best)
    return chosen, groups


def conditions_together(features: Sequence[Feature], groups: Groups) -> str:
    """Find the fewest conditions, two or three, that no other fulfils together; "" where there are none.

    Each is needed: FEWEST fulfil all but that. More conditions need more members: a few have much in common.
    """
    chosen, left = choose_conditions(features, groups, MOST_TOGETHER, 1.0)
    members, others = groups.counts
    size = len(chosen)
    many = members >= FEWEST * factorial(size) and enough(
        members, others, comb(len(features), size)
    )
    if left.counts[1] or not many:
        return ""
    for one in chosen:
        rest = groups
        for other in chosen:
            rest = rest if other is one else rest.within(other)
        if rest.counts[1] < FEWEST:
            return ""
    order = [id(feature) for feature in features]
    return joined(
        [one.words for one in sorted(chosen, key=lambda one: order.index(id(one.feature)))]
    )


def joined(words: Sequence[str]) -> str:
    """Join conditions: "where …, … and …", or "in …, where … and where …"."""
    same = "where " if words[0].startswith("where ") else ""
    first, *rest = [words[0], *(one.removeprefix(same) for one in words[1:])]
    return " and ".join([", ".join([first, *rest[:-1]]), *rest[-1:]])
