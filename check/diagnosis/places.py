"""Where in the outputs of cases something is: a direction, a step, a row, a unit, a size, some values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cases.dtypes import Array
from ...gen.stacks import Stack
from .apart import Condition, Feature, Groups, conditions, enough, joined, whether
from .asked import SIZES, of_size
from .steps import Steps

GROUPS = (4, 8, 16, 32)
"""How many hidden units many kernels compute at once."""
MOST_CONDITIONS = 2
"""Maximum conditions of a place that has exceptions: a third says more of chance than of the place."""


@dataclass(frozen=True)
class Elements:
    """The elements of an output of stacked cases, (n, direction, rows, hidden) as those of `Steps`.

    `number` is NaN where an element is of no step.
    """

    stack: Stack
    number: Array
    row: Array

    @property
    def lengths(self) -> Array:
        """(n, rows) the length of the row of the batch that each row is of."""
        return np.asarray(self.stack.inputs.lengths[:, self.row])


States = Steps | Elements
Split = tuple[States, Array, Array]
"""States, with which of them are in a group, and which are others: masks (n, direction, rows, hidden)."""


def where(each: Sequence[Split], exceptions: float = 0.0) -> str:
    """Say the simplest place where the states of the group are, and of the others no more than a share.

    "" where there is none, or most that are there are others.
    """
    known = [one for one in each if one[1].any() or one[2].any()]
    features = _features([one for one, _, _ in known])
    groups = Groups([mask for _, mask, _ in known], [mask for _, _, mask in known])
    if not enough(*_cases(groups), len(features)):
        features = [one for one in features if not _of_cases(one, groups)]
    found: list[Condition] = []
    while len(found) < MOST_CONDITIONS:
        nearest = min(
            conditions(features, groups, exceptions), key=lambda one: one.exceptions, default=None
        )
        if nearest is None:
            break
        found.append(nearest)
        groups = groups.within(nearest)
    members, rest = groups.counts
    return joined([one.words for one in found]) if found and rest <= members else ""


def _cases(groups: Groups) -> tuple[int, int]:
    """Count the cases with a state in the group, and with another one."""

    def count(masks: Sequence[Array]) -> int:
        return sum(int(mask.any(axis=(1, 2, 3)).sum()) for mask in masks)

    return count(groups.members), count(groups.others)


def _of_cases(feature: Feature, groups: Groups) -> bool:
    """Say whether a feature is the same for all states of each case: then only cases count."""
    for values, *masks in zip(feature.values, groups.members, groups.others, strict=True):
        mask = masks[0] | masks[1]
        low, high = (
            which(np.where(mask, values, other), axis=(1, 2, 3))
            for which, other in ((np.min, np.inf), (np.max, -np.inf))
        )
        if (low < high).any():
            return False
    return True


def _features(states: Sequence[States]) -> list[Feature]:
    """Make the features of all states, what is simple first."""
    each = [[*_of_time(one), *_of_rows(one), *_of_units(one), *_of_values(one)] for one in states]
    return [
        replace(same[0], values=[one.values[0] for one in same]) for same in zip(*each, strict=True)
    ]


def _of_time(states: States) -> Iterator[Feature]:
    semantics, number = states.stack.semantics, states.number[..., None]
    reverse = semantics.backwards[:, :, None, None]
    second = np.arange(len(semantics.directions))[None, :, None, None]
    left = states.lengths[:, None, :, None] - 1 - number
    step = {
        "==": "in step {value} (counted from 0)",
        ">=": "from step {value} on (counted from 0)",
        "<": "in the first {value} steps",
    }
    yield whether([reverse * 1], "in reverse", "in the forward direction")
    yield whether([second], "in the second direction", "in the first direction")
    yield whether([(number == 0) * 1], "in the first step")
    yield Feature([number], step)
    yield whether([(left == 0) * 1], "in the last step")
    yield whether([(left > 0) * 1], "before the last step")
    yield Feature([left], {"==": "{value} steps before the last"})
    yield Feature([np.maximum(left, 0)], {">=": "in all but the last {value} steps"})


def _of_rows(states: States) -> Iterator[Feature]:
    row, lengths = states.row[None, None, :, None], states.lengths[:, None, :, None]
    last = states.stack.inputs.x.shape[-3] - 1
    place = {
        "==": "in row {value} of the batch (counted from 0)",
        ">=": "in the rows of the batch from {value} on (counted from 0)",
        "<": "in the first {value} rows of the batch",
    }
    length = {
        "==": "in rows of length {value}",
        ">=": "in rows of length {value} or more",
        "<": "in rows shorter than {value}",
    }
    yield whether([(row == 0) * 1], "in the first row of the batch")
    yield Feature([row], place)
    yield whether([(row == last) * 1], "in the last row of the batch")
    yield Feature([row % 2], {"==": "in every second row of the batch"})
    yield Feature([lengths], length)
    yield whether([lengths % 2], "in rows of odd length", "in rows of even length")
    yield Feature([states.number[..., None] % 2], {"==": "in every second step"})


def _of_units(states: States) -> Iterator[Feature]:
    hidden = states.stack.inputs.h0.shape[-1]
    unit = np.arange(hidden)[None, None, None, :]
    place = {
        "==": "in hidden unit {value}",
        ">=": "in the hidden units from {value} on (counted from 0)",
        "<": "in the first {value} hidden units",
    }
    last = {"==": "{value} hidden units before the last", "<": "in the last {value} hidden units"}
    yield Feature([unit], place)
    yield whether([(unit == hidden - 1) * 1], "in the last hidden unit")
    yield Feature([hidden - 1 - unit], last)
    for size in GROUPS:
        past = (unit >= hidden // size * size) * 1
        whole = f"in whole groups of {size} hidden units"
        yield whether([past], f"in the hidden units past the last whole group of {size}", whole)
    yield Feature([unit % 2], {"==": "in every second hidden unit"})
    sizes = (hidden, states.stack.inputs.x.shape[-1], *states.stack.inputs.x.shape[-3:-1])
    for name, size in zip(SIZES.values(), sizes, strict=True):
        yield from of_size(name, np.full((1, 1, 1, 1), float(size)))


def _of_values(states: States) -> Iterator[Feature]:
    """Make the features of pre-activations; of elements, whether they are padding.

    Where the reset gate is applied before the product, a state comes from the reset gates of all units.
    """
    if isinstance(states, Elements):
        past = states.number >= states.lengths[:, None, :]
        yield whether([past[..., None] * 1], "past a row's length")
        return
    gates = [states.quantities[name] for name in ("a_z", "a_r", "a_h")]
    low, high = (_furthest(states, gates, which) for which in (np.minimum, np.maximum))
    yield Feature([high], {">=": "where a pre-activation is above {value}"}, real=True)
    yield Feature([low], {"<": "where a pre-activation is below {value}"}, real=True)
    size = {">=": "where the size of a pre-activation is above {value}"}
    yield Feature([np.maximum(high, -low)], size, real=True)


def _furthest(steps: Steps, gates: Sequence[Array], which: np.ufunc) -> Array:
    """Find the least or the largest pre-activation that each state comes from."""
    z, r, h = gates
    if not steps.stack.semantics.reset_after:
        r = which.reduce(r, axis=-1, keepdims=True)
    return np.asarray(which(which(z, h), r))
