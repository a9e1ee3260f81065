"""Conversion between an operator's own layout and the shared layout, in which the GRU is written.

It follows from the operators' descriptions (axes and their order, the parts that their numbers
count); this module names no operator. Arrays may have leading axes (a stack of cases) before the
axes of the description; leading axes stay in front.

The shared layout: x (batch, time, input); h0 (direction, batch, hidden); w[gate] (direction,
hidden, input); r[gate] (direction, hidden, hidden); b[part] (direction, hidden); lengths (batch), and
starts (batch), the time of each row's first step; a mask (batch, time) is true at a row's steps;
y (direction, batch, time, hidden); ho (direction, batch, hidden). An axis that an operator lacks
(a cell's time and direction) has length 1.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..dtypes import Array, Arrays
from .signature import Operator, Tensor

_AXES = {
    "x": ("batch", "time", "input"),
    "h0": ("direction", "batch", "hidden"),
    "lengths": ("batch",),
    "mask": ("batch", "time"),
    "w": ("direction", "gate", "input"),
    "r": ("direction", "gate", "hidden"),
    "b": ("direction", "gate"),
    "y": ("direction", "batch", "time", "hidden"),
    "ho": ("direction", "batch", "hidden"),
}
"""The axes of the shared layout, by role; `gate` has the units of one gate or part."""


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
    starts: Array
    w: Arrays
    r: Arrays
    b: Arrays

    def rows(self, which: int | Array) -> GruInputs:
        """Take the inputs of one of the stacked cases, or of several."""
        w, r, b = (
            {part: array[which] for part, array in parts.items()}
            for parts in (self.w, self.r, self.b)
        )
        x, h0, lengths, starts = (a[which] for a in (self.x, self.h0, self.lengths, self.starts))
        return GruInputs(x, h0, lengths, starts, w, r, b)


def gru_inputs(
    operator: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Array]
) -> GruInputs:
    """Put the inputs of a case, or of stacked cases of a block, in the shared layout.

    Without lengths, every row is as long as the time axis. Without a mask, each starts at time 0. A missing
    initial state is zeros.
    """
    plain: Arrays = {}
    gates: dict[str, Arrays] = {"w": {}, "r": {}, "b": {}}
    for tensor in operator.inputs:
        if tensor.name not in inputs:
            continue
        role, parts = _role(operator, tensor, attributes), tensor.form(attributes).parts
        arrays = _split(operator, tensor, attributes, inputs[tensor.name])
        if parts:
            gates[role] |= zip(parts, arrays, strict=True)
        else:
            [plain[role]] = arrays
    x, hidden = plain["x"], gates["r"]["h"].shape[-1]
    *stacked, batch, time, _ = x.shape
    if "mask" in plain:
        plain["lengths"], plain["starts"] = mask_rows(plain["mask"])
    lengths = plain.get("lengths", np.full((*stacked, batch), time, np.int64))
    starts = plain.get("starts", np.zeros_like(lengths))
    if "h0" not in plain:
        directions = len(operator.directions(attributes))
        plain["h0"] = np.zeros((*stacked, directions, batch, hidden), x.dtype)
    return GruInputs(x=x, h0=plain["h0"], lengths=lengths, starts=starts, **gates)


def mask_rows(mask: Array) -> tuple[Array, Array]:
    """Find the lengths and starts (…, batch) of the rows of a mask (…, batch, time)."""
    return mask.sum(axis=-1, dtype=np.int64), mask.argmax(axis=-1)


def rows_asked(operator: Operator, inputs: Mapping[str, Array]) -> Array | None:
    """Find the lengths (…, batch) that `inputs` give, also by a mask; None where they give none."""
    tensor = operator.tensor("lengths")
    given = inputs.get(tensor.name) if tensor else None
    return mask_rows(given)[0] if given is not None and operator.masked else given


def mask_of(lengths: Array, starts: Array, time: int) -> Array:
    """Make the mask (…, batch, time) of rows of these lengths and starts, (…, batch); see `mask_rows`."""
    number = np.arange(time) - starts[..., None]
    return (number >= 0) & (number < lengths[..., None])


def operator_inputs(
    operator: Operator, attributes: Mapping[str, Any], given: GruInputs, absent: Container[str] = ()
) -> Arrays:
    """Put shared inputs in the operator's layout, except those `absent`; the inverse of `gru_inputs`.

    `given` must have the parts that the operator stacks.
    """
    found: Arrays = {}
    for tensor in operator.present(operator.inputs, absent):
        role, parts = _role(operator, tensor, attributes), tensor.form(attributes).parts
        if role == "mask":
            one: Any = mask_of(given.lengths, given.starts, given.x.shape[-2])
        else:
            one = getattr(given, role)
        arrays = [one[part] for part in parts] if parts else [one]
        found[tensor.name] = _join(operator, tensor, attributes, arrays)
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
        found[tensor.name] = _join(operator, tensor, attributes, [array])
    return found


def shared_outputs(
    operator: Operator, attributes: Mapping[str, Any], outputs: Mapping[str, Array]
) -> Arrays:
    """Put outputs in the shared layout, by role; the inverse of `operator_outputs`."""
    return {
        tensor.role_in(attributes): _split(operator, tensor, attributes, outputs[tensor.name])[0]
        for tensor in operator.outputs
        if tensor.name in outputs
    }


def _role(operator: Operator, tensor: Tensor, attributes: Mapping[str, Any]) -> str:
    """Find the role of a tensor; lengths may be a mask."""
    role = tensor.role_in(attributes)
    return "mask" if role == "lengths" and operator.masked else role


def of_each_direction(
    operator: Operator, attributes: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Arrays:
    """Split each input of one case that has several names into the owner's tensors, in their order."""
    found: Arrays = {}
    for name, array in arrays.items():
        [tensor] = [one for one in operator.inputs if one.name == name]
        at = _place_of_direction(operator, tensor, attributes)
        several = np.moveaxis(array, at, 0) if tensor.names else [array]
        found |= zip(tensor.names or [name], several, strict=False)
    return found


