"""The factors of an operator: everything a case spec may enumerate, with its values and tokens.

Most follow from the operator's description: attributes, sizes, tensors that may be absent or zeros,
the sequence lengths, and type variables with a choice of dtypes besides the case's. The factor `draw`
says how inputs are drawn, and `W_scale` and the like how large each is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from ..operators import OPERATORS
from ..operators.signature import ABSENT, Attribute, Operator, Tensor
from ..operators.values import ValueType, either, list_of, name_choices, one_of, written_type
from ..question import MOST_SIZE

Plant = Literal[
    "", "nan", "infinity", "overflow", "signed-zero", "subnormal", "padding-nan", "padding-infinity"
]


@dataclass(frozen=True)
class Draw:
    """How the inputs of a case are drawn; `gen.drawing` draws them.

    X is scaled by 2 to the power `x_exponent`, W and R by 2 to the power `weight_exponent`. `weight_bits`
    are the bits of W and R, if they have fewer than the dtype. `plant` names special values that are put
    into the inputs; such a case is nonportable.
    """

    name: str
    about: str
    x_exponent: int = 0
    weight_exponent: int = 0
    weight_bits: int | None = None
    plant: Plant = ""


DRAWS: dict[str, Draw] = {
    draw.name: draw
    for draw in (
        Draw("ordinary", "pre-activations of order one"),
        Draw("quarter-weights", "W and R a quarter as large, for large cells", weight_exponent=-2),
        Draw("coarse", "W and R of two bits and a sign: large cells that take little space", weight_bits=2),
        Draw("x8", "X eight times as large: saturating sigmoid and tanh, relu above one", 3),
        Draw("x64", "X sixty-four times as large: saturated sigmoid and tanh, relu far above one", 6),
        Draw("nan", "one NaN in X, one in h0", plant="nan"),
        Draw("infinity", "+infinity and -infinity in X", plant="infinity"),
        Draw("overflow", "X so large that results overflow to infinity", plant="overflow"),
        Draw("signed-zero", "X, h0 and B zeros of both signs", plant="signed-zero"),
        Draw("subnormal", "X, h0 and B subnormal in the case's dtype", plant="subnormal"),
        Draw("padding-nan", "NaN in X past every row's length", plant="padding-nan"),
        Draw("padding-infinity", "infinities of both signs in X past every row's length",
             plant="padding-infinity"),
    )
}  # fmt: skip

LENGTHS: dict[str, Callable[[int, int, list[int]], list[int]]] = {
    "full": lambda batch, time, _: [time] * batch,
    "ones": lambda batch, *_: [1] * batch,
    "ragged": lambda _, __, ragged: ragged,
    "short": lambda batch, time, _: [1 + row % max(min(time - 1, 3), 1) for row in range(batch)],
    "longest-first": lambda _, time, ragged: [time, *ragged[1:]],
    "longest-middle": lambda batch, time, ragged: [
        *ragged[: batch // 2], time, *ragged[batch // 2 + 1 :]
    ],
    "longest-last": lambda _, time, ragged: [*ragged[:-1], time],
    "with-zero": lambda _, __, ragged: [0 if row % 2 == 0 else n for row, n in enumerate(ragged)],
    "zero-first": lambda batch, time, _: [0, *[time] * (batch - 1)],
    "zero-middle": lambda batch, time, _: [time * (row != batch // 2) for row in range(batch)],
    "zero-last": lambda _, __, ragged: [*ragged[:-1], 0],
    "all-zero": lambda batch, *_: [0] * batch,
}  # fmt: skip
"""Patterns of sequence lengths: functions of the numbers of rows and of steps, and of ragged lengths."""


@functools.cache
def lengths(pattern: str, batch: int, time: int) -> tuple[int, ...]:
    """Make the length of each of `batch` rows, each in 0 … `time`, by a pattern of LENGTHS."""
    shorter = max(time - 1, 1)
    ragged = [shorter - (2 * row) % shorter for row in range(batch)]
    return tuple(LENGTHS[pattern](batch, time, ragged))


MOST_SCALE = 24
"""Maximum power of two by which an input is larger or smaller; float32 and bfloat16 can do more."""
PRESENT, ZEROS = "present", "zeros"
PADDING, BEHIND, BEFORE = "padding", "behind", "before"
"""The factor of a mask's operator that says on which side of a row's steps its padding is."""
NEEDED = object()
"""The `default` of a factor that every case must name."""


@dataclass(frozen=True)
class Factor:
    """One thing a case spec may enumerate.

    `default` is the value in a case that does not name the factor. `token(value)` stands for the value in
    a case's id; it is empty for most defaults. Numbers of one class are asked alike; `least` has the least
    number of each class. `choices` are all values, of a factor that has no others; of lengths, the patterns.
    """

    name: str
    values: ValueType
    default: Any
    token: Callable[[Any], str]
    is_size: bool = False
    least: tuple[int, ...] = ()
    choices: tuple[Any, ...] = ()


LEAST = {
    "batch": (1, 2, 5, 18),
    "time": (1, 2, 9, 16, 33),
    "input": (1, 2, 17, 129),
    "hidden": (1, 2, 17, 66, 129),
}
"""The least size of each class by axis: one, few, more than a vector or two of them."""


@functools.cache
def factors(operator_name: str) -> dict[str, Factor]:
    """List the factors of an operator, by name, in the order in which ids name them."""
    operator = OPERATORS[operator_name]
    attributes = {attribute.name: attribute for attribute in operator.attributes}
    found = [
        *(_attribute(attributes[name]) for name in operator.id_order),
        *_tensors(operator),
        *(_size(symbol, axis) for symbol, axis in operator.sizes.items() if axis != "direction"),
    ]
    for variable, (first, *others) in operator.types.items():
        if others and operator.types[variable] != operator.dtypes():
            found.append(_choice(variable, first, {dtype: dtype for dtype in others}))
    if lengths := operator.tensor("lengths"):
        found.append(_lengths(lengths))
    if operator.masked:
        found.append(_choice(PADDING, BEHIND, {BEFORE: BEFORE}))
    usual, *drawn = DRAWS
    found.append(_choice("draw", usual, {draw: draw for draw in drawn}))
    found += [_scale(tensor.name) for tensor in operator.inputs if tensor.role != "lengths"]
    return {factor.name: factor for factor in found}


def _attribute(attribute: Attribute) -> Factor:
    written = written_type(attribute)
    values: Any = written.annotation
    expected = written.expected
    if not attribute.required:
        values, expected = either(values, one_of([ABSENT])), f"{expected}, or {ABSENT}"
    described = Annotated[values, Field(description=attribute.about)]
    default = NEEDED if attribute.required else ABSENT
    choices = (True, False) if attribute.kind == "boolean" else tuple(attribute.choices)
    choices += () if attribute.required else (ABSENT,)

    def token(value: Any) -> str:
        if value == ABSENT:
            return attribute.absent_token
        if isinstance(value, bool):
            return attribute.token if value else f"{attribute.token}0"
        entries = value if isinstance(value, list) else [value]
        return attribute.token + "_".join(str(entry).removesuffix(".0") for entry in entries)

    return Factor(attribute.name, ValueType(described, expected), default, token, choices=choices)


def _tensors(operator: Operator) -> Iterable[Factor]:
    """List the factors of tensors that may be absent or zeros, and of attributes that repeat a size."""
    together = set()
    for tensor in (*operator.inputs, *operator.outputs):
        zero = {ZEROS: f"zero{tensor.name}"} if tensor.fills else {}
        if tensor.role == "lengths" or tensor.together in together:
            continue
        if tensor.together:
            together.add(tensor.together)
            yield _choice(tensor.together, PRESENT, {ABSENT: f"no{tensor.together}"})
        elif not tensor.required:
            yield _choice(tensor.name, PRESENT, zero | {ABSENT: f"no{tensor.name}"})
        elif tensor.fills:
            first, other = tensor.fills
            yield _choice(tensor.name, first, zero if other == ZEROS else {other: tensor.name})
    for name, attribute in operator.repeating().items():
        if not attribute.required:
            yield _choice(f"{name}_attribute", PRESENT, {ABSENT: f"no{name}"})


def _size(symbol: str, axis: str) -> Factor:
    letter = {"batch": "n", "time": "t", "input": "i", "hidden": "h"}[axis]
    title = f"an integer from 1 to {MOST_SIZE}"
    values = ValueType(Annotated[int, Strict(), Field(ge=1, le=MOST_SIZE, title=title)], title)
    return Factor(symbol, values, NEEDED, lambda value: f"{letter}{value}", True, LEAST[axis])


def _choice(name: str, default: str, tokens: Mapping[str, str]) -> Factor:
    """Make a factor of names: the default, which ids leave out, and others, each with its token."""
    known = {default: ""} | dict(tokens)
    values = ValueType(one_of(known), name_choices(known))
    return Factor(name, values, default, known.__getitem__, choices=tuple(known))


def scale_of(tensor: str) -> str:
    """Name the factor that scales an input."""
    return f"{tensor}_scale"


def _scale(name: str) -> Factor:
    """Make the factor of powers of two by which an input is larger than usual, or smaller."""
    title = f"an integer from {-MOST_SCALE} to {MOST_SCALE}"
    about = f"{name} is 2 to this power times as large as usual"
    of = Field(ge=-MOST_SCALE, le=MOST_SCALE, title=title, description=about)

    def token(value: int) -> str:
        return f"{name}{'x' if value > 0 else 'by'}{2 ** abs(value)}" if value else ""

    values = ValueType(Annotated[int, Strict(), of], title)
    return Factor(scale_of(name), values, 0, token, least=(-MOST_SCALE, 0, 1))


def _lengths(tensor: Tensor) -> Factor:
    name, least = tensor.name, tensor.least
    words = [pattern for pattern in LENGTHS if min(lengths(pattern, 2, 2)) >= least]
    words += [] if tensor.required else [ABSENT]
    title = "a list of lengths, one per row"
    entries = list_of(Annotated[int, Strict(), Field(ge=least)])
    listed: Any = Annotated[entries, Field(min_length=1, title=title)]

    def token(value: Any) -> str:
        if isinstance(value, list):
            return "len" + "_".join(map(str, value))
        return {"full": "", ABSENT: f"no{name}"}.get(value, str(value))

    values = ValueType(either(one_of(words), listed), f"{name_choices(words)}, or {title}")
    return Factor(name, values, "full", token, choices=tuple(words))


def key(value: Any) -> str:
    """Make a hashable form of a factor's value, which tells 1 from true."""
    return json.dumps(value)
