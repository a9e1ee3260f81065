"""The JSON Schema of case specs, for editors, from the same model that loading uses."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from ..operators.known import OPERATORS
from .spec_model import spec_model

_WIDTH = 120


def spec_schema() -> str:
    """The schema as JSON text; `cases/spec.schema.json` holds it."""
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
    return _laid_out(whole) + "\n"


class _Untitled(GenerateJsonSchema):
    """Without the titles that would only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON text, each object or array on one line where it fits."""
    line = json.dumps(value, allow_nan=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, list):
        entries, ends = [_laid_out(entry, inner) for entry in value], "[]"
    else:
        pairs = value.items()
        entries, ends = [f"{json.dumps(k)}: {_laid_out(v, inner)}" for k, v in pairs], "{}"
    return ends[0] + "\n" + ",\n".join(inner + entry for entry in entries) + f"\n{indent}" + ends[1]
