"""The invalid questions: one for each operator, dtype and defect, made from the operator's description.

An id is `<operator>/invalid/<dtype>/<defect>`; no case spec may have the theme `invalid`. Invalid questions
need no answers, so no file holds them. Each is made from a small valid question, which is forward, has every
input and output, and is not random: its numbers are multiples of 1/16, which all dtypes hold.

Each defect has an entry in the owner's ledger. If the owner's text forbids it, a runtime must refuse the
question. If the text is silent, or leaves the behaviour undefined, the defect does not decide: what a runtime
does is only reported. A defect without an entry in the ledger is not asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from .dtypes import FLOAT_TYPES, INTEGER_TYPES, Array, Arrays, dtype_name, numpy_dtype
from .operators import OPERATORS
from .operators.activations import Activation
from .operators.signature import Attribute, Form, Meaning, Operator, Tensor
from .operators.values import value_text
from .question import INVALID, Question, pose
from .selection import may_select, selected

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
    "torch": {
        "shape": "shapes", "dtype": "one-type?", "required attribute": "arguments",
        "required input": "arguments", "input": "shapes", "hidden": "shapes", "together": "bias",
        "length below": "lengths-positive?", "length above": "lengths-beyond?",
    },
    "bnnsgraph": {
        "shape": "shapes", "dtype": "dtype", "required input": "declaration",
        "required attribute": "declaration", "activation": "declaration", "direction": "direction",
    },
    "keras": {"shape": "shapes", "hidden": "units"},
    # the docstrings do not say how weights and states are shaped
    **{f"keras.GRU {one}": {"shape": ""}
       for one in ("kernel", "recurrent_kernel", "bias", "initial_state")},
    "webnn": {
        "shape": "shapes", "dtype": "dtypes", "required input": "arguments",
        "required attribute": "arguments", "hidden": "sizes", "time": "sizes", "activation": "enumerations",
        "number of activations": "activations", "direction": "enumerations", "layout": "enumerations",
    },
}  # fmt: skip
"""The ledger entry of each rule, by owner; by operator and input, where an input has another entry.

An entry that ends in `?` does not decide: the text is silent, or leaves the behaviour undefined.
"""
SIZES = {"batch": 2, "time": 3, "input": 4, "hidden": 5}
"""The sizes of the valid questions that defects are put into."""
_WRITTEN: Mapping[Meaning, Any] = {
    **SIZES,  # type: ignore[dict-item]
    "direction": ("forward",),
    "f": Activation("sigmoid"),
    "g": Activation("tanh"),
    "bias_inside": True,
    "sequence": True,
}
"""What valid questions say, by meaning; `written` adds activations. Other attributes keep their defaults.

A runtime that refuses every question without activations would refuse each defect for the wrong reason.
"""
_PARAMETERS = [0.25, 0.5, 0.75]
"""Parameters of an activation; all dtypes hold them."""

Change = Callable[[Array], Array]


def unchanged(array: Array) -> Array:
    """Return the same array."""
    return array


@dataclass(frozen=True, eq=False)
class Defect:
    """One thing that is wrong in an otherwise valid question: its attributes, or one input.

    `rule` is the rule that it breaks, `name` the last part of the question's id, `about` a sentence that says
    what is wrong, and `ledger` the entry in the owner's ledger. If `decides` is false, the text is silent or
    leaves open what happens; what a runtime does is then only reported.

    The valid question is the baseline with the attributes `valid`. The defect overwrites attributes with
    `given`; None removes one. It replaces the input `tensor` by `change` of it, or removes it if there is
    no `change`.

    A runtime that overlooks the defect may answer a valid question instead. Such a question has the right
    input changed by one of `taken_for`, and the attributes of one of `attributes_taken_for`.
    """

    rule: str
    name: str
    about: str
    ledger: str = ""
    decides: bool = True
    valid: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    tensor: str = ""
    change: Change | None = None
    taken_for: tuple[Change, ...] = (unchanged,)
    attributes_taken_for: tuple[Mapping[str, Any], ...] = ({},)


def written(operator: Operator) -> dict[str, Any]:
    """List the attributes that valid questions set."""
    found: dict[str, Any] = {}
    for one in operator.attributes:
        if one.sets == "activations":
            found[one.name] = list(one.default)
        elif one.required or one.sets in _WRITTEN:
            words = {meant: word for word, meant in one.choices.items()}
            found[one.name] = words.get(_WRITTEN[one.sets], _WRITTEN[one.sets])
    return found


@cache
def defects(operator: Operator) -> tuple[Defect, ...]:
    """List the defects that have an entry in the ledger of the operator's owner."""
    candidates = {one.name: _of_attribute(operator, one) for one in operator.attributes}
    attributes = operator.with_defaults(written(operator))
    forms = [tensor.form(attributes) for tensor in operator.inputs]
    named = Counter(symbol for form in forms for symbol in _symbols(form))
    for tensor, form in zip(operator.inputs, forms, strict=True):
        candidates[tensor.name] = _of_input(operator, tensor, form, named)
    usual = _FORBIDDEN.get(operator.owner, {})
    found = []
    for of, made in candidates.items():
        rules = {**usual, **_FORBIDDEN.get(f"{operator.name} {of}", {})}
        for defect in made:
            if entry := rules.get(defect.rule):
                named_so = replace(defect, name=f"{of}-{defect.name}", ledger=entry.rstrip("?"))
                found.append(replace(named_so, decides=not entry.endswith("?")))
    return tuple(found)


