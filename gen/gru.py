"""The GRU. The one place where its equations stand.

They are written over an `Arithmetic`: what a product, an activation and a blend of two states are.
Enclosures of the exact result, float64 over a stack of cases, and the peaks of every intermediate
are three arithmetics; `+`, `-` and `*` are those of the arrays an arithmetic works with.

Source: OpenVINO GRUCell-3, "Detailed description":

    zt = f(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz)
    rt = f(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)
    ht = g(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Rbh + Wbh)      linear_before_reset = 0
    ht = g(Xt*(Wh^T) + (rt (.) (Ht-1*(Rh^T) + Rbh)) + Wbh)    linear_before_reset != 0
    Ht = (1 - zt) (.) ht + zt (.) Ht-1
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..cases.semantics import Semantics
from ..vectors.case import Array, Arrays
from ..vectors.convert import GruInputs

GATES = ("z", "r", "h")


class Arithmetic(Protocol):
    """The operations of a GRU that are more than `+`, `-` and `*` of arrays."""

    def numbers(self, array: Array) -> Array:
        """An input array as numbers of this arithmetic."""

    def factor(self, matrix: Array) -> Any:
        """A weight (…, m, n) as it is in the inputs, made ready to be the right factor of products."""

    def product(self, x: Array, factor: Any) -> Array:
        """x·matrixᵀ: (…, rows, n) by (…, m, n) to (…, rows, m)."""

    def activation(self, name: str, a: Array, clip: float) -> Array:
        """The activation `name` of a pre-activation that is first clipped to [-clip, clip]."""

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """(1 - z)·t + z·h, element by element."""

    zero: Any


class _Direction:
    """The weights of one direction, ready for use, and W·x of every step in processing order."""

    def __init__(self, arithmetic: Arithmetic, inputs: GruInputs, x: Array, direction: int) -> None:
        def one(array: Array, core: int) -> Array:
            return np.asarray(np.take(array, direction, axis=array.ndim - core))

        def bias(*parts: str) -> Array | None:
            rows = [
                arithmetic.numbers(one(inputs.b[part], 2)[..., None, :])
                for part in parts
                if part in inputs.b
            ]
            return sum(rows[1:], rows[0]) if rows else None

        def weight(gates: Arrays, gate: str) -> Any:
            return arithmetic.factor(one(gates[gate], 3))

        self.h0 = arithmetic.numbers(one(inputs.h0, 3))
        self.recurrent = {gate: weight(inputs.r, gate) for gate in GATES}
        self.bias = {"z": bias("z", "wz", "rz"), "r": bias("r", "wr", "rr")}
        self.bias_h_input, self.bias_h_recurrent = bias("h", "wh"), bias("rh")
        steps = x.reshape(*x.shape[:-3], -1, x.shape[-1])
        self.input = {
            gate: arithmetic.product(steps, weight(inputs.w, gate)).reshape(*x.shape[:-1], -1)
            for gate in GATES
        }


def step(
    arithmetic: Arithmetic, semantics: Semantics, d: _Direction, wx: Arrays, h: Array
) -> Array:
    """The next state of each row, (…, rows, hidden), from W·x of each gate and the state `h`."""

    def gate(name: str) -> Array:
        a = _plus(wx[name] + arithmetic.product(h, d.recurrent[name]), d.bias[name])
        return arithmetic.activation(semantics.f, a, semantics.clip)

    z, r = gate("z"), gate("r")
    if semantics.reset_after:
        q = _plus(arithmetic.product(h, d.recurrent["h"]), d.bias_h_recurrent)
        a = _plus(wx["h"] + r * q, d.bias_h_input)
    else:
        p = arithmetic.product(r * h, d.recurrent["h"])
        a = _plus(_plus(wx["h"] + p, d.bias_h_input), d.bias_h_recurrent)
    t = arithmetic.activation(semantics.g, a, semantics.clip)
    return arithmetic.blend(z, t, h)


def _plus(a: Array, bias: Array | None) -> Array:
    return a if bias is None else a + bias


def gru(arithmetic: Arithmetic, semantics: Semantics, inputs: GruInputs) -> tuple[Array, Array]:
    """Y (…, direction, batch, time, hidden) and Ho (…, direction, batch, hidden).

    A row takes as many steps as its length says; `reverse` takes them from its last valid step to
    its first (ledger: reverse-ragged). Y stands at the time its input has, and is zero past the
    length (ledger: y-padding); Ho is the state after a row's own last step (ledger: ho-ragged), and
    for a row of length 0 what `semantics.empty_row` says (ledger: len-zero).
    """
    lengths = inputs.lengths
    time = inputs.x.shape[-2]
    stacked = tuple(range(lengths.ndim - 1))
    numbers = arithmetic.numbers(inputs.x)
    ys, hos = [], []
    for index, direction in enumerate(semantics.directions):
        order = None if direction == "forward" else _reversal(lengths, time)[..., None]
        x = numbers if order is None else np.take_along_axis(numbers, order, axis=-2)
        d = _Direction(arithmetic, inputs, x, index)
        h = d.h0.copy()
        y = np.full((*lengths.shape, time, h.shape[-1]), arithmetic.zero, h.dtype)
        for number in range(int(lengths.max(initial=0))):
            alive = number < lengths
            rows = np.flatnonzero(alive.any(axis=stacked))
            wx = {gate: values[..., rows, number, :] for gate, values in d.input.items()}
            old = h[..., rows, :]
            new = step(arithmetic, semantics, d, wx, old)
            keep = alive[..., rows, None]
            h[..., rows, :] = np.where(keep, new, old)
            y[..., rows, number, :] = np.where(keep, new, arithmetic.zero)
        if semantics.empty_row == "zeros":
            h = np.where(lengths[..., None] > 0, h, arithmetic.zero)
        ys.append(y if order is None else np.take_along_axis(y, order, axis=-2))
        hos.append(h)
    return np.stack(ys, axis=-4), np.stack(hos, axis=-3)


def _reversal(lengths: Array, time: int) -> Array:
    """For each row, the time of its n-th step in reverse: (…, batch, time). Its own inverse."""
    at = np.arange(time)
    last = lengths[..., None] - 1
    return np.where(at <= last, last - at, at)
