"""Where in the steps of cases something holds: a unit, a step, a row, a direction, a size, some values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.expressions import QUANTITIES
from .apart import Condition, Feature, Words, enough, nearest_condition
from .steps import Steps

GROUPS = (4, 8, 16, 32)
"""How many hidden units are computed together in many kernels."""
MOST_ELEMENTS = 1 << 16
"""The place is looked for among so many states in it, and so many others; of more, among some that are evenly
taken, and is then held against all."""
Spread = Callable[[Array, str], Array]
"""Gives one value for each state that is looked at, from values and the letters of their axes: some of n, d,
r, h (case, direction, row, hidden unit)."""


def where(
    steps: Sequence[Steps],
    group: Sequence[Array],
    others: Sequence[Array],
    exceptions: float = 0.0,
) -> str:
    """The simplest place, in words, where the states of the group are, and of the others no more than the
    share `exceptions`; "" where there is none. Both are masks (n, direction, rows, hidden), one of each of
    the steps."""
    known = [
        _Known(*one)
        for one in zip(steps, group, others, strict=True)
        if one[1].any() or one[2].any()
    ]
    counts = [sum(int(masks.sum()) for masks in each) for each in (group, others)]
    every = [max(1, -(-count // MOST_ELEMENTS)) for count in counts]
    place = _nearest([one.every(*every) for one in known], exceptions)
    if place is None or not (every == [1, 1] or _held(place, known, exceptions)):
        return ""
    return place.words


@dataclass(frozen=True)
class _Known:
    """Steps with their states in the group and the other ones, masks (n, direction, rows, hidden)."""

    steps: Steps
    group: Array
    others: Array

    @property
    def all(self) -> Array:
        """The states of either."""
        return np.asarray(self.group | self.others)

    def every(self, group: int, others: int) -> _Known:
        """One of every so many states, and the first of either."""
        return replace(self, group=_every(self.group, group), others=_every(self.others, others))


def _every(mask: Array, number: int) -> Array:
    if number == 1:
        return mask
    thinned = np.zeros_like(mask)
    thinned.flat[np.flatnonzero(mask)[::number]] = True
    return thinned


def _nearest(known: Sequence[_Known], exceptions: float) -> Condition | None:
    each = [list(_features(one.steps, one.all)) for one in known]
    if not each:
        return None
    inside = np.concatenate([one.group[one.all] for one in known])
    features = [
        Feature(np.concatenate([one[number].values for one in each]), first.words, first.real)
        for number, first in enumerate(each[0])
    ]
    starts = _first_states(known)
    members, others = (int(np.logical_or.reduceat(s, starts).sum()) for s in (inside, ~inside))
    if not enough(members, others, len(features)):
        features = [replace(f, words={}) if _of_cases(f, starts) else f for f in features]
    return nearest_condition(features, inside, exceptions)


def _first_states(known: Sequence[_Known]) -> Array:
    """The places of each case's first state, among the states of all."""
    cases = [np.flatnonzero(one.all) // one.all[0].size for one in known]
    each = [np.diff(some, prepend=-1) != 0 for some in cases]
    return np.flatnonzero(np.concatenate(each))


def _of_cases(feature: Feature, starts: Array) -> bool:
    """Whether it is the same for all states of a case: then there are no more of it than cases."""
    least, most = (of.reduceat(feature.values, starts) for of in (np.minimum, np.maximum))
    return bool((least == most).all())


def _held(place: Condition, known: Sequence[_Known], exceptions: float) -> bool:
    """Whether all states of the groups are in a place that was found of some, and the others are not."""
    there = others = 0
    for one in known:
        [feature] = islice(_features(one.steps, one.all), place.place, place.place + 1)
        inside, mine = place.holds(feature.values), one.group[one.all]
        if not inside[mine].all():
            return False
        there, others = there + int(inside[~mine].sum()), others + int((~mine).sum())
    return there <= exceptions * others


def _features(steps: Steps, mask: Array) -> Iterator[Feature]:
    """What is known of the states of a mask, what is simple first."""
    shape = steps.seen.shape

    def spread(values: Array, axes: str) -> Array:
        index = tuple(slice(None) if axis in axes else None for axis in "ndrh")
        return np.broadcast_to(values[index], shape)[mask].astype(np.float64)

    yield from _of_time(steps, spread)
    yield from _of_rows(steps, spread)
    yield from _of_units(shape[-1], spread)
    yield from _of_sizes(steps, int(mask.sum()))
    yield from _of_values(steps, mask)


def _of_time(steps: Steps, spread: Spread) -> Iterator[Feature]:
    semantics = steps.stack.semantics
    yield Feature(
        spread(semantics.backwards.astype(int), "nd"),
        {">=": "in reverse", "<": "in the forward direction"},
    )
    second = {">=": "in the second direction", "<": "in the first direction"}
    yield Feature(spread(np.arange(len(semantics.directions)), "d"), second)
    step: Words = {
        "==": partial(_counted, "in the first step", "in step {value}, counted from 0"),
        ">=": "from step {value} on, counted from 0",
        "<": "in the first {value} steps",
    }
    yield Feature(spread(steps.number, "ndr"), step)
    left = steps.lengths[:, None, :] - 1 - steps.number
    last: Words = {
        "==": partial(_counted, "in the last step", "{value} steps before the last"),
        ">=": "in all but the last {value} steps",
    }
    yield Feature(spread(left, "ndr"), last)
    yield Feature(spread(steps.number % 2, "ndr"), {"==": "in every second step"})


def _of_rows(steps: Steps, spread: Spread) -> Iterator[Feature]:
    row: Words = {
        "==": partial(_counted, "in the first row of the batch", "in row {value} of the batch"),
        ">=": "in the rows of the batch from {value} on, counted from 0",
        "<": "in the first {value} rows of the batch",
    }
    yield Feature(spread(steps.row, "r"), row)
    last: Words = {"==": partial(_counted, "in the last row of the batch", "")}
    yield Feature(spread(steps.stack.inputs.x.shape[-3] - 1 - steps.row, "r"), last)
    yield Feature(spread(steps.row % 2, "r"), {"==": "in every second row of the batch"})
    length: Words = {
        "==": "in rows of length {value}",
        ">=": "in rows of length {value} or more",
        "<": "in rows shorter than {value}",
    }
    yield Feature(spread(steps.lengths, "nr"), length)


def _of_units(hidden: int, spread: Spread) -> Iterator[Feature]:
    unit = np.arange(hidden)
    place: Words = {
        "==": "in hidden unit {value}",
        ">=": "in the hidden units from {value} on, counted from 0",
        "<": "in the first {value} hidden units",
    }
    yield Feature(spread(unit, "h"), place)
    last: Words = {
        "==": partial(_counted, "in the last hidden unit", "{value} hidden units before the last"),
        "<": "in the last {value} hidden units",
    }
    yield Feature(spread(hidden - 1 - unit, "h"), last)
    for size in GROUPS:
        past = (unit >= hidden // size * size).astype(int)
        group: Words = {
            ">=": f"in the hidden units past the last whole group of {size}",
            "<": f"in whole groups of {size} hidden units",
        }
        yield Feature(spread(past, "h"), group)
    yield Feature(spread(unit % 2, "h"), {"==": "in every second hidden unit"})


def _of_sizes(steps: Steps, count: int) -> Iterator[Feature]:
    batch, time, size = steps.stack.inputs.x.shape[-3:]
    for name, value in (
        ("the hidden size", steps.seen.shape[-1]),
        ("the input size", size),
        ("the batch size", batch),
        ("the length of the time axis", time),
    ):
        words: Words = {
            "==": f"where {name} is {{value}}",
            ">=": f"where {name} is {{value}} or more",
            "<": f"where {name} is less than {{value}}",
        }
        yield Feature(np.full(count, float(value)), words)


def _of_values(steps: Steps, mask: Array) -> Iterator[Feature]:
    yield from _of_pre_activations(steps, mask)
    for name, words in QUANTITIES.items():
        values = steps.quantities[name][mask]
        of = "Ht-1" if name == "h" else words
        for told, these in ((of, values), (f"the size of {of}", np.abs(values))):
            limits: Words = {
                ">=": f"where {told} is above {{value}}",
                "<": f"where {told} is below {{value}}",
            }
            yield Feature(these, limits, real=True)


def _of_pre_activations(steps: Steps, mask: Array) -> Iterator[Feature]:
    """The pre-activations that a state comes from: of the reset gate those of all units, where it is applied
    before the product."""
    low, high = (_furthest(steps, which)[mask] for which in (np.minimum, np.maximum))
    for told, values, word in (
        ("a pre-activation", high, "above"),
        ("a pre-activation", low, "below"),
        ("the size of a pre-activation", np.maximum(high, -low), "above"),
    ):
        comparison = ">=" if word == "above" else "<"
        yield Feature(values, {comparison: f"where {told} is {word} {{value}}"}, real=True)


def _furthest(steps: Steps, which: np.ufunc) -> Array:
    """(n, direction, rows, hidden) the least or the largest pre-activation that a state comes from."""
    each = [steps.quantities[name] for name in ("a_z", "a_r", "a_h")]
    if not steps.stack.semantics.reset_after:
        each[1] = np.broadcast_to(which.reduce(each[1], axis=-1, keepdims=True), each[1].shape)
    return np.asarray(which.reduce(each))


def _counted(first: str, other: str, number: float) -> str:
    """The words for place 0, and for another; "" where there are none for that."""
    return first if number == 0 else other.replace("{value}", f"{number:g}")
