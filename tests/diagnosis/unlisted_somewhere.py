"""Wrong in some rows, units, steps or directions; on some values or sizes; or after earlier questions."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru

WIDTH = 4
"""The lanes of a vector."""


class TailKeepsOldState(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        whole = h.shape[1] // WIDTH * WIDTH
        return np.concatenate([super().blend(z, new, h)[:, :whole], h[:, whole:]], axis=1)


class TailWithoutBias(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        in_lanes = np.arange(h.shape[1]) < h.shape[1] // WIDTH * WIDTH
        return super().pre_activation(
            x, h, p._replace(wb=p.wb * in_lanes, rb=p.rb * in_lanes), gate
        )


class FirstStepWithoutRecurrence(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        self.begun = False
        return super().start(task, p)

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        if self.begun:
            return super().step(x, h, p)
        self.begun = True
        zeros = np.zeros_like(h)
        z, reset = self.update_gate(x, zeros, p), self.reset_gate(x, zeros, p)
        return self.blend(z, self.candidate(x, zeros, reset, p), h)


class OddRowWithResetBefore(Kernel):
    """Rows go in pairs; the odd one out finds the reset gate of the row before in its register."""

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        reset = super().reset_gate(x, h, p)
        if len(reset) > 1 and len(reset) % 2:
            reset[-1] = reset[-2]
        return reset


class BackwardsWithTanhTwice(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        new = super().candidate(x, h, reset, p)
        return np.tanh(new) if p.backwards else new


class LastInputDropped(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        even = x.shape[1] // 2 * 2
        return super().pre_activation(x[:, :even], h, p._replace(w=p.w[:, :, :even]), gate)


class LastStateUnitUnread(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        read = h.copy()
        read[:, -1] = 0
        return super().recurrent(read, reset, p)


class UnitsBeyondFourFromFloat16(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        new = super().candidate(x, h, reset, p)
        new[:, WIDTH:] = new[:, WIDTH:].astype(np.float16)
        return new


class SmallStatesSkipped(Kernel):
    def product(self, v: Array, matrix: Array) -> Array:
        return super().product(np.where(np.abs(v) < np.float32(0.125), 0, v), matrix)


class LargeBatchOneState(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        h = super().start(task, p)
        return np.repeat(h[:1], len(h), axis=0) if len(h) >= 8 else h


class WrongBranchOfSigmoid(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.where(v >= 0, super().sigmoid(v), np.exp(v) / (1 + np.exp(-v)))


class FullLengthsFromZero(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        h = super().start(task, p)
        return np.zeros_like(h) if (task.lengths == len(task.x)).all() else h


class UnclippedWhereNegative(Kernel):
    """The row's largest value decides whether the row is clipped at all."""

    def clipped(self, v: Array, clip: float) -> Array:
        over = (v > clip).any(axis=1, keepdims=True)
        return np.where(over, super().clipped(v, clip), v)


