"""Defects: the ways in which a question can be wrong, one at a time, from an operator's description.

Each has an entry in the owner's ledger. If the owner's text forbids it, a runtime must refuse the question.
If the text is silent, or leaves the behaviour undefined, the defect does not decide: what a runtime does is
only reported. A defect without an entry in the ledger is not asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from .dtypes import FLOAT_TYPES, INTEGER_TYPES, Array, dtype_name
from .operators.signature import Attribute, Form, Meaning, Operator, Tensor
from .operators.values import value_text

_FORBIDDEN: Mapping[str, Mapping[str, str]] = {
    "openvino": {
        "shape": "shapes", "dtype": "w-type", "dtype of lengths": "t2-int",
        "required input": "required-inputs", "required attribute": "required-attributes",
        "hidden": "hidden-size", "activation": "act-names", "number of activations": "act-arity",
        "clip": "clip-default", "direction": "direction-required", "switch": "lbr-bool?",
        "length below": "len-negative?", "length above": "len-beyond?",
    },
    "openvino.GRUSequence-5 B": {"dtype": "b-type?"},  # "of type T", which that page does not define
    "onnx": {
        "shape": "shapes", "dtype": "one-type", "dtype of lengths": "types",
        "required input": "required-inputs", "hidden": "hidden-size", "activation": "names",
        "number of activations": "arity", "number of parameters": "parameter-order?",
        "clip": "clip-range?", "direction": "direction", "layout": "layout",
        "length below": "lens-range?", "length above": "lens-range?",
    },
    "bnnsgraph": {
        "shape": "shapes", "dtype": "dtype", "required input": "declaration",
        "required attribute": "declaration", "activation": "declaration", "direction": "direction",
    },
}  # fmt: skip
"""The ledger entry of each rule: by owner, or by operator and input where their entry differs.

An entry that ends in `?` does not decide: the text is silent, or leaves the behaviour undefined.
"""
SIZES = {"batch": 2, "time": 3, "input": 4, "hidden": 5}
"""The sizes of the valid questions that defects are put into."""
_WRITTEN: Mapping[Meaning, Any] = {
    "hidden": SIZES["hidden"],
    "direction": "forward",
    "f": "sigmoid",
    "g": "tanh",
    "bias_inside": True,
    "sequence": True,
}
"""Attributes that valid questions write out; `written` adds activations. All others keep their defaults.

A runtime that refuses every question without activations would refuse each defect for the wrong reason.
"""
_PARAMETERS = [0.25, 0.5, 0.75]
"""Parameters of an activation; all dtypes hold them."""
_BIAS_PARTS = (3, 4, 6, 8)
"""Numbers in a bias, in multiples of hidden_size: all that some operator has, and plausible wrong ones."""

Change = Callable[[Array], Array]
_Rows = Iterator[tuple[str, str, str, dict[str, Any]]]
"""For each defect: the rule that it breaks, the end of its name, its sentence, other fields of Defect."""


def unchanged(array: Array) -> Array:
    """Return the same array."""
    return array


@dataclass(frozen=True, eq=False)
class Defect:
    """One thing made wrong in a valid question: its attributes, or one input.

    `name` is the last part of the question's id, `about` a sentence that says what is wrong, and `ledger` the
    entry in the owner's ledger. If `decides` is false, the text is silent or leaves open what happens, and
    what a runtime does is only reported.

    The valid question is the baseline with the attributes `valid`. The defect overwrites attributes with
    `given`; None removes one. It replaces the input `tensor` by `change` of it, or removes it if there is
    no `change`.

    A runtime that overlooks the defect may answer a valid question instead. Such a question has the right
    input changed by one of `taken_for`, and the attributes of one of `attributes_taken_for`.
    """

    name: str
    about: str
    ledger: str
    decides: bool = True
    valid: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    tensor: str = ""
    change: Change | None = None
    taken_for: tuple[Change, ...] = (unchanged,)
    attributes_taken_for: tuple[Mapping[str, Any], ...] = ({},)


def written(operator: Operator) -> dict[str, Any]:
    """List the attributes that valid questions write out."""
    return {
        one.name: list(one.default) if one.sets == "activations" else _WRITTEN[one.sets]
        for one in operator.attributes
        if one.required or one.sets in _WRITTEN or one.sets == "activations"
    }


@cache
def defects(operator: Operator) -> tuple[Defect, ...]:
    """List the defects that have an entry in the ledger of the operator's owner."""
    rows = [(one.name, row) for one in operator.attributes for row in _of_attribute(operator, one)]
    attributes = operator.with_defaults(written(operator))
    forms = [(tensor, tensor.form(attributes)) for tensor in operator.inputs]
    named = Counter(symbol for _, form in forms for symbol in _symbols(form))
    for tensor, form in forms:
        for rule, name, about, rest in _of_input(operator, tensor, form, named):
            rows.append((tensor.name, (rule, name, about, {"tensor": tensor.name, **rest})))
    usual = _FORBIDDEN.get(operator.owner, {})
    found = []
    for of, (rule, name, about, rest) in rows:
        if entry := _FORBIDDEN.get(f"{operator.name} {of}", {}).get(rule) or usual.get(rule):
            decides = not entry.endswith("?")
            found.append(Defect(f"{of}-{name}", about, entry.rstrip("?"), decides, **rest))
    return tuple(found)


