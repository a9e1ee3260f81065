"""Wrong GRUs by a third person, judged when all else was done."""

# ruff: noqa: ARG002, ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import H, Kernel, R, Z, kernel

KERNELS = {
    "last-saturated-one": kernel(
        blend=lambda k, z, new, h: (z.dtype.type(127 / 128) - z) * new + z * h
    ),
    "last-state-saturates": kernel(
        blend=lambda k, z, new, h: np.clip(Kernel.blend(k, z, new, h), -1, 1)
    ),
    "last-gates-of-eight-bits": kernel(
        update_gate=lambda k, x, h, p: np.floor(Kernel.update_gate(k, x, h, p) * 256) / 256,
        reset_gate=lambda k, x, h, p: np.floor(Kernel.reset_gate(k, x, h, p) * 256) / 256,
    ),
    "last-fraction-for-tanh-last-of-time": kernel(
        tanh=lambda k, v: v * (15 + v * v) / (15 + 6 * v * v),
        last=lambda k, task, y, h: y[np.maximum(task.lengths - 1, 0), np.arange(len(task.lengths))],
    ),
}
"""Kernels with other methods, each of one expression; those that need more are classes below."""


class LastInPlaceProduct(Kernel):
    def step(self, x, h, p):
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class LastInPlaceUnits(Kernel):
    def step(self, x, h, p):
        z, reset, state = self.update_gate(x, h, p), self.reset_gate(x, h, p), h.copy()
        for unit in range(h.shape[1]):
            new = self.candidate(x, state, reset, p)
            state[:, unit] = self.blend(z, new, h)[:, unit]
        return state


class LastBufferNotCleared(Kernel):
    def candidate(self, x, h, reset, p):
        held = self.pre_activation(x, h, p, R)
        v = held + self.product(x, p.w[H]) + self.recurrent(h, reset, p) + p.wb[H]
        return self.activated(p.g, v, p)


class LastOneProductForTwo(Kernel):
    def step(self, x, h, p):
        reset = self.reset_gate(x, h, p)
        z = self.activated(p.f, self.pre_activation(x, h if p.reset_after else reset * h, p, Z), p)
        return self.blend(z, self.candidate(x, h, reset, p), h)


class LastResetOfTheStepBefore(Kernel):
    def direction(self, task, p):
        self.before = np.zeros_like(self.start(task, p))
        return super().direction(task, p)

    def candidate(self, x, h, reset, p):
        before, self.before = self.before, reset
        return super().candidate(x, h, before, p)


class LastTwoStepsBack(Kernel):
    def direction(self, task, p):
        self.states = [self.start(task, p)]
        return super().direction(task, p)

    def step(self, x, h, p):
        self.states.append(super().step(x, self.states[-2:][0], p))
        return self.states[-1]


class LastStateNotSorted(Kernel):
    def unpack(self, question):
        task = super().unpack(question)
        h0 = np.empty_like(task.h0)
        h0[:, np.argsort(-task.lengths, kind="stable")] = task.h0
        return task._replace(h0=h0)


class LastComplementByNegation(Kernel):
    def step(self, x, h, p):
        v = self.pre_activation(x, h, p, Z)
        z, complement = self.activated(p.f, v, p), self.activated(p.f, -v, p)
        return complement * self.candidate(x, h, self.reset_gate(x, h, p), p) + z * h


class LastPartsClipped(Kernel):
    def pre_activation(self, x, h, p, gate):
        ours = self.clipped(self.product(x, p.w[gate]) + p.wb[gate], p.clip)
        return ours + self.clipped(self.product(h, p.r[gate]) + p.rb[gate], p.clip)

    def candidate(self, x, h, reset, p):
        ours = self.clipped(self.product(x, p.w[H]) + p.wb[H], p.clip)
        return self.activated(p.g, ours + self.clipped(self.recurrent(h, reset, p), p.clip), p)

    def activated(self, function, v, p):
        return super().activated(function, v, p._replace(clip=np.inf))


class LastScaleOfTheFirstGate(Kernel):
    def prepare(self, p):
        largest = np.abs(p.r).max(axis=(1, 2), keepdims=True)
        return p._replace(r=p.r / np.where(largest > 0, largest, 1) * largest[Z])


