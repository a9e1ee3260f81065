"""Derived tolerances: how far each output of a correct implementation may be from the exact value.

One forward march over stacked cases bounds all classes of arithmetic at once. It takes each step of the GRU
in the arithmetic of errors. That gives the signed linear part, by which the error of the state before the
step goes on, and the source: the most that the step adds by rounding and by all that is not linear. `Chains`
carries both through time. In the end a bound becomes a tolerance: it is measured from the rounded answer,
rounded up, and at least that of a better class. TOLERANCES.md says what is rigorous and what is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, FloatType
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics, is_word
from ..gru import (
    DirectionWeights,
    fill_padding,
    gru,
    in_time,
    processing_order,
    step,
    step_numbers,
    turned,
)
from .classes import CHAINS, CLASSES, ArithmeticClass, Units
from .error_arithmetic import ErrorArithmetic
from .error_values import Bounded, Linear, wide

_SLACK = 1.0 + 2.0**-20
"""A factor that covers the float64 rounding of the bounds themselves."""


LONGEST, SHORTEST, WIDEST = 16, 4, 512
"""Maximum and minimum steps of a window of Jacobians. A window shrinks until its steps times hidden_size are
at most WIDEST."""


class ErrorBounds(NamedTuple):
    """Values in float64, and bounds of their errors, with one more axis (classes) at the end.

    y is (n, direction, batch, time, hidden); ho has no time axis. `straddles` (n, classes) says whether a
    pre-activation may be on either side of a guarded break.
    """

    y: Array
    ho: Array
    y_bounds: Array
    ho_bounds: Array
    straddles: Array

    def rows(self, which: Array) -> ErrorBounds:
        """Take the bounds of some of the cases."""
        return ErrorBounds(*(array[which] for array in self))

    def of(self, role: str) -> tuple[Array, Array]:
        """Take the values of a role, y or ho, and the bounds of their errors."""
        return (self.y, self.y_bounds) if role == "y" else (self.ho, self.ho_bounds)


def error_bounds(semantics: StackedSemantics, inputs: GruInputs, units: Units) -> ErrorBounds:
    """Evaluate stacked cases in float64, and bound their errors in each class."""
    arithmetic = ErrorArithmetic(units)
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
    of_y = np.stack([b[0] for b in bounds], 1)
    return ErrorBounds(
        y,
        ho,
        turned(semantics, of_y.reshape(*of_y.shape[:4], -1)).reshape(of_y.shape),
        np.stack([b[1] for b in bounds], 1),
        np.any([march.straddles for march in marches], axis=0),
    )


def step_bounds(
    semantics: StackedSemantics,
    inputs: GruInputs,
    classes: Sequence[ArithmeticClass],
    handed_out: FloatType,
    first: Array,
) -> tuple[Array, Array]:
    """Evaluate one step of stacked cases in float64, and bound its errors in each class.

    The state before it, h0, was rounded to the type `handed_out`, except where it is the `first`,
    (n, direction, rows). Values are (n, direction, rows, hidden), bounds have the classes behind. Where a
    case takes no step, both mean nothing.
    """
    arithmetic = ErrorArithmetic(Units(classes))
    units, bounds = arithmetic.units, np.empty((len(classes), *inputs.h0.shape))
    share, least = 2.0**-handed_out.precision, 2.0 ** (handed_out.least_exponent - 1)
    cut = units.operand > 0  # h0 is rounded on the way in, too
    own, own_least = np.where(cut, units.state, 0.0), np.where(cut, units.state_tiny, 0.0)

    def advance(
        d: DirectionWeights, _: int, rows: Array, wx: Mapping[str, Any], old: Array
    ) -> Array:
        rounded = ~first[:, d.index, rows, None, None]
        shares = share * rounded + own
        leasts = np.maximum(least, units.tiny) * rounded + own_least
        e = shares * wide(np.abs(old)) + leasts
        h = Bounded(units, old, np.abs(old), Linear(), e, e, shares, leasts)
        state: Bounded = step(arithmetic, semantics, d, wx, h).state
        total = state.source + units.state * (wide(state.size) + state.source) + units.state_tiny
        bounds[:, :, d.index, rows] = np.moveaxis(total, 2, 0)
        return state.value

    every = np.ones_like(inputs.lengths)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        y, _ = gru(arithmetic, semantics, replace(inputs, lengths=every), advance=advance)
    return y[..., 0, :], np.moveaxis(bounds, 0, -1)


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
        self.at_time = step_numbers(semantics.directions[index], inputs, time)
        h0 = wide(np.abs(inputs.h0[:, index].astype(np.float64)))
        rounded = h0 * self.units.state + self.units.state_tiny
        self.e = np.where(self.units.operand > 0, rounded, 0.0)  # h0 rounded on the way in
        self.first = self.e.copy()
        self.rows = np.arange(h0.shape[1])
        self.chains = Chains(self.e.copy(), time)
        n, batch, classes, hidden = self.e.shape
        self.y = np.zeros((n, batch, time, classes, hidden))
        self.straddles = np.zeros((n, classes), bool)

    def advance(
        self, d: DirectionWeights, number: int, rows: Array, wx: Mapping[str, Any], old: Array
    ) -> Array:
        """Take the step `number` of `rows` from the state `old`; return the state after the step."""
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
        """Return the bounds of y, in the order of time, and of ho; the last axis is the classes."""
        *_, classes, hidden = self.y.shape
        y, first, last = (
            array.reshape(*array.shape[:-2], classes * hidden)
            for array in (self.y, self.first, self.e)
        )
        y = in_time(y, processing_order(self.at_time, self.lengths))
        y = fill_padding(self.semantics, self.at_time, self.lengths, y, first=first, last=last)
        zero = is_word(self.semantics, "empty_row", "zeros", 3)
        ho = np.where((self.lengths[..., None, None] == 0) & zero, 0.0, self.e)
        return y.reshape(self.y.shape).swapaxes(-1, -2), ho.swapaxes(-1, -2)


def window(hidden: int) -> int:
    """Count the steps over which products of Jacobians reach back: 16, or 4 to 15 above hidden_size 32.

    So the products of a step take time in proportion to hidden_size², as all else does.
    """
    return min(LONGEST, max(SHORTEST, WIDEST // hidden))


def chain_bytes(time: int, batch: int, hidden: int) -> int:
    """Count the bytes of two copies of the products of Jacobians of one direction of a case."""
    return 2 * 8 * min(time, window(hidden)) * batch * hidden**2


class Chains:
    """The errors of the last steps, each with the product of the Jacobians J of all later steps.

    Let s_t be what step t adds (s_0: the error of the first state), e_t the error after step t, w the window:

        e_t ≤ Σ_{t-w < s ≤ t} |J_t ⋯ J_{s+1}| s_s + |J_t ⋯ J_{t-w+1}| e_{t-w}.

    Errors are rows, (n, rows, classes, hidden), and so Jacobians are transposed.
    """

    def __init__(self, first: Array, steps: int) -> None:
        n, rows, _, self.hidden = first.shape
        self.window = window(self.hidden)
        self.sources, self.totals = ([first], [first]) if first.any() else ([], [])
        most = min(self.window, steps)
        # products one below the other, oldest first; each step reads one array and writes the other
        self.products = np.empty((n, rows, most * self.hidden, self.hidden))
        self.spare = np.empty_like(self.products)

    def keep(self, rows: Array) -> None:
        """Forget all rows except those that the mask `rows` marks."""
        self.sources = [errors[:, rows] for errors in self.sources]
        self.totals = [errors[:, rows] for errors in self.totals]
        self.products = self.products[:, rows]
        self.spare = np.empty_like(self.products)

    def arrive(self, step: Linear) -> Array | float:
        """Bound what earlier errors have become after one more step."""
        if not self.sources:
            return 0.0
        h, many = self.hidden, len(self.sources)
        old, new = self.products, self.spare[:, :, : many * h]
        jacobian = step.matrix(new[:, :, -h:])
        if many > 1:
            first = self.dropped * h
            np.matmul(old[:, :, first : first + (many - 1) * h], jacobian, out=new[:, :, :-h])
        self.products, self.spare = self.spare, old
        sizes = np.abs(new, out=old[:, :, : many * h])
        return np.asarray(np.concatenate(self.sources, axis=-1) @ sizes)

    def add(self, source: Array, total: Array) -> None:
        """Add a step's own source, and the whole error after it."""
        self.sources.append(source)
        self.totals.append(total)
        self.dropped = int(len(self.sources) > self.window)
        if self.dropped:  # the whole error at a time replaces all older sources
            del self.sources[0], self.totals[0]
            self.sources[0] = self.totals[0]