def of_both_directions(
    operator: Operator, attributes: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Arrays:
    """Stack the owner's tensors of each direction; the inverse of `of_each_direction`.

    Arrays of other names stay. Raises ValueError for tensors of different shapes.
    """
    found, count = dict(arrays), len(operator.directions(attributes))
    for tensor in operator.inputs:
        names = tensor.names[:count]
        if names and found.keys() >= {*names}:
            at = _place_of_direction(operator, tensor, attributes)
            found[tensor.name] = np.stack([found.pop(name) for name in names], at)
    return found


def _place_of_direction(operator: Operator, tensor: Tensor, attributes: Mapping[str, Any]) -> int:
    own = _axes(operator, tensor, attributes)
    return own.index(("direction",)) if tensor.names else 0


def _axes(
    operator: Operator, tensor: Tensor, attributes: Mapping[str, Any]
) -> tuple[tuple[str, ...], ...]:
    """List the shared axes and numbers that make up each axis of a tensor, outermost first."""
    return _axes_of(operator, tensor.form(attributes).products)


@lru_cache(maxsize=4096)
def _axes_of(
    operator: Operator, products: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(
            one if one.isdigit() else "gate" if product[0].isdigit() else operator.sizes[one]
            for one in product
        )
        for product in products
    )


def _split(
    operator: Operator, tensor: Tensor, attributes: Mapping[str, Any], array: Array
) -> list[Array]:
    """Split an array into its parts, views in the shared layout; into one, where it has no parts."""
    own = _axes(operator, tensor, attributes)
    stack = array.shape[: array.ndim - len(own)]
    role, directions = _role(operator, tensor, attributes), len(operator.directions(attributes))
    shape, order, index = _splitting(own, role, directions, array.shape[len(stack) :])
    array = array.reshape(*stack, *shape)
    array = array.transpose(*range(len(stack)), *(len(stack) + at for at in order))
    numbers = len(order) - (len(index) - index.count(None) - 1)
    array = array.reshape(*stack, -1, *array.shape[len(stack) + numbers :])[index]
    return list(np.moveaxis(array, len(stack), 0))


@lru_cache(maxsize=4096)
def _splitting(
    own: tuple[tuple[str, ...], ...], role: str, directions: int, lengths: tuple[int, ...]
) -> tuple[list[int], tuple[int, ...], tuple[Any, ...]]:
    """Find how an array with these axes becomes its parts: a shape, an order of axes, an index."""
    shape: list[int] = []
    for axes, length in zip(own, lengths, strict=True):
        known = [int(axis) if axis.isdigit() else 0 for axis in axes]
        if "direction" in axes:
            known[axes.index("direction")] = directions
        rest = length // math.prod(filter(None, known))
        shape += [size or rest for size in known]
    flat = [axis for axes in own for axis in axes]
    numbers = [place for place, axis in enumerate(flat) if axis.isdigit()]
    want = _AXES[role]
    order = (*numbers, *(flat.index(axis) for axis in want if axis in flat))
    return shape, order, (..., *(slice(None) if axis in flat else None for axis in want))


def _join(
    operator: Operator, tensor: Tensor, attributes: Mapping[str, Any], arrays: Sequence[Array]
) -> Array:
    """Join the parts of a tensor, or its one array, in the operator's layout; the inverse of `_split`.

    An axis that the operator lacks has length 1.
    """
    own, role = _axes(operator, tensor, attributes), _role(operator, tensor, attributes)
    numbers, gone, order = _joining(own, role)
    stack = arrays[0].ndim - len(_AXES[role])
    array = np.stack([one.squeeze(tuple(stack + at for at in gone)) for one in arrays], stack)
    array = array.reshape(*array.shape[:stack], *numbers, *array.shape[stack + 1 :])
    array = array.transpose(*range(stack), *(stack + at for at in order))
    lengths = iter(array.shape[stack:])
    shape = [math.prod(next(lengths) for _ in axes) for axes in own]
    return np.ascontiguousarray(array.reshape(*array.shape[:stack], *shape))


@lru_cache(maxsize=4096)
def _joining(own: tuple[tuple[str, ...], ...], role: str) -> tuple[list[int], list[int], list[int]]:
    """Find how parts become an array with these axes: numbers, axes that it lacks, an order."""
    flat = [axis for axes in own for axis in axes]
    numbers = [axis for axis in flat if axis.isdigit()]
    gone = [place for place, axis in enumerate(_AXES[role]) if axis not in flat]
    now, order = [*numbers, *(axis for axis in _AXES[role] if axis in flat)], list[int]()
    for axis in flat:
        order.append(now.index(axis))
        now[order[-1]] = ""
    return [*map(int, numbers)], gone, order
