"""One attribute of an operator: what it is called, which values it takes, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from ..dtypes import FLOAT_TYPES
from .value_type import ValueType, list_of, one_of

Kind = Literal["int", "float", "boolean", "string", "strings", "floats"]
Meaning = Literal[
    "", "hidden", "activations", "f", "g", "alpha", "beta", "clip", "reset_after", "bias_inside",
    "direction", "sequence",
]  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """One attribute of an operator.

    `default` is what the specification says a left-out attribute means (None: it has no meaning of
    its own). `choices` maps each allowed value to what it means (an activation's name to the
    function, with default parameters, NaN where there is none); `length` is the number of entries of
    a list, for each direction where `per_direction`. Of numbers, `positive` excludes zero and below,
    `infinite` allows infinity to a positive one, and `single` says that the value is held as a
    float32 number. In case ids a value stands after `token`, and a left-out attribute is
    `absent_token`.
    """

    name: str
    kind: Kind
    about: str
    sets: Meaning = ""
    required: bool = False
    default: Any = None
    choices: Mapping[Any, Any] = field(default_factory=dict)
    length: int | None = None
    per_direction: bool = False
    positive: bool = False
    infinite: bool = False
    single: bool = False
    token: str = ""
    absent_token: str = ""

    @property
    def is_list(self) -> bool:
        """Whether the attribute's value is a list."""
        return self.kind in ("strings", "floats")

    @cached_property
    def values(self) -> ValueType:
        """The type of the attribute's values."""
        one = _one_value(self)
        if not self.is_list:
            return ValueType(one)
        lengths = () if self.length is None else (self.length, 2 * self.length)
        return ValueType(list_of(one, *(lengths if self.per_direction else lengths[:1])))

    def accepts(self, value: Any) -> bool:
        """Whether `value` is in the attribute's range, and of its type."""
        return self.values.accepts(value)

    @property
    def expected(self) -> str:
        """What the attribute takes, in words, for an error message."""
        return self.values.expected


_FLOAT32_ZERO = 2.0**-150
"""The largest number that float32 rounds to zero: half its least one, a tie to even."""
_FLOAT32_LARGEST = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest number that float32 does not round to infinity."""


def _one_value(attribute: Attribute) -> Any:
    """The pydantic type of a value, or of each entry of a list."""
    if attribute.choices:
        return one_of(attribute.choices)
    if attribute.kind == "boolean":
        return Annotated[bool, Strict(), Field(title="true or false")]
    if attribute.kind == "int":
        return _integer(attribute)
    return _number(attribute)


def _integer(attribute: Attribute) -> Any:
    """An integer that 64 bits hold."""
    most = 2**63 - 1
    if attribute.positive:
        return Annotated[int, Strict(), Field(gt=0, le=most, title="a positive integer")]
    return Annotated[int, Strict(), Field(ge=-most - 1, le=most, title="an integer")]


def _number(attribute: Attribute) -> Any:
    """A number whose float64 value, or float32 value if it is `single`, is in range; NaN never is.

    Infinity is no number of JSON. So where it is allowed, no bound of the type can exclude what float32
    rounds to infinity, and a check does.
    """
    assert attribute.positive or not attribute.infinite, attribute.name
    zero, largest = 0.0, FLOAT_TYPES["float64"].largest
    if attribute.single:
        zero, largest = _FLOAT32_ZERO, _FLOAT32_LARGEST
    words = [
        "positive" if attribute.positive else "",
        "" if attribute.infinite else "finite",
        "float32" if attribute.single else "",
        "number",
    ]
    bounds = Field(
        title="a " + " ".join(filter(None, words)),
        gt=zero if attribute.positive else None,
        ge=None if attribute.positive else -largest,
        le=None if attribute.infinite else largest,
    )
    found = Annotated[float, Strict(), bounds]
    if attribute.single and attribute.infinite:
        return Annotated[found, AfterValidator(_finite_in_float32)]
    return found


def _finite_in_float32(value: float) -> float:
    if _FLOAT32_LARGEST < value < math.inf:
        raise ValueError("beyond float32")
    return value
