"""Two mistakes at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grucible import Question

from .kernel import Array, Direction, Function, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class LastResetTwiceGatesUnclipped(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        if p.reset_after:
            return super().recurrent(h, reset, p)
        return np.asarray(reset * self.product(reset * h, p.r[H]) + p.rb[H])

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().update_gate(x, h, p._replace(clip=np.inf))

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, h, p._replace(clip=np.inf))


class LastBiasTwiceRowsGoOn(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        folded = p.wb + p.rb if p.reset_after else p.wb
        return super().candidate(x, h, reset, p._replace(wb=folded))

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        ended = np.arange(len(y))[:, None] >= task.lengths
        return np.where(ended[:, :, None], last, y), last


class LastFractionForTanhLastOfTime(Kernel):
    def tanh(self, v: Array) -> Array:
        return np.asarray(v * (15 + v * v) / (15 + 6 * v * v))

    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002 - read from Y
        return np.asarray(y[np.maximum(task.lengths - 1, 0), np.arange(len(task.lengths))])


class LastNeighbourBiasesPadded(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        units, paired = np.arange(z.shape[1]), z.shape[1] // 2 * 2
        units[:paired] ^= 1
        return super().blend(z[:, units], new, h)

    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        if b is None:
            return super().biases(question, b, shape, dtype)
        flat, hidden = b.reshape(shape[0], -1), shape[2]
        gates, stride = flat.shape[1] // hidden, (hidden + 7) // 8 * 8
        padded = np.pad(flat, ((0, 0), (0, gates * stride)))
        read = [padded[:, gate * stride : gate * stride + hidden] for gate in range(gates)]
        return super().biases(question, np.stack(read, axis=1), shape, dtype)


class LastBiasesSwappedAfterClip(Kernel):
    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        wb, rb = super().biases(question, b, shape, dtype)
        return wb[:, [R, Z, H]], rb[:, [R, Z, H]]

    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        products = self.product(x, p.w[gate]) + self.product(h, p.r[gate])
        return self.clipped(products, p.clip) + p.wb[gate] + p.rb[gate]

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        products = self.product(x, p.w[H]) + self.recurrent(h, reset, p)
        return self.activated(p.g, self.clipped(products, p.clip) + p.wb[H], p)

    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return super().activated(function, v, p._replace(clip=np.inf))


SEVERAL = (
    WrongGru(
        "last-reset-twice-gates-unclipped",
        CELL,
        (
            "Where linear_before_reset is false, the reset gate is applied both before and after the product with R_h: "
            "r∘(R_h (r∘h)) rather than R_h (r∘h).",
            "clip does not limit the pre-activations of z and r, the candidate's alone.",
        ),
        "several",
        "",
        LastResetTwiceGatesUnclipped,
    ),
    WrongGru(
        "last-bias-twice-rows-go-on",
        ONNX,
        (
            "Where linear_before_reset is 1, Rb_h counts twice: h~ = g(W_h x + r∘(R_h h + Rb_h) + Wb_h + Rb_h).",
            "Y holds a row's last state at the times past its sequence_lens, where it should be 0.",
        ),
        "several",
        "",
        LastBiasTwiceRowsGoOn,
    ),
    WrongGru(
        "last-fraction-for-tanh-last-of-time",
        SEQUENCE,
        (
            "tanh(v) is approximated by v (15 + v²) / (15 + 6 v²), with no limit.",
            "Ho is Y at a row's last time (its length - 1) in both directions: in the reverse one this is the state "
            "after its first step, rather than that of time 0.",
        ),
        "several",
        "",
        LastFractionForTanhLastOfTime,
    ),
    WrongGru(
        "last-neighbour-biases-padded",
        CELL,
        (
            "The new state is mixed with the update gate of the neighbouring unit: units 2k and 2k + 1 have their z "
            "swapped in h' = (1 - z)∘h~ + z∘h (a last one without a neighbour has its own).",
            "The biases of gate i are read from B at i times the hidden size rounded up to a multiple of 8, rather than "
            "at i times the hidden size; past the end of B they are 0.",
        ),
        "several",
        "",
        LastNeighbourBiasesPadded,
    ),
    WrongGru(
        "last-biases-swapped-after-clip",
        SEQUENCE,
        (
            "The biases of z and r are swapped, W and R are not: z = f(W_z x + R_z h + B_r), r = f(W_r x + R_r h + B_z).",
            "clip limits the sum of the products, and the bias (the candidate's: the input's, B_h) is added after that: "
            "clip(W x + R h) + B rather than clip(W x + R h + B).",
        ),
        "several",
        "",
        LastBiasesSwappedAfterClip,
    ),
)
