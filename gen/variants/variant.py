"""A variant: what it does differently from the GRU, as changes around the one implementation.

A variant changes the inputs, the semantics, quantities inside a step, or the outputs; it never
writes the equations again. Variants compose: the changes of one follow those of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...cases.semantics import StackedSemantics
from ...vectors.case import Array
from ...vectors.convert import GruInputs
from ..float64 import FUNCTIONS, Float64
from ..gru import Alter, gru
from .approximate import OTHER_FUNCTIONS

Kind = Literal["misreading", "approximation", "precision", "reading"]
Need = Literal["lengths", "direction", "clip", "reset_after", "b", "time"]
Outputs = tuple[Array, Array]
"""y (n, direction, batch, time, hidden) and ho (n, direction, batch, hidden)."""


class _WiderFloat64(Float64):
    """Float64 that also knows the functions that are computed in place of the right ones."""

    functions = FUNCTIONS | OTHER_FUNCTIONS


@dataclass(frozen=True)
class Run:
    """What a change of the outputs may look at: the true inputs, the semantics, the outputs so far,
    and `again`, which computes the outputs of other inputs in the same way."""

    inputs: GruInputs
    semantics: StackedSemantics
    y: Array
    ho: Array
    again: Callable[[GruInputs], Outputs]


@dataclass(frozen=True)
class Variant:
    """One way to differ from the GRU that is asked for.

    `about` completes the sentence "explained by: …". `needs` names what an operator must have for the
    variant to mean anything there: a tensor role or what an attribute sets (cases.signature).
    `links` are reports of real implementations that were wrong in this way, `ledger` the entry of a
    reading. Each change is None where there is none. `alter` is made from the semantics as asked for.

    An approximation says which `function` it approximates, with what largest `error`; a loss of
    precision the required classes that it is `worse_than`, and the `arithmetic` it computes in.
    """

    name: str
    about: str
    kind: Kind = "misreading"
    needs: tuple[Need, ...] = ()
    ledger: str = ""
    links: tuple[str, ...] = ()
    inputs: Callable[[GruInputs, StackedSemantics], GruInputs] | None = None
    semantics: Callable[[StackedSemantics], StackedSemantics] | None = None
    alter: Callable[[StackedSemantics], Alter] | None = None
    outputs: Callable[[Run], Outputs] | None = None
    arithmetic: Any = None
    function: str = ""
    error: float = 0.0
    worse_than: tuple[str, ...] = ()


def outcome(variants: Sequence[Variant], semantics: StackedSemantics, inputs: GruInputs) -> Outputs:
    """y and ho of stacked cases under all of `variants` at once, in float64."""
    meant = semantics
    for variant in variants:
        if variant.semantics:
            meant = variant.semantics(meant)
    alters = [variant.alter(semantics) for variant in variants if variant.alter]

    def alter(name: str, value: Array) -> Array:
        for one in alters:
            value = one(name, value)
        return value

    [arithmetic] = [v.arithmetic for v in variants if v.arithmetic] or [_WiderFloat64()]

    def computed(given: GruInputs) -> Outputs:
        for variant in variants:
            if variant.inputs:
                given = variant.inputs(given, semantics)
        return gru(arithmetic, meant, given, alter=alter)

    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        y, ho = computed(inputs)
        for variant in variants:
            if variant.outputs:
                y, ho = variant.outputs(Run(inputs, semantics, y, ho, computed))
    return y, ho
