"""The values that an attribute or a factor takes, as one pydantic type.

What is accepted, the words that an error says it with, and the JSON Schema that editors use all
follow from that type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import GenericAlias
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field, TypeAdapter

from ..file_model import FIRST_WRONG


@dataclass(frozen=True, eq=False)
class ValueType:
    """The values of a pydantic type, `annotation`, in which types of numbers have a title: their words."""

    annotation: Any

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def accepts(self, value: Any) -> bool:
        """Whether `value` is one of the type's."""
        return bool(self._adapter.validator.isinstance_python(value))

    def typed(self, value: Any) -> Any:
        """`value` as one of the type's: an integer of a type of numbers becomes a float.

        Raises ValueError for a value that is not accepted.
        """
        return self._adapter.validate_python(value)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type."""
        return self._adapter.json_schema()

    @cached_property
    def expected(self) -> str:
        """The type in words, for an error that says what was expected."""
        return _words(self.schema)


def one_of(choices: Iterable[int | str]) -> Any:
    """The type of some texts or integers; 1.0 and true are no integers."""
    chosen = tuple(choices)
    literal = Literal.__getitem__(chosen)
    if any(isinstance(choice, int) for choice in chosen):
        return Annotated[literal, BeforeValidator(_integer)]
    return literal


def _integer(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError("not an integer")
    return value


def either(*types: Any) -> Any:
    """The type of the values of any of `types`."""
    return Union.__getitem__(types)


def list_of(entries: Any, *lengths: int) -> Any:
    """The type of lists of `entries`, of one of some lengths; with none, of any length."""
    lists: Any = GenericAlias(list, (entries,))
    found: Any = Annotated[lists, FIRST_WRONG]
    return (
        either(*(Annotated[found, Field(min_length=n, max_length=n)] for n in lengths))
        if lengths
        else found
    )


def _words(schema: dict[str, Any]) -> str:
    """A JSON Schema as the end of "expected …"; lists that differ only in length are said once."""
    alternatives = schema.get("anyOf", [schema])
    lists = [one for one in alternatives if one.get("type") == "array" and "title" not in one]
    said = []
    for one in alternatives:
        if one not in lists:
            said.append(_plain_words(one))
        elif one is lists[0]:
            lengths = " or ".join(str(each["maxItems"]) for each in lists if "maxItems" in each)
            entry = _words(one["items"])
            said.append(f"a list of {lengths + ' ' if lengths else ''}values, each {entry}")
    return ", or ".join(said)


def _plain_words(schema: dict[str, Any]) -> str:
    if "title" in schema:
        return str(schema["title"])
    if "const" in schema:
        return str(schema["const"])
    return "one of " + ", ".join(map(str, schema["enum"]))


def value_text(value: object) -> str:
    """A value of an attribute or a factor as a text: `true`, `0.5`, `sigmoid, tanh`."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
