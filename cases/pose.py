"""A question from attributes and arrays that somebody gives: checked against the operator's description."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .dtypes import FLOAT_TYPES, Array, dtype_name
from .errors import GrucibleError
from .operators import OPERATORS
from .operators.signature import Operator, Tensor
from .operators.values import all_attributes
from .question import Question, TensorType, too_large


class QuestionError(GrucibleError):
    """What is given makes no question of the operator; says what is wrong, and what is expected."""


def pose(
    operator: Operator,
    given: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    case_id: str = "",
    outputs: Collection[str] | None = None,
) -> Question:
    """Make the question of `operator` with the attributes `given` that asks for `outputs`, or for all.

    `inputs` are named, shaped and typed as the operator's specification has them; the dtype of the question
    is that of the input that plays x. Raises QuestionError for anything that makes no such question.
    """
    try:
        attributes = all_attributes(operator, given)
    except ValueError as error:
        raise QuestionError(str(error)) from None
    _check_names(operator, inputs, operator.inputs, "input")
    x = next(tensor for tensor in operator.inputs if tensor.role == "x")
    dtype = dtype_name(inputs[x.name].dtype)
    if dtype not in operator.dtypes():
        raise QuestionError(f"{x.name} is {dtype}; expected {' or '.join(operator.dtypes())}")
    sizes = _sizes(operator, attributes, inputs)
    if why := too_large(operator, attributes, sizes):
        raise QuestionError(why)
    for tensor in operator.inputs:
        if tensor.name in inputs:
            _check_input(operator, tensor, attributes, sizes, inputs[tensor.name], dtype)
    wanted = [t for t in operator.outputs if outputs is None or t.name in outputs]
    if outputs is not None:
        _check_names(operator, outputs, operator.outputs, "output")
    kind = FLOAT_TYPES[dtype].numpy
    return Question(
        id=case_id,
        operator=operator.name,
        dtype=dtype,
        given=dict(given),
        inputs={t.name: inputs[t.name] for t in operator.inputs if t.name in inputs},
        outputs={t.name: TensorType(operator.shape(t, attributes, sizes), kind) for t in wanted},
    )


def sizes_of(question: Question) -> dict[str, int]:
    """Every size symbol of the question's operator, in its order, from the shapes of the inputs."""
    operator = OPERATORS[question.operator]
    return _sizes(operator, operator.with_defaults(question.given), question.inputs)


def _check_names(
    operator: Operator, given: Collection[str], tensors: Collection[Tensor], what: str
) -> None:
    known = [tensor.name for tensor in tensors]
    for name in given:
        if name not in known:
            raise QuestionError(
                f"{operator.name} has no {what} {name!r}; it has {', '.join(known)}"
            )
    for tensor in tensors:
        if tensor.required and tensor.name not in given:
            raise QuestionError(f"{what} {tensor.name} is missing; {operator.name} needs it")
    if not given:
        raise QuestionError(f"no {what} is given; expected one or more of {', '.join(known)}")


def _sizes(
    operator: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Array]
) -> dict[str, int]:
    """Every size symbol, from attributes and from axes that are one size long."""
    found: dict[str, int] = {}
    hidden = operator.setting("hidden")
    for symbol, axis in operator.sizes.items():
        if axis == "direction":
            found[symbol] = len(operator.directions(attributes))
        elif axis == "hidden" and hidden and hidden.name in attributes:
            found[symbol] = attributes[hidden.name]
    for tensor in operator.inputs:
        if tensor.name not in inputs:
            continue
        axes, shape = tensor.form(attributes).axes, inputs[tensor.name].shape
        if len(shape) != len(axes):
            raise QuestionError(
                f"{tensor.name} has {len(shape)} axes; expected {len(axes)}: {', '.join(axes)}"
            )
        for axis, length in zip(axes, shape, strict=True):
            if axis in operator.sizes:
                found.setdefault(axis, length)
    return {symbol: found[symbol] for symbol in operator.sizes}


def _check_input(
    operator: Operator,
    tensor: Tensor,
    attributes: Mapping[str, Any],
    sizes: Mapping[str, int],
    array: Array,
    dtype: str,
) -> None:
    allowed = operator.types[tensor.type]
    allowed = (dtype,) if allowed == operator.dtypes() else allowed
    found, shape = dtype_name(array.dtype), operator.shape(tensor, attributes, sizes)
    if found not in allowed:
        raise QuestionError(f"{tensor.name} is {found}; expected {' or '.join(allowed)}")
    if array.shape != shape:
        axes = ", ".join(tensor.form(attributes).axes)
        raise QuestionError(f"{tensor.name} has shape {array.shape}; expected {shape}: ({axes})")
    if 0 in shape:
        raise QuestionError(f"{tensor.name} has shape {shape}, and is empty")
    if tensor.role == "lengths":
        [time] = [sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
        wrong = array[(array < 0) | (array > time)]
        if wrong.size:
            raise QuestionError(f"{tensor.name} holds {wrong[0]}; expected 0 to {time}")
