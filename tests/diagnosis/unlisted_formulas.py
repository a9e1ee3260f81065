"""One mistake each in what a step computes of its pre-activations, gates and states."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel import Array, Direction, Kernel, R, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class Exp2InSigmoid(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray(1 / (1 + np.exp2(-v)))


class LeCunTanh(Kernel):
    def tanh(self, v: Array) -> Array:
        return np.asarray(np.float32(1.7159) * np.tanh(v * np.float32(2 / 3)))


class TanhFromSigmoid(Kernel):
    def tanh(self, v: Array) -> Array:
        return 2 * self.sigmoid(v) - 1


class LinearSigmoid(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray(np.clip(np.float32(0.25) * v + np.float32(0.5), 0, 1))


class SigmoidCappedAtThree(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return super().sigmoid(np.clip(v, -3, 3))


class SigmoidCutToZeroAndOne(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.where(v < -2, 0, np.where(v > 2, 1, super().sigmoid(v)))


class LeakingRelu(Kernel):
    def relu(self, v: Array) -> Array:
        return np.where(v > 0, v, np.float32(0.01) * v)


class Relu6(Kernel):
    def relu(self, v: Array) -> Array:
        return np.clip(v, 0, 6)


class SoftsignOfSquare(Kernel):
    def activation(self, name: str, v: Array, alpha: float, beta: float) -> Array:
        return v / (1 + v * v) if name == "softsign" else super().activation(name, v, alpha, beta)


class ShiftedThreshold(Kernel):
    def activation(self, name: str, v: Array, alpha: float, beta: float) -> Array:
        if name == "thresholdedrelu":
            return np.maximum(v - np.float32(alpha), 0)
        return super().activation(name, v, alpha, beta)


class SoftplusOfHalf(Kernel):
    def softplus(self, v: Array) -> Array:
        return super().softplus(v) - np.float32(np.log(2))


class EluWithoutBrackets(Kernel):
    def elu(self, v: Array, alpha: Any) -> Array:
        return np.where(v >= 0, v, alpha * np.exp(np.minimum(v, 0)) - 1)


class ForgetBias(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        v = super().pre_activation(x, h, p, gate)
        return v + 1 if gate == Z else v


class KeepFactor(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return super().pre_activation(x, np.float32(0.9) * h, p, gate)


class ScaledScores(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return np.asarray(super().recurrent(h, reset, p) / np.sqrt(h.dtype.type(h.shape[1])))


class NegatedReset(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return self.activated(p.f, -self.pre_activation(x, h, p, R), p)


class SquaredReset(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(reset * h, reset, p)


class ResetOnInput(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        if not p.reset_after:
            return super().candidate(x, h, reset, p)
        sums = self.product(x, p.w[2]) + self.product(h, p.r[2]) + p.rb[2]
        return self.activated(p.g, reset * sums + p.wb[2], p)


class BlendSign(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray(new + z * (h + new))


class OldStateWhole(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return (1 - z) * new + h


class ResetOldStateBlended(Kernel):
    """r * h is written over h, to save a buffer, and the blend then reads it."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        new = self.candidate(x, h, reset, p)
        return self.blend(z, new, h if p.reset_after else reset * h)


class ClipFromBelowAlone(Kernel):
    def clipped(self, v: Array, clip: float) -> Array:
        return np.asarray(np.maximum(v, -v.dtype.type(clip)))


class ClipAsWidth(Kernel):
    def clipped(self, v: Array, clip: float) -> Array:
        return super().clipped(v, clip / 2)


class ClipAsInteger(Kernel):
    def clipped(self, v: Array, clip: float) -> Array:
        whole = int(clip) if np.isfinite(clip) else 0
        return super().clipped(v, whole) if whole else v


