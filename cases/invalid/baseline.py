"""The valid questions that defects are put into: small, forward, everything given, no randomness.

Every number is a sixteenth, which all dtypes hold: an input is the same in each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtypes import Array, Arrays, numpy_dtype
from ..operators.signature import Attribute, Meaning, Operator, Tensor
from ..pose import pose
from ..question import INVALID, Question

SIZES = {"batch": 2, "time": 3, "input": 4, "hidden": 5}
_WRITTEN: Mapping[Meaning, Any] = {
    "hidden": SIZES["hidden"],
    "direction": "forward",
    "f": "sigmoid",
    "g": "tanh",
    "bias_inside": True,
    "sequence": True,
}
"""Attributes that are written out. Activations are, too: runtimes that refuse a question without them would
refuse every defect for the wrong reason. All others keep their defaults."""


def baseline(operator: Operator, dtype: str, others: Mapping[str, Any]) -> Question:
    """The valid question of an operator in a dtype, with the attributes `others` besides the baseline's."""
    given = {**written(operator), **others}
    attributes = operator.with_defaults(given)
    directions = len(operator.directions(attributes))
    sizes = {symbol: {**SIZES, "direction": directions}[axis]
             for symbol, axis in operator.sizes.items()}  # fmt: skip
    inputs: Arrays = {}
    for place, tensor in enumerate(operator.inputs):
        shape = operator.shape(tensor, attributes, sizes)
        inputs[tensor.name] = _numbers(operator, tensor, shape, dtype, place)
    words = "-".join(["valid", *others])
    return pose(operator, given, inputs, case_id=f"{operator.name}/{INVALID}/{dtype}/{words}")


def written(operator: Operator) -> dict[str, Any]:
    """The attributes that the baseline writes out."""
    return {one.name: _value(one) for one in operator.attributes
            if one.required or one.sets in _WRITTEN or one.sets == "activations"}  # fmt: skip


def _value(attribute: Attribute) -> Any:
    if attribute.sets == "activations":
        return list(attribute.default)
    return _WRITTEN[attribute.sets]


def _numbers(
    operator: Operator, tensor: Tensor, shape: tuple[int, ...], dtype: str, place: int
) -> Array:
    """An input: rows as long as the time axis, zeros where a case may have them, else sixteenths of -8 to 8
    in an order of its own."""
    if tensor.role == "lengths":
        return np.full(shape, SIZES["time"], numpy_dtype(operator.types[tensor.type][0]))
    if tensor.fills[:1] == ("zeros",):
        return np.zeros(shape, numpy_dtype(dtype))
    count = math.prod(shape)
    numbers = (np.arange(count) * (5 + place) + 3 * place + 1) % 17 - 8
    return np.asarray(numbers.reshape(shape) / 16).astype(numpy_dtype(dtype))