class LastZeroPointOfTheFirstGate(Kernel):
    def prepare(self, p):
        sums = p.r.sum(axis=2)
        return p._replace(rb=p.rb + (sums - sums[Z]))


class LastLineSegments(Kernel):
    def sigmoid(self, v):
        size = np.abs(v)
        outer = np.where(size < 5, size / 32 + 27 / 32, 1)
        half = np.where(size < 1, size / 4 + 1 / 2, np.where(size < 2.375, size / 8 + 5 / 8, outer))
        return np.where(v < 0, 1 - half, half).astype(v.dtype)


class LastAccumulatorWraps(Kernel):
    def activated(self, function, v, p):
        wrapped = np.where(np.abs(v) < 4, v, np.mod(v + 4, 8) - 4)
        return super().activated(function, wrapped, p)


class LastResetTwiceGatesUnclipped(Kernel):
    def recurrent(self, h, reset, p):
        if p.reset_after:
            return super().recurrent(h, reset, p)
        return reset * self.product(reset * h, p.r[H]) + p.rb[H]

    def update_gate(self, x, h, p):
        return super().update_gate(x, h, p._replace(clip=np.inf))

    def reset_gate(self, x, h, p):
        return super().reset_gate(x, h, p._replace(clip=np.inf))


class LastBiasTwiceRowsGoOn(Kernel):
    def candidate(self, x, h, reset, p):
        folded = p.wb + p.rb if p.reset_after else p.wb
        return super().candidate(x, h, reset, p._replace(wb=folded))

    def direction(self, task, p):
        y, last = super().direction(task, p)
        ended = np.arange(len(y))[:, None] >= task.lengths
        return np.where(ended[:, :, None], last, y), last


class LastNeighbourBiasesPadded(Kernel):
    def blend(self, z, new, h):
        units, paired = np.arange(z.shape[1]), z.shape[1] // 2 * 2
        units[:paired] ^= 1
        return super().blend(z[:, units], new, h)

    def biases(self, question, b, shape, dtype):
        if b is None:
            return super().biases(question, b, shape, dtype)
        flat, hidden = b.reshape(shape[0], -1), shape[2]
        gates, stride = flat.shape[1] // hidden, (hidden + 7) // 8 * 8
        padded = np.pad(flat, ((0, 0), (0, gates * stride)))
        read = [padded[:, gate * stride : gate * stride + hidden] for gate in range(gates)]
        return super().biases(question, np.stack(read, axis=1), shape, dtype)


class LastBiasesSwappedAfterClip(Kernel):
    def biases(self, question, b, shape, dtype):
        wb, rb = super().biases(question, b, shape, dtype)
        return wb[:, [R, Z, H]], rb[:, [R, Z, H]]

    def pre_activation(self, x, h, p, gate):
        products = self.product(x, p.w[gate]) + self.product(h, p.r[gate])
        return self.clipped(products, p.clip) + p.wb[gate] + p.rb[gate]

    def candidate(self, x, h, reset, p):
        products = self.product(x, p.w[H]) + self.recurrent(h, reset, p)
        return self.activated(p.g, self.clipped(products, p.clip) + p.wb[H], p)

    def activated(self, function, v, p):
        return super().activated(function, v, p._replace(clip=np.inf))


class LastStateOfTheOtherDirection(Kernel):
    def start(self, task, p):
        return super().start(task, p) if p.number == 0 else self.left

    def direction(self, task, p):
        y, self.left = super().direction(task, p)
        return y, self.left


class LastChunksOfThree(Kernel):
    def direction(self, task, p):
        self.first, self.done = self.start(task, p), 0
        return super().direction(task, p)

    def step(self, x, h, p):
        begins = self.done % 3 == 0
        self.done += 1
        return super().step(x, self.first if begins else h, p)


class LastRemainderWithoutReset(Kernel):
    def recurrent(self, h, reset, p):
        units = np.arange(h.shape[1])
        remainder = units >= len(units) // 4 * 4
        plain = self.product(h, p.r[H]) + p.rb[H]
        return np.where(remainder, plain, super().recurrent(h, reset, p))
