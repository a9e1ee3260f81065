"""The factors of an operator: everything a case spec may enumerate, with its values and words.

They follow from the operator's description: each attribute, each size, each optional input
and output (present or absent), the sequence lengths, each type variable that leaves a choice
besides the case's dtype, and how the inputs are drawn.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..operators.known import OPERATORS
from ..operators.signature import ABSENT, Attribute, Operator
from .draws import DRAWS
from .length_patterns import PATTERNS

PRESENT, DRAWN = "present", "drawn"
NEEDED = object()
"""The `default` of a factor that every case must name."""


@dataclass(frozen=True)
class Factor:
    """One thing a case spec may enumerate.

    `default` is the value of a case that does not name the factor. `token(value)` is what a case's
    id says of the value: nothing for most defaults.
    """

    name: str
    accepts: Callable[[Any], bool]
    expected: str
    default: Any
    token: Callable[[Any], str]
    schema: dict[str, Any]

    @property
    def is_size(self) -> bool:
        """Whether the factor is one of the operator's sizes."""
        return self.schema.get("type") == "integer"


@functools.cache
def factors(operator_name: str) -> dict[str, Factor]:
    """The factors of an operator, by name, in the order in which ids name them."""
    operator = OPERATORS[operator_name]
    named = [a for name in operator.id_order if (a := operator.attribute(name))]
    found = [_attribute_factor(a) for a in named]
    tensors = (*operator.inputs, *operator.outputs)
    found += [
        _choice(t.name, (PRESENT, ABSENT), f"no{t.name}")
        for t in tensors
        if not t.required and t.role != "lengths"
    ]
    found += [_choice(t.name, ("zeros", DRAWN), t.name) for t in tensors if t.zeros]
    if (hidden := operator.setting("hidden")) and not hidden.required:
        name = f"{hidden.name}_attribute"
        found.append(_choice(name, (PRESENT, ABSENT), f"no{hidden.name}"))
    found += [_size_factor(symbol, operator) for symbol in size_symbols(operator)]
    found += [
        _choice(variable, dtypes)
        for variable, dtypes in operator.types.items()
        if len(dtypes) > 1 and dtypes != operator.dtypes()
    ]
    if lengths := operator.tensor("lengths"):
        found.append(_lengths_factor(lengths.name, optional=not lengths.required))
    found.append(_choice("draw", tuple(DRAWS)))
    return {factor.name: factor for factor in found}


def size_symbols(operator: Operator) -> list[str]:
    """The sizes a case spec gives; the number of directions follows from the attributes."""
    return [symbol for symbol, axis in operator.sizes.items() if axis != "direction"]


def _attribute_factor(attribute: Attribute) -> Factor:
    schema = _attribute_schema(attribute)
    if attribute.required:
        return Factor(
            attribute.name,
            attribute.accepts,
            attribute.expected,
            NEEDED,
            _attribute_token(attribute),
            schema,
        )
    return Factor(
        attribute.name,
        lambda value: value == ABSENT or attribute.accepts(value),
        f"{attribute.expected}, or {ABSENT}",
        ABSENT,
        _attribute_token(attribute),
        {"anyOf": [schema, {"const": ABSENT}]},
    )


def _attribute_token(attribute: Attribute) -> Callable[[Any], str]:
    def token(value: Any) -> str:
        if value == ABSENT:
            return attribute.absent_token
        if isinstance(value, bool):
            return attribute.token if value else f"{attribute.token}0"
        entries = value if isinstance(value, list) else [value]
        return attribute.token + "_".join(str(entry).removesuffix(".0") for entry in entries)

    return token


def _attribute_schema(attribute: Attribute) -> dict[str, Any]:
    one: dict[str, Any]
    if attribute.choices:
        one = {"enum": list(attribute.choices)}
    elif attribute.kind == "boolean":
        one = {"type": "boolean"}
    else:
        one = {"type": "integer" if attribute.kind == "int" else "number"}
        if attribute.positive:
            one["exclusiveMinimum"] = 0
    if not attribute.is_list:
        return one | {"description": attribute.about}
    count = (
        {}
        if attribute.length is None
        else {"minItems": attribute.length, "maxItems": attribute.length}
    )
    return {"type": "array", "items": one, "description": attribute.about} | count


def _size_factor(symbol: str, operator: Operator) -> Factor:
    axis = operator.sizes[symbol]
    letter = {"batch": "n", "time": "t", "input": "i", "hidden": "h"}[axis]
    return Factor(
        symbol,
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096,
        "an integer from 1 to 4096",
        NEEDED,
        lambda value: f"{letter}{value}",
        {"type": "integer", "minimum": 1, "maximum": 4096},
    )


def _choice(name: str, choices: tuple[str, ...], token: str = "") -> Factor:
    """A factor of names; the first is the default, of which ids say nothing."""
    return Factor(
        name,
        lambda value: value in choices,
        "one of " + ", ".join(choices),
        choices[0],
        lambda value: "" if value == choices[0] else token or str(value),
        {"enum": list(choices)},
    )


def _lengths_factor(name: str, *, optional: bool) -> Factor:
    words = [*PATTERNS, ABSENT] if optional else list(PATTERNS)

    def accepts(value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and all(type(v) is int and v >= 0 for v in value)
        return isinstance(value, str) and value in words

    def token(value: Any) -> str:
        if isinstance(value, list):
            return "len" + "_".join(map(str, value))
        return {"full": "", ABSENT: f"no{name}"}.get(value, str(value))

    return Factor(
        name,
        accepts,
        f"one of {', '.join(words)}, or a list of lengths, one per row",
        "full",
        token,
        {
            "anyOf": [
                {"enum": words},
                {"type": "array", "items": {"type": "integer", "minimum": 0}},
            ]
        },
    )


def key(value: Any) -> str:
    """A hashable form of a factor's value, equal for equal values and different for 1 and true."""
    return json.dumps(value)
