"""Wrong GRUs by somebody who had not seen the catalogue."""

# ruff: noqa: ARG002, ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import H, Kernel, R, Z, kernel

KERNELS = {
    "exp2-in-sigmoid": kernel(sigmoid=lambda k, v: 1 / (1 + np.exp2(-v))),
    "lecun-tanh": kernel(tanh=lambda k, v: np.float32(1.7159) * np.tanh(v * np.float32(2 / 3))),
    "linear-sigmoid": kernel(
        sigmoid=lambda k, v: np.clip(np.float32(0.25) * v + np.float32(0.5), 0, 1)
    ),
    "sigmoid-capped-at-three": kernel(sigmoid=lambda k, v: Kernel.sigmoid(k, np.clip(v, -3, 3))),
    "sigmoid-cut-beyond-two": kernel(
        sigmoid=lambda k, v: np.where(v < -2, 0, np.where(v > 2, 1, Kernel.sigmoid(k, v)))
    ),
    "relu-six": kernel(relu=lambda k, v: np.clip(v, 0, 6)),
    "softplus-through-zero": kernel(
        softplus=lambda k, v: Kernel.softplus(k, v) - np.float32(np.log(2))
    ),
    "elu-without-brackets": kernel(
        elu=lambda k, v, alpha: np.where(v >= 0, v, alpha * np.exp(np.minimum(v, 0)) - 1)
    ),
    "negated-reset": kernel(
        reset_gate=lambda k, x, h, p: k.activated(p.f, -k.pre_activation(x, h, p, R), p)
    ),
    "squared-reset": kernel(
        recurrent=lambda k, h, reset, p: Kernel.recurrent(k, reset * h, reset, p)
    ),
    "blend-sign": kernel(blend=lambda k, z, new, h: new + z * (h + new)),
    "old-state-whole": kernel(blend=lambda k, z, new, h: (1 - z) * new + h),
    "clip-from-below": kernel(clipped=lambda k, v, clip: np.maximum(v, -v.dtype.type(clip))),
    "blend-twice": kernel(
        blend=lambda k, z, new, h: Kernel.blend(k, z, Kernel.blend(k, z, new, h), h)
    ),
    "rows-share-reset": kernel(
        reset_gate=lambda k, x, h, p: np.broadcast_to(Kernel.reset_gate(k, x, h, p)[:1], h.shape)
    ),
    "state-of-next-row": kernel(
        recurrent=lambda k, h, reset, p: Kernel.recurrent(k, np.roll(h, -1, axis=0), reset, p)
    ),
    "first-state-and-gelu-sigmoid": kernel(
        start=lambda k, task, p: np.array(task.h0[0]),
        sigmoid=lambda k, v: Kernel.sigmoid(k, np.float32(1.702) * v),
    ),
    "update-bias-twice-and-hard-tanh": kernel(
        update_gate=lambda k, x, h, p: Kernel.update_gate(k, x, h, p._replace(wb=2 * p.wb)),
        tanh=lambda k, v: np.clip(v, -1, 1),
    ),
    "absolute-relu-and-last-time": kernel(
        relu=lambda k, v: np.abs(v), last=lambda k, task, y, h: y[task.lengths.max() - 1]
    ),
    "steep-sigmoid-and-state-in-candidate": kernel(
        sigmoid=lambda k, v: (1 + np.tanh(v)) / 2,
        recurrent=lambda k, h, reset, p: Kernel.recurrent(k, h, reset, p) + np.float32(0.5) * h,
    ),
    "keras-sigmoid-and-second-from-zero": kernel(
        sigmoid=lambda k, v: np.clip(np.float32(0.2) * v + np.float32(0.5), 0, 1),
        start=lambda k, task, p: Kernel.start(k, task, p) * (p.number == 0),
    ),
    "candidate-weights-in-reset-and-half-update": kernel(
        reset_gate=lambda k, x, h, p: Kernel.reset_gate(k, x, h, p._replace(r=p.r[[Z, H, H]])),
        blend=lambda k, z, new, h: Kernel.blend(k, z / 2, new, h),
    ),
    "wrong-branch-of-sigmoid": kernel(
        sigmoid=lambda k, v: np.where(v >= 0, Kernel.sigmoid(k, v), np.exp(v) / (1 + np.exp(-v)))
    ),
    "float16-state": kernel(
        step=lambda k, x, h, p: Kernel.step(k, x, h.astype(np.float16).astype(h.dtype), p)
    ),
    "sigmoid-table": kernel(
        sigmoid=lambda k, v: Kernel.sigmoid(k, np.rint((np.clip(v, -8, 8) + 8) * 16) / 16 - 8)
    ),
    "fixed-point-update": kernel(
        update_gate=lambda k, x, h, p: np.rint(Kernel.update_gate(k, x, h, p) * 255) / 255
    ),
}
"""Kernels with other methods, each of one expression; those that need more are classes below."""


