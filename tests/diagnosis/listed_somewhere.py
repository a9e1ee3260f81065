"""Mistakes of the catalogue that are made in some place, or in some cases, and not in others."""

from __future__ import annotations

import numpy as np

from .kernel import Array, Direction, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru

LARGE = 4
"""A batch of so many rows is computed by other code."""


class BackwardsResetFlipped(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        reset = super().reset_gate(x, h, p)
        return np.asarray(1 - reset) if p.backwards else reset


class ClippedUpdateFlipped(Kernel):
    """The step that clips is written by itself, and its blend is another."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        if np.isinf(p.clip):
            return super().step(x, h, p)
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        return self.blend(1 - z, self.candidate(x, h, reset, p), h)


class LargeBatchTransposed(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        turned = p.r.swapaxes(1, 2) if len(h) >= LARGE else p.r
        return super().step(x, h, p._replace(r=turned))


class LastRowWithoutBias(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        bare = p._replace(wb=0 * p.wb, rb=0 * p.rb)
        return np.concatenate([super().step(x, h, p)[:-1], super().step(x, h, bare)[-1:]])


class LaterStepsWithoutReset(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        self.begun = False
        return super().start(task, p)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        reset = super().reset_gate(x, h, p)
        if self.begun:
            return np.ones_like(reset)
        self.begun = True
        return reset


class ResetAfterInOtherOrder(Kernel):
    """The code for linear_before_reset reads R as r, h, z."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        order = [H, Z, R] if p.reset_after else [Z, R, H]
        return super().step(x, h, p._replace(r=p.r[order]))


def _there(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str) -> WrongGru:
    return WrongGru(name, operator, (mistake,), "place", place, kernel)


LISTED_SOMEWHERE = (
    _there("backwards-reset-flipped", SEQUENCE, BackwardsResetFlipped,
           "1 - r is used for the reset gate", "backward passes"),
    _there("clipped-update-flipped", CELL, ClippedUpdateFlipped,
           "the blend is z new + (1 - z) h: the update gate's two weights are exchanged", "where clip is given"),
    _there("large-batch-transposed", ONNX, LargeBatchTransposed,
           "the state is multiplied by R instead of R^T", "batches of 4 and more"),
    _there("last-row-without-bias", CELL, LastRowWithoutBias,
           "B is not added", "the last row of the batch"),
    _there("later-steps-without-reset", SEQUENCE, LaterStepsWithoutReset,
           "the reset gate is not used, as if it were 1", "all steps but the first of each direction"),
    _there("reset-after-in-other-order", ONNX, ResetAfterInOtherOrder,
           "R alone is read with the gates in the order r, h, z", "where linear_before_reset is set"),
)  # fmt: skip
"""Right in some rows, steps, directions or cases, by another way through the code."""
