"""Asking one operator's question as another's: the same question, or a reason why not.

Derived from the operators' descriptions; there is no operator by name in here. The question is the
same where both operators mean the same GRU (`operators.semantics`) of the same numbers: activations,
clip, the place of the reset gate, directions, lengths. Layout, gate order, the form of the biases
and how a left-out input is understood are no part of it. A sum of two biases must be exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .dtypes import FLOAT_TYPES, Array, Arrays, numpy_dtype
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
from .question import Question, TensorType


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
            shared["y"] = np.expand_dims(shared["ho"], -2)  # one step, all rows of length 1
        self._turn(shared)
        absent = {t.name for t in source.outputs} - self.original.outputs.keys()
        return operator_outputs(source, self.original.attributes, shared, absent)

    def expected(self, outputs: Mapping[str, Array]) -> Arrays:
        """Turn outputs of the original into those of the other operator, as far as `answer` reads these."""
        source, target = OPERATORS[self.original.operator], OPERATORS[self.question.operator]
        shared = shared_outputs(source, self.original.attributes, outputs)
        self._turn(shared)
        attributes = self.question.attributes
        absent = {t.name for t in target.outputs if t.role_in(attributes) not in shared}
        return operator_outputs(target, attributes, shared, absent)

    def _turn(self, shared: Arrays) -> None:
        """Put y in the other order, where the operators differ in it.

        Every row is as long as the time axis then.
        """
        meant, other = self.original.semantics, self.question.semantics
        if "y" in shared and meant.y_order != other.y_order:
            turned = [
                np.flip(part, -2) if word == "reverse" else part
                for word, part in zip(meant.directions, shared["y"], strict=True)
            ]
            shared["y"] = np.stack(turned)


def ask(question: Question, target: Operator) -> Asked:
    """`question` as one of `target`. Raises NotExpressible with what `target` lacks."""
    source = OPERATORS[question.operator]
    if question.dtype not in target.dtypes():
        raise NotExpressible(f"{target.name} has no {question.dtype}")
    meant = question.semantics
    shared = gru_inputs(source, question.attributes, question.inputs)
    roles = {t.role_in(question.attributes) for t in source.outputs if t.name in question.outputs}
    attributes = _attributes(target, meant, shared, wants_y="y" in roles)
    filled = target.with_defaults(attributes)
    _same(target, meant, semantics(target, filled))
    given = {t.role for t in source.inputs if t.name in question.inputs}
    absent = {t.name for t in target.inputs if not t.required and t.role not in given}
    inputs = _inputs(target, filled, shared, meant, absent)
    directions, batch, hidden = shared.h0.shape
    *_, time, width = shared.x.shape
    of = {"batch": batch, "time": time, "input": width, "hidden": hidden, "direction": directions}
    sizes = {symbol: of[axis] for symbol, axis in target.sizes.items()}
    dtype = FLOAT_TYPES[question.dtype].numpy
    types = {
        variable: dtype if of == target.dtypes() else numpy_dtype(of[0])
        for variable, of in target.types.items()
    }
    asked = Question(
        id=question.id,
        operator=target.name,
        dtype=question.dtype,
        given=attributes,
        inputs={
            t.name: inputs[t.name].astype(types[t.type]) for t in target.inputs if t.name in inputs
        },
        outputs={t.name: TensorType(target.shape(t, filled, sizes), dtype) for t in target.outputs},
    )
    return Asked(question, asked)


def _attributes(
    target: Operator, meant: Semantics, shared: GruInputs, *, wants_y: bool
) -> dict[str, Any]:
    """Find the target's attributes that come nearest to what is meant."""
    functions = [f for pair in zip(meant.f, meant.g, strict=True) for f in pair]
    wanted: dict[str, Any] = {
        "hidden": shared.h0.shape[-1],
        "direction": meant.directions,
        "reset_after": meant.reset_after,
        "bias_inside": "rh" in shared.b,
        "sequence": wants_y,
        "clip": None if math.isinf(meant.clip) else meant.clip,
        "f": meant.f[0],
        "g": meant.g[0],
        "alpha": [f.alpha for f in functions if "alpha" in f.takes] or None,
        "beta": [f.beta for f in functions if "beta" in f.takes] or None,
    }
    found: dict[str, Any] = {}
    for attribute in target.attributes:
        if attribute.sets == "activations":
            named = functions if attribute.per_direction else functions[:2]
            found[attribute.name] = [_spelled(target, attribute, f) for f in named]
        elif attribute.sets in wanted and wanted[attribute.sets] is not None:
            value = wanted[attribute.sets]
            if attribute.choices:
                value = _spelled(target, attribute, value)
            found[attribute.name] = value
    return found


