"""Defects of attributes, which follow from what an operator's attributes mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..operators.signature import Attribute, Operator
from .baseline import SIZES
from .defect import Defect
from .forbidden import Rule, forbidden

_UNKNOWN_ACTIVATION = "gelu"
_UNKNOWN_DIRECTION = "backward"
_PARAMETERS = (0.25, 0.5, 0.75)
"""Of a function that takes one; all dtypes hold them."""


def attribute_defects(operator: Operator) -> Iterator[Defect]:
    """What can be wrong with the attributes of an operator."""
    for attribute in operator.attributes:
        if attribute.required:
            about = f"{attribute.name} is left out, and is required"
            yield from _defect(operator, "required attribute", attribute, "missing", None, about)
        match attribute.sets:
            case "hidden":
                yield from _hidden(operator, attribute)
            case "f" | "g":
                about = f"{attribute.name} is {_UNKNOWN_ACTIVATION!r}, which there is not"
                wrong = _UNKNOWN_ACTIVATION
                yield from _defect(operator, "activation", attribute, wrong, wrong, about)
            case "activations":
                yield from _activations(operator, attribute)
            case "alpha" | "beta":
                yield from _parameters(operator, attribute)
            case "clip":
                yield from _clip(operator, attribute)
            case "direction":
                yield from _direction(operator, attribute)
            case _:
                yield from _switch(operator, attribute)


def _defect(
    operator: Operator, rule: Rule, one: Attribute, name: str, wrong: Any, about: str, **rest: Any
) -> Iterator[Defect]:
    """The defect that the attribute is `wrong`, or left out (None), where the owner has a word on it."""
    if found := forbidden(operator, rule):
        yield Defect(
            f"{one.name}-{name}",
            about,
            found.ledger,
            found.decides,
            given={one.name: wrong},
            **rest,
        )


def _hidden(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    right = SIZES["hidden"]
    for name, wrong in (
        ("zero", 0),
        ("negative", -right),
        ("more", right + 1),
        ("less", right - 1),
    ):
        about = f"{attribute.name} is {wrong}, and the inputs have shapes of {right}"
        yield from _defect(operator, "hidden", attribute, name, wrong, about)


def _activations(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    f, g = attribute.default
    for name, wrong in (
        ("unknown-f", [_UNKNOWN_ACTIVATION, g]),
        ("unknown-g", [f, _UNKNOWN_ACTIVATION]),
    ):
        about = f"{attribute.name} names {_UNKNOWN_ACTIVATION!r}, which there is not"
        yield from _defect(operator, "activation", attribute, name, wrong, about)
    rule: Rule = "number of activations"
    for name, wrong in (("one", [f]), ("three", [f, g, f])):
        about = f"{attribute.name} has {len(wrong)} entries; expected 2"
        yield from _defect(operator, rule, attribute, name, wrong, about)
    if attribute.per_direction:
        about = f"{attribute.name} has 4 entries for one direction; expected 2"
        yield from _defect(operator, rule, attribute, "four", [f, g, f, g], about)
        direction = operator.setting("direction")
        assert direction is not None
        about = f"{attribute.name} has 2 entries for two directions; expected 4"
        both = {attribute.name: [f, g, f, g], direction.name: "bidirectional"}
        yield from _defect(operator, rule, attribute, "two-of-four", [f, g], about, valid=both)


def _parameters(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """One parameter too few and one too many, for two functions that take it, which also has a default."""
    functions = operator.setting("activations")
    assert functions is not None
    taking = {name: function for name, function in functions.choices.items()
              if attribute.sets in function.takes
              and not math.isnan(getattr(function, attribute.sets))}  # fmt: skip
    if not taking:
        return
    name, function = next(iter(taking.items()))
    first, second = _PARAMETERS[:2]
    valid = {functions.name: [name, name], attribute.name: [first, second]}
    default = {attribute.name: [first, getattr(function, attribute.sets)]}
    rule: Rule = "number of parameters"
    for told, wrong in (("one", [first]), ("three", list(_PARAMETERS))):
        about = f"{attribute.name} has {len(wrong)} entries; two activations take one"
        yield from _defect(
            operator,
            rule,
            attribute,
            told,
            wrong,
            about,
            valid=valid,
            attributes_taken_for=({}, default),
        )


def _clip(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """Not clipped, as if it were left out, or clipped to the bound without its sign."""
    for name, wrong in (("zero", 0.0), ("negative", -0.5), ("nan", math.nan)):
        taken: tuple[dict[str, float], ...] = ({}, {attribute.name: 0.5}) if wrong < 0 else ({},)
        about = f"{attribute.name} is {wrong:g}; expected a positive number"
        yield from _defect(
            operator, "clip", attribute, name, wrong, about, attributes_taken_for=taken
        )


def _direction(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    known, wrong = ", ".join(attribute.choices), _UNKNOWN_DIRECTION
    yield from _defect(
        operator, "direction", attribute, wrong, wrong,
        f"{attribute.name} is {wrong!r}; expected one of {known}",
        attributes_taken_for=({}, {attribute.name: "reverse"}),
    )  # fmt: skip


def _switch(operator: Operator, attribute: Attribute) -> Iterator[Defect]:
    """2, where there are 0 and 1 alone; of a boolean, in a question in which it is true."""
    if attribute.kind == "boolean":
        rule: Rule = "switch"
        valid: dict[str, Any] = {attribute.name: True}
    elif attribute.kind == "int" and attribute.choices and not attribute.sets:
        rule, valid = "layout", {}
    else:
        return
    about = f"{attribute.name} is 2; expected 0 or 1"
    yield from _defect(operator, rule, attribute, "two", 2, about, valid=valid)
