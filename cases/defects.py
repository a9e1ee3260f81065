"""Defects: the one thing that is wrong with a question, as an operator's description has it.

An owner's text forbids each, or says that behaviour is undefined; then it does not decide, and a runtime's
behaviour is only reported. What an owner has no line for is no defect of its operators.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from .dtypes import FLOAT_TYPES, INTEGER_TYPES, Array, dtype_name
from .operators.signature import Attribute, Form, Meaning, Operator, Tensor
from .operators.values import value_text

Rule = Literal[
    "shape", "dtype", "dtype of lengths", "required input", "required attribute", "hidden",
    "activation", "number of activations", "number of parameters", "clip", "direction", "layout",
    "switch", "length below", "length above",
]  # fmt: skip


class Forbidden(NamedTuple):
    """An entry of the owner's ledger, and whether it decides: not where its text is silent or vague."""

    ledger: str
    decides: bool = True


_LINES: Mapping[str, Mapping[Rule, Forbidden]] = {
    "openvino": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("w-type"),
        "dtype of lengths": Forbidden("t2-int"),
        "required input": Forbidden("required-inputs"),
        "required attribute": Forbidden("required-attributes"),
        "hidden": Forbidden("hidden-size"),
        "activation": Forbidden("act-names"),
        "number of activations": Forbidden("act-arity"),
        "clip": Forbidden("clip-default"),
        "direction": Forbidden("direction-required"),
        "switch": Forbidden("lbr-bool", decides=False),
        "length below": Forbidden("len-negative", decides=False),
        "length above": Forbidden("len-beyond", decides=False),
    },
    "onnx": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("one-type"),
        "dtype of lengths": Forbidden("types"),
        "required input": Forbidden("required-inputs"),
        "hidden": Forbidden("hidden-size"),
        "activation": Forbidden("names"),
        "number of activations": Forbidden("arity"),
        "number of parameters": Forbidden("parameter-order", decides=False),
        "clip": Forbidden("clip-range", decides=False),
        "direction": Forbidden("direction"),
        "layout": Forbidden("layout"),
        "length below": Forbidden("lens-range", decides=False),
        "length above": Forbidden("lens-range", decides=False),
    },
    "bnnsgraph": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("dtype"),
        "required input": Forbidden("declaration"),
        "required attribute": Forbidden("declaration"),
        "activation": Forbidden("declaration"),
        "direction": Forbidden("direction"),
    },
}

_OF_TENSORS: Mapping[tuple[str, str, Rule], Forbidden] = {
    # "of type T", which that page does not define
    ("openvino.GRUSequence-5", "B", "dtype"): Forbidden("b-type", decides=False)
}
"""By operator and input, what its text says otherwise of that input alone."""


def forbidden(operator: Operator, rule: Rule, tensor: str = "") -> Forbidden | None:
    """Find where the owner's text forbids breaking `rule`, in one input if it is named; None if nowhere."""
    here = _OF_TENSORS.get((operator.name, tensor, rule))
    return here or _LINES.get(operator.owner, {}).get(rule)


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
"""Attributes that valid questions write out. Activations are, too: runtimes that refuse a question without
them would refuse every defect for the wrong reason. All others keep their defaults."""
_UNKNOWN_ACTIVATION = "gelu"
_UNKNOWN_DIRECTION = "backward"
_PARAMETERS = (0.25, 0.5, 0.75)
"""Parameters of an activation; all dtypes hold them."""
_BIAS_PARTS = (3, 4, 6, 8)
"""Rows of hidden_size that a bias has in one operator or another, or might have."""

Change = Callable[[Array], Array]
_Taken = tuple[Mapping[str, Any], ...]


def unchanged(array: Array) -> Array:
    """Return the same array."""
    return array