def _spelled(target: Operator, attribute: Attribute, meaning: Any) -> Any:
    """Find the attribute's own word for a meaning.

    An activation's word stands for its parameters, too, unless an attribute sets these.
    """
    free = target.setting("alpha") is not None
    for word, meant in attribute.choices.items():
        if meant == meaning:
            return word
        both = isinstance(meaning, Activation) and isinstance(meant, Activation)
        if free and both and meant.name == meaning.name:
            return word
    plain = isinstance(meaning, tuple) and not isinstance(meaning, Activation)
    word = " and ".join(meaning) if plain else str(meaning)
    raise NotExpressible(f"{target.name} has no {attribute.name} {word}")


def _same(target: Operator, meant: Semantics, other: Semantics) -> None:
    """Raise NotExpressible unless both mean the same GRU, but for the order of y."""
    side = "after" if meant.reset_after else "before"
    own = "activations of their own for each direction"
    lacks = {
        "directions": " and ".join(meant.directions),
        "clip": f"clip {meant.clip:.9g}" if target.setting("clip") else "clip",
        "reset_after": f"reset gate applied {side} the product with R",
        "f": own,
        "g": own,
        "empty_row": "other state of a row of length 0",
        "biases": "other meaning of the biases",
    }
    for name, word in lacks.items():
        if getattr(meant, name) != getattr(other, name):
            raise NotExpressible(f"{target.name} has no {word}")


def _inputs(
    target: Operator,
    attributes: Mapping[str, Any],
    shared: GruInputs,
    meant: Semantics,
    absent: set[str],
) -> Arrays:
    time = shared.x.shape[-2]
    axes = set(target.sizes.values())
    if "time" not in axes and time > 1:
        raise NotExpressible(f"{target.name} has no time axis, and the case {time} steps")
    whole = bool((shared.lengths == time).all())
    if not target.tensor("lengths") and not whole:
        raise NotExpressible(f"{target.name} has no lengths, and the rows differ in length")
    if meant.y_order != target.always.get("y_order", "time") and not whole:
        raise NotExpressible(f"{target.name} has y in another order, and the rows differ in length")
    parts = [
        part
        for t in target.present(target.inputs, absent)
        if t.role == "b"
        for part in t.form(attributes).parts
    ]
    inside = meant.reset_after and "rh" in shared.b
    return operator_inputs(
        target, attributes, replace(shared, b=_biases(target, shared, parts, inside=inside)), absent
    )


def _biases(target: Operator, shared: GruInputs, parts: list[str], *, inside: bool) -> Arrays:
    """Make the target's parts of the biases.

    A sum is split into itself and zero; two biases are added up exactly.
    """
    found: Arrays = {}
    zero = np.zeros(shared.h0.shape[:1] + shared.h0.shape[-1:], shared.x.dtype)
    for gate in "zrh":
        given = {
            part: shared.b[part] for part in (gate, f"w{gate}", f"r{gate}") if part in shared.b
        }
        wanted = [part for part in (gate, f"w{gate}", f"r{gate}") if part in parts]
        zeros = dict.fromkeys(wanted, zero)
        if not wanted:
            continue
        if gate == "h" and inside:
            if "rh" not in wanted:
                raise NotExpressible(
                    f"{target.name} has no bias inside the product with the reset gate"
                )
            inner, outer = given.pop("rh"), _sum(target, list(given.values()) or [zero])
            outside = next(part for part in wanted if part != "rh")
            found |= zeros | {outside: outer, "rh": inner}
        elif set(wanted) == set(given):
            found |= given
        else:
            outside = next((part for part in wanted if part != "rh"), wanted[0])
            found |= zeros | {outside: _sum(target, list(given.values()) or [zero])}
    return found


def _sum(target: Operator, biases: list[Array]) -> Array:
    """Add biases in their dtype. Raises NotExpressible where the sum is not exact."""
    total = biases[0].astype(np.float64)
    exact = np.ones(total.shape, bool)
    for bias in biases[1:]:
        other = bias.astype(np.float64)
        wide = total + other
        back = wide - total  # Knuth's two-sum: what the rounding of a sum loses, exactly
        exact &= (total - (wide - back)) + (other - back) == 0.0
        total = wide
    narrow: Array = total.astype(biases[0].dtype)
    if not (exact & (narrow.astype(np.float64) == total)).all():
        raise NotExpressible(f"{target.name} has one bias, and the sum of two is not exact")
    return narrow
