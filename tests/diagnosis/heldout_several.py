"""Two or three mistakes at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grucible import Question

from .kernel import Array, Direction, Function, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class TanhCandidateResetWithoutBias(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        return super().candidate(x, h, reset, p._replace(g=Function("tanh")))

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        v = self.product(x, p.w[R]) + self.product(h, p.r[R])
        return self.activated(p.f, v, p)


class RecurrentOrderBiasOutsideReset(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(
            directions=[p._replace(r=p.r[[R, Z, H]]) for p in task.directions],
        )

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        if p.reset_after:
            return np.asarray(reset * self.product(h, p.r[H]) + p.rb[H])
        return super().recurrent(h, reset, p)


class HalfTanhBackwardsFromZero(Kernel):
    def tanh(self, v: Array) -> Array:
        return np.asarray(2 * self.sigmoid(v) - 1)

    def start(self, task: Task, p: Direction) -> Array:
        h = super().start(task, p)
        return np.zeros_like(h) if p.backwards else h


class ResetTwiceLastFromY(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        if p.reset_after:
            return super().recurrent(h, reset, p)
        return np.asarray(reset * self.product(reset * h, p.r[H]) + p.rb[H])

    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002 - the state is not asked
        return y[-1]


class BytesResetWithoutState(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        directions = [
            p._replace(w=self.of_bytes(p.w), r=self.of_bytes(p.r)) for p in task.directions
        ]
        return task._replace(directions=directions)

    def of_bytes(self, matrices: Array) -> Array:
        """The weights, as multiples of 1/127 of the largest."""
        scale = np.abs(matrices).max() / 127
        return np.asarray(np.rint(matrices / scale) * scale) if scale else matrices

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, np.zeros_like(h), p)


class UpdateBiasNegatedReluCapped(Kernel):
    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        wb, rb = super().biases(question, b, shape, dtype)
        wb[:, Z] *= -1
        return wb, rb

    def relu(self, v: Array) -> Array:
        return np.clip(v, 0, 1)


class GatesWithoutRecurrentBiasBlendSwappedBackwardsOrder(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return np.asarray(
            self.product(x, p.w[gate]) + self.product(h, p.r[gate]) + p.wb[gate],
        )

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray((1 - z) * h + z * new)

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        if p.backwards:
            for row, length in enumerate(task.lengths):
                y[:length, row] = y[:length, row][::-1].copy()
        return y, last


SEVERAL = (
    WrongGru(
        "tanh-candidate-reset-without-bias",
        CELL,
        ("The candidate's function is tanh, whatever is asked.", "The reset gate has no bias."),
        "several",
        "",
        TanhCandidateResetWithoutBias,
    ),
    WrongGru(
        "recurrent-order-bias-outside-reset",
        ONNX,
        (
            "The rows of R, not of W, are taken in the order r, z, h.",
            "With linear_before_reset 1, Rbh is added after the multiplication by r.",
        ),
        "several",
        "",
        RecurrentOrderBiasOutsideReset,
    ),
    WrongGru(
        "half-tanh-backwards-from-zero",
        SEQUENCE,
        (
            "tanh is 2 sigmoid(v) - 1, where sigmoid(2 v) belongs.",
            "Backwards, the initial state is 0, whatever is given.",
        ),
        "several",
        "",
        HalfTanhBackwardsFromZero,
    ),
    WrongGru(
        "reset-twice-last-from-y",
        ONNX,
        (
            "With linear_before_reset 0, r multiplies the state and then the state's product again.",
            "Y_h is Y at the last time, for short rows and backwards too.",
        ),
        "several",
        "",
        ResetTwiceLastFromY,
    ),
    WrongGru(
        "bytes-reset-without-state",
        CELL,
        (
            "W and R are rounded to 8 bits, with a scale for each.",
            "The reset gate takes nothing of the state.",
        ),
        "several",
        "",
        BytesResetWithoutState,
    ),
    WrongGru(
        "update-bias-negated-relu-capped",
        SEQUENCE,
        ("The bias of z has the other sign.", "relu gives at most 1."),
        "several",
        "",
        UpdateBiasNegatedReluCapped,
    ),
    WrongGru(
        "gates-without-recurrent-bias-blend-swapped-backwards-order",
        ONNX,
        (
            "z and r lack Rb.",
            "The blend is (1 - z) h + z n.",
            "Backwards, Y is in the order of computing.",
        ),
        "several",
        "",
        GatesWithoutRecurrentBiasBlendSwappedBackwardsOrder,
    ),
)
