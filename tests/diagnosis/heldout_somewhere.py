"""Mistakes of some units, rows, steps or directions, of some values or sizes, or of questions asked before."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grucible import Question

from .kernel import Array, Direction, Kernel, Task
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class LastUnitsWithoutReset(Kernel):
    """The loop over vectors of four computes r; the loop over the rest does not."""

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        reset = super().reset_gate(x, h, p)
        reset[:, reset.shape[1] // 4 * 4 :] = 1
        return reset


class UpdateGateOfRowBefore(Kernel):
    """Two rows at a time, of which the second is blended with the first's z."""

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        z = super().update_gate(x, h, p)
        z[1::2] = z[: len(z) // 2 * 2 : 2]
        return z


class FirstStepWithoutState(Kernel):
    """The first step's products with the state are skipped, as if every state began as 0."""

    now = 0

    def times(self, step: int, lengths: Array, p: Direction) -> Array:
        self.now = step
        return super().times(step, lengths, p)

    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return super().pre_activation(x, h if self.now else np.zeros_like(h), p, gate)

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(h if self.now else np.zeros_like(h), reset, p)


class SecondDirectionWithFirstRecurrence(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        first = task.directions[0]
        return task._replace(directions=[p._replace(r=first.r) for p in task.directions])


class StateSaturates(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.clip(super().blend(z, new, h), -1, 1)


class LastTileSkipped(Kernel):
    def product(self, v: Array, matrix: Array) -> Array:
        size = v.shape[1]
        whole = size // 16 * 16 if size > 16 else size
        return super().product(v[:, :whole], matrix[:, :whole])


class BiasOfQuestionBefore(Kernel):
    """The buffer of the biases is filled where B is given, and never cleared."""

    def __init__(self) -> None:
        self.filled: tuple[Array, Array] | None = None

    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        if b is None and self.filled is not None and self.filled[0].shape == shape:
            wb, rb = self.filled
            return wb.astype(dtype), rb.astype(dtype)
        self.filled = super().biases(question, b, shape, dtype)
        return self.filled


SOMEWHERE = (
    WrongGru(
        "last-units-without-reset",
        CELL,
        ("The reset gate is 1.",),
        "place",
        "the units after the last whole four",
        LastUnitsWithoutReset,
    ),
    WrongGru(
        "update-gate-of-row-before",
        SEQUENCE,
        ("The update gate is that of the row before.",),
        "place",
        "the second row of the batch, the fourth, and so on",
        UpdateGateOfRowBefore,
    ),
    WrongGru(
        "first-step-without-state",
        ONNX,
        ("z, r and the candidate take the initial state for 0; the blend does not.",),
        "place",
        "the first step",
        FirstStepWithoutState,
    ),
    WrongGru(
        "second-direction-with-first-recurrence",
        ONNX,
        ("R is that of the first direction.",),
        "place",
        "the second direction of a bidirectional GRU",
        SecondDirectionWithFirstRecurrence,
    ),
    WrongGru(
        "state-saturates",
        CELL,
        ("The state is bounded to -1 and 1.",),
        "data",
        "states beyond -1 and 1",
        StateSaturates,
    ),
    WrongGru(
        "last-tile-skipped",
        SEQUENCE,
        ("A product sums the whole tiles of 16 alone.",),
        "data",
        "input or hidden sizes above 16 that are no multiple of 16",
        LastTileSkipped,
    ),
    WrongGru(
        "bias-of-question-before",
        CELL,
        ("Without B, the biases are those of the question before.",),
        "stateful",
        "questions without B, after one of the same sizes",
        BiasOfQuestionBefore,
    ),
)