def _of_attribute(operator: Operator, one: Attribute) -> _Rows:
    """Make the defects of an attribute, by its meaning."""
    if one.required:
        yield (
            "required attribute",
            "missing",
            f"{one.name} is required, but left out",
            {"given": {one.name: None}},
        )
    for rule, name, wrong, about, rest in _wrong_values(operator, one):
        yield rule, name, f"{one.name} {about}", {"given": {one.name: wrong}, **rest}


def _wrong_values(
    operator: Operator, one: Attribute
) -> Iterator[tuple[str, str, Any, str, dict[str, Any]]]:
    """Make wrong values of an attribute: the rule, a name, the value, what is wrong, and other fields."""
    right, first, second = SIZES["hidden"], *_PARAMETERS[:2]
    match one.sets:
        case "hidden":
            for name, size in (
                ("zero", 0), ("negative", -right), ("more", right + 1), ("less", right - 1)
            ):  # fmt: skip
                about = f"is {size}, but the inputs have a hidden size of {right}"
                yield "hidden", name, size, about, {}
        case "f" | "g":
            about = "is 'gelu', which is no activation of this operator"
            yield "activation", "gelu", "gelu", about, {}
        case "activations":
            f, g = one.default
            for name, functions in (("unknown-f", ["gelu", g]), ("unknown-g", [f, "gelu"])):
                about = "names 'gelu', which is no activation of this operator"
                yield "activation", name, functions, about, {}
            rule = "number of activations"
            for name, functions in (("one", [f]), ("three", [f, g, f])):
                yield rule, name, functions, f"has {len(functions)} entries; expected 2", {}
            if one.per_direction and (direction := operator.setting("direction")):
                both = {one.name: [f, g, f, g], direction.name: "bidirectional"}
                about = "has 4 entries for one direction; expected 2"
                yield rule, "four", [f, g, f, g], about, {}
                about = "has 2 entries for two directions; expected 4"
                yield rule, "two-of-four", [f, g], about, {"valid": both}
        case "alpha" | "beta" if taking := operator.setting("activations"):
            for name, function in taking.choices.items():
                default = getattr(function, one.sets)
                if one.sets in function.takes and not math.isnan(default):
                    rest = {
                        "valid": {taking.name: [name, name], one.name: [first, second]},
                        "attributes_taken_for": ({}, {one.name: [first, default]}),
                    }
                    for count, given in (("one", [first]), ("three", _PARAMETERS)):
                        about = f"has {len(given)} entries; two activations take one"
                        yield "number of parameters", count, given, about, rest
                    break
        case "clip":  # taken for no clipping, or for the bound without its sign
            for name, bound in (("zero", 0.0), ("negative", -0.5), ("nan", math.nan)):
                taken = ({}, {one.name: 0.5}) if bound < 0 else ({},)
                about = f"is {bound:g}; expected a positive number"
                yield "clip", name, bound, about, {"attributes_taken_for": taken}
        case "direction":
            about = f"is 'backward'; expected one of {', '.join(one.choices)}"
            rest = {"attributes_taken_for": ({}, {one.name: "reverse"})}
            yield "direction", "backward", "backward", about, rest
        case _ if one.kind == "boolean":
            yield "switch", "two", 2, "is 2; expected 0 or 1", {"valid": {one.name: True}}
        case "" if one.kind == "int" and one.choices:
            yield "layout", "two", 2, "is 2; expected 0 or 1", {}


