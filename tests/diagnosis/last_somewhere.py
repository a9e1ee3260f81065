"""Wrong in one direction, in some steps or in some units, and right in the others."""

from __future__ import annotations

import numpy as np

from .kernel import Array, Direction, H, Kernel, Task
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class LastStateOfTheOtherDirection(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        return super().start(task, p) if p.number == 0 else self.left

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, self.left = super().direction(task, p)
        return y, self.left


class LastChunksOfThree(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        self.first, self.done = self.start(task, p), 0
        return super().direction(task, p)

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        begins = self.done % 3 == 0
        self.done += 1
        return super().step(x, self.first if begins else h, p)


class LastRemainderWithoutReset(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        units = np.arange(h.shape[1])
        remainder = units >= len(units) // 4 * 4
        plain = self.product(h, p.r[H]) + p.rb[H]
        return np.where(remainder, plain, super().recurrent(h, reset, p))


SOMEWHERE = (
    WrongGru(
        "last-state-of-the-other-direction",
        ONNX,
        (
            "The second direction starts from the last state of the first one (its Y_h) rather than from its own "
            "initial_h.",
        ),
        "place",
        "in the second direction of bidirectional",
        LastStateOfTheOtherDirection,
    ),
    WrongGru(
        "last-chunks-of-three",
        SEQUENCE,
        (
            "The steps are done in chunks of three, and each chunk starts from the initial state rather than from the "
            "state that the one before left.",
        ),
        "place",
        "in the fourth step, the seventh and so on (counted in the order of the direction)",
        LastChunksOfThree,
    ),
    WrongGru(
        "last-remainder-without-reset",
        CELL,
        (
            "The candidate is computed without the reset gate, as if r were 1: h~ = g(W_h x + R_h h + biases).",
        ),
        "place",
        "in the units past the last whole group of four (4 and 5 of 6)",
        LastRemainderWithoutReset,
    ),
)