def _of_attribute(operator: Operator, one: Attribute) -> Iterator[Defect]:
    """Make the defects of an attribute, by its meaning."""

    def wrong(rule: str, name: str, value: Any, about: str, **rest: Any) -> Defect:
        return Defect(rule, name, f"{one.name} {about}", given={one.name: value}, **rest)

    first, second = _PARAMETERS[:2]
    if one.required:
        yield wrong("required attribute", "missing", None, "is required, but left out")
    match one.sets:
        case axis if axis in SIZES:
            right = SIZES[axis]
            sizes = {"zero": 0, "negative": -right, "more": right + 1, "less": right - 1}
            for name, size in sizes.items():
                about = f"is {size}, but the inputs have {axis} size {right}"
                yield wrong(axis, name, size, about)
        case "f" | "g":
            about = "is 'gelu', which is no activation of this operator"
            yield wrong("activation", "gelu", "gelu", about)
        case "activations":
            f, g = one.default
            for name, functions in (("unknown-f", ["gelu", g]), ("unknown-g", [f, "gelu"])):
                about = "names 'gelu', which is no activation of this operator"
                yield wrong("activation", name, functions, about)
            rule = "number of activations"
            for name, functions in (("one", [f]), ("three", [f, g, f])):
                about = f"has {len(functions)} entries; expected 2"
                yield wrong(rule, name, functions, about)
            if one.per_direction and (direction := operator.setting("direction")):
                both = {one.name: [f, g, f, g], direction.name: "bidirectional"}
                about = "has 4 entries for one direction; expected 2"
                yield wrong(rule, "four", [f, g, f, g], about)
                about = "has 2 entries for two directions; expected 4"
                yield wrong(rule, "two-of-four", [f, g], about, valid=both)
        case "alpha" | "beta" if taking := operator.setting("activations"):
            defaults = {
                name: getattr(function, one.sets)
                for name, function in taking.choices.items()
                if one.sets in function.takes
            }
            name = next(name for name, default in defaults.items() if not math.isnan(default))
            valid = {taking.name: [name, name], one.name: [first, second]}
            taken: tuple[Mapping[str, Any], ...] = ({}, {one.name: [first, defaults[name]]})
            for count, given in (("one", [first]), ("three", _PARAMETERS)):
                about = f"has {len(given)} entries; two activations take one"
                defect = wrong("number of parameters", count, given, about, valid=valid)
                yield replace(defect, attributes_taken_for=taken)
        case "clip":  # a runtime may not clip, or may overlook the bound's sign
            for name, bound in (("zero", 0.0), ("negative", -0.5), ("nan", math.nan)):
                taken = ({}, {one.name: 0.5}) if bound < 0 else ({},)
                about = f"is {bound:g}; expected a positive number"
                yield wrong("clip", name, bound, about, attributes_taken_for=taken)
        case _ if one.kind == "boolean":
            yield wrong("switch", "two", 2, "is 2; expected 0 or 1", valid={one.name: True})
        case "direction" | "" if one.choices:
            yield _of_choices(one)


def _of_choices(one: Attribute) -> Defect:
    """Make the defect of an attribute whose value is none of its choices."""
    words = ("backward", "reverse") if one.sets == "direction" else ()
    value: Any = "nrz"
    rule, name = "layout", "gates"
    if words:
        name = value = next(word for word in words if word not in one.choices)
        rule = "direction"
    elif one.kind == "int":
        name, value = "two", 2
    expected = ", ".join(one.choices) if words else " or ".join(map(str, one.choices))
    about = f"{one.name} is {value!r}; expected {'one of ' * bool(words)}{expected}"
    taken = ({}, *({one.name: word} for word in words if word in one.choices))
    return Defect(rule, name, about, given={one.name: value}, attributes_taken_for=taken)


