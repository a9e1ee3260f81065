"""Finding, reading and checking case specs; each is one theme of one operator.

A typed model, which is built from the operator's factors, checks a spec when it is loaded. From the model
comes the JSON Schema that editors use.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import typing_extensions
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError

from ..console import shorten
from ..errors import SpecError
from ..files import MOST_NAMES, files_below
from ..operators import OPERATORS
from ..operators.values import FIRST_WRONG, either, list_of, one_of
from ..question import why_no_theme
from ..strict_json import format_json
from .factors import Factor, factors, key
from .yaml_source import Document, Location, parse, read_text

SHIPPED = Path(__file__).parents[1]
SCHEMA = "spec.schema.json"
"""The file that marks the root of a tree of specs, such as the shipped specs."""

MOST_TRIED = 200_000
"""Maximum combinations of a product, or pairs and triples of a covering array.

Each `exclude` entry counts all again."""

_LISTS = (1, 2, 4)
"""Lengths of lists by which an entry is checked; f and g are two, or four in two directions."""

Assignment = dict[str, Any]
"""Values of some factors, by the factors' names, in the order of the factors in ids."""

Values = TypeVar("Values")
Single = TypeVar("Single")
Choices = TypeVar("Choices")
Match = TypeVar("Match")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:  # noqa: ARG003
        return cls.__name__


def _two_or_more(values: dict[str, Any]) -> dict[str, Any]:
    if len(values) < 2:
        raise ValueError("expected two factors or more; for fewer, write product or list")
    return values


class Product(_Strict, Generic[Values, Match]):
    """Every combination of some factors' values, except those that an `exclude` entry matches."""

    product: Values
    exclude: Annotated[list[Match], FIRST_WRONG] = []


class Covering(_Strict, Generic[Values, Match]):
    """A covering array: rows that hold every pair of some factors' values, and of `triples` every triple."""

    covering: Annotated[
        Values, AfterValidator(_two_or_more), Field(json_schema_extra={"minProperties": 2})
    ]
    triples: Annotated[list[str], Field(min_length=3, json_schema_extra={"uniqueItems": True})] = []
    rows: Annotated[list[list[Any]], FIRST_WRONG]
    exclude: Annotated[list[Match], FIRST_WRONG] = []


class Listing(_Strict, Generic[Single]):
    """Cases one by one."""

    list: Annotated[list[Single], FIRST_WRONG]


class Drawn(_Strict, Generic[Choices, Match]):
    """Cases without end: each draws a value of every factor, out of weighted choices (`random_space`)."""

    random: Choices
    exclude: Annotated[list[Match], FIRST_WRONG] = []


Entry = Product[Any, Any] | Covering[Any, Any] | Listing[Any] | Drawn[Any, Any]


class SpecModel(_Strict):
    """The fields of every case spec; `spec_model` gives them the types of one operator."""

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
            name, Annotated[one.values.annotation, _saying(one.values.expected)]
        )
        for name, one in known.items()
    }
    sizes = {name: plain[name] for name, one in known.items() if one.is_size}
    fixed = {name: of for name, of in plain.items() if name not in sizes}
    values = _mapping("Values", {name: _several(of) for name, of in plain.items()})
    match = _mapping("Match", {name: _one_or_several(of) for name, of in plain.items()})
    single = _mapping("Single", plain)
    choices = _mapping("Choices", {name: _choices(known[name], of) for name, of in plain.items()})
    kinds = [
        Product[values, match], Covering[values, match], Listing[single], Drawn[choices, match],  # type: ignore[valid-type]
    ]  # fmt: skip
    return create_model(
        f"{operator_name} case spec",
        __base__=SpecModel,
        operator=(one_of([operator_name]), ...),
        dtypes=(_several(one_of(OPERATORS[operator_name].dtypes())), ...),
        sizes=(_mapping("Sizes", sizes), ...),
        fixed=(_mapping("Fixed", fixed), {}),
        cases=(_entries(kinds), ...),
    )


