"""Wrong everywhere, or by value, for an arithmetic: quantised, fixed-point, folded or approximated."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, Function, H, Kernel, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class LastComplementByNegation(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        v = self.pre_activation(x, h, p, Z)
        z, complement = self.activated(p.f, v, p), self.activated(p.f, -v, p)
        return complement * self.candidate(x, h, self.reset_gate(x, h, p), p) + z * h


class LastSaturatedOne(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray((z.dtype.type(127 / 128) - z) * new + z * h)


class LastPartsClipped(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        ours = self.clipped(self.product(x, p.w[gate]) + p.wb[gate], p.clip)
        return ours + self.clipped(self.product(h, p.r[gate]) + p.rb[gate], p.clip)

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        ours = self.clipped(self.product(x, p.w[H]) + p.wb[H], p.clip)
        return self.activated(p.g, ours + self.clipped(self.recurrent(h, reset, p), p.clip), p)

    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return super().activated(function, v, p._replace(clip=np.inf))


class LastScaleOfTheFirstGate(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[self.scaled(p) for p in task.directions])

    def scaled(self, p: Direction) -> Direction:
        largest = np.abs(p.r).max(axis=(1, 2), keepdims=True)
        return p._replace(r=p.r / np.where(largest > 0, largest, 1) * largest[Z])


class LastZeroPointOfTheFirstGate(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[self.compensated(p) for p in task.directions])

    def compensated(self, p: Direction) -> Direction:
        sums = p.r.sum(axis=2)
        return p._replace(rb=p.rb + (sums - sums[Z]))


class LastLineSegments(Kernel):
    def sigmoid(self, v: Array) -> Array:
        size = np.abs(v)
        outer = np.where(size < 5, size / 32 + 27 / 32, 1)
        half = np.where(size < 1, size / 4 + 1 / 2, np.where(size < 2.375, size / 8 + 5 / 8, outer))
        return np.where(v < 0, 1 - half, half).astype(v.dtype)


class LastStateSaturates(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.clip(super().blend(z, new, h), -1, 1)


class LastAccumulatorWraps(Kernel):
    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        wrapped = np.where(np.abs(v) < 4, v, np.mod(v + 4, 8) - 4)
        return super().activated(function, wrapped, p)


class LastGatesOfEightBits(Kernel):
    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.asarray(np.floor(super().update_gate(x, h, p) * 256) / 256)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.asarray(np.floor(super().reset_gate(x, h, p) * 256) / 256)


ARITHMETIC = (
    WrongGru(
        "last-complement-by-negation",
        CELL,
        (
            "1 - z is computed as f of the negated pre-activation, which holds for the sigmoid alone: h' = f(-v_z)∘h~ + "
            "f(v_z)∘h. It is wrong where f is tanh or relu.",
        ),
        "single",
        "",
        LastComplementByNegation,
    ),
    WrongGru(
        "last-saturated-one",
        CELL,
        ("The 1 of 1 - z is 127/128, the largest number of 8 bits: h' = (127/128 - z)∘h~ + z∘h.",),
        "single",
        "",
        LastSaturatedOne,
    ),
    WrongGru(
        "last-parts-clipped",
        CELL,
        (
            "clip limits the input's part and the state's part of every pre-activation each by itself, and not their "
            "sum: clip(W x + Wb) + clip(R h + Rb) rather than clip(W x + Wb + R h + Rb), the candidate's likewise (its "
            "state's part with the reset gate in it).",
        ),
        "single",
        "",
        LastPartsClipped,
    ),
    WrongGru(
        "last-scale-of-the-first-gate",
        ONNX,
        (
            "R, quantised with a scale for each gate, is scaled back with that of z for all: R_r is multiplied by "
            "max|R_z| / max|R_r| and R_h by max|R_z| / max|R_h|, the maxima over the whole matrix of the gate, in each "
            "direction.",
        ),
        "single",
        "",
        LastScaleOfTheFirstGate,
    ),
    WrongGru(
        "last-zero-point-of-the-first-gate",
        SEQUENCE,
        (
            "The state is h + 1 for R's products, and what this adds is taken off again with the row sums of R_z for all "
            "gates: R_r h is too large by sum_k (R_r[j,k] - R_z[j,k]) in unit j, and the candidate's product with R_h by "
            "sum_k (R_h[j,k] - R_z[j,k]) (before the reset gate, where linear_before_reset is true).",
        ),
        "single",
        "",
        LastZeroPointOfTheFirstGate,
    ),
    WrongGru(
        "last-line-segments",
        SEQUENCE,
        (
            "The sigmoid is approximated by line segments: for a = |v|, a/4 + 1/2 below 1, a/8 + 5/8 below 2.375, "
            "a/32 + 27/32 below 5, then 1; for negative v one minus this.",
        ),
        "single",
        "",
        LastLineSegments,
    ),
    WrongGru(
        "last-state-saturates",
        SEQUENCE,
        (
            "The state after each step is limited to -1 to 1: h' = min(max((1 - z)∘h~ + z∘h, -1), 1).",
        ),
        "single",
        "",
        LastStateSaturates,
    ),
    WrongGru(
        "last-accumulator-wraps",
        ONNX,
        (
            "Every pre-activation (of z, r and the candidate) wraps around at ±4, before clip: v is replaced by "
            "(v + 4) mod 8 - 4.",
        ),
        "data",
        "where a pre-activation is below -4, or 4 or more",
        LastAccumulatorWraps,
    ),
    WrongGru(
        "last-gates-of-eight-bits",
        CELL,
        ("z and r, after f, are rounded down to multiples of 1/256.",),
        "numerical",
        "",
        LastGatesOfEightBits,
    ),
)
