"""Which values attributes take: the type of one's values, and whether a case's are accepted.

It stands apart from the attributes' description because of pydantic, which takes as long to import as numpy:
a process that runs a runtime does without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema

from ..dtypes import FLOAT_TYPES
from .attribute import Attribute
from .semantics import semantics
from .signature import Operator
from .value_type import ValueType, list_of, one_of

_FLOAT32_ZERO = 2.0**-150
"""The largest number that float32 rounds to zero: half its least one, a tie to even."""
_FLOAT32_LARGEST = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest number that float32 does not round to infinity."""


def canonical(operator: Operator, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes `given`, each value as it is stored, where its specification writes it otherwise too."""
    known = {one.name: one for one in operator.attributes}
    return {n: known[n].canonical(value) if n in known else value for n, value in given.items()}


def all_attributes(operator: Operator, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a case that writes out those `given`, defaults filled in.

    Raises ValueError, in one sentence, where one is unknown, missing or not accepted, or they contradict.
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
    """The type of an attribute's values."""
    one = _one_value(attribute)
    if not attribute.is_list:
        return ValueType(one)
    lengths = () if attribute.length is None else (attribute.length, 2 * attribute.length)
    return ValueType(list_of(one, *(lengths if attribute.per_direction else lengths[:1])))


@cache
def written_type(attribute: Attribute) -> ValueType:
    """The type of what may be written for an attribute's values; `typed` gives the value that is meant."""
    found = type_of_values(attribute)
    if not attribute.written:
        return found
    schema = {"anyOf": [found.schema, {"type": "integer", "enum": list(attribute.written)}]}
    meant = BeforeValidator(attribute.canonical)
    return ValueType(Annotated[found.annotation, meant, WithJsonSchema(schema)])


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
        said = f"a positive integer up to {most}"
        return Annotated[int, Strict(), Field(gt=0, le=most, title=said)]
    said = f"an integer from {-most - 1} to {most}"
    return Annotated[int, Strict(), Field(ge=-most - 1, le=most, title=said)]


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