class BlendTwice(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return super().blend(z, super().blend(z, new, h), h)


def _one(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str = "") -> WrongGru:
    return WrongGru(name, operator, (mistake,), "single", place, kernel)


FORMULAS = (
    _one("exp2-in-sigmoid", SEQUENCE, Exp2InSigmoid,
         "sigmoid is 1/(1 + 2^-v): exp2 is called without multiplying by log2(e)"),
    _one("lecun-tanh", SEQUENCE, LeCunTanh,
         "tanh is LeCun's scaled one, 1.7159 tanh(2v/3)"),
    _one("tanh-from-sigmoid", CELL, TanhFromSigmoid,
         "tanh is 2 sigmoid(v) - 1 instead of 2 sigmoid(2v) - 1, so it is tanh(v/2)"),
    _one("linear-sigmoid", ONNX, LinearSigmoid,
         "sigmoid is its tangent at 0, v/4 + 1/2, held to [0, 1]"),
    _one("sigmoid-capped-at-three", ONNX, SigmoidCappedAtThree,
         "the argument of sigmoid is held to [-3, 3], so the gates never go below 0.047 or above 0.953"),
    _one("sigmoid-cut-beyond-two", SEQUENCE, SigmoidCutToZeroAndOne,
         "sigmoid is taken as exactly 0 below -2 and exactly 1 above 2"),
    _one("leaking-relu", CELL, LeakingRelu,
         "relu lets 0.01 v through where v is negative"),
    _one("relu-six", SEQUENCE, Relu6,
         "relu is capped at 6"),
    _one("softsign-of-square", ONNX, SoftsignOfSquare,
         "Softsign divides by 1 + v² instead of 1 + |v|"),
    _one("shifted-threshold", ONNX, ShiftedThreshold,
         "ThresholdedRelu gives v - alpha above the threshold instead of v"),
    _one("softplus-through-zero", ONNX, SoftplusOfHalf,
         "Softplus has log 2 taken off, so that it is 0 at 0"),
    _one("elu-without-brackets", ONNX, EluWithoutBrackets,
         "Elu is alpha e^v - 1 for negative v instead of alpha (e^v - 1)"),
    _one("forget-bias", CELL, ForgetBias,
         "1 is added to the pre-activation of the update gate, as an LSTM's forget bias"),
    _one("keep-factor", SEQUENCE, KeepFactor,
         "the state is multiplied by 0.9, training's dropout factor, in the products of both gates"),
    _one("scaled-scores", ONNX, ScaledScores,
         "the candidate's recurrent term is divided by the square root of hidden_size"),
    _one("negated-reset", SEQUENCE, NegatedReset,
         "the reset gate is f of the negated pre-activation"),
    _one("squared-reset", ONNX, SquaredReset,
         "the reset gate is applied to the state twice, before the product and once more"),
    _one("reset-on-input", SEQUENCE, ResetOnInput,
         "with linear_before_reset the reset gate also multiplies the input's product of the candidate"),
    _one("blend-sign", ONNX, BlendSign,
         "the blend is new + z (h + new) instead of new + z (h - new)"),
    _one("old-state-whole", SEQUENCE, OldStateWhole,
         "the old state is added whole in the blend, not multiplied by z"),
    _one("reset-state-blended", ONNX, ResetOldStateBlended,
         "r * h is written over the state's buffer, so the blend takes z r h instead of z h",
         "only without linear_before_reset"),
    _one("clip-from-below", CELL, ClipFromBelowAlone,
         "clip bounds pre-activations from below only, large positive ones pass"),
    _one("clip-as-width", SEQUENCE, ClipAsWidth,
         "clip is taken as the width of the interval: pre-activations are held to ±clip/2"),
    _one("clip-as-integer", SEQUENCE, ClipAsInteger,
         "clip is stored as an integer and 0 means none, so that a clip of 0.5 is off"),
    _one("blend-twice", SEQUENCE, BlendTwice,
         "the blend is done twice, so that the candidate has the weight (1 - z)² and the old state the rest"),
)  # fmt: skip
"""A mistake in a formula, a constant or a bound."""
