"""The typed model of a case spec, built from the operator's factors.

The same model checks a spec when it is loaded and gives the JSON Schema that editors use.
"""

from __future__ import annotations

import functools
from types import GenericAlias
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    create_model,
)

from ..operators.known import OPERATORS
from .factors import Factor, factors, key


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SpecModel(_Strict):
    """What every case spec has; the fields that depend on the operator are added by `_model`."""

    operator: str
    about: Annotated[
        str, Field(min_length=1, description="what this theme probes, in one sentence")
    ]
    tier: Annotated[
        Literal["nonportable"] | None,
        Field(description="nonportable: reported, decides nothing; else required, or ambiguous"),
    ] = None
    dtypes: Annotated[list[Any], Field(min_length=1)]
    sizes: Any
    fixed: Any
    cases: list[Any]


@functools.cache
def spec_model(operator_name: str) -> type[SpecModel]:
    """The typed model of a case spec of one operator."""
    operator = OPERATORS[operator_name]
    all_factors = factors(operator_name)
    plain = _factor_fields(all_factors, listed=False)
    values = create_model("Values", __base__=_Strict, **_factor_fields(all_factors, listed=True))
    single = create_model("Single", __base__=_Strict, **plain)
    match = create_model("Match", __base__=_Strict, **_match_fields(all_factors))
    product = create_model(
        "Product",
        __base__=_Strict,
        product=(values, ...),
        exclude=(_list_of(match), []),
    )
    covering = create_model(
        "Covering",
        __base__=_Strict,
        covering=(values, ...),
        rows=(list[list[Any]], ...),
        exclude=(_list_of(match), []),
    )
    listing = create_model("Listing", __base__=_Strict, list=(_list_of(single), ...))
    sizes = {n: f for n, f in plain.items() if all_factors[n].is_size}
    fixed = create_model(
        "Fixed", __base__=_Strict, **{n: plain[n] for n in plain if n not in sizes}
    )
    dtypes: Any = Annotated[
        _list_of(_one_of(*operator.dtypes())), Field(min_length=1), AfterValidator(_distinct)
    ]
    entries: Any = Annotated[_list_of(_by_keyword(product, covering, listing)), Field(min_length=1)]
    return create_model(
        f"{operator_name} case spec",
        __base__=SpecModel,
        operator=(_one_of(operator_name), ...),
        dtypes=(dtypes, ...),
        sizes=(create_model("Sizes", __base__=_Strict, **sizes), ...),
        fixed=(fixed, fixed()),
        cases=(entries, ...),
    )


def _list_of(of: Any) -> Any:
    """list[of], where `of` is known only now."""
    return GenericAlias(list, (of,))


def _one_of(*names: str) -> Any:
    """Literal[names], where the names are known only now."""
    return Literal.__getitem__(names)


def _by_keyword(*entries: type[BaseModel]) -> Any:
    """One of `entries`, chosen by its first field, so that an error speaks of the entry meant."""
    keywords = [next(iter(entry.model_fields)) for entry in entries]

    def choose(value: Any) -> str | None:
        named = [word for word in keywords if isinstance(value, dict) and word in value]
        return named[0] if len(named) == 1 else None

    tagged = [Annotated[entry, Tag(word)] for entry, word in zip(entries, keywords, strict=True)]
    return Annotated[
        Union[*tagged],
        Discriminator(
            choose,
            custom_error_type="keyword",
            custom_error_message=f"expected a mapping with one of {', '.join(keywords)}",
        ),
    ]


def _value_type(factor: Factor) -> Any:
    def check(value: Any) -> Any:
        if not factor.accepts(value):
            raise ValueError(f"{shown(value)}; expected {factor.expected}{_remedy(value)}")
        return value

    return Annotated[Any, AfterValidator(check), WithJsonSchema(factor.schema)]


def _factor_fields(all_factors: dict[str, Factor], *, listed: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for factor in all_factors.values():
        value = _value_type(factor)
        if listed:
            value = Annotated[_list_of(value), Field(min_length=1), AfterValidator(_distinct)]
        fields[factor.name] = (value, Field(default=None, validate_default=False))
    return fields


def _match_fields(all_factors: dict[str, Factor]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for factor in all_factors.values():

        def check(value: Any, factor: Factor = factor) -> Any:
            choices = value if isinstance(value, list) and not factor.accepts(value) else [value]
            for choice in choices:
                if not factor.accepts(choice):
                    raise ValueError(
                        f"{shown(choice)}; expected {factor.expected}{_remedy(choice)}"
                    )
            return choices

        schema = {"anyOf": [factor.schema, {"type": "array", "items": factor.schema}]}
        annotated = Annotated[Any, AfterValidator(check), WithJsonSchema(schema)]
        fields[factor.name] = (annotated, Field(default=None, validate_default=False))
    return fields


def _distinct(values: list[Any]) -> list[Any]:
    seen = [key(value) for value in values]
    for value, text in zip(values, seen, strict=True):
        if seen.count(text) > 1:
            raise ValueError(f"{shown(value)} is listed twice")
    return values


def shown(value: Any) -> str:
    """A value as an error shows it, of bounded length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _remedy(value: Any) -> str:
    """How to write what is a text and may be meant as a number."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ""
        written = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(str(number), str(number))
        return f" (a text; as a number write {written})"
    return ""
