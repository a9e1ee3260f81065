"""Wrong GRUs whose mistakes are in the catalogue, alone, together, or in some place."""

# ruff: noqa: ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import ALPHAS, Function, H, Kernel, R, Z, kernel

KERNELS = {
    "recurrence-candidate-first": kernel(prepare=lambda k, p: p._replace(r=p.r[::-1])),
    "clipped-state": kernel(
        step=lambda k, x, h, p: k.clipped(Kernel.step(k, x, h, p._replace(clip=np.inf)), p.clip)
    ),
    "one-function-for-all": kernel(
        functions=lambda k, question: [(f, f) for f, _ in Kernel.functions(k, question)]
    ),
    "softplus-as-relu": kernel(softplus=lambda k, v: k.relu(v)),
    "one-step-short": kernel(
        lengths=lambda k, question, time, batch: Kernel.lengths(k, question, time, batch) - 1
    ),
    "last-of-time-axis": kernel(last=lambda k, task, y, h: y[-1]),
    "first-states-exchanged": kernel(
        start=lambda k, task, p: np.array(task.h0[len(task.h0) - 1 - p.number])
    ),
    "forward-unclipped": kernel(prepare=lambda k, p: p._replace(backwards=False, clip=np.inf)),
}
"""Kernels with other methods, each of one expression; those that need more are classes below."""


class ResetGateFirst(Kernel):
    def prepare(self, p):
        order = [R, Z, H]
        return p._replace(w=p.w[order], r=p.r[order], wb=p.wb[order], rb=p.rb[order])


class RecurrentBiasOutside(Kernel):
    def recurrent(self, h, reset, p):
        if p.reset_after:
            return reset * self.product(h, p.r[H]) + p.rb[H]
        return super().recurrent(h, reset, p)


class RecurrenceTransposed(Kernel):
    def prepare(self, p):
        return p._replace(r=p.r.swapaxes(1, 2))


class InterleavedBiases(Kernel):
    def prepare(self, p):
        b = np.concatenate([p.wb, p.rb])
        return p._replace(wb=b[0::2], rb=b[1::2])


class UpdateWithoutBias(Kernel):
    def update_gate(self, x, h, p):
        return super().update_gate(x, h, p._replace(wb=0 * p.wb, rb=0 * p.rb))


class SharedWeights(Kernel):
    def unpack(self, question):
        task = super().unpack(question)
        first = task.directions[0]
        directions = [
            p._replace(w=first.w, r=first.r, wb=first.wb, rb=first.rb) for p in task.directions
        ]
        return task._replace(directions=directions)


class LastInputLeftOut(Kernel):
    def direction(self, task, p):
        return super().direction(task._replace(x=task.x[:, :, :-1]), p._replace(w=p.w[:, :, :-1]))


DEFAULT_ALPHAS = {name.lower(): alpha for name, alpha in ALPHAS.items()}

DEFAULT_ALPHAS |= {"affine": 1.0, "scaledtanh": 1.0}
"""By the name that a Function has; the two that ONNX has no defaults for are as in ONNX Runtime."""


class ResetAlwaysBefore(Kernel):
    def recurrent(self, h, reset, p):
        return super().recurrent(h, reset, p._replace(reset_after=False))


class UpdateFlipped(Kernel):
    def blend(self, z, new, h):
        return z * new + (1 - z) * h


class ClippedAfterwards(Kernel):
    def activated(self, function, v, p):
        return self.clipped(super().activated(function, v, p._replace(clip=np.inf)), p.clip)


class SigmoidAndTanhAlways(Kernel):
    def functions(self, question):
        return [(Function("sigmoid"), Function("tanh")) for _ in super().functions(question)]


class AlphaByPosition(Kernel):
    def functions(self, question):
        alphas = question.attributes.get("activation_alpha") or ()
        every = [one for pair in super().functions(question) for one in pair]
        found = []
        for place, one in enumerate(every):
            default = DEFAULT_ALPHAS.get(one.name)
            if default is not None:
                one = one._replace(alpha=alphas[place] if place < len(alphas) else default)
            found.append(one)
        return list(zip(found[::2], found[1::2], strict=True))


class BackwardsFromPadding(Kernel):
    def direction(self, task, p):
        if not p.backwards:
            return super().direction(task, p)
        y, last = super().direction(task._replace(x=task.x[::-1]), p._replace(backwards=False))
        return y[::-1], last


class BackwardsLeftReversed(Kernel):
    def direction(self, task, p):
        y, last = super().direction(task, p)
        if p.backwards:
            for row, length in enumerate(task.lengths):
                y[:length, row] = y[:length, row][::-1].copy()
        return y, last


class InputReshaped(Kernel):
    def unpack(self, question):
        task = super().unpack(question)
        memory = np.ascontiguousarray(task.x.swapaxes(0, 1))
        return task._replace(x=memory.reshape(task.x.shape))


class ResetFirstAndUpdateFlipped(ResetGateFirst, UpdateFlipped):
    pass


class TransposedAndBiasOutside(RecurrenceTransposed, RecurrentBiasOutside):
    pass


class _FromZero(Kernel):
    def start(self, task, p):
        return np.zeros_like(super().start(task, p))


