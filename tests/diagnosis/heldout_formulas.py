"""One mistake in the mathematics of a step, or too little precision in it."""

from __future__ import annotations

import numpy as np

from .kernel import Array, Direction, Function, H, Kernel, R, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class SigmoidOfKeras3(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.clip(v / 6 + v.dtype.type(0.5), 0, 1)


class TanhPadeUnbounded(Kernel):
    def tanh(self, v: Array) -> Array:
        squared = v * v
        return np.asarray(v * (27 + squared) / (27 + 9 * squared))


class SigmoidWithExp2(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray(1 / (1 + np.exp2(-v)))


class StateOverwrittenByReset(Kernel):
    """h *= r, before the product; the blend then reads the same buffer."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z = self.update_gate(x, h, p)
        reset = self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class AccumulatorsOfUpdateGateKept(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        v = self.pre_activation(x, h, p, Z) + self.pre_activation(x, h, p, R)
        return self.activated(p.f, v, p)


class ResetOverWholeCandidate(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        if not p.reset_after:
            return super().candidate(x, h, reset, p)
        v = self.product(x, p.w[H]) + self.product(h, p.r[H]) + p.wb[H] + p.rb[H]
        return self.activated(p.g, reset * v, p)


class BlendWithOtherDifference(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray(new + z * (new - h))


class ClipBeforeBias(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        v = self.product(x, p.w[gate]) + self.product(h, p.r[gate])
        return np.asarray(self.clipped(v, p.clip) + p.wb[gate] + p.rb[gate])

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        v = self.product(x, p.w[H]) + self.recurrent(h, reset, p)
        return self.activated(p.g, self.clipped(v, p.clip) + p.wb[H], p)

    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return super().activated(function, v, p._replace(clip=np.inf))


class SoftsignWithSquareRoot(Kernel):
    def activation(self, name: str, v: Array, alpha: float, beta: float) -> Array:
        if name == "softsign":
            return np.asarray(v / np.sqrt(1 + v * v))
        return super().activation(name, v, alpha, beta)


class UnitsUpdatedInPlace(Kernel):
    """One buffer for the old state and the new: each unit's candidate reads what earlier units have written."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        given, state = self.product(x, p.w[H]) + p.wb[H], np.array(h)
        for unit in range(state.shape[1]):
            taken = self.recurrent(state, reset, p)[:, unit]
            new = self.activated(p.g, given[:, unit] + taken, p)
            state[:, unit] = self.blend(z[:, unit], new, state[:, unit])
        return state


class ProductsOfTenBits(Kernel):
    def product(self, v: Array, matrix: Array) -> Array:
        return super().product(self.rounded(v), self.rounded(matrix)).astype(v.dtype)

    def rounded(self, v: Array) -> Array:
        """To TensorFloat-32: to the 10 bits of a significand that float16 has, in float32's range."""
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
        return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


class StateOfTwelveBits(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray(np.rint(super().blend(z, new, h) * 4096) / 4096)


FORMULAS = (
    WrongGru(
        "sigmoid-of-keras-3",
        CELL,
        ("The sigmoid is a hard sigmoid, v / 6 + 1/2 between 0 and 1.",),
        "single",
        "",
        SigmoidOfKeras3,
    ),
    WrongGru(
        "tanh-pade-unbounded",
        SEQUENCE,
        ("tanh is v (27 + v²) / (27 + 9 v²).",),
        "single",
        "",
        TanhPadeUnbounded,
    ),
    WrongGru(
        "sigmoid-with-exp2",
        ONNX,
        ("The sigmoid takes 2 to the power of -v, where e belongs.",),
        "single",
        "",
        SigmoidWithExp2,
    ),
    WrongGru(
        "state-overwritten-by-reset",
        CELL,
        (
            "With linear_before_reset false, the blend keeps z times r times the state, not z times the state.",
        ),
        "single",
        "",
        StateOverwrittenByReset,
    ),
    WrongGru(
        "accumulators-of-update-gate-kept",
        SEQUENCE,
        ("The sum under r begins with the sum under z, products and biases.",),
        "single",
        "",
        AccumulatorsOfUpdateGateKept,
    ),
    WrongGru(
        "reset-over-whole-candidate",
        ONNX,
        (
            "With linear_before_reset 1, r multiplies the whole sum of the candidate, the input's part too.",
        ),
        "single",
        "",
        ResetOverWholeCandidate,
    ),
    WrongGru(
        "blend-with-other-difference",
        CELL,
        ("The blend is n + z (n - h), where n + z (h - n) belongs.",),
        "single",
        "",
        BlendWithOtherDifference,
    ),
    WrongGru(
        "clip-before-bias",
        CELL,
        ("The clip bounds the sum before the biases are added, and nothing bounds it after.",),
        "single",
        "",
        ClipBeforeBias,
    ),
    WrongGru(
        "softsign-with-square-root",
        ONNX,
        ("Softsign is v / sqrt(1 + v²).",),
        "single",
        "",
        SoftsignWithSquareRoot,
    ),
    WrongGru(
        "units-updated-in-place",
        SEQUENCE,
        ("The candidate of a unit reads the new states of the units before it.",),
        "single",
        "",
        UnitsUpdatedInPlace,
    ),
    WrongGru(
        "products-of-ten-bits",
        ONNX,
        ("The operands of every product are rounded to TensorFloat-32.",),
        "numerical",
        "",
        ProductsOfTenBits,
    ),
    WrongGru(
        "state-of-twelve-bits",
        SEQUENCE,
        ("After every step, the state is rounded to multiples of 1/4096.",),
        "numerical",
        "",
        StateOfTwelveBits,
    ),
)
