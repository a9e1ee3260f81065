"""The JSON Schema of case specs, for editors, from the same model that loading uses."""

from __future__ import annotations

import json
from typing import Any

from ..operators.known import OPERATORS
from .spec_model import spec_model


def spec_schema() -> str:
    """The schema as JSON text; `cases/spec.schema.json` holds it."""
    definitions: dict[str, Any] = {}
    choices = []
    for name in OPERATORS:
        schema = spec_model(name).model_json_schema(ref_template="#/$defs/" + name + ".{model}")
        definitions |= {f"{name}.{key}": value for key, value in schema.pop("$defs", {}).items()}
        definitions[name] = schema
        choices.append(
            {
                "if": {"properties": {"operator": {"const": name}}},
                "then": {"$ref": f"#/$defs/{name}"},
            }
        )
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "grucible case spec",
        "type": "object",
        "required": ["operator"],
        "properties": {"operator": {"enum": list(OPERATORS)}},
        "allOf": choices,
        "$defs": definitions,
    }
    return json.dumps(whole, indent=1) + "\n"
