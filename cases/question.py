"""Questions, which are all that a runtime gets of a case; and the rules for ids and sizes.

`pose` makes a question from attributes and arrays, and checks them against the operator's description.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from .errors import GrucibleError
from .operators import OPERATORS
from .operators.layout import mask_of, mask_rows
from .operators.semantics import Semantics, semantics
from .operators.signature import Operator, Tensor
from .operators.values import all_attributes

INVALID = "invalid"
"""The theme of invalid questions, and of the valid questions that they are made from."""
MOST_SIZE = 4096
"""Maximum size, such as hidden_size; error bounds hold a hidden × hidden matrix for every step."""
MOST_CASE_BYTES = 320 << 20
"""Maximum bytes of a case's tensors in float64: those of two directions, hidden_size 1024, batch 8, 1000
steps. The largest shipped case has 6.5 MiB."""


class QuestionError(GrucibleError):
    """Attributes and arrays that make no question; the message says what is wrong and what is expected."""


class TensorType(NamedTuple):
    """The shape and numpy dtype of an array that is asked for; bfloat16 is the dtype of `ml_dtypes`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of such an array."""
        return math.prod(self.shape) * self.dtype.itemsize


def shapes(tensors: Mapping[str, Array | TensorType]) -> str:
    """List the names and shapes of tensors in one line."""
    return ", ".join(f"{name} {one.shape}" for name, one in tensors.items())


@dataclass(frozen=True, repr=False)
class Question:
    """One operator, one dtype, one value for every attribute, and the inputs: no answer.

    `given` has the attributes that the case sets, `attributes` all, with defaults filled in. `inputs` have
    names, shapes and types of the operator's specification; the dict lacks inputs that are left out.
    `outputs` has the shape and dtype of each output that is asked for.
    """

    id: str
    operator: str
    dtype: str
    given: Mapping[str, Any]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, TensorType]

    def __repr__(self) -> str:
        return f"<Question {self.id}: {shapes(self.inputs)} -> {shapes(self.outputs)}>"

    @property
    def theme(self) -> str:
        """The second part of the id; "" where it has none."""
        return self.id.partition("/")[2].partition("/")[0]

    @property
    def attributes(self) -> dict[str, Any]:
        """All attributes, defaults filled in; None where there is no value. A copy that you may change."""
        operator = OPERATORS[self.operator]
        nothing = {attribute.name: None for attribute in operator.attributes}
        return nothing | deepcopy(operator.with_defaults(self.given))

    @property
    def model(self) -> Hashable:
        """What a loaded model depends on: the attributes, W, R and B, and which tensors there are.

        It is equal for questions that differ in X, initial state, lengths and batch size alone.
        """
        given = repr(sorted(self.given.items()))
        weights = [t.name for t in OPERATORS[self.operator].inputs if t.role in ("w", "r", "b")]
        bits = tuple(self.inputs[name].tobytes() for name in weights if name in self.inputs)
        return self.operator, self.dtype, given, tuple(self.inputs), tuple(self.outputs), bits

    @property
    def semantics(self) -> Semantics:
        """The GRU that the question asks for."""
        operator = OPERATORS[self.operator]
        return semantics(operator, operator.with_defaults(self.given))

    def buffers(self) -> Arrays:
        """Make arrays for the outputs, filled with NaN, for kernels that write into given memory."""
        return {name: np.full(t.shape, np.nan, t.dtype) for name, t in self.outputs.items()}


def pose(
    operator: Operator,
    given: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    case_id: str = "",
    outputs: Collection[str] | None = None,
) -> Question:
    """Make a question of `operator` with the attributes `given`; it asks for `outputs`, or for all.

    `inputs` have the names, shapes and types of the operator's specification; the input with role x gives the
    question its dtype. Raises QuestionError if the arguments make no question.
    """
    try:
        attributes = all_attributes(operator, given)
    except ValueError as error:
        raise QuestionError(str(error)) from None
    _check_names(operator, inputs, operator.inputs, "input")
    if outputs is not None:
        _check_names(operator, outputs, operator.outputs, "output")
    x = next(tensor for tensor in operator.inputs if tensor.role == "x")
    dtype = dtype_name(inputs[x.name].dtype)
    if dtype not in operator.dtypes():
        raise QuestionError(f"{x.name} is {dtype}; expected {' or '.join(operator.dtypes())}")
    sizes = _sizes(operator, attributes, inputs)
    if why := too_large(operator, attributes, sizes):
        raise QuestionError(why)
    ordered = {t.name: inputs[t.name] for t in operator.inputs if t.name in inputs}
    question = Question(case_id, operator.name, dtype, dict(given), ordered, outputs={})
    for tensor in operator.inputs:
        if tensor.name in inputs:
            _check_input(question, tensor, attributes, sizes)
    kind = FLOAT_TYPES[dtype].numpy
    wanted = [t for t in operator.outputs if outputs is None or t.name in outputs]
    types = {t.name: TensorType(operator.shape(t, attributes, sizes), kind) for t in wanted}
    return replace(question, outputs=types)


def sizes_of(question: Question) -> dict[str, int]:
    """Find the value of every size symbol of the question's operator, in the operator's order."""
    operator = OPERATORS[question.operator]
    return _sizes(operator, operator.with_defaults(question.given), question.inputs)


def _check_names(
    operator: Operator, given: Collection[str], tensors: Collection[Tensor], what: str
) -> None:
    known = [tensor.name for tensor in tensors]
    listed = ", ".join(known)
    for name in given:
        if name not in known:
            raise QuestionError(f"{operator.name} has no {what} {name!r}; it has {listed}")
    for tensor in tensors:
        if tensor.required and tensor.name not in given:
            raise QuestionError(f"{what} {tensor.name} is missing; {operator.name} needs it")
        if tensor.name not in given and not {*operator.beside(tensor)}.isdisjoint(given):
            both = " and ".join(operator.beside(tensor))
            raise QuestionError(f"{what} {tensor.name} is missing; {both} come together")
    if not given:
        raise QuestionError(f"no {what} is given; expected one or more of {listed}")


def _sizes(
    operator: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Array]
) -> dict[str, int]:
    """Find the value of every size symbol, from attributes, or from axes that are one symbol long."""
    found: dict[str, int] = {}
    for symbol, axis in operator.sizes.items():
        if axis == "direction":
            found[symbol] = len(operator.directions(attributes))
        elif symbol in operator.repeating() and symbol in attributes:
            found[symbol] = attributes[symbol]
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
    question: Question, tensor: Tensor, attributes: Mapping[str, Any], sizes: Mapping[str, int]
) -> None:
    operator, array = OPERATORS[question.operator], question.inputs[tensor.name]
    allowed = operator.types[tensor.type]
    allowed = (question.dtype,) if allowed == operator.dtypes() else allowed
    found, shape = dtype_name(array.dtype), operator.shape(tensor, attributes, sizes)
    if found not in allowed:
        raise QuestionError(f"{tensor.name} is {found}; expected {' or '.join(allowed)}")
    if array.shape != shape:
        axes = ", ".join(tensor.form(attributes).axes)
        raise QuestionError(f"{tensor.name} has shape {array.shape}; expected {shape}: ({axes})")
    if 0 in shape:
        raise QuestionError(f"{tensor.name} has shape {shape}, and is empty")
    if tensor.role == "lengths" and operator.masked:
        lengths, starts = mask_rows(array)
        holes = (array != mask_of(lengths, starts, array.shape[-1])).any(axis=-1)
        if holes.any():
            row = int(np.argmax(holes))
            raise QuestionError(f"row {row} of {tensor.name} has steps apart; expected one run")
        given = {t.role for t in operator.inputs if t.name in question.inputs}
        roles = {t.role_in(attributes) for t in operator.outputs}
        if "h0" in given and "y" not in roles and not lengths.all():  # ledger: zero-row
            raise QuestionError(
                f"{tensor.name} masks a whole row, which has no last output; give no initial state"
            )
    elif tensor.role == "lengths":
        [time] = [sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
        wrong = array[(array < tensor.least) | (array > time)]
        if wrong.size:
            expected = f"expected {tensor.least} to {time}"
            raise QuestionError(f"{tensor.name} holds {wrong[0]}; {expected}")


def why_no_theme(name: str) -> str:
    """Say why a theme of cases with answers cannot have this name; "" where it can.

    A theme is also the name of a file, which must not be hidden.
    """
    if name == INVALID:
        return f"the theme is {INVALID!r}, that of questions without answers; expected another"
    if name.isprintable() and "/" not in name and name[:1] not in ("", "."):
        return ""
    return (
        f"the theme is {name!r}; expected a name of printable text, without / and with no dot first"
    )


def why_no_id(case_id: str, operator: str, theme: str, dtype: str) -> str:
    """Say why a case of this operator, theme and dtype cannot have this id; "" where it can."""
    prefix = f"{operator}/{theme}/{dtype}/"
    if not case_id.startswith(prefix):
        return f"does not begin with {prefix}"
    if not case_id.isprintable():
        return "is not printable text"
    return "ends with a space" if case_id.endswith(" ") else ""


def names_invalid(glob: str) -> bool:
    """Say whether an id, or a glob of ids, names the theme of invalid questions."""
    return f"/{INVALID}/" in glob


def case_bytes(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """Count the bytes of the tensors of a case, in float64."""
    tensors = (*operator.inputs, *operator.outputs)
    return 8 * sum(math.prod(operator.shape(t, attributes, sizes)) for t in tensors)


def too_large(operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    """Say why a case of these sizes is too large; "" where it is not."""
    for symbol, length in sizes.items():
        if length > MOST_SIZE:
            return f"{symbol} is {length}; expected at most {MOST_SIZE}"
    size = case_bytes(operator, attributes, sizes)
    if size > MOST_CASE_BYTES:
        return (
            f"has tensors of {size >> 20} MiB in float64; expected at most "
            f"{MOST_CASE_BYTES >> 20}; take smaller sizes"
        )
    return ""
