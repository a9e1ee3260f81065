"""Variants of some hidden units alone, such as the tail of a vector loop, or of one direction.

A unit's own quantities are wrong there; other units are wrong only where they take its state, or its reset
gate, if that multiplies the state before the product.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from .fields import Change
from .places import OF_STATES, PLACES, elements_of, units_of
from .variant import Evaluated, Expression, Outputs, Quantities, Variant

UNITS = {
    name: words
    for name, words in PLACES.items()
    if "hidden-unit" in name and not name.startswith("every")
}
"""The places that are some hidden units, in words."""

DIRECTIONS = ("reverse", "forward-direction", "second-direction", "first-direction")
"""The places that are a direction."""


def can_be_restricted(variant: Variant) -> bool:
    """Whether the variant changes nothing but weights, biases and quantities that belong to a unit."""
    return variant.within_a_step and not (
        variant.semantics or variant.advance or variant.arithmetic
    )


def restricted(variant: Variant, units: str) -> Variant:
    """Make the variant of some units alone; it is named `variant@units`."""
    return replace(
        variant,
        name=f"{variant.name}@{units}",
        about=f"{variant.about}, {UNITS[units]}",
        inputs=partial(_read, variant.inputs, units) if variant.inputs else None,
        quantities={
            one: partial(_changed, one, change, units) for one, change in variant.quantities.items()
        },
    )


def _read(change: Change, units: str, given: GruInputs, s: StackedSemantics) -> GruInputs:
    found, mask = change(given, s), units_of(units, given.h0.shape[-1])

    def some(before: Arrays, after: Arrays, here: Array) -> Arrays:
        return {part: np.where(here, a, before.get(part, a)) for part, a in after.items()}

    w, r = (some(*each, mask[:, None]) for each in ((given.w, found.w), (given.r, found.r)))
    return replace(found, x=given.x, w=w, r=r, b=some(given.b, found.b, mask))


def _changed(name: str, change: Expression, units: str, q: Quantities) -> Array:
    return np.where(units_of(units, q[name].shape[-1]), change(q), q[name])


def can_be_in_direction(variant: Variant) -> bool:
    """Whether the variant may hold in one direction alone."""
    of_both = {"direction", "axis.direction"} & {*variant.needs}
    return not (of_both or variant.last or variant.arithmetic or "@" in variant.name)


def in_direction(variant: Variant, place: str) -> Variant:
    """Make the variant of one of the DIRECTIONS alone; it is named `variant@place`.

    Directions are computed apart, so those that are not in the place are as they are without it.
    """

    def outputs(seen: Evaluated) -> Outputs:
        y, ho = seen.y, seen.ho
        if not variant.of_outputs_alone:
            y, ho = seen.again(seen.inputs, variant)
        if variant.outputs:
            y, ho = variant.outputs(replace(seen, y=y, ho=ho))
        here = elements_of(seen.inputs, seen.semantics).mask(place)
        return np.where(here[..., None], y, seen.y), np.where(here, ho, seen.ho)

    return replace(
        variant,
        name=f"{variant.name}@{place}",
        about=f"{variant.about}, {OF_STATES[place]}",
        needs=(*variant.needs, "direction"),
        inputs=None,
        semantics=None,
        quantities={},
        advance=None,
        outputs=outputs,
    )


def at_place(variant: Variant, place: str) -> Variant:
    """Make the variant of some units, or of one direction, alone; KeyError where there is none."""
    if place in DIRECTIONS and can_be_in_direction(variant):
        return in_direction(variant, place)
    if place in UNITS and can_be_restricted(variant) and "@" not in variant.name:
        return restricted(variant, place)
    raise KeyError(f"{variant.name}@{place}")
