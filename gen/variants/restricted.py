"""Variants of some hidden units alone: of a tail that a vector loop leaves, of the last unit, of the first.

A unit's own quantities are wrong there; other units are wrong by what they take of its state alone, or,
where the reset gate multiplies the state before the product, of its reset gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import Alter
from .variant import Variant


def _tail(size: int, hidden: int) -> Array:
    return np.asarray(np.arange(hidden) >= hidden // size * size)


def _whole(size: int, hidden: int) -> Array:
    return ~_tail(size, hidden)


UNITS: dict[str, tuple[str, Callable[[int], Array]]] = {
    **{
        f"tail-of-{size}": (
            f"in the hidden units past the last whole group of {size}",
            partial(_tail, size),
        )
        for size in (4, 8, 16)
    },
    **{
        f"whole-{size}": (f"in whole groups of {size} hidden units", partial(_whole, size))
        for size in (4, 8)
    },
    "last-unit": ("in the last hidden unit", lambda hidden: np.arange(hidden) == hidden - 1),
    "first-unit": ("in the first hidden unit", lambda hidden: np.arange(hidden) == 0),
}
"""By name, the words, and which of so many hidden units."""


def can_be_restricted(variant: Variant) -> bool:
    """Whether the variant changes nothing but weights, biases and quantities that belong to a unit."""
    return variant.within_a_step and not (
        variant.semantics or variant.advance or variant.arithmetic
    )


def restricted(variant: Variant, units: str) -> Variant:
    """The variant in some units alone; named `variant@units`."""
    words, which = UNITS[units]
    inputs, alter = variant.inputs, variant.alter

    def read(given: GruInputs, semantics: StackedSemantics) -> GruInputs:
        assert inputs is not None
        found, mask = inputs(given, semantics), which(given.h0.shape[-1])

        def some(field: str) -> Arrays:
            before: Arrays = getattr(given, field)
            here = mask if field == "b" else mask[:, None]
            return {
                part: array
                if array is before.get(part, array)
                else np.where(here, array, before[part])
                for part, array in getattr(found, field).items()
            }

        changed: dict[str, Any] = {field: some(field) for field in ("w", "r", "b")}
        return replace(found, x=given.x, **changed)

    def altered(semantics: StackedSemantics) -> Alter:
        assert alter is not None
        change = alter(semantics)

        def of(name: str, value: Array) -> Array:
            return np.where(which(value.shape[-1]), change(name, value), value)

        return of

    return replace(
        variant,
        name=f"{variant.name}@{units}",
        about=f"{variant.about}, {words}",
        inputs=read if inputs else None,
        alter=altered if alter else None,
    )