@dataclass(frozen=True, eq=False)
class Defect:
    """One thing made wrong in a valid question: attributes, or one input.

    `name` ends the id of the question, `about` says in a sentence what is wrong, `ledger` is the entry of the
    owner's ledger that says where the text forbids it. Where it does not `decide`, the text is silent, or
    leaves open what then happens: the behaviour of a runtime is only reported.

    The valid question is the baseline with the attributes `valid`. In it `given` are attributes written
    otherwise, None for one that is left out; `change` is made to `tensor`, which is left out without it.
    A runtime that does not see the defect may take the question for a valid one, with an input as one of
    `taken_for` makes it of the right one, or with the attributes of one of `attributes_taken_for`.
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


def attribute_defects(operator: Operator) -> Iterator[Defect]:
    """Make the defects of an operator's attributes, by their meanings."""
    for attribute in operator.attributes:
        if attribute.required:
            about = f"{attribute.name} is left out, and is required"
            yield from _given(operator, "required attribute", attribute, "missing", None, about)
        yield from _OF_MEANING.get(attribute.sets, _switch)(operator, attribute)


def _given(
    operator: Operator, rule: Rule, one: Attribute, name: str, wrong: Any, about: str, **rest: Any
) -> Iterator[Defect]:
    """Make the defect that the attribute is `wrong`, or left out (None), if the owner has a word on it."""
    if found := forbidden(operator, rule):
        name = f"{one.name}-{name}"
        yield Defect(name, about, found.ledger, found.decides, given={one.name: wrong}, **rest)


