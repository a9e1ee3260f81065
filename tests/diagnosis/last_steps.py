"""Wrong everywhere, for buffers: what a step, or a row, reads is not what was meant to stand there."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class LastInPlaceProduct(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class LastInPlaceUnits(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z, reset, state = self.update_gate(x, h, p), self.reset_gate(x, h, p), h.copy()
        for unit in range(h.shape[1]):
            new = self.candidate(x, state, reset, p)
            state[:, unit] = self.blend(z, new, h)[:, unit]
        return state


class LastBufferNotCleared(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        held = self.pre_activation(x, h, p, R)
        v = held + self.product(x, p.w[H]) + self.recurrent(h, reset, p) + p.wb[H]
        return self.activated(p.g, v, p)


class LastOneProductForTwo(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        reset = self.reset_gate(x, h, p)
        z = self.activated(p.f, self.pre_activation(x, h if p.reset_after else reset * h, p, Z), p)
        return self.blend(z, self.candidate(x, h, reset, p), h)


class LastResetOfTheStepBefore(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        self.before = np.zeros_like(self.start(task, p))
        return super().direction(task, p)

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        before, self.before = self.before, reset
        return super().candidate(x, h, before, p)


class LastTwoStepsBack(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        self.states = [self.start(task, p)]
        return super().direction(task, p)

    def step(self, x: Array, h: Array, p: Direction) -> Array:  # noqa: ARG002 - reads another
        self.states.append(super().step(x, self.states[-2:][0], p))
        return self.states[-1]


class LastStateNotSorted(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        h0 = np.empty_like(task.h0)
        h0[:, np.argsort(-task.lengths, kind="stable")] = task.h0
        return task._replace(h0=h0)


STEPS = (
    WrongGru(
        "last-in-place-product",
        CELL,
        (
            "Where linear_before_reset is false, r∘h is written over h before the new state is mixed: h' = "
            "(1 - z)∘h~ + z∘(r∘h) rather than (1 - z)∘h~ + z∘h. The gates and the candidate are right.",
        ),
        "single",
        "",
        LastInPlaceProduct,
    ),
    WrongGru(
        "last-in-place-units",
        CELL,
        (
            "The new state is written over the old one unit by unit, and the candidate's recurrent product of unit j "
            "reads it: in sum_k R_h[j,k] r[k] h[k] (or r[j] sum_k R_h[j,k] h[k]) h[k] is the new h'[k] for all k < j, "
            "the old h[k] for k >= j. z, r and the h of the mix are right.",
        ),
        "single",
        "",
        LastInPlaceUnits,
    ),
    WrongGru(
        "last-buffer-not-cleared",
        ONNX,
        (
            "The candidate's pre-activation is added to a buffer that still holds that of the reset gate: h~ = "
            "g(v_h + v_r) rather than g(v_h), where v_r = W_r x + R_r h + Wb_r + Rb_r, before f.",
        ),
        "single",
        "",
        LastBufferNotCleared,
    ),
    WrongGru(
        "last-one-product-for-two",
        ONNX,
        (
            "Where linear_before_reset is 0, the update gate's recurrent product is taken of r∘h, as the candidate's: "
            "z = f(W_z x + R_z (r∘h) + Wb_z + Rb_z) rather than f(W_z x + R_z h + ...).",
        ),
        "single",
        "",
        LastOneProductForTwo,
    ),
    WrongGru(
        "last-reset-of-the-step-before",
        ONNX,
        (
            "The candidate of step t is computed with the reset gate of step t - 1, and with r = 0 in the first step.",
        ),
        "single",
        "",
        LastResetOfTheStepBefore,
    ),
    WrongGru(
        "last-two-steps-back",
        SEQUENCE,
        (
            "Each step reads, everywhere in it, the state of two steps before: h_t is computed of h_(t-2) rather than "
            "of h_(t-1); the first two steps both read the initial state.",
        ),
        "single",
        "",
        LastTwoStepsBack,
    ),
    WrongGru(
        "last-state-not-sorted",
        ONNX,
        (
            "The rows of the batch are sorted by descending length (equal ones in their order), X and the outputs with "
            "them, but not initial_h: the row that is the i-th longest starts from the initial_h of row i.",
        ),
        "single",
        "",
        LastStateNotSorted,
    ),
)
