"""Where in the steps of cases something holds: a unit, a step, a row, a direction, a size, a range of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.variants.expressions import QUANTITIES
from .apart import Feature, nearest_condition
from .steps import Steps

GROUPS = (4, 8, 16, 32)
"""How many hidden units are computed together in many kernels."""
MOST_ELEMENTS = 1 << 18
EXCEPTIONS = 0.01
"""So large a share of the other states may lie in a place: what is admitted of them is a bound, no more."""


def where(
    steps: Sequence[Steps],
    group: Sequence[Array],
    others: Sequence[Array],
    exceptions: float = EXCEPTIONS,
) -> str:
    """The simplest place, in words, where the elements of the group are, and none of the others but for the
    share `exceptions`; "" where there is none. Both are masks (n, direction, rows, hidden), one of each of the steps."""
    masks = [(g | o) for g, o in zip(group, others, strict=True)]
    if sum(int(mask.sum()) for mask in masks) > MOST_ELEMENTS:
        return ""
    each = [_features(one, mask) for one, mask in zip(steps, masks, strict=True) if mask.any()]
    if not each:
        return ""
    inside = np.concatenate([g[m] for g, m in zip(group, masks, strict=True) if m.any()])
    features = [
        Feature(np.concatenate([one[number].values for one in each]), first.words, first.real)
        for number, first in enumerate(each[0])
    ]
    return nearest_condition(features, inside, exceptions)


def _features(steps: Steps, mask: Array) -> list[Feature]:
    shape = steps.seen.shape
    _, directions, _, hidden = shape
    batch, time = steps.stack.inputs.x.shape[-3:-1]

    def spread(values: Array, axes: str) -> Array:
        """Values with some of the axes n, d, r, h, as one of each element of the mask."""
        index = tuple(slice(None) if axis in axes else None for axis in "ndrh")
        return np.broadcast_to(values[index], shape)[mask].astype(np.float64)

    unit = np.arange(hidden)
    row = steps.row
    reverse = (np.array(steps.stack.semantics.directions).T != "forward").astype(int)
    lengths = steps.stack.inputs.lengths[:, row]
    left = lengths[:, None, :] - 1 - steps.number
    found = [
        Feature(spread(reverse, "nd"), {">=": "in reverse", "<": "in the forward direction"}),
        Feature(spread(np.arange(directions), "d"), {"==": _of_directions}),
        Feature(spread(steps.number, "ndr"), {"==": _step, ">=": "from step {value} on, counted from 0", "<": "in the first {value} steps"}),
        Feature(spread(left, "ndr"), {"==": lambda n: "in the last step" if n == 0 else f"{n:g} steps before the last", ">=": "in all but the last {value} steps"}),
        Feature(spread(steps.number % 2, "ndr"), {"==": "in every second step"}),
        Feature(spread(row, "r"), {"==": lambda n: "in the first row of the batch" if n == 0 else f"in row {n:g} of the batch", ">=": "in the rows of the batch from {value} on", "<": "in the first {value} rows of the batch"}),
        Feature(spread(batch - 1 - row, "r"), {"==": lambda n: "in the last row of the batch" if n == 0 else f"{n:g} rows before the last of the batch"}),
        Feature(spread(unit, "h"), {"==": "in hidden unit {value}", ">=": "in the hidden units from {value} on", "<": "in the first {value} hidden units"}),
        Feature(spread(hidden - 1 - unit, "h"), {"==": lambda n: "in the last hidden unit" if n == 0 else f"{n:g} hidden units before the last", "<": "in the last {value} hidden units"}),
        *(
            Feature(spread((unit >= hidden // size * size).astype(int), "h"), {"==": lambda n, size=size: f"in the hidden units {'past the last whole group' if n else 'of whole groups'} of {size}"})
            for size in GROUPS
        ),
        Feature(spread(unit % 2, "h"), {"==": "in every second hidden unit"}),
        *(
            Feature(np.full(int(mask.sum()), float(size)), {"==": f"where {name} is {{value}}", ">=": f"where {name} is {{value}} or more", "<": f"where {name} is less than {{value}}"})
            for name, size in (("the hidden size", hidden), ("the input size", steps.inputs.x.shape[-1]), ("the batch size", batch), ("the length of the time axis", time))
        ),
        Feature(spread(lengths, "nr"), {"==": "in rows of length {value}", ">=": "in rows of length {value} or more", "<": "in rows shorter than {value}"}),
    ]  # fmt: skip
    quantities = steps.quantities
    for name, words in QUANTITIES.items():
        if name in quantities:
            words = "Ht-1" if name == "h" else words
            values = quantities[name][mask]
            found.append(Feature(values, {">=": f"where {words} is above {{value}}", "<": f"where {words} is below {{value}}"}, real=True))  # fmt: skip
            size = {">=": f"where the size of {words} is above {{value}}", "<": f"where the size of {words} is below {{value}}"}  # fmt: skip
            found.append(Feature(np.abs(values), size, real=True))
    return found


def _of_directions(number: float) -> str:
    return "in the second direction" if number else "in the first direction"


def _step(number: float) -> str:
    return "in the first step" if number == 0 else f"in step {number:g}, counted from 0"