def _of_input(operator: Operator, tensor: Tensor, form: Form, named: Mapping[str, int]) -> _Rows:
    """Make the defects of an input: missing; or of a wrong rank, dimension, dtype, length or bias size."""
    name, lengths = tensor.name, tensor.role == "lengths"
    if tensor.required:
        taken = unchanged if lengths else np.zeros_like
        yield (
            "required input",
            "missing",
            f"{name} is required, but left out",
            {"taken_for": (taken,)},
        )
    expected = f"expected {len(form.axes)}: {', '.join(form.axes)}"
    yield (
        "shape",
        "axis-less",
        f"{name} has one axis too few; {expected}",
        {
            "change": lambda array: array[0].copy(),
            "taken_for": (lambda array: np.broadcast_to(array[:1], array.shape).copy(),),
        },
    )
    yield (
        "shape",
        "axis-more",
        f"{name} has one axis too many; {expected}",
        {"change": lambda array: array[np.newaxis].copy()},
    )
    for place, (axis, symbol) in enumerate(zip(form.axes, _symbols(form), strict=True)):
        if named[symbol] < 2:  # no other input says how large it is
            continue
        about = f"the axis {axis} of {name} is one too"
        longer = partial(_longer, axis=place)
        yield "shape", f"{axis.replace('*', '')}-more", f"{about} large", {"change": longer}
        if operator.sizes[symbol] != "direction":  # one direction less would be none
            yield (
                "shape",
                f"{axis.replace('*', '')}-less",
                f"{about} small",
                {
                    "change": partial(_shorter, axis=place),
                    "taken_for": (partial(_zero_at_end, axis=place),),
                },
            )
    if lengths:
        yield from _of_lengths(operator, tensor)
        return
    other = f"{name} has a different floating-point type from the other inputs"
    yield "dtype", "other-float", other, {"change": _other_float}
    yield "dtype", "integer", f"{name} holds integers", {
        "change": lambda array: _whole(array).astype(np.int32), "taken_for": (_whole,)
    }  # fmt: skip
    if tensor.role == "b":
        yield from _of_bias(tensor)


def _of_lengths(operator: Operator, tensor: Tensor) -> _Rows:
    """Make lengths of wrong dtypes, and lengths whose last row is -1 or exceeds the time axis by one."""
    wrong = {"float32": "float"} | {
        d: d for d in INTEGER_TYPES.keys() - operator.types[tensor.type]
    }
    for dtype, name in wrong.items():
        yield (
            "dtype of lengths",
            name,
            f"{tensor.name} holds {dtype} numbers",
            {"change": lambda array, dtype=dtype: array.astype(dtype)},
        )
    time = SIZES["time"]
    yield (
        "length below",
        "negative",
        f"{tensor.name} holds -1",
        {
            "change": partial(_last_is, value=-1),
            "taken_for": (partial(_last_is, value=0), unchanged),
        },
    )
    about = f"{tensor.name} holds {time + 1}, but the time axis has {time} steps"
    yield "length above", "beyond", about, {"change": partial(_last_is, value=time + 1)}


def _of_bias(tensor: Tensor) -> _Rows:
    """Make biases of another operator's size, or of the size for the other place of the reset gate."""
    forms = {len(form.parts): form for form in reversed(tensor.forms)}
    for right, form in sorted(forms.items()):
        valid = dict(form.when) if len(forms) > 1 else {}
        where = "".join(f" with {name} {value_text(value)}" for name, value in valid.items())
        axis = form.axes[-1]
        for wrong in _BIAS_PARTS:
            if wrong != right:
                numbers = axis.replace(str(right), str(wrong), 1)
                about = f"{tensor.name} has {numbers} numbers; expected {axis}{where}"
                taken = partial(_zero_after, parts=wrong) if wrong < right else unchanged
                yield (
                    "shape",
                    f"{wrong}H-where-{right}H",
                    about,
                    {
                        "valid": valid,
                        "change": partial(_of_parts, parts=wrong),
                        "taken_for": (taken,),
                    },
                )


def _symbols(form: Form) -> list[str]:
    """List the size symbol of each axis."""
    return [axis.rpartition("*")[2] for axis in form.axes]


def _longer(array: Array, axis: int) -> Array:
    return np.concatenate([array, array.take([0], axis)], axis)


def _shorter(array: Array, axis: int) -> Array:
    return array.take(range(array.shape[axis] - 1), axis)


def _zero_at_end(array: Array, axis: int) -> Array:
    return np.concatenate([_shorter(array, axis), np.zeros_like(array.take([0], axis))], axis)


def _other_float(array: Array) -> Array:
    other = "float16" if dtype_name(array.dtype) == "float32" else "float32"
    return array.astype(FLOAT_TYPES[other].numpy)


def _whole(array: Array) -> Array:
    return np.rint(array.astype(np.float64) * 4).astype(array.dtype)


def _of_parts(array: Array, parts: int) -> Array:
    again = np.concatenate([array, array, array], -1)
    return again[..., : parts * SIZES["hidden"]].copy()


def _zero_after(array: Array, parts: int) -> Array:
    left = array.copy()
    left[..., parts * SIZES["hidden"] :] = 0
    return left


def _last_is(array: Array, value: int) -> Array:
    return np.concatenate([array[:-1], np.full(1, value, array.dtype)])
