"""Two and three mistakes of the catalogue at once, most of them from different subjects."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, Function, Kernel, Task
from .listed_steps import DEFAULT_ALPHAS, ResetAlwaysBefore, UpdateFlipped
from .listed_weights import (
    RecurrenceTransposed,
    RecurrentBiasOutside,
    ResetGateFirst,
    SharedWeights,
)
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class ResetFirstAndUpdateFlipped(ResetGateFirst, UpdateFlipped):
    pass


class TransposedAndBiasOutside(RecurrenceTransposed, RecurrentBiasOutside):
    pass


class FromZero(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        return np.zeros_like(super().start(task, p))


class FunctionsExchangedFromZero(FromZero):
    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        return [(g, f) for f, g in super().functions(question)]


class ForwardUnclipped(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        plain = [p._replace(backwards=False, clip=np.inf) for p in task.directions]
        return task._replace(directions=plain)


class BiasTwiceAndSoftsign(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return np.asarray(super().pre_activation(x, h, p, gate) + p.wb[gate])

    def tanh(self, v: Array) -> Array:
        return np.asarray(v / (1 + np.abs(v)))


class ResetFlipped(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.asarray(1 - super().reset_gate(x, h, p))


class WholeRowsAndResetFlipped(ResetFlipped):
    def lengths(self, question: Question, time: int, batch: int) -> Array:
        return np.full_like(super().lengths(question, time, batch), time)


class OutputReshapedWithoutInputBias(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        wb = p.wb if not p.reset_after else 0 * p.wb
        return super().candidate(x, h, reset, p._replace(wb=wb))

    def pack(self, question: Question, y: Array, last: Array) -> dict[str, Array]:
        """Y is computed as [batch, time, direction, hidden], and only named otherwise."""
        outputs = super().pack(question, y, last)
        memory = np.ascontiguousarray(y.transpose(2, 0, 1, 3))
        return outputs | {"Y": memory.reshape(outputs["Y"].shape)}


class RecurrenceInOtherOrderWithoutLastUnit(Kernel):
    """R is read as r, h, z, and its last column is never reached."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[self.other(p) for p in task.directions])

    def other(self, p: Direction) -> Direction:
        r = p.r[[2, 0, 1]].copy()
        r[:, :, -1] = 0
        return p._replace(r=r)


class DefaultAlphasAndLastExchanged(Kernel):
    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        pairs = super().functions(question)
        return [(self.default(f), self.default(g)) for f, g in pairs]

    def default(self, given: Function) -> Function:
        return given._replace(alpha=DEFAULT_ALPHAS.get(given.name, 0.0))

    def pack(self, question: Question, y: Array, last: Array) -> dict[str, Array]:
        return super().pack(question, y, last[::-1])


