"""What cases ask for, in words: by these a report sorts them, and shows where a runtime is right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...cases.dtypes import Array
from ...cases.operators.signature import Operator
from ...vectors.block import Block

Traits = Mapping[str, str]
"""By what may be asked, such as `direction` or `batch size`, what is asked."""

_SIZES = {
    "batch": "batch size",
    "time": "steps",
    "input": "input size",
    "hidden": "hidden size",
}
_LEFT_OUT = "left out"


class KnownTraits:
    """The traits of cases; equal ones are one object, for there may be very many cases."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, str], ...], Traits] = {}

    def of(self, block: Block, operator: Operator) -> list[Traits]:
        """List the traits of the cases of a block."""
        there = {*block.inputs, *block.answer.outputs}
        tensors = (*operator.inputs, *operator.outputs)
        shared = _sizes(block, operator) | {
            tensor.name: "given" if tensor.name in there else _LEFT_OUT
            for tensor in tensors
            if not tensor.required and tensor.role != "lengths"
        }
        lengths = operator.tensor("lengths")
        given = block.inputs.get(lengths.name) if lengths else None
        found = []
        for row, attributes in enumerate(block.given):
            traits = _attributes(operator, attributes) | shared
            if lengths:
                steps = int(shared["steps"])
                traits["lengths of rows"] = (
                    _LEFT_OUT if given is None else _pattern(given[row], steps)
                )
            found.append(self._known.setdefault(tuple(traits.items()), traits))
        return found


def _attributes(operator: Operator, given: Mapping[str, Any]) -> dict[str, str]:
    """Word every attribute but the hidden size, which is a size; defaults are filled in."""
    filled = operator.with_defaults(given)
    return {
        one.name: _format(filled.get(one.name))
        for one in operator.attributes
        if one.sets != "hidden"
    }


def _format(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == math.inf else str(value)


def _sizes(block: Block, operator: Operator) -> dict[str, str]:
    """Word the sizes that all cases of a block share."""
    attributes = operator.with_defaults(block.given[0])
    found: dict[str, str] = {}
    for tensor in operator.inputs:
        if tensor.name in block.inputs:
            shape = block.inputs[tensor.name].shape[1:]
            for symbol, length in zip(tensor.form(attributes).axes, shape, strict=True):
                if name := _SIZES.get(operator.sizes.get(symbol, "")):
                    found.setdefault(name, str(length))
    return found


def _pattern(lengths: Array, time: int) -> str:
    if not lengths.all():
        return "with 0"
    if (lengths != lengths[0]).any():
        return "ragged"
    return "full" if lengths[0] == time else "all shorter"