class FunctionsExchangedFromZero(_FromZero):
    def functions(self, question):
        return [(g, f) for f, g in super().functions(question)]


class BiasTwiceAndSoftsign(Kernel):
    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p, gate) + p.wb[gate]

    def tanh(self, v):
        return v / (1 + np.abs(v))


class _ResetFlipped(Kernel):
    def reset_gate(self, x, h, p):
        return 1 - super().reset_gate(x, h, p)


class WholeRowsAndResetFlipped(_ResetFlipped):
    def lengths(self, question, time, batch):
        return np.full_like(super().lengths(question, time, batch), time)


class OutputReshapedWithoutInputBias(Kernel):
    def candidate(self, x, h, reset, p):
        wb = p.wb if not p.reset_after else 0 * p.wb
        return super().candidate(x, h, reset, p._replace(wb=wb))

    def pack(self, question, y, last):
        """Y is computed as [batch, time, direction, hidden], and only named otherwise."""
        outputs = super().pack(question, y, last)
        memory = np.ascontiguousarray(y.transpose(2, 0, 1, 3))
        return outputs | {"Y": memory.reshape(outputs["Y"].shape)}


class RecurrenceInOtherOrderWithoutLastUnit(Kernel):
    def prepare(self, p):
        r = p.r[[2, 0, 1]].copy()
        r[:, :, -1] = 0
        return p._replace(r=r)


class DefaultAlphasAndLastExchanged(Kernel):
    def functions(self, question):
        pairs = super().functions(question)
        return [(self.default(f), self.default(g)) for f, g in pairs]

    def default(self, given):
        return given._replace(alpha=DEFAULT_ALPHAS.get(given.name, 0.0))

    def pack(self, question, y, last):
        return super().pack(question, y, last[::-1])


class GatesClippedAndResetOtherwise(Kernel):
    def candidate(self, x, h, reset, p):
        other = p._replace(clip=np.inf, reset_after=not p.reset_after)
        return super().candidate(x, h, reset, other)


class OneStepLongWithoutReset(Kernel):
    def lengths(self, question, time, batch):
        return np.minimum(super().lengths(question, time, batch) + 1, time)

    def reset_gate(self, x, h, p):
        return np.ones_like(super().reset_gate(x, h, p))


class HardSigmoidAndSharedWeights(SharedWeights):
    def sigmoid(self, v):
        return np.clip(v / 6 + np.float32(0.5), 0, 1)


class ThreeOfStartCandidateSoftsign(Kernel):
    def start(self, task, p):
        h = super().start(task, p)
        return np.zeros_like(h) if p.backwards else h

    def recurrent(self, h, reset, p):
        return super().recurrent(h, reset, p._replace(r=p.r.swapaxes(1, 2)))

    def activation(self, name, v, alpha, beta):
        other = "tanh" if name == "softsign" else name
        return super().activation(other, v, alpha, beta)


class ThreeOfBiasClipDirections(Kernel):
    def recurrent(self, h, reset, p):
        rb = 0 * p.rb if p.reset_after else p.rb
        return super().recurrent(h, reset, p._replace(rb=rb))

    def clipped(self, v, clip):
        return np.minimum(v, v.dtype.type(clip))

    def pack(self, question, y, last):
        return super().pack(question, y[:, ::-1], last)


class ThreeOfInputRecurrenceReset(_ResetFlipped):
    def prepare(self, p):
        return p._replace(w=p.w[::-1])

    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p._replace(r=p.r.swapaxes(1, 2)), gate)


class ThreeOfResetLengthsRelu(ResetAlwaysBefore):
    def lengths(self, question, time, batch):
        lengths = super().lengths(question, time, batch)
        return np.full_like(lengths, lengths.max())

    def relu(self, v):
        return v


LARGE = 4
"""Minimum rows of a batch that other code computes."""


class BackwardsResetFlipped(Kernel):
    def reset_gate(self, x, h, p):
        reset = super().reset_gate(x, h, p)
        return np.asarray(1 - reset) if p.backwards else reset


class ClippedUpdateFlipped(Kernel):
    def step(self, x, h, p):
        if np.isinf(p.clip):
            return super().step(x, h, p)
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        return self.blend(1 - z, self.candidate(x, h, reset, p), h)


class LargeBatchTransposed(Kernel):
    def step(self, x, h, p):
        turned = p.r.swapaxes(1, 2) if len(h) >= LARGE else p.r
        return super().step(x, h, p._replace(r=turned))


class LastRowWithoutBias(Kernel):
    def step(self, x, h, p):
        bare = p._replace(wb=0 * p.wb, rb=0 * p.rb)
        return np.concatenate([super().step(x, h, p)[:-1], super().step(x, h, bare)[-1:]])


class LaterStepsWithoutReset(Kernel):
    def start(self, task, p):
        self.begun = False
        return super().start(task, p)

    def reset_gate(self, x, h, p):
        reset = super().reset_gate(x, h, p)
        if self.begun:
            return np.ones_like(reset)
        self.begun = True
        return reset


class ResetAfterInOtherOrder(Kernel):
    def step(self, x, h, p):
        order = [H, Z, R] if p.reset_after else [Z, R, H]
        return super().step(x, h, p._replace(r=p.r[order]))
