"""What is known of failures that nothing explains: where they are, and what passing cases have not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import gru_inputs, shared_outputs
from ...cases.operators.readings import STORED
from ...vectors.case import difference
from .asked import what_tells_apart
from .contradictions import Passing
from .failing import FailingBlock, by_part
from .local import Local
from .places import where

MOST_RIGHT = 0.5
"""Of the right states of cases that fail, no more than this share is where the wrong ones are."""
MOST_TOLD = 3
"""So many conditions are told that failing cases have, and passing ones have not."""


def hints(parts: Sequence[FailingBlock], which: Array, passing: Passing, local: Local) -> list[str]:
    """Sentences on the cases `which` (n,) of `parts`."""
    chosen = [(part, rows) for part, rows in by_part(parts, which) if rows.any()]
    if not chosen:
        return []
    blocks = [(part.block, rows) for part, rows in chosen]
    passed = [(block, np.ones(len(block), bool)) for block in passing.blocks]
    known = "none of them passed"
    if passing.every > 1.0:
        known = "of the cases that passed, those that were looked at are others"
    told = [
        f"these are the cases {condition}: {known}"
        for condition in what_tells_apart(blocks, passed)[:MOST_TOLD]
    ]
    told += _of_steps(local, which)
    each = [list(_true_of(part.rows(rows))) for part, rows in chosen]
    told += [sentence for sentence in each[0] if all(sentence in others for others in each)]
    return list(dict.fromkeys(told))


def _of_steps(local: Local, which: Array) -> Iterator[str]:
    """Which steps are wrong from the state before them, and which only go on from a wrong state; or what is
    off by a little in every step. NaN after NaN is neither right nor wrong by itself."""
    steps, group, others = [], [], []
    count = clear = inherited = 0
    for start, one in local.steps:
        mine = which[start + one.stack.rows]
        cases = mine[:, None, None, None]
        if cases.any():
            steps.append(one)
            group.append(one.wrong & cases)
            known = one.taken[:, None, :, None] & cases & ~one.wrong
            others.append(known & ~np.isnan(one.seen))
            inherited += int((known & np.isnan(one.seen)).sum())
            count += int(mine.sum())
            clear += int(group[-1].any(axis=(1, 2, 3)).sum())
    wrong, right = (sum(int(mask.sum()) for mask in masks) for masks in (group, others))
    if not steps or not wrong + right:
        return
    after = ", or NaN after NaN" if inherited else ""
    if wrong and not right and not inherited:
        yield "every step goes wrong, given the state before it"
    elif wrong and right and (place := where(steps, group, others, MOST_RIGHT)):
        few = f" in {clear} of {count} cases, and in the others none clearly does"
        yield (
            f"steps go wrong only {place}{few if clear < count else ''}; elsewhere each is right up to "
            f"rounding{after}, given the state before it"
        )
    elif not wrong and not inherited:
        yield (
            "every step is right up to rounding, given the state before it: either each is off by a little, "
            "or states are handed out wrongly"
        )


def _true_of(part: FailingBlock) -> Iterator[str]:
    """What is true of the wrong elements of every case of a part."""
    wrong = _wrong(part)
    yield from _of_outputs(part, wrong)
    shared = _by_role(part, wrong)
    yield from _of_padding(part, shared)
    arrays = [array.reshape(*array.shape[:3], -1, array.shape[-1]) for array in shared.values()]
    yield from _of_places(arrays)


def _of_outputs(part: FailingBlock, wrong: Arrays) -> Iterator[str]:
    """Which output is wrong, and whether numbers that are none tell."""
    names = [name for name, array in wrong.items() if array.any()]
    if len(names) == 1 and len(wrong) > 1:
        yield f"only {names[0]} is wrong"
    each = [~_finite(array).all(axis=1) for array in part.observed.values()]
    if np.any(each, axis=0).all():
        yield "every case has an infinity or a NaN where there should be none"


def _by_role(part: FailingBlock, wrong: Arrays) -> Arrays:
    """The wrong elements in the shared layout; two outputs may have one role."""
    operator = OPERATORS[part.block.operator]
    attributes = operator.with_defaults(part.block.given[0])
    shared: Arrays = {}
    for name, array in wrong.items():
        for role, there in shared_outputs(operator, attributes, {name: array}).items():
            shared[role] = shared[role] | there if role in shared else there
    return shared


def _of_padding(part: FailingBlock, shared: Arrays) -> Iterator[str]:
    """Whether only what is past a row's length is wrong."""
    y = shared.get("y")
    if y is None or not y.any():
        return
    operator = OPERATORS[part.block.operator]
    attributes = operator.with_defaults(part.block.given[0])
    lengths = gru_inputs(operator, attributes, part.block.inputs).lengths
    past = np.arange(y.shape[-2]) >= lengths[..., None]  # n, batch, time
    if not (y & ~past[:, None, :, :, None]).any():
        yield "every wrong element of Y is past its row's length"


def _of_places(arrays: Sequence[Array]) -> Iterator[str]:
    """Which rows, directions and units are wrong, of arrays (n, direction, batch, time, hidden)."""
    if arrays[0].shape[2] > 1 and not any(array[:, :, 0].any() for array in arrays):
        yield "the first row of the batch is right"
    if arrays[0].shape[1] > 1:
        for direction, word in ((0, "second"), (1, "first")):
            if not any(array[:, direction].any() for array in arrays):
                yield f"only the {word} direction is wrong"
    each = [array.reshape(-1, array.shape[-1]).any(axis=0) for array in arrays]
    units = np.flatnonzero(np.any(each, axis=0))
    if len(units) == 1 and arrays[0].shape[-1] > 1:
        yield f"only hidden unit {units[0]} is wrong"


def _finite(array: Array) -> Array:
    """(n, elements) which are finite."""
    return np.isfinite(array.reshape(len(array), -1).astype(np.float64))


def _wrong(part: FailingBlock) -> Arrays:
    """Which elements of the outputs are not within the criterion."""
    limits = part.criterion.admitted(part.block, STORED)
    return {
        name: ~(
            difference(part.observed[name].astype(np.float64), right.astype(np.float64))
            <= limits[name]
        )
        for name, right in part.block.answer.outputs.items()
    }