class SingleStepsWithoutReset(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        self.single = task.lengths[:, None] == 1
        return super().direction(task, p)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.where(self.single, h.dtype.type(1), super().reset_gate(x, h, p))


class StaleY(Kernel):
    """Y's buffer of each shape is kept, and only times within a row's length are written."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Array] = {}

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        buffer = self.kept.setdefault((p.number, *y.shape), np.zeros_like(y))
        written = np.arange(len(y))[:, None] < task.lengths
        buffer[written] = y[written]
        return buffer.copy(), last


class CarriedState(Kernel):
    """A stateful mode left on: the last state is where the next question of the same shape starts."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Array] = {}
        self.key: tuple[int, ...] = ()

    def start(self, task: Task, p: Direction) -> Array:
        h = super().start(task, p)
        self.key = (p.number, *h.shape)
        return self.kept.get(self.key, h).astype(h.dtype)

    def last(self, task: Task, y: Array, h: Array) -> Array:
        self.kept[self.key] = h
        return super().last(task, y, h)


class CachedWeights(Kernel):
    """R is packed once, and the packed one is found again by its shape."""

    def __init__(self) -> None:
        self.packed: dict[tuple[int, ...], list[Array]] = {}

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        mine = [p.r for p in task.directions]
        packed = self.packed.setdefault((len(mine), *mine[0].shape), mine)
        both = zip(task.directions, packed, strict=True)
        return task._replace(directions=[p._replace(r=r.astype(p.r.dtype)) for p, r in both])


class BackwardGatesOfOther(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return super().pre_activation(x, h, p, (R, Z, H)[gate] if p.backwards else gate)


SOMEWHERE = (
    WrongGru("tail-keeps-old-state", SEQUENCE,
             ("the last hidden_size mod 4 units are never written and keep their old state",),
             "place", "the units after the last whole vector of 4", TailKeepsOldState),
    WrongGru("tail-without-bias", ONNX,
             ("gates z and r of the last hidden_size mod 4 units are computed without bias",),
             "place", "the units after the last whole vector of 4", TailWithoutBias),
    WrongGru("first-step-without-recurrence", SEQUENCE,
             ("the first step leaves out all recurrent products, and takes the initial state in the blend alone",),
             "place", "the first step that each direction computes", FirstStepWithoutRecurrence),
    WrongGru("odd-row-with-reset-before", CELL,
             ("rows are computed in pairs, and an odd last row uses the reset gate of the row before it",),
             "place", "the last row where batch_size is odd", OddRowWithResetBefore),
    WrongGru("backwards-with-tanh-twice", ONNX,
             ("tanh is applied once more to the candidate, after g",),
             "place", "backward passes", BackwardsWithTanhTwice),
    WrongGru("last-input-dropped", CELL,
             ("gates z and r leave out the last input where input_size is odd: a loop unrolled by 2 without a tail",),
             "place", "the last of an odd number of inputs", LastInputDropped),
    WrongGru("last-state-unit-unread", ONNX,
             ("the candidate's recurrent product stops one unit short: the last unit of the state is not read",),
             "place", "the last unit of the state, as it is read", LastStateUnitUnread),
    WrongGru("backward-gates-exchanged", SEQUENCE,
             ("the backward pass reads W, R and B in the order r, z, h",),
             "place", "backward passes", BackwardGatesOfOther),
    WrongGru("units-beyond-four-through-float16", SEQUENCE,
             ("the candidate of the units beyond the first four is rounded to float16",),
             "place", "units 4 and above", UnitsBeyondFourFromFloat16),
    WrongGru("small-values-skipped", SEQUENCE,
             ("products take inputs and states below 0.125 in magnitude as 0, for sparsity",),
             "data", "where an input or a state is small", SmallStatesSkipped),
    WrongGru("large-batch-one-state", ONNX,
             ("with 8 rows or more, all rows start from row 0's initial state",),
             "data", "batches of 8 and more", LargeBatchOneState),
    WrongGru("wrong-branch-of-sigmoid", ONNX,
             ("sigmoid of a negative v is e^v/(1 + e^-v) instead of e^v/(1 + e^v)",),
             "data", "negative pre-activations", WrongBranchOfSigmoid),
    WrongGru("full-lengths-from-zero", SEQUENCE,
             ("where all rows have the full length, a fast path starts from zeros instead of the initial state",),
             "data", "questions whose rows all have seq_length steps", FullLengthsFromZero),
    WrongGru("single-steps-without-reset", SEQUENCE,
             ("rows of length 1 are computed by a fast path that takes the reset gate as 1",),
             "data", "rows of length 1", SingleStepsWithoutReset),
    WrongGru("clip-by-largest", CELL,
             ("a row is clipped only if one of its pre-activations is above clip; below -clip is not looked for",),
             "data", "rows that fall below -clip and never rise above clip", UnclippedWhereNegative),
    WrongGru("stale-y", SEQUENCE,
             ("Y's buffer is kept between calls and not cleared, so padding holds values of an earlier call",),
             "stateful", "Y past a row's length", StaleY),
    WrongGru("carried-state", ONNX,
             ("the last state is kept, and is where the next call of the same shape starts, whatever initial_h is",),
             "stateful", "all calls but the first of a shape", CarriedState),
    WrongGru("cached-weights", CELL,
             ("R is packed at the first call of a shape and never again, so later calls use an earlier R",),
             "stateful", "all calls but the first of a shape", CachedWeights),
)  # fmt: skip
"""Mistakes that do not sit everywhere, or do not show always."""