def _saying(expected: str) -> WrapValidator:
    """Replace pydantic's message for a value outside a type."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("expected", "{words}", {"words": expected}) from None

    return WrapValidator(check)


def _mapping(name: str, fields: Mapping[str, Any]) -> Any:
    """Make a type of mappings with some of `fields`, and no others."""
    of_fields: Any = typing_extensions.TypedDict
    made = of_fields(name, fields, total=False)
    made.__pydantic_config__ = _Strict.model_config
    return made


def _several(of: Any) -> Any:
    """Make the type of lists of one or more values, each once."""
    unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
    return Annotated[list_of(of), unique, AfterValidator(_distinct)]


def _choices(factor: Factor, of: Any) -> Any:
    """Make the type of what a factor's values are drawn from: values, ranges and lists, with weights."""
    accepts = factor.values.accepts

    def accepts_entry(entry: Any) -> bool:
        return any(accepts([entry] * length) for length in _LISTS)

    def check_range(one: Any, accepts: Any = accepts) -> Any:
        low, high = one["from"], one["to"]
        if not (
            accepts(low) and accepts(high) and type(low) is type(high) and low <= high < math.inf
        ):
            raise ValueError
        return one

    def check_each(one: Any) -> Any:
        for entry in one["each"]:
            if not isinstance(entry, dict) and not accepts_entry(entry):
                raise ValueError
            if isinstance(entry, dict) and entry.keys() != {"from", "to"}:
                raise ValueError
            if isinstance(entry, dict):
                check_range(entry, accepts_entry)
        return one

    weight = {"weight": Annotated[float, Field(gt=0, allow_inf_nan=False)]}
    needed = typing_extensions.Required
    ends = {"from": needed[int | float], "to": needed[int | float]}
    several: Any = Annotated[list[Any], Field(min_length=1)]
    kinds = [
        of,
        _mapping("Weighted", {"value": needed[of], **weight}),
        Annotated[_mapping("Range", ends | weight), AfterValidator(check_range)],
        Annotated[
            _mapping("Each", {"each": needed[several], **weight}), AfterValidator(check_each)
        ],
    ]
    expected = f"{factor.values.expected}; or a mapping with value, with from and to, or with each"
    choice: Any = Annotated[either(*kinds), Field(union_mode="left_to_right"), _saying(expected)]
    return Annotated[list_of(choice), Field(min_length=1)]


def _one_or_several(of: Any) -> Any:
    """Make the type of a value or a list of values, which becomes a list of values."""
    one = Annotated[of, AfterValidator(lambda value: [value])]
    return Annotated[either(one, list_of(of)), Field(union_mode="left_to_right")]


def _entries(kinds: list[Any]) -> Any:
    """Make the type of lists of `kinds`; the first field chooses the kind, so that errors name the entry."""
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
    [(most, count), *_] = Counter(map(key, values)).most_common(1)
    if count > 1:
        raise ValueError(f"{shorten(most, 60)} is listed twice")
    return values


class _Untitled(GenerateJsonSchema):
    """The schema generator, without titles that only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def spec_schema() -> str:
    """Make the schema of case specs as JSON text; `cases/spec.schema.json` holds the text."""
    definitions: dict[str, Any] = {}
    choices = []
    for name in OPERATORS:
        template = f"#/$defs/{name}.{{model}}"
        schema = spec_model(name).model_json_schema(True, template, _Untitled)
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


@dataclass(frozen=True)
class CaseSpecFile:
    """A loaded case spec; `path` is the relative path of its vector file, without suffix."""

    path: str
    document: Document
    model: SpecModel

    @property
    def theme(self) -> str:
        """The last part of the path; it names the theme in case ids."""
        return self.path.rpartition("/")[2]

    @property
    def prefix(self) -> str:
        """The beginning of its cases' ids."""
        return f"{self.model.operator}/{self.theme}/"


