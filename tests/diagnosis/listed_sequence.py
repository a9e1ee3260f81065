"""Mistakes of the catalogue between the steps: lengths, directions, first and last states, layouts."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, Kernel, Task
from .wrong_gru import ONNX, SEQUENCE, WrongGru


class OneStepShort(Kernel):
    def lengths(self, question: Question, time: int, batch: int) -> Array:
        return super().lengths(question, time, batch) - 1


class BackwardsFromPadding(Kernel):
    """X is turned round as a whole, and so is Y; the steps of a row start in its padding."""

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        if not p.backwards:
            return super().direction(task, p)
        y, last = super().direction(task._replace(x=task.x[::-1]), p._replace(backwards=False))
        return y[::-1], last


class BackwardsLeftReversed(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        if p.backwards:
            for row, length in enumerate(task.lengths):
                y[:length, row] = y[:length, row][::-1].copy()
        return y, last


class LastOfTimeAxis(Kernel):
    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002
        return np.asarray(y[-1])


class FirstStatesExchanged(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        return np.array(task.h0[len(task.h0) - 1 - p.number])


class InputReshaped(Kernel):
    """X [batch, time, input] becomes [time, batch, input] without its elements being moved."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        memory = np.ascontiguousarray(task.x.swapaxes(0, 1))
        return task._replace(x=memory.reshape(task.x.shape))


def _one(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str = "") -> WrongGru:
    return WrongGru(name, operator, (mistake,), "single", place, kernel)


BETWEEN = (
    _one("one-step-short", SEQUENCE, OneStepShort,
         "every row ends one step before its length"),
    _one("backwards-from-padding", ONNX, BackwardsFromPadding,
         "the backward pass starts at the end of the time axis, in the padding of shorter rows",
         "only backward passes of rows shorter than seq_length"),
    _one("backwards-left-reversed", SEQUENCE, BackwardsLeftReversed,
         "Y of the backward pass is written in the order in which it was computed",
         "only Y of backward passes"),
    _one("last-of-time-axis", ONNX, LastOfTimeAxis,
         "Y_h is Y at the last index of the time axis, whatever the lengths and the direction"),
    _one("first-states-exchanged", ONNX, FirstStatesExchanged,
         "the forward pass starts from the backward pass's initial state and the other way round",
         "only bidirectional"),
    _one("input-reshaped", SEQUENCE, InputReshaped,
         "X is reshaped from [batch, time] to [time, batch] instead of transposed"),
)  # fmt: skip
"""Right steps at the wrong time, from the wrong state, or written to the wrong place."""
