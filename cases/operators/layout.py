"""Conversion between an operator's own layout and the shared layout, in which the GRU is written.

It follows from the operators' descriptions (axes and their order, the parts stacked along a gate
axis); this module names no operator. Arrays may have leading axes (a stack of cases) before the
axes of the description; leading axes stay in front.

The shared layout: x (batch, time, input); h0 (direction, batch, hidden); w[gate] (direction,
hidden, input); r[gate] (direction, hidden, hidden); b[part] (direction, hidden); lengths (batch);
y (direction, batch, time, hidden); ho (direction, batch, hidden). An axis that an operator lacks
(a cell's time and direction) has length 1.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import Array, Arrays
from .signature import Operator, Tensor

_AXES = {
    "x": ("batch", "time", "input"),
    "h0": ("direction", "batch", "hidden"),
    "lengths": ("batch",),
    "w": ("direction", "gates", "input"),
    "r": ("direction", "gates", "hidden"),
    "b": ("direction", "gates"),
    "y": ("direction", "batch", "time", "hidden"),
    "ho": ("direction", "batch", "hidden"),
}

"""The axes of the shared layout, by role."""


@dataclass(frozen=True)
class GruInputs:
    """The inputs of a GRU in the shared layout; see the module for shapes.

    The keys of `w` and `r` are gates (z, r, h), in the order in which the operator stacks them. The keys
    of `b` are parts of the bias: `z`, `r`, `h` for sums of two biases; `wh`, `rh` and so on for separate
    biases. Without a bias, `b` is empty.
    """

    x: Array
    h0: Array
    lengths: Array
    w: Arrays
    r: Arrays
    b: Arrays

    def rows(self, which: int | Array) -> GruInputs:
        """Take the inputs of one of the stacked cases, or of several."""
        w, r, b = (
            {part: array[which] for part, array in parts.items()}
            for parts in (self.w, self.r, self.b)
        )
        return GruInputs(self.x[which], self.h0[which], self.lengths[which], w, r, b)


def gru_inputs(
    operator: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Array]
) -> GruInputs:
    """Put the inputs of a case, or of stacked cases of a block, in the shared layout.

    Without lengths, every row is as long as the time axis. A missing initial state is zeros.
    """
    plain: Arrays = {}
    gates: dict[str, Arrays] = {"w": {}, "r": {}, "b": {}}
    for tensor in operator.inputs:
        if tensor.name not in inputs:
            continue
        array = _rearranged(operator, tensor, attributes, inputs[tensor.name])
        role, parts = tensor.role_in(attributes), tensor.form(attributes).parts
        if parts:
            axis = _AXES[role].index("gates") - len(_AXES[role])
            gates[role] |= zip(parts, np.split(array, len(parts), axis), strict=True)
        else:
            plain[role] = array
    x, hidden = plain["x"], gates["r"]["h"].shape[-1]
    *stacked, batch, time, _ = x.shape
    if "lengths" not in plain:
        plain["lengths"] = np.full((*stacked, batch), time, np.int64)
    if "h0" not in plain:
        directions = len(operator.directions(attributes))
        plain["h0"] = np.zeros((*stacked, directions, batch, hidden), x.dtype)
    return GruInputs(x=x, h0=plain["h0"], lengths=plain["lengths"], **gates)


def operator_inputs(
    operator: Operator, attributes: Mapping[str, Any], given: GruInputs, absent: Container[str] = ()
) -> Arrays:
    """Put shared inputs in the operator's layout, except those `absent`; the inverse of `gru_inputs`.

    `given` must have the parts that the operator stacks.
    """
    found: Arrays = {}
    for tensor in operator.present(operator.inputs, absent):
        role, parts = tensor.role_in(attributes), tensor.form(attributes).parts
        array = getattr(given, role)
        if parts:
            axis = _AXES[role].index("gates") - len(_AXES[role])
            array = np.concatenate([array[part] for part in parts], axis)
        found[tensor.name] = _rearranged(operator, tensor, attributes, array, back=True)
    return found


def operator_outputs(
    operator: Operator,
    attributes: Mapping[str, Any],
    shared: Mapping[str, Array],
    absent: Container[str] = (),
) -> Arrays:
    """Put shared outputs in the operator's layout, except those `absent`.

    The keys of `shared` are roles, or names of forms for the outputs of that form.
    """
    found: Arrays = {}
    for tensor in operator.present(operator.outputs, absent):
        form = tensor.form(attributes).name
        array = shared[form if form in shared else tensor.role_in(attributes)]
        found[tensor.name] = _rearranged(operator, tensor, attributes, array, back=True)
    return found


def shared_outputs(
    operator: Operator, attributes: Mapping[str, Any], outputs: Mapping[str, Array]
) -> Arrays:
    """Put outputs in the shared layout, by role; the inverse of `operator_outputs`."""
    return {
        tensor.role_in(attributes): _rearranged(operator, tensor, attributes, outputs[tensor.name])
        for tensor in operator.outputs
        if tensor.name in outputs
    }


def _rearranged(
    operator: Operator,
    tensor: Tensor,
    attributes: Mapping[str, Any],
    array: Array,
    *,
    back: bool = False,
) -> Array:
    """Put `array` in the shared layout, or `back` in the operator's; an axis that one lacks has length 1."""
    axes = tensor.form(attributes).axes
    own = tuple("gates" if "*" in axis else operator.sizes.get(axis, axis) for axis in axes)
    shared = _AXES[tensor.role_in(attributes)]
    have, want = (shared, own) if back else (own, shared)
    stack = array.ndim - len(have)
    stay = [axis for axis in have if axis in want]
    order = (stack + stay.index(axis) for axis in want if axis in stay)
    gone = tuple(stack + place for place, axis in enumerate(have) if axis not in want)
    array = array.squeeze(gone).transpose(*range(stack), *order)
    array = array[(..., *(slice(None) if axis in have else None for axis in want))]
    return np.ascontiguousarray(array) if back else array