class TanhFromSigmoid(Kernel):
    def tanh(self, v):
        return 2 * self.sigmoid(v) - 1


class LeakingRelu(Kernel):
    def relu(self, v):
        return np.where(v > 0, v, np.float32(0.01) * v)


class SoftsignOfSquare(Kernel):
    def activation(self, name, v, alpha, beta):
        return v / (1 + v * v) if name == "softsign" else super().activation(name, v, alpha, beta)


class ShiftedThreshold(Kernel):
    def activation(self, name, v, alpha, beta):
        if name == "thresholdedrelu":
            return np.maximum(v - np.float32(alpha), 0)
        return super().activation(name, v, alpha, beta)


class ForgetBias(Kernel):
    def pre_activation(self, x, h, p, gate):
        v = super().pre_activation(x, h, p, gate)
        return v + 1 if gate == Z else v


class KeepFactor(Kernel):
    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, np.float32(0.9) * h, p, gate)


class ScaledScores(Kernel):
    def recurrent(self, h, reset, p):
        return super().recurrent(h, reset, p) / np.sqrt(h.dtype.type(h.shape[1]))


class ResetOnInput(Kernel):
    def candidate(self, x, h, reset, p):
        if not p.reset_after:
            return super().candidate(x, h, reset, p)
        sums = self.product(x, p.w[2]) + self.product(h, p.r[2]) + p.rb[2]
        return self.activated(p.g, reset * sums + p.wb[2], p)


class ResetStateBlended(Kernel):
    def step(self, x, h, p):
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class ClipAsWidth(Kernel):
    def clipped(self, v, clip):
        return super().clipped(v, clip / 2)


class ClipAsInteger(Kernel):
    def clipped(self, v, clip):
        whole = int(clip) if np.isfinite(clip) else 0
        return super().clipped(v, whole) if whole else v


class GateStrideOfW(Kernel):
    def prepare(self, p):
        _, hidden, size = p.w.shape
        flat = p.r.ravel()
        starts = [min(gate * hidden * size, flat.size - hidden * hidden) for gate in (Z, R, H)]
        gates = [flat[at : at + hidden**2].reshape(hidden, hidden) for at in starts]
        return p._replace(r=np.stack(gates))


class StateInPlace(Kernel):
    def step(self, x, h, p):
        state = h.copy()
        for unit in range(h.shape[1]):
            state[:, unit] = super().step(x, state, p)[:, unit]
        return state


class InputOneStepLate(Kernel):
    def direction(self, task, p):
        late = np.concatenate([task.x[:1], task.x[:-1]])
        return super().direction(task._replace(x=late), p)


class BackwardsFromForwards(Kernel):
    def start(self, task, p):
        return super().start(task, p) if p.number == 0 else self.state

    def last(self, task, y, h):
        self.state = h
        return super().last(task, y, h)


class SharedRecurrence(Kernel):
    def unpack(self, question):
        task = super().unpack(question)
        first = task.directions[0]
        return task._replace(directions=[p._replace(r=first.r) for p in task.directions])


class SortedRows(Kernel):
    def direction(self, task, p):
        y, last = super().direction(task, p)
        return y[:, np.argsort(-task.lengths, kind="stable")], last


class BackwardsFromLength(Kernel):
    def times(self, step, lengths, p):
        at = super().times(step, lengths, p)
        return np.minimum(at + 1, lengths.max() - 1) if p.backwards else at


class BiasRunsOn(Kernel):
    def pre_activation(self, x, h, p, gate):
        flat = (p.wb + p.rb).ravel()
        hidden = h.shape[1]
        at = gate * hidden + np.arange(len(x) * hidden).reshape(len(x), hidden)
        return self.product(x, p.w[gate]) + self.product(h, p.r[gate]) + flat[at % flat.size]


class InterleavedGates(Kernel):
    def gates(self, x, h, p):
        both = [self.pre_activation(x, h, p, gate) for gate in (Z, R)]
        return self.activated(p.f, np.concatenate(both, axis=1), p)

    def update_gate(self, x, h, p):
        return self.gates(x, h, p)[:, 0::2]

    def reset_gate(self, x, h, p):
        return self.gates(x, h, p)[:, 1::2]


