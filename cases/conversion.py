"""Turning a question of one operator into an equal question of another, or saying why there is none.

The operators' descriptions say how; this module names no operator. Two questions are equal if
their numbers are the same, and so is the GRU (`operators.semantics`): activations, clip, the place of the
reset gate, directions, lengths, padding. Layout, gate order, bias form and the meaning of a left-out input
may differ. If two biases become one, their sum must be exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .dtypes import Array, Arrays, numpy_dtype
from .operators import OPERATORS
from .operators.activations import Activation
from .operators.layout import (
    GruInputs,
    gru_inputs,
    operator_inputs,
    operator_outputs,
    shared_outputs,
)
from .operators.semantics import Semantics, semantics
from .operators.signature import Attribute, Operator
from .question import Question, pose


class NotExpressible(Exception):
    """The other operator cannot ask the same question; the message says what it lacks."""


@dataclass(frozen=True)
class Asked:
    """A `question` of another operator that asks what the `original` asks."""

    original: Question
    question: Question

    def answer(self, outputs: Mapping[str, Array]) -> Arrays:
        """Turn outputs of the other operator into those of the original."""
        source, target = OPERATORS[self.original.operator], OPERATORS[self.question.operator]
        shared = shared_outputs(target, self.question.attributes, outputs)
        if "y" not in shared:
            shared["y"] = np.expand_dims(shared["ho"], -2)  # one step, or y is not asked for
        self._turn(shared)
        absent = {t.name for t in source.outputs} - self.original.outputs.keys()
        return operator_outputs(source, self.original.attributes, shared, absent)

    def expected(self, outputs: Mapping[str, Array]) -> Arrays:
        """Turn outputs of the original into those outputs of the other operator that `answer` reads."""
        source, target = OPERATORS[self.original.operator], OPERATORS[self.question.operator]
        shared = shared_outputs(source, self.original.attributes, outputs)
        self._turn(shared)
        attributes = self.question.attributes
        absent = {t.name for t in target.outputs if t.role_in(attributes) not in shared}
        return operator_outputs(target, attributes, shared, absent)

    def _turn(self, shared: Arrays) -> None:
        """Put y in the order of the operator that it is meant for, if the two operators' orders differ."""
        meant, other = self.original.semantics, self.question.semantics
        if "y" in shared and meant.y_order != other.y_order:
            turned = [
                np.flip(part, -2) if word == "reverse" else part
                for word, part in zip(meant.directions, shared["y"], strict=True)
            ]
            shared["y"] = np.stack(turned)


def nearest(name: str, targets: Collection[Operator]) -> Operator:
    """Find the operator to ask in place of that called `name`: itself, or else one with a time axis."""
    return max(targets, key=lambda one: (one.name == name, "time" in one.sizes.values()))


def ask(question: Question, target: Operator) -> Asked:
    """Make a question of `target` that asks the same. Raises NotExpressible, naming what `target` lacks."""
    source = OPERATORS[question.operator]
    if question.dtype not in target.dtypes():
        raise NotExpressible(f"{target.name} has no {question.dtype}")
    meant = question.semantics
    shared = gru_inputs(source, question.attributes, question.inputs)
    roles = {t.role_in(question.attributes) for t in source.outputs if t.name in question.outputs}
    ragged = bool((shared.lengths < shared.x.shape[-2]).any())
    if not (ragged and "y" in roles):  # y has no padding
        meant = replace(meant, y_padding="zeros")
    given = _attributes(target, meant, shared, wants_y="y" in roles, ragged=ragged)
    attributes = target.with_defaults(given)
    other = semantics(target, attributes)
    if not (ragged and "y" in roles):
        other = replace(other, y_padding="zeros")
    if shared.lengths.all():  # no row is empty
        other = replace(other, empty_row=meant.empty_row)
    _check_same(target, meant, other)
    _check_rows(target, shared)
    there = {t.role for t in source.inputs if t.name in question.inputs}
    present = [t for t in target.inputs if t.required or t.role in there]
    parts = [part for t in present if t.role == "b" for part in t.form(attributes).parts]
    biases = _biases(target, shared, parts, inside=meant.reset_after and "rh" in shared.b)
    absent = {t.name for t in target.inputs} - {t.name for t in present}
    inputs = operator_inputs(target, attributes, replace(shared, b=biases), absent)
    for tensor in present:
        if tensor.role == "lengths":
            dtype = numpy_dtype(target.types[tensor.type][0])
            inputs[tensor.name] = inputs[tensor.name].astype(dtype)
    return Asked(question, pose(target, given, inputs, case_id=question.id))


