"""Wrong GRUs by a second person who had seen neither the catalogue nor the other list."""

# ruff: noqa: ARG002, ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import ALPHAS, BACKWARDS, BETAS, Function, H, Kernel, R, Z, kernel
from .wrong import ONNX

KERNELS = {
    "sigmoid-of-keras-three": kernel(sigmoid=lambda k, v: np.clip(v / 6 + v.dtype.type(0.5), 0, 1)),
    "sigmoid-with-exp2": kernel(sigmoid=lambda k, v: 1 / (1 + np.exp2(-v))),
    "blend-with-other-difference": kernel(blend=lambda k, z, new, h: new + z * (new - h)),
    "state-of-twelve-bits": kernel(
        blend=lambda k, z, new, h: np.rint(Kernel.blend(k, z, new, h) * 4096) / 4096
    ),
    "state-saturates": kernel(
        blend=lambda k, z, new, h: np.clip(Kernel.blend(k, z, new, h), -1, 1)
    ),
}
"""Kernels with other methods, each of one expression; those that need more are classes below."""


class TanhPadeUnbounded(Kernel):
    def tanh(self, v):
        squared = v * v
        return v * (27 + squared) / (27 + 9 * squared)


class StateOverwrittenByReset(Kernel):
    def step(self, x, h, p):
        z = self.update_gate(x, h, p)
        reset = self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class AccumulatorsOfUpdateGateKept(Kernel):
    def reset_gate(self, x, h, p):
        v = self.pre_activation(x, h, p, Z) + self.pre_activation(x, h, p, R)
        return self.activated(p.f, v, p)


class ResetOverWholeCandidate(Kernel):
    def candidate(self, x, h, reset, p):
        if not p.reset_after:
            return super().candidate(x, h, reset, p)
        v = self.product(x, p.w[H]) + self.product(h, p.r[H]) + p.wb[H] + p.rb[H]
        return self.activated(p.g, reset * v, p)


class ClipBeforeBias(Kernel):
    def pre_activation(self, x, h, p, gate):
        v = self.product(x, p.w[gate]) + self.product(h, p.r[gate])
        return self.clipped(v, p.clip) + p.wb[gate] + p.rb[gate]

    def candidate(self, x, h, reset, p):
        v = self.product(x, p.w[H]) + self.recurrent(h, reset, p)
        return self.activated(p.g, self.clipped(v, p.clip) + p.wb[H], p)

    def activated(self, function, v, p):
        return super().activated(function, v, p._replace(clip=np.inf))


class SoftsignWithSquareRoot(Kernel):
    def activation(self, name, v, alpha, beta):
        if name == "softsign":
            return v / np.sqrt(1 + v * v)
        return super().activation(name, v, alpha, beta)


class UnitsUpdatedInPlace(Kernel):
    def step(self, x, h, p):
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        given, state = self.product(x, p.w[H]) + p.wb[H], np.array(h)
        for unit in range(state.shape[1]):
            taken = self.recurrent(state, reset, p)[:, unit]
            new = self.activated(p.g, given[:, unit] + taken, p)
            state[:, unit] = self.blend(z[:, unit], new, state[:, unit])
        return state


class ProductsOfTenBits(Kernel):
    def product(self, v, matrix):
        return super().product(self.rounded(v), self.rounded(matrix)).astype(v.dtype)

    def rounded(self, v):
        """To TensorFloat-32: to the 10 bits of a significand that float16 has, in float32's range."""
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
        return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


class GatesInterleaved(Kernel):
    def prepare(self, p):
        return p._replace(w=self.of_units(p.w), r=self.of_units(p.r))

    def of_units(self, matrices):
        """[3, hidden, n], of rows taken for z, r and h of the first unit, then of the second."""
        gates, hidden, n = matrices.shape
        return matrices.reshape(hidden, gates, n).swapaxes(0, 1)


class RecurrentBiasFromInputs(Kernel):
    def biases(self, question, b, shape, dtype):
        wb, _ = super().biases(question, b, shape, dtype)
        return wb, np.array(wb)


class InitialStateNotSorted(Kernel):
    def direction(self, task, p):
        order = np.argsort(-task.lengths, kind="stable")
        packed = task._replace(x=task.x[:, order], lengths=task.lengths[order])
        y, last = super().direction(packed, p)
        back = np.argsort(order)
        return y[:, back], last[back]