def _of_input(
    operator: Operator, tensor: Tensor, form: Form, named: Mapping[str, int]
) -> Iterator[Defect]:
    """Make the defects of an input: missing; or of a wrong rank, dimension, dtype, length or bias size.

    `named` counts, for each size symbol, the axes of all inputs that have it.
    """
    name, lengths = tensor.name, tensor.role == "lengths"

    def wrong(rule: str, kind: str, about: str, change: Change | None, *taken: Change) -> Defect:
        taken_for = taken or (unchanged,)
        return Defect(rule, kind, about, tensor=name, change=change, taken_for=taken_for)

    if tensor.required:
        instead = unchanged if lengths else np.zeros_like
        yield wrong("required input", "missing", f"{name} is required, but left out", None, instead)
    elif len(both := operator.beside(tensor)) > 1:
        about = f"{name} is left out, but {' and '.join(both)} come together"
        yield wrong("together", "missing", about, None, np.zeros_like)
    expected = f"expected {len(form.axes)}: {', '.join(form.axes)}"
    about = f"{name} has one axis too few; {expected}"
    yield wrong("shape", "axis-less", about, lambda array: array[0].copy(), _all_as_first)
    about = f"{name} has one axis too many; {expected}"
    yield wrong("shape", "axis-more", about, lambda array: array[np.newaxis].copy())
    for place, (axis, symbol) in enumerate(zip(form.axes, _symbols(form), strict=True)):
        if symbol.isdigit() or named[symbol] < 2:  # no other input has an axis of this size
            continue
        about, word = f"the axis {axis} of {name} is one too", axis.replace("*", "")
        longer, shorter = (partial(_resized, axis=place, by=by) for by in (1, -1))
        yield wrong("shape", f"{word}-more", f"{about} large", longer)
        if operator.sizes[symbol] != "direction":  # with one direction less, none would be left
            zeros = partial(_zeros_at_end, axis=place, count=1, least=tensor.least)
            yield wrong("shape", f"{word}-less", f"{about} small", shorter, zeros)
    if lengths:
        dtypes = {d: d for d in INTEGER_TYPES.keys() - operator.types[tensor.type]}
        for dtype, word in ({"float32": "float"} | dtypes).items():
            about, change = f"{name} holds {dtype} numbers", partial(np.ndarray.astype, dtype=dtype)
            yield wrong("dtype of lengths", word, about, change)
        if operator.masked:
            return
        values = (-1, 0, tensor.least, SIZES["time"] + 1)
        below, zero, least, above = (partial(_last_is, value=value) for value in values)
        yield wrong("length below", "negative", f"{name} holds -1", below, least, unchanged)
        if tensor.least:
            yield wrong("length below", "zero", f"{name} holds 0", zero, least, unchanged)
        about = f"{name} holds {SIZES['time'] + 1}, but the time axis has {SIZES['time']} steps"
        yield wrong("length above", "beyond", about, above)
        return
    about = f"{name} has a different floating-point type from the other inputs"
    yield wrong("dtype", "other-float", about, _other_float)
    whole = partial(_whole, dtype=np.int32)
    yield wrong("dtype", "integer", f"{name} holds integers", whole, _whole)
    if tensor.role == "b":
        yield from _of_bias(tensor)


def _of_bias(tensor: Tensor) -> Iterator[Defect]:
    """Make biases of another operator's size, or of the size for the other place of the reset gate."""
    forms = {int(form.products[-1][0]): form for form in reversed(tensor.forms)}
    for right, form in sorted(forms.items()):
        valid = dict(form.when) if len(forms) > 1 else {}
        where = "".join(f" with {name} {value_text(value)}" for name, value in valid.items())
        axis = form.axes[-1]
        # sizes of some operator, and plausible mistakes
        for wrong in sorted({3, 4, 6, 8} - {right}):
            numbers, more = (
                axis.replace(str(right), str(wrong), 1),
                (wrong - right) * SIZES["hidden"],
            )
            about = f"{tensor.name} has {numbers} numbers; expected {axis}{where}"
            change = partial(_resized, axis=-1, by=more)
            defect = Defect("shape", f"{wrong}H-where-{right}H", about, valid=valid, change=change)
            taken = unchanged if more > 0 else partial(_zeros_at_end, axis=-1, count=-more)
            yield replace(defect, tensor=tensor.name, taken_for=(taken,))


def _symbols(form: Form) -> list[str]:
    """List the size symbol of each axis."""
    return [product[-1] for product in form.products]


def _all_as_first(array: Array) -> Array:
    return np.broadcast_to(array[:1], array.shape).copy()


def _resized(array: Array, axis: int, by: int) -> Array:
    """Leave out numbers at the end of an axis, or add those at its start again."""
    return array.take(range(array.shape[axis] + by), axis, mode="wrap")


