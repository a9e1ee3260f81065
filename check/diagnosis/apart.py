"""What tells two groups apart: the simplest condition that is true of all of one and of none of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial

import numpy as np

from ...cases.dtypes import Array

FEWEST = 3
"""So many of each group at least, or anything tells them apart."""
SURE, ENOUGH = 20, 12
"""There are so many times as many ways to choose the group as features that could tell it apart by chance; a
group of more than that is as good as one of so many."""
FEWEST_REAL, SHARE_REAL = 12, 0.1
"""So many of each where the condition is a threshold of a real number, and so many others for each member."""
REAL_EXCEPTIONS = 0.05
"""Of the others, no more than this share may be an exception to such a condition."""

MOST_TOGETHER = 40
"""Of so many conditions two or three are tried together."""

Words = Mapping[str, str | Callable[[float], str]]
"""What says a condition, by the comparison (`==`, `>=`, `<`): a text with {value} for what is compared
with, or a function of that; "" where nothing is to be said."""


@dataclass(frozen=True)
class Feature:
    """Something that is known of every member of both groups: `values` (n,).

    Comparisons that it has no `words` for are not tried. Of a `real` one, what is compared with lies between
    the values of the two groups.
    """

    values: Array
    words: Words
    real: bool = False


@dataclass(frozen=True)
class Condition:
    """What all members of one group have: the feature at `place`, compared with a number, and in words. Of
    the others `exceptions` have it too."""

    place: int
    comparison: str
    number: float
    words: str
    exceptions: int

    def holds(self, values: Array) -> Array:
        """(n,) of which members, of whom these are the values of the feature, it is true."""
        if self.comparison == "==":
            return np.asarray(values == self.number)
        return np.asarray(
            values >= self.number if self.comparison == ">=" else values < self.number
        )


def conditions(features: Sequence[Feature], group: Array) -> list[str]:
    """The conditions that are true of all members of the group (n,) and of no other, in the order of the
    features; none where there are too few members of either."""
    return [one.words for one in _found(features, group, 0.0)]


def conditions_together(features: Sequence[Feature], group: Array) -> str:
    """The fewest conditions, two or three, that are true of all members of the group (n,), and of no other
    together, in words; "" where there are none. Each is needed: so many others fulfil all but that. And
    the group has the more members the more conditions there are, for few have much in common."""
    known: dict[bytes, tuple[Condition, Array]] = {}
    for one in _found(features, group, 1.0):
        others = one.holds(features[one.place].values[~group])
        if not others.all():
            known.setdefault(others.tobytes(), (one, others))
    for size in (2, 3):
        many = int(group.sum()) >= FEWEST * factorial(size)
        if not many or not enough(*_counts(group), comb(len(features), size)):
            return ""
        for chosen in combinations(list(known.values())[:MOST_TOGETHER], size):
            if _all_needed([others for _, others in chosen]):
                return _joined([one.words for one, _ in chosen])
    return ""


def _all_needed(each: Sequence[Array]) -> bool:
    """Whether no other fulfils all conditions, and FEWEST fulfil all but one, whichever that is."""
    count = np.sum(each, axis=0)
    if (count == len(each)).any():
        return False
    return all(int((~one & (count == len(each) - 1)).sum()) >= FEWEST for one in each)


def _joined(words: Sequence[str]) -> str:
    """Conditions in one: "where …, … and …"."""
    first, *more, last = [words[0], *(one.removeprefix("where ") for one in words[1:])]
    return f"{', '.join([first, *more])} and {last}"


def nearest_condition(
    features: Sequence[Feature], group: Array, exceptions: float
) -> Condition | None:
    """The condition that is true of all members of the group, and of the fewest others: of no more than the
    share `exceptions`; None where there is none."""
    return min(_found(features, group, exceptions), key=lambda one: one.exceptions, default=None)


def _found(features: Sequence[Feature], group: Array, exceptions: float) -> Iterator[Condition]:
    """Conditions that are true of all members of the group."""
    members, rest = _counts(group)
    if not enough(members, rest, len(features)):
        return
    many = members >= FEWEST_REAL and rest >= max(FEWEST_REAL, SHARE_REAL * members)
    for place, feature in enumerate(features):
        share = min(exceptions, REAL_EXCEPTIONS) if feature.real else exceptions
        if many or not feature.real:
            for comparison, number, others in _of_feature(feature, group, share * rest):
                if words := _said(feature.words[comparison], number):
                    yield Condition(place, comparison, number, words, others)


def _counts(group: Array) -> tuple[int, int]:
    """How many members and others there are."""
    return int(group.sum()), int((~group).sum())


def enough(members: int, others: int, tried: int) -> bool:
    """Whether there are so many of each group that chance does not tell them apart by something of all that
    is tried."""
    fewer = min(members, others)
    return fewer >= FEWEST and comb(members + others, min(fewer, ENOUGH)) >= SURE * tried


def _of_feature(
    feature: Feature, group: Array, most_wrong: float
) -> Iterator[tuple[str, float, int]]:
    """Comparisons and numbers that all of the group fulfil, with how many others do."""
    inside, outside = feature.values[group], feature.values[~group]
    if not (np.isfinite(inside).all() and np.isfinite(outside).all()):
        return
    least, most = inside.min(), inside.max()
    equal = int((outside == least).sum())
    if "==" in feature.words and least == most and equal <= most_wrong:
        yield "==", least, equal
    below, above = outside[outside < least], outside[outside > most]
    if ">=" in feature.words and len(outside) - len(below) <= most_wrong and below.size:
        yield ">=", _between(below.max(), least, feature.real), len(outside) - len(below)
    if "<" in feature.words and len(outside) - len(above) <= most_wrong and above.size:
        yield "<", _between(most, above.min(), feature.real), len(outside) - len(above)


def _between(low: float, high: float, real: bool) -> float:
    """The number of fewest digits between two; of whole numbers, the higher."""
    if not real:
        return high
    for digits in range(1, 17):
        middle = float(f"{(low + high) / 2:.{digits}g}")
        if low < middle < high:
            return middle
    return high


def _said(words: str | Callable[[float], str], value: float) -> str:
    return words(value) if callable(words) else words.replace("{value}", f"{value:g}")
