"""Derived tolerances: how far each output of a correct implementation may be from the exact value.

One forward march in float64 over stacked cases, all classes of arithmetic at once. With ε the error
of the state before a step, |ε| ≤ e element by element, the error after it is J·ε, J the *signed*
Jacobian of the exact step, plus what the step itself adds, at most its `source`: all rounding, with
magnitudes as large as the errors allow, and all that is not linear in ε. So

    e_t ≤ Σ_{s≤t} |J_t ⋯ J_{s+1}| · source_s(e_{s-1}),

which induction over t proves. Arrays of this module have the shape (n, batch, hidden, classes), the
last two axes being those of a column per class.

See README.md in this room for the derivation, and for what is rigorous and what is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..float64 import Float64, rows_by_function
from ..gru import GATES, Direction, Step, as_meant, gru, in_order, processing_order
from .activation_error import remainder, shape, slope, undecided
from .classes import Arithmetic
from .units import Units

WINDOW = 16
"""Over how many steps the products of signed Jacobians reach back; see `_March.step`."""


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
    semantics: StackedSemantics, inputs: GruInputs, classes: Sequence[Arithmetic]
) -> ErrorBounds:
    """The values of stacked cases in float64 and how far off they may be in each class."""
    inputs = as_meant(semantics, inputs)
    semantics = replace(semantics, biases="apart")
    marches: list[_March] = []

    def watch(direction: Direction, number: int, rows: Array, old: Array, step: Step) -> None:
        marches[direction.index].step(direction, number, rows, old, step)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # planted NaN and infinity
        for index in range(len(semantics.directions)):
            marches.append(_March(semantics, inputs, classes, index))
        y, ho = gru(Float64(), semantics, inputs, watch)
        bounds = [march.bounds() for march in marches]
    return ErrorBounds(
        y,
        ho,
        np.stack([b[0] for b in bounds], 1),
        np.stack([b[1] for b in bounds], 1),
        np.any([march.undecided for march in marches], axis=0),
    )


def march_bytes(time: int, batch: int, hidden: int) -> int:
    """The bytes that the products of Jacobians of one direction of a case take."""
    return 8 * min(time + 1, WINDOW) * batch * hidden**2


class _March:
    """The bounds of one direction, step after step.

    `total` bounds a quantity's whole error, `source` the part of it that is not linear in the error
    of the state before the step.
    """

    def __init__(
        self,
        semantics: StackedSemantics,
        inputs: GruInputs,
        classes: Sequence[Arithmetic],
        index: int,
    ) -> None:
        self.units, self.semantics = Units(classes), semantics
        self.lengths, time = inputs.lengths, inputs.x.shape[-2]
        self.order = processing_order(semantics.directions[index], inputs.lengths, time)
        x = np.abs(in_order(inputs.x.astype(np.float64), self.order))
        self.w_abs = {g: x @ _matrix(inputs.w[g], index)[:, None].swapaxes(-1, -2) for g in GATES}
        self.w_factors = {
            g: x.sum(-1, keepdims=True) + _matrix(inputs.w[g], index).sum(-1)[:, None, None]
            for g in GATES
        }
        self.r_abs = {g: _matrix(inputs.r[g], index)[:, None] for g in GATES}
        self.r_factors = {g: self.r_abs[g].sum(-1, keepdims=True) for g in GATES}
        self.r = {g: inputs.r[g][:, index].astype(np.float64)[:, None] for g in GATES}
        self.b = {
            part: np.abs(b[:, index].astype(np.float64))[:, None, :, None]
            for part, b in inputs.b.items()
        }
        h0 = np.abs(inputs.h0[:, index].astype(np.float64))[..., None]
        self.inputs_size, self.hidden = inputs.x.shape[-1], h0.shape[-2]
        rounded = h0 * self.units.state + self.units.state_tiny
        first = np.where(self.units.operand > 0, rounded, 0.0)  # h0 rounded on the way in
        self.e = first.copy()
        # of the last sources: each with the product J_t ⋯ J_{s+1} of the steps s since, and the
        # whole error at the time it arose
        self.eye = np.broadcast_to(np.eye(self.hidden), (*h0.shape[:2], self.hidden, self.hidden))
        self.sources, self.totals, self.chains = [first], [first], self.eye[None].copy()
        self.y = np.zeros((*h0.shape[:2], time, self.hidden, len(classes)))
        self.undecided = np.zeros((len(h0), len(classes)), bool)

    def bounds(self) -> tuple[Array, Array]:
        """The bounds of y, at the times of its inputs, and of ho."""
        n, batch, time, hidden, classes = self.y.shape
        flat = self.y.reshape(n, batch, time, hidden * classes)
        if self.semantics.y_order == "time":
            flat = in_order(flat, self.order)
        empty = self.lengths[..., None, None] == 0
        zero = self.semantics.empty_row == "zeros"
        return flat.reshape(self.y.shape), np.where(empty & zero, 0.0, self.e)

    def step(self, d: Direction, number: int, rows: Array, old: Array, step: Step) -> None:
        """Take the step `number` of `rows` from the state `old`."""
        e = self.e[:, rows]
        alive = self.alive = (number < self.lengths)[:, rows, None, None]
        source, jacobian = self._source_and_jacobian(d, number, rows, old, step, e)
        jacobian = np.where(alive, jacobian, np.eye(self.hidden))
        chains = self.chains.copy()
        chains[:, :, rows] = jacobian @ chains[:, :, rows]
        arrived = (np.abs(chains[:, :, rows]) @ np.stack(self.sources)[:, :, rows]).sum(axis=0)
        units = self.units
        source = source + units.state * (np.abs(step.state)[..., None] + arrived + source)
        source = np.where(alive, source + units.state_tiny, 0.0)
        now = np.where(alive, arrived + source, e)
        self.y[:, rows, number] = np.where(alive, now, 0.0)
        added = np.zeros_like(self.e)
        added[:, rows], self.e[:, rows] = source, now
        self.chains = np.concatenate([chains, self.eye[None]])
        self.sources.append(added)
        self.totals.append(self.e.copy())
        if len(self.sources) > WINDOW:  # what is older counts with the whole error at its time
            del self.sources[0], self.totals[0]
            self.sources[0], self.chains = self.totals[0], self.chains[1:]

    def _gate(
        self, functions: Any, a: Array, value: Array, source: Array, linear: Array
    ) -> tuple[Array, Array, Array]:
        """A function of a pre-activation with error ≤ linear + source: its slope, source, total."""
        clip, units = self.semantics.clip, self.units
        slope_, rest, own, most = (
            np.empty((*a.shape, 1)),
            np.empty(source.shape),
            np.empty((4, len(a), 1, 1, len(units.unit))),
            np.empty((len(a), 1, 1, 1)),
        )
        reach = linear + source
        for one, at in rows_by_function(functions).items():
            wide, limit = a[at][..., None], clip[at][..., None]
            slope_[at] = slope(one, a[at], clip[at])[..., None]
            rest[at] = remainder(one, wide, limit, reach[at])
            own[:3, at] = units.function(one)[:, None, None, None]
            own[3, at] = units.tiny * (1.0 + abs(one.alpha))
            most[at] = shape(one).range
            open_ = undecided(one, wide, limit, reach[at]) & self.alive[at]
            self.undecided[at] |= open_.any(axis=(1, 2))
        relative, absolute, growing, tiny = own
        before = np.minimum(np.abs(slope_) * reach + rest, most)
        rounded = (relative + units.kept) * (np.abs(value)[..., None] + before) + absolute + tiny
        if growing.any():
            rounded = rounded + growing * (np.minimum(np.abs(a), clip)[..., None] + reach)
        source = np.abs(slope_) * source + rest + rounded
        return slope_, source, np.minimum(np.abs(slope_) * linear + source, most + rounded)

    def _source_and_jacobian(
        self, d: Direction, number: int, rows: Array, old: Array, step: Step, e: Array
    ) -> tuple[Array, Array]:
        u, n = self.units, self.inputs_size + self.hidden + 2
        h_size, semantics = np.abs(old)[..., None], self.semantics
        h_sum = (h_size + e).sum(-2, keepdims=True)
        w = {g: self.w_abs[g][:, rows, number][..., None] for g in GATES}
        w_factors = {g: self.w_factors[g][:, rows, number][..., None] for g in GATES}
        wx = {g: np.abs(d.input[g][:, rows, number])[..., None] for g in GATES}
        zero = np.zeros(1)

        def bias(*parts: str) -> Array:
            return sum((self.b[p] for p in parts if p in self.b), zero)

        def gate(g: str, a: Array, value: Array) -> tuple[Array, Array, Array]:
            linear = self.r_abs[g] @ e
            b = bias(g, f"w{g}", f"r{g}")
            factors = w_factors[g] + self.r_factors[g] + h_sum
            source = u.dot(n, w[g] + self.r_abs[g] @ h_size + linear, factors, b)
            recurrent = np.abs(self.r[g] @ old[..., None])
            source = source + u.stored * (
                3.0 * (wx[g] + recurrent + linear + b) + np.abs(a)[..., None] + linear + source
            )
            return self._gate(semantics.f[d.index], a, value, source, linear)

        slope_z, source_z, total_z = gate("z", step.a_z, step.z)
        slope_r, source_r, total_r = gate("r", step.a_r, step.r)
        r, q = np.abs(step.r)[..., None], np.abs(step.u)[..., None]
        a_size = np.abs(step.a_h)[..., None]
        if semantics.reset_after:
            linear_q = self.r_abs["h"] @ e
            recurrent_h = np.abs(self.r["h"] @ old[..., None])
            inner = bias("rh")
            factors = self.r_factors["h"] + h_sum
            products = self.r_abs["h"] @ h_size + linear_q
            source_q = u.dot(self.hidden + 3, products, factors, inner)
            source_q = source_q + u.stored * (recurrent_h + linear_q + q + linear_q + source_q)
            source_p, total_p = self._product(
                r, source_r, total_r, q, source_q, linear_q + source_q
            )
            outer = bias("wh", "h")
            source_w = u.dot(self.inputs_size + 3, w["h"], w_factors["h"], outer)
            source_w = source_w + u.stored * (2.0 * wx["h"] + outer)
            rounded = u.element * (a_size + source_w + total_p)
            source_a, total_a = source_w + source_p + rounded, source_w + total_p + rounded
        else:
            source_p, total_p = self._product(r, source_r, total_r, h_size, 0.0, e)
            b = bias("h", "wh", "rh")
            carried = self.r_abs["h"] @ total_p
            p_sum = (r * h_size + total_p).sum(-2, keepdims=True)
            factors = w_factors["h"] + self.r_factors["h"] + p_sum
            products = w["h"] + self.r_abs["h"] @ (r * h_size) + carried
            rounded = u.dot(n, products, factors, b)
            recurrent_h = np.abs(self.r["h"] @ (step.r * old)[..., None])
            rounded = rounded + u.stored * (
                3.0 * (wx["h"] + recurrent_h + carried + b) + a_size + carried + rounded
            )
            source_a, total_a = rounded + self.r_abs["h"] @ source_p, rounded + carried
        slope_h, source_t, total_t = self._gate(
            semantics.g[d.index], step.a_h, step.t, source_a, total_a - source_a
        )
        jacobian = self._jacobian(old, step, slope_z, slope_r, slope_h)
        z, t = np.abs(step.z)[..., None], np.abs(step.t)[..., None]
        keep, gap = np.abs(1.0 - step.z)[..., None], np.abs(old - step.t)[..., None]
        source = keep * source_t + gap * source_z + total_z * (total_t + e)
        rounded = blend_rounding(z + total_z, keep + total_z, t + total_t, h_size + e)
        return source + u.element * rounded + 3.0 * u.tiny, jacobian

    def _product(
        self, r: Array, source_r: Array, total_r: Array, q: Array, source_q: Any, total_q: Array
    ) -> tuple[Array, Array]:
        """r∘q: its source and total error."""
        cross = total_r * total_q
        total = r * total_q + q * total_r + cross
        rounded = self.units.element * (r * q + total) + self.units.tiny
        return r * source_q + q * source_r + cross + rounded, total + rounded

    def _jacobian(
        self, old: Array, step: Step, slope_z: Array, slope_r: Array, slope_h: Array
    ) -> Array:
        """∂Ht/∂Ht-1, signed: (n, rows, hidden, hidden)."""
        r, u = step.r[..., None], step.u[..., None]
        through_r = u * slope_r * self.r["r"]
        if self.semantics.reset_after:
            inner = through_r + r * self.r["h"]
        else:
            inner = self.r["h"] @ (r * np.eye(self.hidden) + through_r)
        jacobian = (1.0 - step.z)[..., None] * slope_h * inner
        jacobian += (old - step.t)[..., None] * slope_z * self.r["z"]
        return jacobian + step.z[..., None] * np.eye(self.hidden)


def blend_rounding(z: Array, keep: Array, t: Array, h: Array) -> Array:
    """What the blend may lose to rounding, in units: the most of (1-z)t + zh, t + z(h-t) and
    h + (1-z)(t-h), given bounds of |z|, |1-z|, |t| and |h|."""
    both = t + h
    forms = (
        3.0 * keep * t + 2.0 * z * h + t,  # the last t: for (t - zt) + zh
        (3.0 * z + 1.0) * both,
        3.0 * keep * both + np.maximum(both, keep * t + z * h),  # the sum is more where |1-z| > 1
    )
    return np.asarray(np.maximum.reduce(forms))


def _matrix(gates: Array, index: int) -> Array:
    """|weights| of one direction, in float64."""
    return np.abs(gates[:, index].astype(np.float64))