def tolerances(x: Array, bounds: Array, answer: Array, dtype: str) -> dict[str, Array]:
    """Find, by class name, the admissible deviation of each element of a stored, rounded `answer`.

    `x` are the values in float64 and `bounds` their errors in each of the dtype's CLASSES (along
    the last axis). The result is float32, of the answer's shape; conforming is
    |observed - answer| ≤ tolerance, in float64.
    """
    kind = FLOAT_TYPES[dtype]
    found: dict[str, Array] = {}
    for chain in CHAINS[dtype]:
        least = np.zeros(answer.shape, np.float32)
        for one in chain:
            bound = bounds[..., CLASSES[dtype].index(one)]
            limit = against_answer(x, bound, answer, one, kind)
            least = found[one.name] = np.maximum(limit, least)
    return found


def against_answer(
    x: Array, e: Array, answer: Array, one: ArithmeticClass, kind: FloatType
) -> Array:
    """Bound |observed - answer| where |computed - x| ≤ e and `answer` is x, rounded once.

    If the class computes wider than the dtype and rounds its output once, the two ends of x ± e are
    rounded; if not, the answer's own rounding is added. An e of 0 (padding) admits no deviation.
    """
    value = answer.astype(np.float64)
    e = e * _SLACK
    with np.errstate(over="ignore", invalid="ignore"):
        if max(one.unit, one.state, one.elementwise) < 2.0**-kind.precision:
            limit = np.maximum(kind.nearest(x + e) - value, value - kind.nearest(x - e))
        else:
            limit = e + 2.0**-kind.precision * np.abs(value) + 2.0 ** (kind.least_exponent - 1)
        limit = np.where(np.isfinite(limit), limit, np.inf)  # NaN where bounds overflow
    return round_up(np.where(e == 0.0, 0.0, limit))


def round_up(limit: Array) -> Array:
    """Round up to 8 significant bits and to at least 2^-149, as float32; 0 stays 0.

    The last bits of a bound depend on the BLAS that computed it; those of a rounded bound do not.
    """
    _, exponent = np.frexp(limit)
    step = np.maximum(exponent - 8, -149)
    rounded = np.ldexp(np.ceil(np.ldexp(limit, -step)), step)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(limit), rounded, np.inf).astype(np.float32)
