"""The GRU: the only place of its equations.

They are written over an `Arithmetic`, which defines products, activations and the blend of two states.
The values of an arithmetic define `+`, `-` and `*`. There are arithmetics of balls that enclose the exact
result, of float64 over a stack of cases, of narrower types, of error bounds, and of texts.

Source: OpenVINO GRUCell-3, "Detailed description":

    zt = f(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
    rt = f(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
    ht = g(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Rbh + Wbh)      linear_before_reset = 0
    ht = g(Xt*(Wh^T) + (rt (.) (Ht-1*(Rh^T) + Rbh)) + Wbh)    linear_before_reset != 0
    Ht = (1 - zt) (.) ht + zt (.) Ht-1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.layout import GruInputs
from ..cases.operators.semantics import Semantics, StackedSemantics, is_word

GATES = ("z", "r", "h")
AnySemantics = Semantics | StackedSemantics


class Arithmetic(Protocol):
    """The operations of a GRU that are more than `+`, `-` and `*` of arrays."""

    def numbers(self, array: Array) -> Array:
        """Take an input array as numbers of this arithmetic."""

    def bias(self, array: Array) -> Any:
        """Convert a bias of the inputs, (…, 1, m), into what sums need."""

    def weight(self, matrix: Array) -> Any:
        """Convert a weight of the inputs, (…, m, n), into the right operand of products."""

    def product(self, x: Any, weight: Any) -> Any:
        """x·matrixᵀ: (…, rows, n) by (…, m, n) to (…, rows, m)."""

    def activation(self, function: Any, a: Any, clip: Any) -> Any:
        """Apply the activation `function` to a pre-activation that is first clipped to [-clip, clip].

        `function` and `clip` are one for all, or, in an arithmetic of stacked cases, one per case.
        """

    def blend(self, z: Any, t: Any, h: Any) -> Any:
        """(1 - z)·t + z·h, element by element."""

    zero: Any


class DirectionWeights:
    """The weights of one direction, ready for use, and W·x of every step in processing order."""

    def __init__(self, arithmetic: Arithmetic, inputs: GruInputs, x: Array, index: int) -> None:
        def one(array: Array, core: int) -> Array:
            return np.asarray(np.take(array, index, axis=array.ndim - core))

        def bias(*parts: str) -> Any:
            rows = [
                arithmetic.bias(one(inputs.b[part], 2)[..., None, :])
                for part in parts
                if part in inputs.b
            ]
            return sum(rows[1:], rows[0]) if rows else None

        def weight(gates: Arrays, gate: str) -> Any:
            return arithmetic.weight(one(gates[gate], 3))

        self.index = index
        self.h0 = arithmetic.numbers(one(inputs.h0, 3))
        self.recurrent = {gate: weight(inputs.r, gate) for gate in GATES}
        self.bias = {"z": bias("z", "wz", "rz"), "r": bias("r", "wr", "rr")}
        self.bias_h_input, self.bias_h_recurrent = bias("h", "wh"), bias("rh")
        steps = x.reshape(*x.shape[:-3], -1, x.shape[-1])
        self.input = {
            gate: arithmetic.product(steps, weight(inputs.w, gate)).reshape(*x.shape[:-1], -1)
            for gate in GATES
        }


class Step(NamedTuple):
    """The quantities of one step of each row; all are (…, rows, hidden).

    `a_z`, `a_r` and `a_h` are the pre-activations, `z` and `r` the gates, `t` the candidate, `u` what the
    reset gate multiplies (Ht-1, or Ht-1*(Rh^T) + Rbh), and `state` the new state.
    """

    a_z: Any
    a_r: Any
    a_h: Any
    z: Any
    r: Any
    t: Any
    u: Any
    state: Any


Alter = Callable[[str, Array], Array]
"""What a misreading makes of a quantity of a step, by name. The name is a field of Step; or `h`, the state
before the step as the blend takes it; `x_z`, `x_r`, `x_h` and `p_z`, `p_r`, `p_h`, the input and the
recurrent parts of pre-activations; `s_z`, `s_r`, `s_h`, the sums of products before a bias is added; or
`p_u`, u without its bias. See gen.variants."""

Advance = Callable[["DirectionWeights", int, Array, Mapping[str, Any], Array], Array]
"""A function that takes a step of a direction and returns the state after it.