def _hidden(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    right = SIZES["hidden"]
    for name, wrong in {
        "zero": 0,
        "negative": -right,
        "more": right + 1,
        "less": right - 1,
    }.items():
        about = f"{attribute.name} is {wrong}, and the inputs have shapes of {right}"
        yield from _given(operator, "hidden", attribute, name, wrong, about)


def _activation(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    wrong = _UNKNOWN_ACTIVATION
    about = f"{attribute.name} is {wrong!r}, which there is not"
    yield from _given(operator, "activation", attribute, wrong, wrong, about)


def _activations(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    f, g = attribute.default
    about = f"{attribute.name} names {_UNKNOWN_ACTIVATION!r}, which there is not"
    for name, wrong in (
        ("unknown-f", [_UNKNOWN_ACTIVATION, g]),
        ("unknown-g", [f, _UNKNOWN_ACTIVATION]),
    ):
        yield from _given(operator, "activation", attribute, name, wrong, about)
    rule: Rule = "number of activations"
    for name, wrong in (("one", [f]), ("three", [f, g, f])):
        about = f"{attribute.name} has {len(wrong)} entries; expected 2"
        yield from _given(operator, rule, attribute, name, wrong, about)
    if attribute.per_direction:
        about = f"{attribute.name} has 4 entries for one direction; expected 2"
        yield from _given(operator, rule, attribute, "four", [f, g, f, g], about)
        direction = operator.setting("direction")
        assert direction is not None
        about = f"{attribute.name} has 2 entries for two directions; expected 4"
        both = {attribute.name: [f, g, f, g], direction.name: "bidirectional"}
        yield from _given(operator, rule, attribute, "two-of-four", [f, g], about, valid=both)


def _parameters(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """Make defects of one parameter too few and one too many.

    Two functions take it that also have a default.
    """
    functions = operator.setting("activations")
    assert functions is not None
    defaults = {
        name: getattr(function, attribute.sets)
        for name, function in functions.choices.items()
        if attribute.sets in function.takes
    }
    name = next((name for name, default in defaults.items() if not math.isnan(default)), None)
    if name is None:
        return
    first, second = _PARAMETERS[:2]
    valid = {functions.name: [name, name], attribute.name: [first, second]}
    taken: _Taken = ({}, {attribute.name: [first, defaults[name]]})
    for count, wrong in (("one", [first]), ("three", list(_PARAMETERS))):
        about = f"{attribute.name} has {len(wrong)} entries; two activations take one"
        yield from _given(
            operator, "number of parameters", attribute, count, wrong, about,
            valid=valid, attributes_taken_for=taken,
        )  # fmt: skip


def _clip(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """Make defects of clip: taken for no clipping, or for the bound without its sign."""
    for name, wrong in (("zero", 0.0), ("negative", -0.5), ("nan", math.nan)):
        taken: _Taken = ({}, {attribute.name: 0.5}) if wrong < 0 else ({},)
        about = f"{attribute.name} is {wrong:g}; expected a positive number"
        yield from _given(
            operator, "clip", attribute, name, wrong, about, attributes_taken_for=taken
        )


def _direction(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    wrong = _UNKNOWN_DIRECTION
    about = f"{attribute.name} is {wrong!r}; expected one of {', '.join(attribute.choices)}"
    taken: _Taken = ({}, {attribute.name: "reverse"})
    yield from _given(
        operator, "direction", attribute, wrong, wrong, about, attributes_taken_for=taken
    )


def _switch(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """Make the defect of 2, where there are 0 and 1 alone; a boolean is true in the valid question."""
    about = f"{attribute.name} is 2; expected 0 or 1"
    if attribute.kind == "boolean":
        valid = {attribute.name: True}
        yield from _given(operator, "switch", attribute, "two", 2, about, valid=valid)
    elif attribute.kind == "int" and attribute.choices and not attribute.sets:
        yield from _given(operator, "layout", attribute, "two", 2, about)


_OF_MEANING: Mapping[Meaning, Callable[[Operator, Attribute], Iterator[Defect]]] = {
    "hidden": _hidden,
    "f": _activation,
    "g": _activation,
    "activations": _activations,
    "alpha": _parameters,
    "beta": _parameters,
    "clip": _clip,
    "direction": _direction,
}


def input_defects(operator: Operator) -> Iterator[Defect]:
    """Make the defects of an operator's inputs: each rank, dimension and dtype."""
    attributes = operator.with_defaults(written(operator))
    named = Counter(
        symbol for tensor in operator.inputs for symbol in _symbols(tensor.form(attributes))
    )
    for tensor in operator.inputs:
        form = tensor.form(attributes)
        if tensor.required:
            taken = unchanged if tensor.role == "lengths" else np.zeros_like
            about = f"{tensor.name} is left out, and is required"
            yield from _input(
                operator, "required input", tensor, "missing", about, taken_for=(taken,)
            )
        yield from _ranks(operator, tensor, form)
        yield from _dimensions(operator, tensor, form, named)
        if tensor.role == "lengths":
            yield from _types_of_lengths(operator, tensor)
            yield from _lengths(operator, tensor)
            continue
        yield from _dtypes(operator, tensor)
        if tensor.role == "b":
            yield from _bias_parts(operator, tensor)


def _input(
    operator: Operator, rule: Rule, tensor: Tensor, name: str, about: str, **rest: Any
) -> Iterator[Defect]:
    """Make the defect of an input, if the owner has a word on it."""
    if found := forbidden(operator, rule, tensor.name):
        name = f"{tensor.name}-{name}"
        yield Defect(name, about, found.ledger, found.decides, tensor=tensor.name, **rest)


def _ranks(operator: Operator, tensor: Tensor, form: Form) -> Iterator[Defect]:
    expected = f"expected {len(form.axes)}: {', '.join(form.axes)}"
    yield from _input(
        operator, "shape", tensor, "axis-less", f"{tensor.name} has one axis too few; {expected}",
        change=lambda array: array[0].copy(),
        taken_for=(lambda array: np.broadcast_to(array[:1], array.shape).copy(),),
    )  # fmt: skip
    yield from _input(
        operator, "shape", tensor, "axis-more", f"{tensor.name} has one axis too many; {expected}",
        change=lambda array: array[np.newaxis].copy(),
    )  # fmt: skip


def _dimensions(
    operator: Operator, tensor: Tensor, form: Form, named: Mapping[str, int]
) -> Iterator[Defect]:
    """Make each axis one larger and one smaller, where another input says how large it is, too."""
    for place, (axis, symbol) in enumerate(zip(form.axes, _symbols(form), strict=True)):
        if named[symbol] < 2:
            continue
        name = axis.replace("*", "")
        more = f"the axis {axis} of {tensor.name} is one too large"
        change = partial(_longer, axis=place)
        yield from _input(operator, "shape", tensor, f"{name}-more", more, change=change)
        if operator.sizes[symbol] == "direction":
            continue  # one less than 1
        yield from _input(
            operator, "shape", tensor, f"{name}-less",
            f"the axis {axis} of {tensor.name} is one too small",
            change=partial(_shorter, axis=place), taken_for=(partial(_zero_at_end, axis=place),),
        )  # fmt: skip


def _symbols(form: Form) -> list[str]:
    """List the size symbol of each axis."""
    return [axis.rpartition("*")[2] for axis in form.axes]


def _longer(array: Array, axis: int) -> Array:
    return np.concatenate([array, array.take([0], axis)], axis)


def _shorter(array: Array, axis: int) -> Array:
    return array.take(range(array.shape[axis] - 1), axis)


def _zero_at_end(array: Array, axis: int) -> Array:
    return np.concatenate([_shorter(array, axis), np.zeros_like(array.take([0], axis))], axis)


def _dtypes(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    other = f"{tensor.name} is of another floating-point type than the other inputs"
    yield from _input(operator, "dtype", tensor, "other-float", other, change=_other_float)
    yield from _input(
        operator, "dtype", tensor, "integer", f"{tensor.name} holds integers",
        change=lambda array: _whole(array).astype(np.int32), taken_for=(_whole,),
    )  # fmt: skip


def _other_float(array: Array) -> Array:
    other = "float16" if dtype_name(array.dtype) == "float32" else "float32"
    return array.astype(FLOAT_TYPES[other].numpy)


def _whole(array: Array) -> Array:
    return np.rint(array.astype(np.float64) * 4).astype(array.dtype)


def _types_of_lengths(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    wrong = {"float32": ("float", FLOAT_TYPES["float32"].numpy)}
    for dtype in INTEGER_TYPES.keys() - operator.types[tensor.type]:
        wrong[dtype] = (dtype, INTEGER_TYPES[dtype])
    for dtype, (name, numpy) in wrong.items():
        yield from _input(
            operator, "dtype of lengths", tensor, name, f"{tensor.name} holds {dtype} numbers",
            change=partial(_as_type, dtype=numpy),
        )  # fmt: skip


def _as_type(array: Array, dtype: Any) -> Array:
    return array.astype(dtype)


def _bias_parts(operator: Operator, tensor: Tensor) -> Iterator[Defect]:
    """Make biases with the rows of another operator, or of the other place of the reset gate."""
    forms = {len(form.parts): form for form in reversed(tensor.forms)}
    for right, form in sorted(forms.items()):
        valid = dict(form.when) if len(forms) > 1 else {}
        where = "".join(f" with {name} {value_text(value)}" for name, value in valid.items())
        axis = form.axes[-1]
        for wrong in _BIAS_PARTS:
            if wrong == right:
                continue
            taken = partial(_zero_after, parts=wrong) if wrong < right else unchanged
            yield from _input(
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
    """Make a length below 0, or above the time axis, in the last row."""
    time = SIZES["time"]
    yield from _input(
        operator, "length below", tensor, "negative", f"{tensor.name} holds -1",
        change=partial(_last_is, value=-1), taken_for=(partial(_last_is, value=0), unchanged),
    )  # fmt: skip
    above = f"{tensor.name} holds {time + 1}, and the time axis has {time} steps"
    change = partial(_last_is, value=time + 1)
    yield from _input(operator, "length above", tensor, "beyond", above, change=change)


def _last_is(array: Array, value: int) -> Array:
    return np.concatenate([array[:-1], np.full(1, value, array.dtype)])