def _zeros_at_end(array: Array, axis: int, count: int, least: int = 0) -> Array:
    found = array.copy()
    np.moveaxis(found, axis, 0)[-count:] = least
    return found


def _other_float(array: Array) -> Array:
    other = "float16" if dtype_name(array.dtype) == "float32" else "float32"
    return array.astype(FLOAT_TYPES[other].numpy)


def _whole(array: Array, dtype: Any = None) -> Array:
    return np.rint(array.astype(np.float64) * 4).astype(dtype or array.dtype)


def _last_is(array: Array, value: int) -> Array:
    return np.concatenate([array[:-1], np.full(1, value, array.dtype)])


@dataclass(frozen=True, eq=False)
class InvalidQuestion:
    """An invalid question: the `valid` question, and the same `question` with the `defect` in it."""

    defect: Defect
    valid: Question
    question: Question

    @property
    def id(self) -> str:
        """The id of the question with the defect."""
        return self.question.id

    @property
    def ledger(self) -> str:
        """The link to the defect's ledger entry, such as `openvino/LEDGER.md#clip-default`."""
        return f"{OPERATORS[self.question.operator].owner}/LEDGER.md#{self.defect.ledger}"

    def may_be_taken_for(self) -> list[Question]:
        """List the valid questions that a runtime may answer instead if it overlooks the defect."""
        defect, valid = self.defect, self.valid
        inputs = [valid.inputs]
        if defect.tensor:
            right = valid.inputs[defect.tensor]
            inputs = [{**valid.inputs, defect.tensor: take(right)} for take in defect.taken_for]
        return [
            replace(valid, given={**valid.given, **other}, inputs=one)
            for other in defect.attributes_taken_for
            for one in inputs
        ]


def invalid_questions(
    operators: Collection[str] = (), dtypes: Collection[str] = (), select: Sequence[str] = ()
) -> Iterator[InvalidQuestion]:
    """Make the invalid questions of these operators and dtypes (none: all) with an id that globs select."""
    chosen = [one for one in OPERATORS.values() if not operators or one.name in operators]
    for operator, dtype in ((one, dtype) for one in chosen for dtype in one.dtypes()):
        prefix = f"{operator.name}/{INVALID}/{dtype}/"
        if (dtypes and dtype not in dtypes) or not may_select(prefix, select):
            continue
        for defect in defects(operator):
            if selected(prefix + defect.name, select):
                valid = baseline(operator, dtype, defect.valid)
                wrong = _put_into(valid, defect, prefix + defect.name)
                yield InvalidQuestion(defect, valid, wrong)


def baseline(operator: Operator, dtype: str, others: Mapping[str, Any]) -> Question:
    """Make the valid question of an operator and dtype, with the usual attributes and `others`."""
    given = {**written(operator), **others}
    attributes = operator.with_defaults(given)
    of_axes = SIZES | {"direction": len(operator.directions(attributes))}
    sizes = {symbol: of_axes[axis] for symbol, axis in operator.sizes.items()}
    inputs: Arrays = {}
    for place, tensor in enumerate(operator.inputs):
        shape = operator.shape(tensor, attributes, sizes)
        inputs[tensor.name] = _numbers(operator, tensor, shape, dtype, place)
    words = "-".join(["valid", *others])
    return pose(operator, given, inputs, case_id=f"{operator.name}/{INVALID}/{dtype}/{words}")


def _numbers(
    operator: Operator, tensor: Tensor, shape: tuple[int, ...], dtype: str, place: int
) -> Array:
    """Make an input: full lengths; zeros, if zeros are a case's default; else multiples of 1/16.

    The multiples are -8/16 to 8/16, in another order for each input.
    """
    if tensor.role == "lengths":
        full = True if operator.masked else SIZES["time"]
        return np.full(shape, full, numpy_dtype(operator.types[tensor.type][0]))
    if tensor.fills[:1] == ("zeros",):
        return np.zeros(shape, numpy_dtype(dtype))
    numbers = (np.arange(math.prod(shape)) * (5 + place) + 3 * place + 1) % 17 - 8
    return np.asarray(numbers.reshape(shape) / 16).astype(numpy_dtype(dtype))


def _put_into(question: Question, defect: Defect, case_id: str) -> Question:
    """Put a defect into a valid question; ask for the same outputs as the valid question."""
    given = {**question.given, **defect.given}
    inputs = dict(question.inputs)
    if defect.change is not None:
        inputs[defect.tensor] = defect.change(inputs[defect.tensor])
    elif defect.tensor:
        del inputs[defect.tensor]
    left = {name: value for name, value in given.items() if value is not None}
    return replace(question, id=case_id, given=left, inputs=inputs)
