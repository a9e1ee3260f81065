"""Mistakes of the catalogue in what a step computes: reset gate, update gate, clip, activations."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import ALPHAS, Array, Direction, Function, Kernel
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru

DEFAULT_ALPHAS = {name.lower(): alpha for name, alpha in ALPHAS.items()}
DEFAULT_ALPHAS |= {"affine": 1.0, "scaledtanh": 1.0}
"""By the name that a Function has; the two that ONNX has no defaults for are as in ONNX Runtime."""


class ResetAlwaysBefore(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(h, reset, p._replace(reset_after=False))


class UpdateFlipped(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray(z * new + (1 - z) * h)


class ClippedAfterwards(Kernel):
    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return self.clipped(super().activated(function, v, p._replace(clip=np.inf)), p.clip)


class ClippedState(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        return self.clipped(super().step(x, h, p._replace(clip=np.inf)), p.clip)


class SigmoidAndTanhAlways(Kernel):
    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        return [(Function("sigmoid"), Function("tanh")) for _ in super().functions(question)]


class OneFunctionForAll(Kernel):
    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        return [(f, f) for f, _ in super().functions(question)]


class SoftplusAsRelu(Kernel):
    def softplus(self, v: Array) -> Array:
        return self.relu(v)


class AlphaByPosition(Kernel):
    """activation_alpha[n] is taken for activations[n], whether that takes one or not."""

    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        alphas = question.attributes.get("activation_alpha") or ()
        every = [one for pair in super().functions(question) for one in pair]
        found = []
        for place, one in enumerate(every):
            default = DEFAULT_ALPHAS.get(one.name)
            if default is not None:
                one = one._replace(alpha=alphas[place] if place < len(alphas) else default)
            found.append(one)
        return list(zip(found[::2], found[1::2], strict=True))


def _one(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str = "") -> WrongGru:
    return WrongGru(name, operator, (mistake,), "single", place, kernel)


STEPS = (
    _one("reset-always-before", ONNX, ResetAlwaysBefore,
         "linear_before_reset is not looked at: the reset gate always multiplies the state before the product",
         "only with linear_before_reset"),
    _one("update-flipped", ONNX, UpdateFlipped,
         "the blend is z new + (1 - z) h: the update gate's two weights are exchanged"),
    _one("clipped-afterwards", CELL, ClippedAfterwards,
         "clip bounds what the activations give instead of what they take"),
    _one("clipped-state", SEQUENCE, ClippedState,
         "clip bounds the new state instead of the pre-activations"),
    _one("sigmoid-and-tanh-always", CELL, SigmoidAndTanhAlways,
         "activations are not looked at: it is always sigmoid and tanh"),
    _one("one-function-for-all", SEQUENCE, OneFunctionForAll,
         "the candidate uses the activation of the gates"),
    _one("softplus-as-relu", ONNX, SoftplusAsRelu,
         "Softplus is computed as max(0, v)"),
    _one("alpha-by-position", ONNX, AlphaByPosition,
         "activation_alpha is indexed by the place of the activation, not by the place among those that take one"),
)  # fmt: skip
"""The right numbers in a wrong formula."""