class GatesClippedAndResetOtherwise(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        other = p._replace(clip=np.inf, reset_after=not p.reset_after)
        return super().candidate(x, h, reset, other)


class OneStepLongWithoutReset(Kernel):
    def lengths(self, question: Question, time: int, batch: int) -> Array:
        return np.asarray(np.minimum(super().lengths(question, time, batch) + 1, time))

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.ones_like(super().reset_gate(x, h, p))


class HardSigmoidAndSharedWeights(SharedWeights):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray(np.clip(v / 6 + np.float32(0.5), 0, 1))


class ThreeOfStartCandidateSoftsign(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        h = super().start(task, p)
        return np.zeros_like(h) if p.backwards else h

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(h, reset, p._replace(r=p.r.swapaxes(1, 2)))

    def activation(self, name: str, v: Array, alpha: float, beta: float) -> Array:
        other = "tanh" if name == "softsign" else name
        return super().activation(other, v, alpha, beta)


class ThreeOfBiasClipDirections(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        rb = 0 * p.rb if p.reset_after else p.rb
        return super().recurrent(h, reset, p._replace(rb=rb))

    def clipped(self, v: Array, clip: float) -> Array:
        return np.asarray(np.minimum(v, v.dtype.type(clip)))

    def pack(self, question: Question, y: Array, last: Array) -> dict[str, Array]:
        return super().pack(question, y[:, ::-1], last)


class ThreeOfInputRecurrenceReset(ResetFlipped):
    """W is read as h, r, z; R of both gates is transposed."""

    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[p._replace(w=p.w[::-1]) for p in task.directions])

    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return super().pre_activation(x, h, p._replace(r=p.r.swapaxes(1, 2)), gate)


class ThreeOfResetLengthsRelu(ResetAlwaysBefore):
    def lengths(self, question: Question, time: int, batch: int) -> Array:
        lengths = super().lengths(question, time, batch)
        return np.full_like(lengths, lengths.max())

    def relu(self, v: Array) -> Array:
        return v


def _these(name: str, operator: str, kernel: type[Kernel], *mistakes: str) -> WrongGru:
    return WrongGru(name, operator, mistakes, "several", "", kernel)


LISTED_SEVERAL = (
    _these("reset-first-and-update-flipped", SEQUENCE, ResetFirstAndUpdateFlipped,
           "W, R and B are read with the gates in the order r, z, h",
           "the blend is z new + (1 - z) h: the update gate's two weights are exchanged"),
    _these("transposed-and-bias-outside", ONNX, TransposedAndBiasOutside,
           "the state is multiplied by R instead of R^T",
           "with linear_before_reset the candidate's recurrent bias is added after the multiplication by the reset gate"),
    _these("functions-exchanged-from-zero", CELL, FunctionsExchangedFromZero,
           "the two activations are exchanged",
           "the initial state is ignored, the state is taken as zeros"),
    _these("forward-unclipped", SEQUENCE, ForwardUnclipped,
           "the backward pass is computed forwards",
           "clip is not looked at"),
    _these("bias-twice-and-softsign", CELL, BiasTwiceAndSoftsign,
           "gates z and r add their bias twice",
           "tanh is computed as v/(1 + |v|)"),
    _these("whole-rows-and-reset-flipped", ONNX, WholeRowsAndResetFlipped,
           "sequence_lens is not looked at: every row is as long as the time axis",
           "1 - r is used for the reset gate"),
    _these("output-reshaped-without-input-bias", SEQUENCE, OutputReshapedWithoutInputBias,
           "Y is written as [batch, time, direction] and handed out as [batch, direction, time] without being transposed",
           "with linear_before_reset the candidate's input bias Wbh is left out"),
    _these("recurrence-in-other-order-without-last-unit", CELL, RecurrenceInOtherOrderWithoutLastUnit,
           "R alone is read with the gates in the order r, h, z",
           "all products with R stop one unit short: the last unit of the state is not read"),
    _these("default-alphas-and-last-exchanged", ONNX, DefaultAlphasAndLastExchanged,
           "activation_alpha is not looked at, the defaults are used",
           "the two directions are exchanged in Y_h"),
    _these("gates-clipped-and-reset-otherwise", CELL, GatesClippedAndResetOtherwise,
           "the candidate's pre-activation is not clipped",
           "linear_before_reset is taken the other way round"),
    _these("one-step-long-without-reset", SEQUENCE, OneStepLongWithoutReset,
           "every row that is shorter than the time axis is computed one step too far",
           "the reset gate is not used, as if it were 1"),
    _these("hard-sigmoid-and-shared-weights", ONNX, HardSigmoidAndSharedWeights,
           "sigmoid is v/6 + 1/2 held to [0, 1]",
           "the backward pass uses the forward pass's W, R and B"),
    _these("three-of-start-candidate-softsign", ONNX, ThreeOfStartCandidateSoftsign,
           "the backward pass starts from zeros instead of its initial state",
           "the candidate's R is used without being transposed",
           "Softsign is computed as tanh"),
    _these("three-of-bias-clip-directions", SEQUENCE, ThreeOfBiasClipDirections,
           "with linear_before_reset the candidate's recurrent bias Rbh is left out",
           "clip bounds pre-activations from above only",
           "the two directions are exchanged in Y"),
    _these("three-of-input-recurrence-reset", CELL, ThreeOfInputRecurrenceReset,
           "W alone is read with the gates in the order h, r, z",
           "R of the gates z and r is used without being transposed",
           "1 - r is used for the reset gate"),
    _these("three-of-reset-lengths-relu", SEQUENCE, ThreeOfResetLengthsRelu,
           "linear_before_reset is not looked at: the reset gate always multiplies the state before the product",
           "all rows are as long as the longest one",
           "relu gives v itself, negative values too"),
)  # fmt: skip
"""Mistakes that show in the same cases, or in different ones."""
