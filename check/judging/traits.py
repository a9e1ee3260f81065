"""What cases ask for, in words: by these a report sorts them, and tells where a runtime is right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...cases.dtypes import Array
from ...cases.operators.signature import Operator
from ...vectors.stored_block import StoredBlock

Traits = Mapping[str, str]
"""By what may be asked, such as `direction` or `batch size`, what is asked."""

_SIZES = {
    "batch": "batch size",
    "time": "steps",
    "input": "input size",
    "hidden": "hidden size",
}
LENGTHS = "lengths of rows"
LEFT_OUT = "left out"


class KnownTraits:
    """The traits of cases; those that are the same are one object, for there may be very many cases."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, str], ...], Traits] = {}

    def of(self, stored: StoredBlock, rows: Array) -> list[Traits]:
        """The traits of the cases at some rows (n,), in ascending order, of a block."""
        operator = stored.operator
        tensors = (*operator.inputs, *operator.outputs)
        there = {*stored.inputs, *next(iter(stored.answers.values())).outputs}
        optional = [t for t in tensors if not t.required and t.role != "lengths"]
        shared = {t.name: "given" if t.name in there else LEFT_OUT for t in optional}
        lengths = _lengths(stored, rows)
        found = []
        for place, row in enumerate(rows.tolist()):
            told = _attributes(operator, stored.given[row])
            if not place:
                shared = _sizes(stored, row) | shared
            told |= shared
            if lengths:
                told[LENGTHS] = lengths[place]
            key = tuple(told.items())
            found.append(self._known.setdefault(key, told))
        return found


def _attributes(operator: Operator, given: Mapping[str, Any]) -> dict[str, str]:
    """Every attribute but the hidden size, which is told as a size; defaults filled in."""
    filled = operator.with_defaults(given)
    return {
        one.name: _text(filled.get(one.name)) for one in operator.attributes if one.sets != "hidden"
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == math.inf else str(value)


def _sizes(stored: StoredBlock, row: int) -> dict[str, str]:
    """The sizes that all cases of a block share."""
    operator = stored.operator
    attributes = operator.with_defaults(stored.given[row])
    found: dict[str, str] = {}
    for tensor in operator.inputs:
        if tensor.name in stored.inputs:
            shape = stored.inputs[tensor.name].shape[1:]
            for symbol, length in zip(tensor.form(attributes).axes, shape, strict=True):
                name = _SIZES.get(operator.sizes.get(symbol, ""))
                if name:
                    found.setdefault(name, str(length))
    return found


def _lengths(stored: StoredBlock, rows: Array) -> Sequence[str]:
    """What the lengths of the rows of each case are; nothing for an operator without them."""
    tensor = stored.operator.tensor("lengths")
    if tensor is None:
        return ()
    if tensor.name not in stored.inputs:
        return [LEFT_OUT] * len(rows)
    first = int(rows[0])
    lengths = stored.inputs[tensor.name].read(first, int(rows[-1]) + 1)[rows - first]
    x = stored.operator.tensor("x")
    assert x
    axes = x.form(stored.operator.with_defaults(stored.given[first])).axes
    [at] = [i for i, symbol in enumerate(axes) if stored.operator.sizes.get(symbol) == "time"]
    time = stored.inputs[x.name].shape[1 + at]
    return [_pattern(row, time) for row in lengths.tolist()]


def _pattern(lengths: Sequence[int], time: int) -> str:
    if 0 in lengths:
        return "with 0"
    if len(set(lengths)) > 1:
        return "ragged"
    return "full" if lengths[0] == time else "all shorter"
