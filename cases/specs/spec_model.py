"""The typed model of a case spec, built from the operator's factors.

The same model checks a spec when it is loaded and gives the JSON Schema that editors use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import typing_extensions
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    create_model,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from ..console import shorten
from ..operators import OPERATORS
from ..operators.values import FIRST_WRONG, either, list_of, one_of
from ..strict_json import format_json
from .factors import factors, key

Assignment = dict[str, Any]
"""A value for each of some factors, by name, in the order in which ids name them."""

Values = TypeVar("Values")
Single = TypeVar("Single")
Match = TypeVar("Match")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:  # noqa: ARG003
        return cls.__name__


def _two_or_more(values: dict[str, Any]) -> dict[str, Any]:
    if len(values) < 2:
        raise ValueError("expected two factors or more; of fewer write product or list")
    return values


class Product(_Strict, Generic[Values, Match]):
    """Every combination of some factors' values, but for those that an `exclude` entry matches."""

    product: Values
    exclude: Annotated[list[Match], FIRST_WRONG] = []


class Covering(_Strict, Generic[Values, Match]):
    """A covering array: rows that hold every pair of some factors' values."""

    covering: Annotated[
        Values, AfterValidator(_two_or_more), Field(json_schema_extra={"minProperties": 2})
    ]
    rows: Annotated[list[list[Any]], FIRST_WRONG]
    exclude: Annotated[list[Match], FIRST_WRONG] = []


class Listing(_Strict, Generic[Single]):
    """Cases one by one."""

    list: Annotated[list[Single], FIRST_WRONG]


Entry = Product[Any, Any] | Covering[Any, Any] | Listing[Any]


class SpecModel(_Strict):
    """What every case spec has; `spec_model` gives the fields the types of one operator."""

    operator: str
    about: Annotated[
        str, Field(min_length=1, description="what this theme probes, in one sentence")
    ]
    tier: Annotated[
        Literal["nonportable"] | None,
        Field(description="nonportable: reported, decides nothing; else required, or ambiguous"),
    ] = None
    dtypes: Annotated[list[Any], Field(min_length=1)]
    sizes: Assignment
    fixed: Assignment
    cases: Annotated[list[Entry], FIRST_WRONG]


@functools.cache
def spec_model(operator_name: str) -> type[SpecModel]:
    """Make the typed model of a case spec of one operator."""
    known = factors(operator_name)
    plain: dict[str, Any] = {  # each has a name of its own in the JSON Schema
        name: typing_extensions.TypeAliasType(
            name, Annotated[one.values.annotation, _Said(one.values.expected)]
        )
        for name, one in known.items()
    }
    sizes = {name: plain[name] for name, one in known.items() if one.is_size}
    fixed = {name: of for name, of in plain.items() if name not in sizes}
    values = _mapping("Values", {name: _several(of) for name, of in plain.items()})
    match = _mapping("Match", {name: _one_or_several(of) for name, of in plain.items()})
    single = _mapping("Single", plain)
    kinds = [Product[values, match], Covering[values, match], Listing[single]]  # type: ignore[valid-type]
    return create_model(
        f"{operator_name} case spec",
        __base__=SpecModel,
        operator=(one_of([operator_name]), ...),
        dtypes=(_several(one_of(OPERATORS[operator_name].dtypes())), ...),
        sizes=(_mapping("Sizes", sizes), ...),
        fixed=(_mapping("Fixed", fixed), {}),
        cases=(_entries(kinds), ...),
    )


@dataclass(frozen=True)
class _Said:
    """The message that replaces pydantic's for a value outside a type."""

    expected: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.custom_error_schema(
            handler(source), custom_error_type="expected", custom_error_message=self.expected
        )


def _mapping(name: str, fields: Mapping[str, Any]) -> Any:
    """Make a type of mappings with some of `fields`, and no others."""
    of_fields: Any = typing_extensions.TypedDict
    made = of_fields(name, fields, total=False)
    made.__pydantic_config__ = _Strict.model_config
    return made


def _several(of: Any) -> Any:
    """One value or more, each once."""
    unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
    return Annotated[list_of(of), unique, AfterValidator(_distinct)]


def _one_or_several(of: Any) -> Any:
    """Make the type of a value or a list of values, which becomes a list of values."""
    one = Annotated[of, AfterValidator(lambda value: [value])]
    return Annotated[either(one, list_of(of)), Field(union_mode="left_to_right")]


def _entries(kinds: list[Any]) -> Any:
    """Make a list of `kinds`, each chosen by its first field, so that an error names the entry meant."""
    keywords = [next(iter(kind.model_fields)) for kind in kinds]

    def choose(value: Any) -> str | None:
        named = [word for word in keywords if isinstance(value, dict) and word in value]
        return named[0] if len(named) == 1 else None

    tagged = (Annotated[kind, Tag(word)] for kind, word in zip(kinds, keywords, strict=True))
    chosen = Discriminator(
        choose,
        custom_error_type="keyword",
        custom_error_message=f"expected a mapping with one of {', '.join(keywords)}",
    )
    return Annotated[list_of(Annotated[either(*tagged), chosen]), Field(min_length=1)]


def _distinct(values: list[Any]) -> list[Any]:
    seen = set()
    for value in values:
        if key(value) in seen:
            raise ValueError(f"{shorten(repr(value), 60)} is listed twice")
        seen.add(key(value))
    return values


def spec_schema() -> str:
    """Make the schema as JSON text; `cases/spec.schema.json` has it."""
    definitions: dict[str, Any] = {}
    choices = []
    for name in OPERATORS:
        schema = spec_model(name).model_json_schema(
            ref_template="#/$defs/" + name + ".{model}", schema_generator=_Untitled
        )
        definitions |= {f"{name}.{key}": value for key, value in schema.pop("$defs", {}).items()}
        definitions[name] = schema
        chosen = {"properties": {"operator": {"const": name}}}
        choices.append({"if": chosen, "then": {"$ref": f"#/$defs/{name}"}})
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "grucible case spec",
        "type": "object",
        "required": ["operator"],
        "properties": {"operator": {"enum": list(OPERATORS)}},
        "allOf": choices,
        "$defs": definitions,
    }
    return format_json(whole)


class _Untitled(GenerateJsonSchema):
    """Without the titles that would only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False