Its arguments: the direction's weights, the number of the step in processing order, the rows that are not yet
over in some stacked case, W·x of each gate, and the state of these rows."""


def step(
    arithmetic: Arithmetic,
    semantics: AnySemantics,
    d: DirectionWeights,
    wx: Mapping[str, Any],
    h: Any,
    alter: Alter = lambda _, value: value,
) -> Step:
    """Take one step from W·x of each gate and the state `h`, (…, rows, hidden)."""
    kept = alter("h", h)
    x_z, x_r = alter("x_z", wx["z"]), alter("x_r", wx["r"])
    s_z = alter("s_z", x_z + alter("p_z", arithmetic.product(h, d.recurrent["z"])))
    s_r = alter("s_r", x_r + alter("p_r", arithmetic.product(h, d.recurrent["r"])))
    a_z = alter("a_z", _plus(s_z, d.bias["z"]))
    a_r = alter("a_r", _plus(s_r, d.bias["r"]))
    f, g = semantics.f[d.index], semantics.g[d.index]
    z = alter("z", arithmetic.activation(f, a_z, semantics.clip))
    r = alter("r", arithmetic.activation(f, a_r, semantics.clip))
    x_h = alter("x_h", wx["h"])
    if semantics.reset_after:
        p_u = alter("p_u", arithmetic.product(h, d.recurrent["h"]))
        u = alter("u", _plus(p_u, d.bias_h_recurrent))
        a_h = _plus(alter("s_h", x_h + alter("p_h", r * u)), d.bias_h_input)
    else:
        u = alter("u", h)
        p = alter("p_h", arithmetic.product(r * u, d.recurrent["h"]))
        a_h = _plus(_plus(alter("s_h", x_h + p), d.bias_h_input), d.bias_h_recurrent)
    a_h = alter("a_h", a_h)
    t = alter("t", arithmetic.activation(g, a_h, semantics.clip))
    state = alter("state", arithmetic.blend(z, t, kept))
    return Step(a_z=a_z, a_r=a_r, a_h=a_h, z=z, r=r, t=t, u=u, state=state)


def _plus(a: Any, bias: Any) -> Any:
    return a if bias is None else a + bias


def gru(
    arithmetic: Arithmetic,
    semantics: AnySemantics,
    inputs: GruInputs,
    alter: Alter = lambda _, value: value,
    advance: Advance | None = None,
    every_row: bool = False,
) -> tuple[Array, Array]:
    """Compute Y (…, direction, batch, time, hidden) and Ho (…, direction, batch, hidden).

    A row takes as many steps as its length says, from its start; `reverse` takes them from its last valid
    step to its first (ledger: reverse-ragged). Y has each state at the time of its input, or is turned
    (`semantics.y_order`; ledger: reverse-order). At other times it is what `semantics.y_padding` says
    (ledger: y-padding). Ho is the state after a row's own last step (ledger: ho-ragged), and for a row of
    length 0 what `semantics.empty_row` says (ledger: len-zero).

    `alter` is what a misreading makes of each quantity. `advance`, if given, takes the steps instead of
    `step`; with `every_row`, also for rows that are over.
    """

    def one_step(d: DirectionWeights, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Any:
        return step(arithmetic, semantics, d, wx, old, alter).state

    advance = advance or one_step
    inputs = as_meant(semantics, inputs)
    lengths = inputs.lengths
    time = inputs.x.shape[-2]
    stacked = tuple(range(lengths.ndim - 1))
    numbers = arithmetic.numbers(inputs.x)
    ys, hos = [], []
    for index, direction in enumerate(semantics.directions):
        at_time = step_numbers(direction, inputs, time)
        order = processing_order(at_time, lengths)
        d = DirectionWeights(arithmetic, inputs, in_order(numbers, order), index)
        h = d.h0.copy()
        y = np.full_like(h, arithmetic.zero, shape=(*lengths.shape, time, h.shape[-1]))
        for number in range(int(lengths.max(initial=0))):
            alive = number < lengths
            rows = np.flatnonzero(alive.any(axis=stacked) | every_row)
            at = slice(None) if rows.size == alive.shape[-1] else rows
            wx = {gate: values[..., at, number, :] for gate, values in d.input.items()}
            old = h[..., at, :].copy()
            new = advance(d, number, rows, wx, old)
            keep = alive[..., at, None]
            h[..., at, :] = np.where(keep, new, old)
            y[..., at, number, :] = np.where(keep, new, arithmetic.zero)
        y = in_time(y, order)
        ys.append(fill_padding(semantics, at_time, lengths, y, first=d.h0, last=h))
        empty = (lengths[..., None] == 0) & is_word(semantics, "empty_row", "zeros", 2)
        hos.append(np.where(empty, arithmetic.zero, h) if empty.any() else h)
    return turned(semantics, np.stack(ys, axis=-4)), np.stack(hos, axis=-3)


def as_meant(semantics: AnySemantics, inputs: GruInputs) -> GruInputs:
    """Split biases into the parts that they are named after; see `semantics.biases`.

    A sum less its input bias is exact in float64, because both are drawn on one grid.
    """
    if semantics.biases == "apart":
        return inputs
    if semantics.biases == "recurrent":
        kept = {part: b for part, b in inputs.b.items() if part not in ("wz", "wr", "wh")}
        return replace(inputs, b=kept)
    apart = {
        part: b.astype(np.float64) - inputs.b[f"w{part[1]}"].astype(np.float64)
        if part in ("rz", "rr", "rh")
        else b
        for part, b in inputs.b.items()
    }
    return replace(inputs, b=apart)


def step_numbers(direction: str | tuple[str, ...], inputs: GruInputs, time: int) -> Array:
    """Find the number of the step at each time, (…, batch, time).

    A row's first step is 0, its last length - 1; other times have other numbers.
    `direction` is one word, or one per stacked case. Two that no specification has start from padding:
    `reverse-padded` at the end of the time axis, and `reverse-longest` at that of the longest row.
    """
    words = np.asarray(direction)[..., None, None]
    starts, at = inputs.starts[..., None], np.arange(time)
    ends = starts + inputs.lengths[..., None]
    longest = ends.max(axis=-2, keepdims=True)
    for word, end in (("reverse-padded", time), ("reverse-longest", longest)):
        if (here := words == word).any():
            ends = np.where(here, end, ends)
    return np.where(words == "forward", at - starts, ends - 1 - at)


def all_step_numbers(semantics: StackedSemantics, inputs: GruInputs, time: int) -> Array:
    """(n, direction, batch, time) Find the number of the step at each time, in every direction."""
    return np.stack([step_numbers(one, inputs, time) for one in semantics.directions], axis=1)


def processing_order(at_time: Array, lengths: Array) -> Array | None:
    """Find the time of each row's n-th step, (…, batch, time), from `step_numbers`; None if it is n itself.

    Padding follows the steps, in the order of time.
    """
    at = np.arange(at_time.shape[-1])
    valid = (at_time >= 0) & (at_time < lengths[..., None])
    if np.array_equal(at_time, np.broadcast_to(at, at_time.shape)):
        return None
    return np.argsort(np.where(valid, at_time, len(at) + at), axis=-1)


def in_order(values: Array, order: Array | None) -> Array:
    """Put values (…, batch, time, features) in a `processing_order`."""
    if order is None:
        return values
    return np.take_along_axis(values, order[..., None], axis=-2)


def in_time(values: Array, order: Array | None) -> Array:
    """Put values in a `processing_order` back into the order of time."""
    return in_order(values, None if order is None else np.argsort(order, axis=-1))


def fill_padding(
    semantics: AnySemantics,
    at_time: Array,
    lengths: Array,
    y: Array,
    *,
    first: Array,
    last: Array,
) -> Array:
    """Fill y (…, batch, time, features), in the order of time, at times that are no step of a row.

    `first` and `last` (…, batch, features) are a row's states before its first step and after its last.
    """
    axes = at_time.ndim - 1
    from_first = is_word(semantics, "y_padding", "repeated-from-first", axes)
    repeated = from_first | is_word(semantics, "y_padding", "repeated", axes)
    if not np.any(repeated):
        return y
    lengths = lengths[..., None]
    after = repeated & (at_time >= lengths) & (lengths > 0)
    before = from_first & ((at_time < 0) | (lengths == 0))
    y = np.where(after[..., None], last[..., None, :], y)
    return np.where(before[..., None], first[..., None, :], y)


def turned(semantics: AnySemantics, y: Array) -> Array:
    """Put y (…, direction, batch, time, features) from the order of time into the operator's, or back."""
    backwards = np.asarray(semantics.directions).T[..., None, None] != "forward"
    backwards = backwards & is_word(semantics, "y_order", "processing", 3)
    if not backwards.any():
        return y
    at = np.arange(y.shape[-2])
    order = np.where(backwards, len(at) - 1 - at, at)
    return in_order(y, order)


def states_before(states: Array, h0: Array, order: Array | None) -> Array:
    """Find the state before each step, in float64, from `states` (…, batch, time, hidden) after each.

    `h0` (…, batch, hidden) is the state before the first step, `order` the `processing_order` of the steps.
    """
    steps = in_order(states, order)
    before = [h0[..., None, :].astype(np.float64), steps[..., :-1, :]]
    return in_time(np.concatenate(before, axis=-2), order)
