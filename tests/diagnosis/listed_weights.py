"""Mistakes of the catalogue in what is read: orders of gates, biases, transposed and shared weights, tails."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class ResetGateFirst(Kernel):
    """W, R and B are read as r, z, h."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        order = [R, Z, H]
        directions = [
            p._replace(w=p.w[order], r=p.r[order], wb=p.wb[order], rb=p.rb[order])
            for p in task.directions
        ]
        return task._replace(directions=directions)


class RecurrenceCandidateFirst(Kernel):
    """R is read as h, r, z."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[p._replace(r=p.r[::-1]) for p in task.directions])


class RecurrentBiasOutside(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        if p.reset_after:
            return np.asarray(reset * self.product(h, p.r[H]) + p.rb[H])
        return super().recurrent(h, reset, p)


class RecurrenceTransposed(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        turned = [p._replace(r=p.r.swapaxes(1, 2)) for p in task.directions]
        return task._replace(directions=turned)


class InterleavedBiases(Kernel):
    """B is read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        directions = []
        for p in task.directions:
            b = np.concatenate([p.wb, p.rb])
            directions.append(p._replace(wb=b[0::2], rb=b[1::2]))
        return task._replace(directions=directions)


class UpdateWithoutBias(Kernel):
    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().update_gate(x, h, p._replace(wb=0 * p.wb, rb=0 * p.rb))


class SharedWeights(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        first = task.directions[0]
        directions = [
            p._replace(w=first.w, r=first.r, wb=first.wb, rb=first.rb) for p in task.directions
        ]
        return task._replace(directions=directions)


class LastInputLeftOut(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        return super().direction(task._replace(x=task.x[:, :, :-1]), p._replace(w=p.w[:, :, :-1]))


def _one(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str = "") -> WrongGru:
    return WrongGru(name, operator, (mistake,), "single", place, kernel)


WEIGHTS = (
    _one("reset-gate-first", CELL, ResetGateFirst,
         "W, R and B are read with the gates in the order r, z, h"),
    _one("recurrence-candidate-first", ONNX, RecurrenceCandidateFirst,
         "R alone is read with the gates in the order h, r, z"),
    _one("recurrent-bias-outside", SEQUENCE, RecurrentBiasOutside,
         "with linear_before_reset the candidate's recurrent bias is added after the multiplication by the reset gate",
         "only with linear_before_reset"),
    _one("recurrence-transposed", ONNX, RecurrenceTransposed,
         "R is used without being transposed: the state is multiplied by R instead of R^T"),
    _one("interleaved-biases", ONNX, InterleavedBiases,
         "B is read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh"),
    _one("update-without-bias", CELL, UpdateWithoutBias,
         "the update gate adds no bias"),
    _one("shared-weights", SEQUENCE, SharedWeights,
         "the backward pass uses the forward pass's W, R and B",
         "only the second direction of bidirectional"),
    _one("last-input-left-out", SEQUENCE, LastInputLeftOut,
         "the products with W stop one input short: the last feature of X is never read"),
)  # fmt: skip
"""The right formulas of the wrong numbers."""