class ParametersTakenByEveryFunction(Kernel):
    def functions(self, question):
        if question.operator != ONNX:
            return super().functions(question)
        a = question.attributes
        names, both = a["activations"], BACKWARDS[a["direction"]]
        names = names * 2 if len(names) < 2 * len(both) else names
        alphas = a.get("activation_alpha") or ()
        betas = a.get("activation_beta") or ()
        taken = [
            Function(
                name.lower(),
                alphas[i] if i < len(alphas) else ALPHAS.get(name, 0.0),
                betas[i] if i < len(betas) else BETAS.get(name, 0.0),
            )
            for i, name in enumerate(names)
        ]
        return list(zip(taken[::2], taken[1::2], strict=True))


class TanhCandidateResetWithoutBias(Kernel):
    def candidate(self, x, h, reset, p):
        return super().candidate(x, h, reset, p._replace(g=Function("tanh")))

    def reset_gate(self, x, h, p):
        v = self.product(x, p.w[R]) + self.product(h, p.r[R])
        return self.activated(p.f, v, p)


class RecurrentOrderBiasOutsideReset(Kernel):
    def prepare(self, p):
        return p._replace(r=p.r[[R, Z, H]])

    def recurrent(self, h, reset, p):
        if p.reset_after:
            return reset * self.product(h, p.r[H]) + p.rb[H]
        return super().recurrent(h, reset, p)


class HalfTanhBackwardsFromZero(Kernel):
    def tanh(self, v):
        return 2 * self.sigmoid(v) - 1

    def start(self, task, p):
        h = super().start(task, p)
        return np.zeros_like(h) if p.backwards else h


class ResetTwiceLastFromY(Kernel):
    def recurrent(self, h, reset, p):
        if p.reset_after:
            return super().recurrent(h, reset, p)
        return reset * self.product(reset * h, p.r[H]) + p.rb[H]

    def last(self, task, y, h):
        return y[-1]


class BytesResetWithoutState(Kernel):
    def prepare(self, p):
        return p._replace(w=self.of_bytes(p.w), r=self.of_bytes(p.r))

    def of_bytes(self, matrices):
        """Round weights to multiples of 1/127 of the largest."""
        scale = np.abs(matrices).max() / 127
        return np.asarray(np.rint(matrices / scale) * scale) if scale else matrices

    def reset_gate(self, x, h, p):
        return super().reset_gate(x, np.zeros_like(h), p)


class UpdateBiasNegatedReluCapped(Kernel):
    def biases(self, question, b, shape, dtype):
        wb, rb = super().biases(question, b, shape, dtype)
        wb[:, Z] *= -1
        return wb, rb

    def relu(self, v):
        return np.clip(v, 0, 1)


class GatesWithoutRecurrentBiasBlendSwappedBackwardsOrder(Kernel):
    def pre_activation(self, x, h, p, gate):
        return self.product(x, p.w[gate]) + self.product(h, p.r[gate]) + p.wb[gate]

    def blend(self, z, new, h):
        return (1 - z) * h + z * new

    def direction(self, task, p):
        y, last = super().direction(task, p)
        if p.backwards:
            for row, length in enumerate(task.lengths):
                y[:length, row] = y[:length, row][::-1].copy()
        return y, last


class LastUnitsWithoutReset(Kernel):
    def reset_gate(self, x, h, p):
        reset = super().reset_gate(x, h, p)
        reset[:, reset.shape[1] // 4 * 4 :] = 1
        return reset


class UpdateGateOfRowBefore(Kernel):
    def update_gate(self, x, h, p):
        z = super().update_gate(x, h, p)
        z[1::2] = z[: len(z) // 2 * 2 : 2]
        return z


class FirstStepWithoutState(Kernel):
    now = 0

    def times(self, step, lengths, p):
        self.now = step
        return super().times(step, lengths, p)

    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h if self.now else np.zeros_like(h), p, gate)

    def recurrent(self, h, reset, p):
        return super().recurrent(h if self.now else np.zeros_like(h), reset, p)


class SecondDirectionWithFirstRecurrence(Kernel):
    def unpack(self, question):
        task = super().unpack(question)
        first = task.directions[0]
        return task._replace(directions=[p._replace(r=first.r) for p in task.directions])


class LastTileSkipped(Kernel):
    def product(self, v, matrix):
        size = v.shape[1]
        whole = size // 16 * 16 if size > 16 else size
        return super().product(v[:, :whole], matrix[:, :whole])


class BiasOfQuestionBefore(Kernel):
    def __init__(self):
        self.filled = None

    def biases(self, question, b, shape, dtype):
        if b is None and self.filled is not None and self.filled[0].shape == shape:
            wb, rb = self.filled
            return wb.astype(dtype), rb.astype(dtype)
        self.filled = super().biases(question, b, shape, dtype)
        return self.filled
