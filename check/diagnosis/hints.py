"""What unexplained failures have in common: where in the outputs they are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import gru_inputs, shared_outputs
from ...cases.operators.readings import STORED
from .failing import FailingBlock


def hints(blocks: Sequence[FailingBlock], which: Array) -> list[str]:
    """Sentences that are true of every case `which` (n,) of `blocks`."""
    starts = np.cumsum([0, *map(len, blocks)])
    wanted = [
        which[start : start + len(failing)] for start, failing in zip(starts, blocks, strict=False)
    ]
    chosen = [
        failing.rows(rows) for failing, rows in zip(blocks, wanted, strict=True) if rows.any()
    ]
    if not chosen:
        return []
    found = [set(_true_of(failing)) for failing in chosen]
    common = [sentence for sentence in _true_of(chosen[0]) if all(sentence in f for f in found)]
    operators = {failing.block.operator for failing in chosen}
    dtypes = {failing.block.dtype for failing in chosen}
    if len(operators) == 1:
        common.append(f"all are cases of {operators.pop()}")
    common += _asked_by_all(chosen)
    if len(dtypes) == 1:
        common.append(f"all are {dtypes.pop()} cases")
    return common


def _asked_by_all(blocks: Sequence[FailingBlock]) -> Iterator[str]:
    """What every case asks for that is no default: values of attributes, entries of lists."""
    asked: list[set[str]] = []
    for failing in blocks:
        operator = OPERATORS[failing.block.operator]
        for given in failing.block.given:
            found = set()
            for name, value in given.items():
                attribute = operator.attribute(name)
                if attribute is None or attribute.sets == "hidden" or value == attribute.default:
                    continue
                entries = value if isinstance(value, list) else [value]
                usual = attribute.default if isinstance(attribute.default, list) else []
                found |= {f"{name} {entry}" for entry in entries if entry not in usual}
            asked.append(found)
    yield from (f"all have {one}" for one in sorted(set.intersection(*asked)))


def _true_of(failing: FailingBlock) -> Iterator[str]:
    """What is true of the wrong elements of every failing case of a block."""
    wrong = _wrong(failing)
    wrong_by_output = {name: array.any() for name, array in wrong.items()}
    for name in wrong:
        if sum(wrong_by_output.values()) == 1 and wrong_by_output[name] and len(wrong) > 1:
            yield f"only {name} is wrong"
    if not all(_finite(array).all() for array in failing.observed.values()):
        each = [~_finite(array).all(axis=1) for array in failing.observed.values()]
        if np.any(each, axis=0).all():
            yield "every case has an infinity or a NaN where there should be none"
    operator, given = OPERATORS[failing.block.operator], failing.block.given[0]
    attributes = operator.with_defaults(given)
    shared: Arrays = {}
    for name, array in wrong.items():  # two outputs may have one role
        for role, there in shared_outputs(operator, attributes, {name: array}).items():
            shared[role] = shared[role] | there if role in shared else there
    y = shared.get("y")
    if y is not None and y.any():
        lengths = gru_inputs(operator, attributes, failing.block.inputs).lengths
        past = np.arange(y.shape[-2]) >= lengths[..., None]  # n, batch, time
        if not (y & ~past[:, None, :, :, None]).any():
            yield "every wrong element of Y is past its row's length"
    arrays = [array.reshape(*array.shape[:3], -1, array.shape[-1]) for array in shared.values()]
    if arrays[0].shape[2] > 1 and not any(array[:, :, 0].any() for array in arrays):
        yield "the first row of the batch is right"
    if arrays[0].shape[1] > 1:
        for direction, word in ((0, "second"), (1, "first")):
            if not any(array[:, direction].any() for array in arrays):
                yield f"only the {word} direction is wrong"
    units = np.flatnonzero(
        np.any([array.reshape(-1, array.shape[-1]).any(axis=0) for array in arrays], axis=0)
    )
    if len(units) == 1 and arrays[0].shape[-1] > 1:
        yield f"only hidden unit {units[0]} is wrong"


def _finite(array: Array) -> Array:
    """(n, elements) which are finite."""
    return np.isfinite(array.reshape(len(array), -1))


def _wrong(failing: FailingBlock) -> Arrays:
    """Which elements of the outputs are not within the criterion."""
    limits = failing.criterion.admitted(failing.block, STORED)
    found = {}
    for name, right in failing.block.answer.outputs.items():
        with np.errstate(invalid="ignore"):
            off = np.abs(failing.observed[name] - right.astype(np.float64))
        found[name] = ~(off <= limits[name])
    return found
