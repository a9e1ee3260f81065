"""All models of what files hold: their lists end at the first wrong element, their mappings have few keys."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import grucible
from grucible.cases.errors import GrucibleError
from grucible.cases.file_model import MOST_KEYS, MOST_PARTS, ClosedModel, few_keys, json_value
from grucible.cases.operators.attribute_values import type_of_values, written_type
from grucible.cases.operators.known import OPERATORS
from grucible.cases.specs.spec_model import SpecModel, spec_model

IN_YAML: Any = SpecModel.__base__
"""What YAML holds; where that is read, its mappings have few keys."""


def import_models() -> None:
    """Import every module that speaks of pydantic."""
    [root] = map(Path, grucible.__path__)
    for found in pkgutil.walk_packages(grucible.__path__, "grucible."):
        file = root.joinpath(*found.name.split(".")[1:]).with_suffix(".py")
        if (
            not found.name.startswith("grucible.tests.")
            and file.is_file()
            and "pydantic" in file.read_text()
        ):
            importlib.import_module(found.name)


def models() -> list[type[BaseModel]]:
    """All models of grucible."""
    import_models()
    found: list[type[BaseModel]] = [spec_model(name) for name in OPERATORS]
    left: list[type[BaseModel]] = [BaseModel]
    while left:
        left += (model := left.pop()).__subclasses__()
        found += [model] if model.__module__.startswith("grucible.") else []
    return found


def careless(schema: Any, few: bool = False, yaml: bool = False) -> Iterator[str]:
    """The lists and mappings in a core schema of which each element may make an error; a mapping that is
    found to have `few` keys may."""
    if isinstance(schema, (list, tuple)):
        for one in schema:
            yield from careless(one, yaml=yaml)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "list" and not schema.get("fail_fast") and not anything(schema, "items_schema"):
        yield "list"
    if kind == "dict" and not (few or yaml or anything(schema, "values_schema")):
        yield "mapping"
    if kind == "model":
        yaml = issubclass(schema["cls"], IN_YAML)
        forbids = schema.get("config", {}).get("extra_fields_behavior") == "forbid"
        if forbids and not yaml and not issubclass(schema["cls"], ClosedModel):
            yield f"the fields of {schema['cls'].__name__}"
    few = kind == "function-before" and schema["function"]["function"] is few_keys
    for key, value in schema.items():
        if key not in ("metadata", "serialization"):
            yield from careless(value, few and key == "schema", yaml)


def anything(schema: dict[str, Any], key: str) -> bool:
    return bool(schema.get(key, {}).get("type", "any") == "any")


def test_no_model_makes_an_error_for_each_of_very_many_elements() -> None:
    found = {model.__name__: model for model in models()}
    known = {"StoredReport", "Manifest", "Test", "Arguments", "Options", "onnx.GRU-14 case spec"}
    assert known <= set(found)
    for model in models():
        assert not [*careless(model.__pydantic_core_schema__)], model


@pytest.mark.parametrize("operator", OPERATORS)
def test_nor_does_a_value_of_an_attribute(operator: str) -> None:
    for attribute in OPERATORS[operator].attributes:
        for kind in (type_of_values(attribute), written_type(attribute)):
            assert not [*careless(TypeAdapter(kind.annotation).core_schema)], attribute.name


def test_a_text_of_too_many_parts_is_not_read() -> None:
    for part in (b",", b":", b"[" * 2, b"{" * 2):
        with pytest.raises(GrucibleError, match="more parts"):
            json_value(Path("f"), part * (MOST_PARTS + 1))
    with pytest.raises(ValueError, match="1,001 keys; expected at most 1,000"):
        few_keys(dict.fromkeys(range(MOST_KEYS + 1)))


@pytest.mark.parametrize(
    ("character", "width"),
    [("a", 1), ("ÿ", 1), ("ā", 2), (r"\u0101", 2), ("😀", 4), (r"\uD83D", 4), (r"\ud83d", 4)],
)
def test_a_text_is_as_large_as_its_widest_character_makes_it(
    character: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = f'"{character}"'.encode()
    monkeypatch.setattr("grucible.cases.file_model._MOST_TEXT", width * len(raw))
    json_value(Path("f"), raw)
    monkeypatch.setattr("grucible.cases.file_model._MOST_TEXT", width * len(raw) - 1)
    with pytest.raises(GrucibleError, match=f"f: takes 0 MiB with {width} bytes for a character;"):
        json_value(Path("f"), raw)


def test_a_text_in_another_encoding_is_refused() -> None:
    with pytest.raises(GrucibleError, match="f: holds a byte 0; expected JSON in UTF-8"):
        json_value(Path("f"), "{}".encode("utf-16"))
