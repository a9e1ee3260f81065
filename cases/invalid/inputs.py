"""Defects of inputs, which follow from an operator's description: each rank, dimension and dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import FLOAT_TYPES, INTEGER_TYPES, Array, dtype_name
from ..operators.signature import Form, Operator, Tensor
from ..operators.values import value_text
from .baseline import SIZES, written
from .defect import Defect, unchanged
from .forbidden import Rule, forbidden

_BIAS_PARTS = (3, 4, 6, 8)
"""So many rows of hidden_size a bias has in one operator or another, or might have."""


def input_defects(operator: Operator) -> Iterator[Defect]:
    """What can be wrong with the inputs of an operator."""
    attributes = operator.with_defaults(written(operator))
    named = Counter(
        symbol for tensor in operator.inputs for symbol in _symbols(tensor.form(attributes))
    )
    for tensor in operator.inputs:
        yield from _missing(operator, tensor)
        yield from _ranks(operator, tensor, tensor.form(attributes))
        yield from _dimensions(operator, tensor, tensor.form(attributes), named)
        yield from _dtypes(operator, tensor)
        if tensor.role == "b":
            yield from _bias_parts(operator, tensor)
        if tensor.role == "lengths":
            yield from _lengths(operator, tensor)


def _defect(
    operator: Operator, rule: Rule, tensor: Tensor, name: str, about: str, **rest: Any
) -> Iterator[Defect]:
    """The defect, where the owner has a word on it."""
    if found := forbidden(operator, rule, tensor.name):
        yield Defect(
            f"{tensor.name}-{name}", about, found.ledger, found.decides, tensor=tensor.name, **rest
        )


def _missing(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    if tensor.required:
        taken = unchanged if tensor.role == "lengths" else np.zeros_like
        about = f"{tensor.name} is left out, and is required"
        yield from _defect(operator, "required input", tensor, "missing", about, taken_for=(taken,))


def _ranks(operator: Operator, tensor: Tensor, form: Form) -> Iterator[Defect]:
    axes = ", ".join(form.axes)
    few = f"{tensor.name} has one axis too few; expected {len(form.axes)}: {axes}"
    yield from _defect(
        operator, "shape", tensor, "axis-less", few, change=_first, taken_for=(_repeated_first,)
    )
    many = f"{tensor.name} has one axis too many; expected {len(form.axes)}: {axes}"
    yield from _defect(operator, "shape", tensor, "axis-more", many, change=_within_one)


def _first(array: Array) -> Array:
    return array[:1].reshape(array.shape[1:]).copy()


def _repeated_first(array: Array) -> Array:
    return np.broadcast_to(array[:1], array.shape).copy()


def _within_one(array: Array) -> Array:
    return array[np.newaxis].copy()


def _dimensions(
    operator: Operator, tensor: Tensor, form: Form, named: Mapping[str, int]
) -> Iterator[Defect]:
    """Each axis one larger and one smaller, where another input says how large it is, too."""
    for place, (axis, symbol) in enumerate(zip(form.axes, _symbols(form), strict=True)):
        if named[symbol] < 2:
            continue
        name = axis.replace("*", "")
        more = f"the axis {axis} of {tensor.name} is one too large"
        change = partial(_longer, axis=place)
        yield from _defect(operator, "shape", tensor, f"{name}-more", more, change=change)
        if operator.sizes[symbol] == "direction":
            continue  # one less than 1
        yield from _defect(
            operator, "shape", tensor, f"{name}-less",
            f"the axis {axis} of {tensor.name} is one too small",
            change=partial(_shorter, axis=place), taken_for=(partial(_zero_at_end, axis=place),),
        )  # fmt: skip


def _symbols(form: Form) -> list[str]:
    """The size symbol of each axis."""
    return [axis.rpartition("*")[2] for axis in form.axes]


def _longer(array: Array, axis: int) -> Array:
    return np.concatenate([array, array.take([0], axis)], axis)


def _shorter(array: Array, axis: int) -> Array:
    return array.take(range(array.shape[axis] - 1), axis)


def _zero_at_end(array: Array, axis: int) -> Array:
    return np.concatenate([_shorter(array, axis), np.zeros_like(array.take([0], axis))], axis)


def _dtypes(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    name = tensor.name
    if tensor.role != "lengths":
        other = f"{name} is of another floating-point type than the other inputs"
        yield from _defect(operator, "dtype", tensor, "other-float", other, change=_other_float)
        whole = f"{name} holds integers"
        yield from _defect(
            operator, "dtype", tensor, "integer", whole, change=_integers, taken_for=(_whole,)
        )
        return
    floats = f"{name} holds float32 numbers"
    change = partial(_as_type, dtype=FLOAT_TYPES["float32"].numpy)
    yield from _defect(operator, "dtype of lengths", tensor, "float", floats, change=change)
    for dtype in INTEGER_TYPES.keys() - operator.types[tensor.type]:
        change = partial(_as_type, dtype=INTEGER_TYPES[dtype])
        about = f"{name} holds {dtype} numbers"
        yield from _defect(operator, "dtype of lengths", tensor, dtype, about, change=change)


def _other_float(array: Array) -> Array:
    other = "float16" if dtype_name(array.dtype) == "float32" else "float32"
    return array.astype(FLOAT_TYPES[other].numpy)


def _whole(array: Array) -> Array:
    return np.rint(array.astype(np.float64) * 4).astype(array.dtype)


def _integers(array: Array) -> Array:
    return _whole(array).astype(np.int32)


def _as_type(array: Array, dtype: Any) -> Array:
    return array.astype(dtype)


def _bias_parts(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    """A bias with the rows of another operator, or of the other place of the reset gate."""
    forms = {len(form.parts): form for form in reversed(tensor.forms)}
    for right, form in sorted(forms.items()):
        valid = dict(form.when) if len(forms) > 1 else {}
        where = "".join(f" with {name} {value_text(value)}" for name, value in valid.items())
        axis = form.axes[-1]
        for wrong in _BIAS_PARTS:
            if wrong == right:
                continue
            taken = partial(_zero_after, parts=wrong) if wrong < right else unchanged
            yield from _defect(
                operator, "shape", tensor, f"{wrong}H-where-{right}H",
                f"{tensor.name} has {axis.replace(str(right), str(wrong), 1)} numbers; "
                f"expected {axis}{where}",
                valid=valid, change=partial(_of_parts, parts=wrong), taken_for=(taken,),
            )  # fmt: skip


def _of_parts(array: Array, parts: int) -> Array:
    again = np.concatenate([array, array, array], -1)
    return again[..., : parts * SIZES["hidden"]].copy()


def _zero_after(array: Array, parts: int) -> Array:
    left = array.copy()
    left[..., parts * SIZES["hidden"] :] = 0
    return left


def _lengths(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    """A length below 0, or above the time axis, in the last row."""
    time = SIZES["time"]
    below = f"{tensor.name} holds -1"
    yield from _defect(
        operator, "length below", tensor, "negative", below,
        change=partial(_last_is, value=-1), taken_for=(partial(_last_is, value=0), unchanged),
    )  # fmt: skip
    above = f"{tensor.name} holds {time + 1}, and the time axis has {time} steps"
    yield from _defect(
        operator, "length above", tensor, "beyond", above, change=partial(_last_is, value=time + 1)
    )


def _last_is(array: Array, value: int) -> Array:
    return np.concatenate([array[:-1], np.full(1, value, array.dtype)])