def _attributes(
    target: Operator, meant: Semantics, shared: GruInputs, *, wants_y: bool, ragged: bool
) -> dict[str, Any]:
    """Find the target's attributes that come nearest to `meant`."""
    functions = [f for pair in zip(meant.f, meant.g, strict=True) for f in pair]
    activations = target.setting("activations")
    both = activations is not None and activations.per_direction
    wanted: dict[str, Any] = {
        **dict(zip(("batch", "time", "input"), shared.x.shape, strict=True)),
        "hidden": shared.h0.shape[-1],
        "direction": meant.directions,
        "reset_after": meant.reset_after,
        "bias_inside": "rh" in shared.b,
        "sequence": wants_y,
        "y_padding": meant.y_padding if ragged and wants_y else None,
        "clip": None if math.isinf(meant.clip) else meant.clip,
        "activations": functions if both else functions[:2],
        "f": meant.f[0],
        "g": meant.g[0],
        "alpha": [f.alpha for f in functions if "alpha" in f.takes] or None,
        "beta": [f.beta for f in functions if "beta" in f.takes] or None,
    }
    found: dict[str, Any] = {}
    for attribute in target.attributes:
        value = wanted.get(attribute.sets)
        if value is not None and attribute.choices:
            several = value if attribute.is_list else [value]
            words = [_spell(target, attribute, one) for one in several]
            value = words if attribute.is_list else words[0]
        if value is not None:
            found[attribute.name] = value
    return found


def _spell(target: Operator, attribute: Attribute, meaning: Any) -> Any:
    """Find the attribute's own word for a meaning.

    The word of a function stands for its parameters, too, unless the operator has `alpha` for these.
    """
    function = isinstance(meaning, Activation)
    by_name = function and target.setting("alpha") is not None
    for word, meant in attribute.choices.items():
        if meant == meaning or (by_name and meant.name == meaning.name):
            return word
    shown = " and ".join(meaning) if isinstance(meaning, tuple) and not function else meaning
    raise NotExpressible(f"{target.name} has no {attribute.name} {shown}")


def _check_same(target: Operator, meant: Semantics, other: Semantics) -> None:
    """Raise NotExpressible unless both mean the same GRU; the order of y may differ."""
    side = "after" if meant.reset_after else "before"
    function = {
        name: "separate activations for each direction"
        if len(set(each)) > 1
        else f"{name} {each[0]}"
        for name, each in (("f", meant.f), ("g", meant.g))
    }
    clip = f"clip {meant.clip:.9g}, which float32 does not hold exactly"
    lacks = {
        "directions": " and ".join(meant.directions),
        "clip": clip if target.setting("clip") else "clip",
        "reset_after": f"reset gate applied {side} the product with R",
        **function,
        "y_padding": "such outputs where a row has no step",
        "empty_row": "such a state of a row of length 0",
        "biases": "such a meaning of the biases",
    }
    for name, word in lacks.items():
        if getattr(meant, name) != getattr(other, name):
            raise NotExpressible(f"{target.name} has no {word}")


def _check_rows(target: Operator, shared: GruInputs) -> None:
    """Raise NotExpressible where the target lacks the time axis, lengths, or padding before a row."""
    time = shared.x.shape[-2]
    ragged = not (shared.lengths == time).all()
    if "time" not in target.sizes.values() and time > 1:
        raise NotExpressible(f"{target.name} has no time axis, and the case has {time} steps")
    lengths = target.tensor("lengths")
    if ragged and not lengths:
        raise NotExpressible(f"{target.name} has no lengths, and some rows have fewer steps")
    if lengths and (shared.lengths < lengths.least).any():
        raise NotExpressible(f"{target.name} has no rows of length 0")
    if shared.starts[shared.lengths > 0].any() and not target.masked:
        raise NotExpressible(f"{target.name} has no padding before the steps of a row")


def _biases(target: Operator, shared: GruInputs, parts: list[str], *, inside: bool) -> Arrays:
    """Make the target's parts of the biases.

    One bias becomes itself and zero if the target has two; two become their exact sum if it has one.
    """
    zero = np.zeros(shared.h0.shape[:1] + shared.h0.shape[-1:], shared.x.dtype)
    found: Arrays = dict.fromkeys(parts, zero)
    for gate in "zrh":
        of_gate = (gate, f"w{gate}", f"r{gate}")
        given = {part: shared.b[part] for part in of_gate if part in shared.b}
        wanted = [part for part in of_gate if part in parts]
        if given.keys() == set(wanted):
            found |= given
        elif wanted and given:
            if gate == "h" and inside:
                if "rh" not in wanted:
                    what = "bias inside the product with the reset gate"
                    raise NotExpressible(f"{target.name} has no {what}")
                found["rh"] = given.pop("rh")
            if given:
                found[wanted[0]] = _sum(target, [*given.values()])
    return found


def _sum(target: Operator, biases: list[Array]) -> Array:
    """Add one or two biases in their dtype. Raises NotExpressible where the sum is not exact."""
    if len(biases) == 1:
        return biases[0]
    first, second = (bias.astype(np.float64) for bias in biases)
    total = first + second
    narrow: Array = total.astype(biases[0].dtype)
    exact = (total - first == second) & (total - second == first)
    if not (exact & (narrow.astype(np.float64) == total)).all():
        raise NotExpressible(f"{target.name} has one bias, and the sum of two is not exact")
    return narrow
