"""The values that attributes and factors take: as pydantic types, in words, and as JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import GenericAlias
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    FailFast,
    Field,
    Strict,
    TypeAdapter,
    WithJsonSchema,
)

from ..dtypes import FLOAT_TYPES
from .semantics import semantics
from .signature import Attribute, Operator

_FLOAT32_ZERO = 2.0**-150
"""The largest number that float32 rounds to zero: half of float32's least number, a tie to even."""
_FLOAT32_LARGEST = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest number that float32 does not round to infinity."""


class _FailFast(FailFast):
    """pydantic's FailFast with a hash, without which a type cannot stand in a union."""

    def __hash__(self) -> int:
        return id(self)


FIRST_WRONG = _FailFast()
"""The mark that ends the check of a list at its first error; pydantic keeps some 1000 bytes for each."""


@dataclass(frozen=True, eq=False)
class ValueType:
    """A type of values: the pydantic `annotation`, and the words for what an error says was `expected`."""

    annotation: Any
    expected: str

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def accepts(self, value: Any) -> bool:
        """Say whether the type accepts `value`."""
        return bool(self._adapter.validator.isinstance_python(value))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type."""
        return self._adapter.json_schema()


def one_of(choices: Iterable[int | str]) -> Any:
    """Make the type of some texts or integers; 1.0 and true are no integers."""
    chosen = tuple(choices)
    literal = Literal.__getitem__(chosen)
    if any(isinstance(choice, int) for choice in chosen):
        return Annotated[literal, BeforeValidator(_check_integer)]
    return literal


def _check_integer(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError("not an integer")
    return value


def either(*types: Any) -> Any:
    """Make the union of `types`."""
    return Union.__getitem__(types)


def list_of(entries: Any, *lengths: int) -> Any:
    """Make the type of lists of `entries` with one of `lengths`; without `lengths`, of any length."""
    lists: Any = GenericAlias(list, (entries,))
    found: Any = Annotated[lists, FIRST_WRONG]
    of = [Annotated[found, Field(min_length=n, max_length=n)] for n in lengths]
    return either(*of) if of else found


def name_choices(choices: Iterable[int | str]) -> str:
    """Name the choices: `one of relu, tanh`."""
    words = [*map(str, choices)]
    return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


def value_text(value: object) -> str:
    """Write a value of an attribute or a factor: `true`, `0.5`, `sigmoid, tanh`."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def all_attributes(operator: Operator, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the attributes `given`, and fill in defaults.

    Raises ValueError, with one sentence, for an unknown, missing, refused or contradictory attribute.
    """
    for name, value in given.items():
        attribute = operator.attribute(name)
        if attribute is None:
            known = ", ".join(one.name for one in operator.attributes)
            raise ValueError(f"{operator.name} has no attribute {name!r}; it has {known}")
        if not type_of_values(attribute).accepts(value):
            raise ValueError(f"{name} is {value!r}; expected {type_of_values(attribute).expected}")
    missing = [a for a in operator.attributes if a.required and a.name not in given]
    if missing:
        expected = type_of_values(missing[0]).expected
        raise ValueError(f"attribute {missing[0].name} is missing; expected {expected}")
    attributes = operator.with_defaults(given)
    semantics(operator, attributes)
    return attributes


@cache
def type_of_values(attribute: Attribute) -> ValueType:
    """Make the type of an attribute's values."""
    one, words = _one_value(attribute)
    if not attribute.is_list:
        return ValueType(one, words)
    lengths = [attribute.length] if attribute.length else []
    if attribute.per_direction:
        lengths += [2 * length for length in lengths]
    count = " or ".join(map(str, lengths)) + " " if lengths else ""
    return ValueType(list_of(one, *lengths), f"a list of {count}values, each {words}")


@cache
def written_type(attribute: Attribute) -> ValueType:
    """Make the type of an attribute's values and of integers that stand for them; it yields the values."""
    found = type_of_values(attribute)
    if not attribute.written:
        return found
    schema = {"anyOf": [found.schema, {"type": "integer", "enum": list(attribute.written)}]}
    meant = BeforeValidator(attribute.canonical)
    return ValueType(Annotated[found.annotation, meant, WithJsonSchema(schema)], found.expected)


def _one_value(attribute: Attribute) -> tuple[Any, str]:
    """Make the pydantic type of a value, or of each entry of a list, and the words for it."""
    if attribute.kind == "boolean":
        return Annotated[bool, Strict(), Field(title="true or false")], "true or false"
    if attribute.choices:
        return one_of(attribute.choices), name_choices(attribute.choices)
    if attribute.kind == "int":
        least, most = 1 if attribute.positive else -(2**63), 2**63 - 1
        title = f"an integer from {least} to {most}"
        return Annotated[int, Strict(), Field(ge=least, le=most, title=title)], title
    return _number(attribute)


def _number(attribute: Attribute) -> tuple[Any, str]:
    """Make the type of numbers in range as float64, or as float32 if `single`; NaN never is.

    JSON has no infinity. So where infinity is allowed, a check excludes finite numbers beyond float32.
    """
    assert attribute.positive or not attribute.infinite, attribute.name
    zero, largest = 0.0, FLOAT_TYPES["float64"].largest
    if attribute.single:
        zero, largest = _FLOAT32_ZERO, _FLOAT32_LARGEST
    words = ["positive"] * attribute.positive + ["finite"] * (not attribute.infinite)
    title = " ".join(["a", *words, *["float32"] * attribute.single, "number"])
    bounds = Field(
        title=title,
        gt=zero if attribute.positive else None,
        ge=None if attribute.positive else -largest,
        le=None if attribute.infinite else largest,
    )
    found: Any = Annotated[float, Strict(), bounds]
    if attribute.single and attribute.infinite:
        found = Annotated[found, AfterValidator(_finite_in_float32)]
    return found, title


def _finite_in_float32(value: float) -> float:
    if _FLOAT32_LARGEST < value < math.inf:
        raise ValueError("beyond float32")
    return value
