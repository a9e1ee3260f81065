"""What a question asks for, in lines of text: its attributes, and its equations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..cases.operators.known import OPERATORS
from ..cases.operators.signature import USUAL, Attribute, Tensor
from ..cases.question import Question
from .formula import equations


def attribute_lines(question: Question) -> Iterator[str]:
    """Every attribute of the operator: its value, or what it is by default."""
    operator = OPERATORS[question.operator]
    width = max(len(attribute.name) for attribute in operator.attributes)
    for attribute in operator.attributes:
        yield f"{attribute.name:{width}}  {_attribute(attribute, question.given)}"


def _attribute(attribute: Attribute, given: Mapping[str, Any]) -> str:
    if attribute.name in given:
        return _text(given[attribute.name])
    default = "none" if attribute.default is None else _text(attribute.default)
    return f"absent (default {default})"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "infinity" if value == math.inf else str(value)


def equation_lines(question: Question) -> Iterator[str]:
    """The equations that are asked for, direction by direction."""
    s, operator, attributes = question.semantics, OPERATORS[question.operator], question.attributes
    given = [t for t in operator.inputs if t.name in question.inputs]
    parts = {role: _parts(given, role, attributes) for role in ("w", "b")}
    for index, direction in enumerate(s.directions):
        if s.directions != ("forward",):
            yield f"{direction}:"
        if index and (s.f[index], s.g[index]) == (s.f[0], s.g[0]):
            yield "the same, with weights of its own"
            continue
        yield from equations(s, parts["b"], index, operator.notation)
    own = operator.notation
    biases = [part if own is USUAL else own.part(part) for part in parts["b"]]
    said = f"biases {', '.join(biases)}" if biases else "there is no bias"
    yield f"gates are stacked {', '.join(own.gate.get(g, g) for g in parts['w'])}; {said}"
    if s.y_order == "processing" and "reverse" in s.directions:
        yield "outputs of reverse stand in the order of processing (ledger: reverse-order)"


def _parts(tensors: Sequence[Tensor], role: str, attributes: Mapping[str, Any]) -> list[str]:
    """What the tensors of a role stack along their gate axis."""
    return [p for t in tensors if t.role == role for p in t.form(attributes).parts]
