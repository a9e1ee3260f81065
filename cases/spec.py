"""A case spec: one theme of one operator, read from YAML into a typed model.

The model is built from the operator's factors, so that a spec is checked, and its JSON Schema for
editors is made, by the same description.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from .errors import SpecError
from .factors import Factor, factors, key
from .operators import OPERATORS
from .readings import READINGS
from .yaml_source import Document, Location, parse, read_text

Tier = Literal["required", "ambiguous", "nonportable"]
SHIPPED = Path(__file__).parent


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SpecModel(_Strict):
    """What every case spec has; the fields that depend on the operator are added by `_model`."""

    operator: str
    about: Annotated[str, Field(min_length=1, description="what this theme probes, in one sentence")]
    tier: Tier = "required"
    readings: list[str] = []
    dtypes: Annotated[list[Any], Field(min_length=1)]
    sizes: Any
    fixed: Any
    cases: list[Any]


@dataclass(frozen=True)
class CaseSpecFile:
    """A loaded case spec: `path` is where its vector file goes, relative, without suffix."""

    path: str
    document: Document
    model: SpecModel

    @property
    def theme(self) -> str:
        """The last part of the path; it names the theme in case ids."""
        return self.path.rpartition("/")[2]


def load_spec(file: Path, relative: str) -> CaseSpecFile:
    """The case spec in `file`; `relative` is its path without suffix, below its root.

    Raises SpecError with file, line, field, value and what is allowed.
    """
    document = parse(str(file), read_text(file))
    operator = document.value.get("operator")
    if not isinstance(operator, str) or operator not in OPERATORS:
        told = "is missing" if operator is None else f"{operator!r} is unknown"
        raise document.error(("operator",), f"{told}; expected one of {', '.join(OPERATORS)}")
    try:
        model = spec_model(operator).model_validate(document.value)
    except ValidationError as error:
        raise _first_error(document, error, operator) from None
    if (model.tier == "ambiguous") != bool(model.readings):
        raise document.error(("readings",), "are given exactly where tier is ambiguous")
    return CaseSpecFile(relative, document, model)


def find_specs(paths: tuple[Path, ...] = ()) -> list[CaseSpecFile]:
    """The case specs at `paths`, files or directories; with none, the shipped ones."""
    found: dict[str, tuple[Path, CaseSpecFile]] = {}
    for path in paths or (SHIPPED,):
        for file, relative in _files(path):
            if relative in found and found[relative][0].resolve() != file.resolve():
                other = found[relative][0]
                raise SpecError(f"{file}: would make the same vector file as {other}; rename one")
            found.setdefault(relative, (file, load_spec(file, relative)))
    return [spec for _, spec in found.values()]


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_dir():
        root = SHIPPED if path.resolve().is_relative_to(SHIPPED.resolve()) else path
        files = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")])
        if not files:
            raise SpecError(f"{path}: holds no case spec (*.yaml)")
    else:
        root = SHIPPED if path.resolve().is_relative_to(SHIPPED.resolve()) else path.parent
        files = [path]
    for file in files:
        relative = file.resolve().relative_to(root.resolve()).with_suffix("")
        yield file, relative.as_posix()


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
        "Product", __base__=_Strict, product=(values, ...), exclude=(list[match], [])  # type: ignore[valid-type]
    )
    covering = create_model(
        "Covering",
        __base__=_Strict,
        covering=(values, ...),
        rows=(list[list[Any]], ...),
        exclude=(list[match], []),  # type: ignore[valid-type]
    )
    listing = create_model("Listing", __base__=_Strict, list=(list[single], ...))  # type: ignore[valid-type]
    sizes = {n: f for n, f in plain.items() if all_factors[n].is_size}
    fixed = create_model("Fixed", __base__=_Strict, **{n: plain[n] for n in plain if n not in sizes})
    return create_model(
        f"{operator_name} case spec",
        __base__=SpecModel,
        operator=(Literal[operator_name], ...),
        dtypes=(Annotated[list[Literal[operator.dtypes()]], Field(min_length=1), AfterValidator(_distinct)], ...),
        readings=(list[Literal[tuple(READINGS)]], []),
        sizes=(create_model("Sizes", __base__=_Strict, **sizes), ...),
        fixed=(fixed, fixed()),
        cases=(Annotated[list[_by_keyword(product, covering, listing)], Field(min_length=1)], ...),
    )


def _by_keyword(*entries: type[BaseModel]) -> Any:
    """One of `entries`, chosen by its first field, so that an error speaks of the entry meant."""
    keywords = [next(iter(entry.model_fields)) for entry in entries]

    def choose(value: Any) -> str | None:
        named = [word for word in keywords if isinstance(value, dict) and word in value]
        return named[0] if len(named) == 1 else None

    tagged = [Annotated[entry, Tag(word)] for entry, word in zip(entries, keywords, strict=True)]
    return Annotated[
        Union[*tagged],  # noqa: UP007
        Discriminator(
            choose,
            custom_error_type="keyword",
            custom_error_message=f"expected a mapping with one of {', '.join(keywords)}",
        ),
    ]


def _value_type(factor: Factor) -> Any:
    def check(value: Any) -> Any:
        if not factor.accepts(value):
            raise ValueError(f"{_shown(value)}; expected {factor.expected}{_remedy(value)}")
        return value

    return Annotated[Any, AfterValidator(check), WithJsonSchema(factor.schema)]


def _factor_fields(all_factors: dict[str, Factor], *, listed: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for factor in all_factors.values():
        value = _value_type(factor)
        if listed:
            value = Annotated[list[value], Field(min_length=1), AfterValidator(_distinct)]
        fields[factor.name] = (value, Field(default=None, validate_default=False))
    return fields


def _match_fields(all_factors: dict[str, Factor]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for factor in all_factors.values():

        def check(value: Any, factor: Factor = factor) -> Any:
            choices = value if isinstance(value, list) and not factor.accepts(value) else [value]
            for choice in choices:
                if not factor.accepts(choice):
                    raise ValueError(f"{_shown(choice)}; expected {factor.expected}{_remedy(choice)}")
            return choices

        schema = {"anyOf": [factor.schema, {"type": "array", "items": factor.schema}]}
        annotated = Annotated[Any, AfterValidator(check), WithJsonSchema(schema)]
        fields[factor.name] = (annotated, Field(default=None, validate_default=False))
    return fields


def _distinct(values: list[Any]) -> list[Any]:
    seen = [key(value) for value in values]
    for value, text in zip(values, seen, strict=True):
        if seen.count(text) > 1:
            raise ValueError(f"{_shown(value)} is listed twice")
    return values


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _remedy(value: Any) -> str:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ""
        mantissa, e, exponent = repr(number).partition("e")
        written = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(
            mantissa, (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent
        )
        return f" (YAML reads {value} as a string; write {written})"
    return ""


def _first_error(document: Document, error: ValidationError, operator: str) -> SpecError:
    first = error.errors()[0]
    location: Location = tuple(first["loc"])
    if location[:1] == ("cases",) and len(location) > 2:
        location = (*location[:2], *location[3:])  # without the tag of the kind of entry
    kind, value = first["type"], first.get("input")
    if kind == "extra_forbidden":
        at: Any = document.value
        for part in location[:-1]:
            at = at[part]
        known = _known_fields(location, operator)
        return document.error(location, f"is not a field here; expected one of {', '.join(known)}")
    if kind == "missing":
        return document.error(location, "is missing")
    if kind == "keyword":
        return document.error(location, first["msg"])
    if kind == "value_error":
        return document.error(location, str(first["ctx"]["error"]))
    message = first["msg"][:1].lower() + first["msg"][1:]
    message = message.removeprefix("input should be ")
    return document.error(location, f"{_shown(value)}; expected {message}")


def _known_fields(location: Location, operator: str) -> list[str]:
    match location[:-1]:
        case ():
            return list(SpecModel.model_fields)
        case ("sizes",):
            return [f.name for f in factors(operator).values() if f.is_size]
        case ("fixed",):
            return [f.name for f in factors(operator).values() if not f.is_size]
        case ("cases", int()):
            return ["product with exclude", "covering with rows and exclude", "list"]
        case _:
            return list(factors(operator))
