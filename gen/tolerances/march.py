"""Derived tolerances: how far each output of a correct implementation may be from the exact value.

One forward march over stacked cases, all classes of arithmetic at once: each step of the GRU is taken
in the arithmetic of errors, which says how the error of the state before it goes on (its signed linear
part) and what the step adds at most (its source: all rounding, and all that is not linear); `Chains`
carries that through time. See TOLERANCES.md for the derivation, and for what is rigorous and what is
fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import DirectionWeights, gru, in_order, processing_order, step
from .chains import Chains
from .classes import ArithmeticClass
from .error_arithmetic import ErrorArithmetic
from .error_values import Bounded, wide
from .units import Units


class ErrorBounds(NamedTuple):
    """The values of y (n, direction, batch, time, hidden) and of ho, without the time axis, in
    float64; the bounds e of their errors, with one more axis (classes) at the end; and `straddles`
    (n, classes), whether a pre-activation may be on either side of a guarded break."""

    y: Array
    ho: Array
    y_bounds: Array
    ho_bounds: Array
    straddles: Array

    def of(self, role: str) -> tuple[Array, Array]:
        """The values of a role, y or ho, and the bounds of their errors."""
        return (self.y, self.y_bounds) if role == "y" else (self.ho, self.ho_bounds)


def error_bounds(
    semantics: StackedSemantics, inputs: GruInputs, classes: Sequence[ArithmeticClass]
) -> ErrorBounds:
    """The values of stacked cases in float64 and how far off they may be in each class."""
    arithmetic = ErrorArithmetic(Units(classes))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # planted NaN and infinity
        marches = [
            March(arithmetic, semantics, inputs, index)
            for index in range(len(semantics.directions))
        ]

        def advance(
            d: DirectionWeights, number: int, rows: Array, wx: Mapping[str, Any], old: Array
        ) -> Array:
            return marches[d.index].advance(d, number, rows, wx, old)

        y, ho = gru(arithmetic, semantics, inputs, advance=advance)
        bounds = [march.bounds() for march in marches]
    return ErrorBounds(
        y,
        ho,
        np.stack([b[0] for b in bounds], 1),
        np.stack([b[1] for b in bounds], 1),
        np.any([march.straddles for march in marches], axis=0),
    )


class March:
    """The bounds of one direction, step after step; arrays are (n, batch, classes, hidden)."""

    def __init__(
        self,
        arithmetic: ErrorArithmetic,
        semantics: StackedSemantics,
        inputs: GruInputs,
        index: int,
    ) -> None:
        self.arithmetic, self.units, self.semantics = arithmetic, arithmetic.units, semantics
        self.lengths, time = inputs.lengths, inputs.x.shape[-2]
        self.order = processing_order(semantics.directions[index], inputs.lengths, time)
        h0 = wide(np.abs(inputs.h0[:, index].astype(np.float64)))
        rounded = h0 * self.units.state + self.units.state_tiny
        self.e = np.where(self.units.operand > 0, rounded, 0.0)  # h0 rounded on the way in
        self.rows = np.arange(h0.shape[1])
        self.chains = Chains(self.e.copy(), time)
        n, batch, classes, hidden = self.e.shape
        self.y = np.zeros((n, batch, time, classes, hidden))
        self.straddles = np.zeros((n, classes), bool)

    def advance(
        self, d: DirectionWeights, number: int, rows: Array, wx: Mapping[str, Any], old: Array
    ) -> Array:
        """Take the step `number` of `rows` from the state `old`; returns the state after it."""
        if len(rows) < len(self.rows):  # the others are over for good
            self.chains.keep(np.isin(self.rows, rows))
            self.rows = rows
        e = self.e[:, rows]
        h = self.arithmetic.state(old, e)
        state: Bounded = step(self.arithmetic, self.semantics, d, wx, h).state
        arrived = self.chains.arrive(state.linear)
        units = self.units
        source = state.source + units.state * (wide(state.size) + arrived + state.source)
        source += units.state_tiny
        total = arrived + source
        self.chains.add(source, total)
        alive = (number < self.lengths)[:, rows, None]
        self.straddles |= (self.arithmetic.straddles & alive).any(axis=1)
        self.arithmetic.straddles = False
        self.e[:, rows] = np.where(alive[..., None], total, e)
        self.y[:, rows, number] = np.where(alive[..., None], total, 0.0)
        return state.value

    def bounds(self) -> tuple[Array, Array]:
        """The bounds of y, at the times of its inputs, and of ho; classes last."""
        n, batch, time, classes, hidden = self.y.shape
        y = self.y.reshape(n, batch, time, classes * hidden)
        if self.semantics.y_order == "time":
            y = in_order(y, self.order)
        empty = self.lengths[..., None, None] == 0
        zero = self.semantics.empty_row == "zeros"
        ho = np.where(empty & zero, 0.0, self.e)
        return y.reshape(self.y.shape).swapaxes(-1, -2), ho.swapaxes(-1, -2)