def load_spec(file: Path, relative: str) -> CaseSpecFile:
    """Load the case spec in `file`; `relative` is its path without suffix, below its root.

    Raises SpecError with file, line, field, value and what is allowed.
    """
    if why := why_no_theme(relative.rpartition("/")[2]):
        raise SpecError(f"{file}: {why}; rename the file")
    document = parse(str(file), read_text(file))
    operator = document.value.get("operator")
    if not isinstance(operator, str) or operator not in OPERATORS:
        problem = "is missing" if operator is None else f"{operator!r} is unknown"
        raise document.error(("operator",), f"{problem}; expected one of {', '.join(OPERATORS)}")
    try:
        model = spec_model(operator).model_validate(document.value)
    except ValidationError as error:
        raise _first_error(document, error) from None
    spec = CaseSpecFile(relative, document, model)
    _check_counts(spec)
    return spec


def _check_counts(spec: CaseSpecFile) -> None:
    """Raise SpecError, naming the entry, for too many combinations, even if most are excluded."""
    for index, entry in enumerate(spec.model.cases):
        match entry:
            case Listing():
                continue
            case Product(product=values):
                tried = math.prod(map(len, values.values()))
            case Covering(covering=values, triples=triples):
                for place, name in enumerate(triples):
                    if name not in values:
                        place_of = ("cases", index, "triples", place)
                        raise spec.document.error(place_of, f"{name!r} is no factor of the array")
                counts = {name: len(of) for name, of in values.items()}
                together = [*itertools.combinations(counts, 2), *itertools.combinations(triples, 3)]
                tried = sum(math.prod(counts[name] for name in names) for names in together)
            case Drawn(random=values):
                tried = sum(map(len, values.values()))
        tried *= 1 + len(entry.exclude)
        if tried > MOST_TRIED:
            counted = f"asks for {tried:,} combinations, counted for each exclude entry again"
            most = f"expected at most {MOST_TRIED:,}"
            raise spec.document.error(("cases", index), f"{counted}; {most}")


def find_specs(paths: tuple[Path, ...] = ()) -> list[CaseSpecFile]:
    """Load the case specs at `paths`, files or directories; with none, the shipped ones."""
    found: dict[str, Path] = {}
    for path in paths or (SHIPPED,):
        for file, relative in _files(path):
            other = found.setdefault(relative, file)
            if other.resolve() != file.resolve():
                raise SpecError(f"{file}: would make the same vector file as {other}; rename one")
    return [load_spec(file, relative) for relative, file in found.items()]


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Find the spec files at `path`, each with its path below the root of its specs, without suffix."""
    own, files = path.parent, [path]
    if path.is_dir():
        own, files = path, sorted(files_below(path, ".yaml", ".yml", most=MOST_NAMES))
    if not files:
        raise SpecError(f"{path}: holds no case spec (*.yaml)")
    for file in files:
        place = file.resolve()
        root = next((p for p in place.parents if (p / SCHEMA).exists()), own.resolve())
        inside = place if place.is_relative_to(root) else file.parent.resolve() / file.name
        name = Path(os.path.relpath(inside, root)).with_suffix("").as_posix()
        if not name.isprintable() or name.startswith("../"):
            raise SpecError(f"{file}: names its vector file {name!r}; expected a printable name")
        yield file, name


def _first_error(document: Document, error: ValidationError) -> SpecError:
    """Make the error of the first thing that the model refuses."""
    first = error.errors()[0]
    location: Location = tuple(first["loc"])
    if location[:1] == ("cases",) and len(location) > 2:
        location = (*location[:2], *location[3:])  # without pydantic's tag for the kind of entry
    own = {
        "extra_forbidden": "is not a field here; see the fields with: grucible cases --schema",
        "missing": "is missing",
        "keyword": first["msg"],
        "value_error": str(first.get("ctx", {}).get("error")),
    }
    expected = first["msg"].removeprefix("Input should be ")
    value = shorten(repr(first.get("input")), 60)
    sentence = f"{value}; expected {expected[:1].lower()}{expected[1:]}"
    return document.error(location, own.get(first["type"], sentence))