class HoistedRecurrence(Kernel):
    def start(self, task, p):
        self.first = super().start(task, p)
        return self.first

    def recurrent(self, h, reset, p):
        return super().recurrent(self.first, reset, p)


class StateBeforeInput(Kernel):
    def pre_activation(self, x, h, p, gate):
        weights = np.concatenate([p.w[gate], p.r[gate]], axis=1)
        return self.product(np.concatenate([h, x], axis=1), weights) + p.wb[gate] + p.rb[gate]


class InputBiasTwice(Kernel):
    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p._replace(rb=p.wb), gate)


class ResetFromKept(Kernel):
    def step(self, x, h, p):
        z = self.update_gate(x, h, p)
        kept = z * h
        reset = self.reset_gate(x, kept, p)
        return (1 - z) * self.candidate(x, kept, reset, p) + kept


class CandidateBiasOfReset(Kernel):
    def candidate(self, x, h, reset, p):
        return super().candidate(x, h, reset, p._replace(wb=p.wb[[Z, R, R]]))


class HalfTanhAndRunningY(TanhFromSigmoid):
    def direction(self, task, p):
        y, last = super().direction(task, p)
        ended = np.arange(len(y))[:, None] >= task.lengths
        return np.where(ended[:, :, None], last, y), last


class ForgetBiasAndBareCandidate(ForgetBias):
    def candidate(self, x, h, reset, p):
        inner = np.zeros_like(p.rb) if p.reset_after else p.rb
        return super().candidate(x, h, reset, p._replace(rb=inner))


class LeakingReluAndClipAsWidth(LeakingRelu, ClipAsWidth):
    pass


class ShortPassBareResetScaledTanh(Kernel):
    def direction(self, task, p):
        fewer = np.where(task.lengths > 2, task.lengths - 1, task.lengths)
        return super().direction(task._replace(lengths=fewer), p)

    def reset_gate(self, x, h, p):
        return super().reset_gate(x, np.zeros_like(h), p)

    def tanh(self, v):
        return super().tanh(v * np.float32(1.125))


class ShortRowsZeroSoftplusInBitsTransposedUpdate(Kernel):
    def last(self, task, y, h):
        return np.where(task.lengths[:, None] == len(task.x), h, 0)

    def softplus(self, v):
        return super().softplus(v) / np.float32(np.log(2))

    def update_gate(self, x, h, p):
        return super().update_gate(x, h, p._replace(r=p.r.swapaxes(1, 2)))


class UpdateBiasInResetAndCappedState(Kernel):
    def reset_gate(self, x, h, p):
        return super().reset_gate(x, h, p._replace(wb=p.wb[[Z, Z, H]], rb=p.rb[[Z, Z, H]]))

    def blend(self, z, new, h):
        return np.clip(super().blend(z, new, h), -0.5, 0.5)


class SharedUpdateAndUnclippedCandidate(Kernel):
    def update_gate(self, x, h, p):
        return np.broadcast_to(super().update_gate(x, h, p)[:1], h.shape)

    def candidate(self, x, h, reset, p):
        return super().candidate(x, h, reset, p._replace(clip=np.inf))


WIDTH = 4
"""The lanes of a vector."""


class TailKeepsOldState(Kernel):
    def blend(self, z, new, h):
        whole = h.shape[1] // WIDTH * WIDTH
        return np.concatenate([super().blend(z, new, h)[:, :whole], h[:, whole:]], axis=1)


class TailWithoutBias(Kernel):
    def pre_activation(self, x, h, p, gate):
        in_lanes = np.arange(h.shape[1]) < h.shape[1] // WIDTH * WIDTH
        return super().pre_activation(
            x, h, p._replace(wb=p.wb * in_lanes, rb=p.rb * in_lanes), gate
        )


class FirstStepWithoutRecurrence(Kernel):
    def start(self, task, p):
        self.begun = False
        return super().start(task, p)

    def step(self, x, h, p):
        if self.begun:
            return super().step(x, h, p)
        self.begun = True
        zeros = np.zeros_like(h)
        z, reset = self.update_gate(x, zeros, p), self.reset_gate(x, zeros, p)
        return self.blend(z, self.candidate(x, zeros, reset, p), h)


class OddRowWithResetBefore(Kernel):
    def reset_gate(self, x, h, p):
        reset = super().reset_gate(x, h, p)
        if len(reset) > 1 and len(reset) % 2:
            reset[-1] = reset[-2]
        return reset


class BackwardsWithTanhTwice(Kernel):
    def candidate(self, x, h, reset, p):
        new = super().candidate(x, h, reset, p)
        return np.tanh(new) if p.backwards else new


class LastInputDropped(Kernel):
    def pre_activation(self, x, h, p, gate):
        even = x.shape[1] // 2 * 2
        return super().pre_activation(x[:, :even], h, p._replace(w=p.w[:, :, :even]), gate)


class LastStateUnitUnread(Kernel):
    def recurrent(self, h, reset, p):
        read = h.copy()
        read[:, -1] = 0
        return super().recurrent(read, reset, p)


class UnitsBeyondFourThroughFloat16(Kernel):
    def candidate(self, x, h, reset, p):
        new = super().candidate(x, h, reset, p)
        new[:, WIDTH:] = new[:, WIDTH:].astype(np.float16)
        return new


class SmallValuesSkipped(Kernel):
    def product(self, v, matrix):
        return super().product(np.where(np.abs(v) < np.float32(0.125), 0, v), matrix)


class LargeBatchOneState(Kernel):
    def start(self, task, p):
        h = super().start(task, p)
        return np.repeat(h[:1], len(h), axis=0) if len(h) >= 8 else h


class FullLengthsFromZero(Kernel):
    def start(self, task, p):
        h = super().start(task, p)
        return np.zeros_like(h) if (task.lengths == len(task.x)).all() else h


class ClipByLargest(Kernel):
    def clipped(self, v, clip):
        over = (v > clip).any(axis=1, keepdims=True)
        return np.where(over, super().clipped(v, clip), v)


class SingleStepsWithoutReset(Kernel):
    def direction(self, task, p):
        self.single = task.lengths[:, None] == 1
        return super().direction(task, p)

    def reset_gate(self, x, h, p):
        return np.where(self.single, h.dtype.type(1), super().reset_gate(x, h, p))


class StaleY(Kernel):
    def __init__(self):
        self.kept = {}

    def direction(self, task, p):
        y, last = super().direction(task, p)
        buffer = self.kept.setdefault((p.number, *y.shape), np.zeros_like(y))
        written = np.arange(len(y))[:, None] < task.lengths
        buffer[written] = y[written]
        return buffer.copy(), last


class CarriedState(Kernel):
    def __init__(self):
        self.kept = {}
        self.key = ()

    def start(self, task, p):
        h = super().start(task, p)
        self.key = (p.number, *h.shape)
        return self.kept.get(self.key, h).astype(h.dtype)

    def last(self, task, y, h):
        self.kept[self.key] = h
        return super().last(task, y, h)


class CachedWeights(Kernel):
    def __init__(self):
        self.packed = {}

    def unpack(self, question):
        task = super().unpack(question)
        mine = [p.r for p in task.directions]
        packed = self.packed.setdefault((len(mine), *mine[0].shape), mine)
        both = zip(task.directions, packed, strict=True)
        return task._replace(directions=[p._replace(r=r.astype(p.r.dtype)) for p, r in both])


class BackwardGatesExchanged(Kernel):
    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p, (R, Z, H)[gate] if p.backwards else gate)


class Tf32Products(Kernel):
    def product(self, v, matrix):
        return super().product(self.cut(v), self.cut(matrix))

    def cut(self, v):
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(v.dtype)


class Int8Recurrence(Kernel):
    def recurrent(self, h, reset, p):
        scale = np.abs(p.r).max() / 127
        return super().recurrent(h, reset, p._replace(r=np.rint(p.r / scale) * scale))


class PadeTanh(Kernel):
    def tanh(self, v):
        v = np.clip(v, -3, 3)
        return v * (27 + v * v) / (27 + 9 * v * v)


class FastExp(Kernel):
    def sigmoid(self, v):
        bits = np.clip(-v, -80, 80).astype(np.float32) * np.float32(12102203) + np.float32(
            1064866805
        )
        return 1 / (1 + bits.astype(np.int32).view(np.float32))


class OverflowingTanh(Kernel):
    def tanh(self, v):
        up, down = np.exp(v), np.exp(-v)
        return (up - down) / (up + down)


class Float16W(Kernel):
    def converted(self, name, array):
        array = super().converted(name, array)
        return array.astype(np.float16).astype(array.dtype) if name == "W" else array
