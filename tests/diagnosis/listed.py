"""Wrong GRUs whose mistakes are in the catalogue, alone, together, or in some place."""

# ruff: noqa: ARG002
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import ALPHAS, Function, H, Kernel, R, Z


class ResetGateFirst(Kernel):
    """W, R and B are read with the gates in the order r, z, h."""

    def prepare(self, p):
        order = [R, Z, H]
        return p._replace(w=p.w[order], r=p.r[order], wb=p.wb[order], rb=p.rb[order])


class RecurrenceCandidateFirst(Kernel):
    """R alone is read with the gates in the order h, r, z."""

    def prepare(self, p):
        return p._replace(r=p.r[::-1])


class RecurrentBiasOutside(Kernel):
    """With linear_before_reset, Rbh is added after the multiplication by the reset gate."""

    def recurrent(self, h, reset, p):
        if p.reset_after:
            return reset * self.product(h, p.r[H]) + p.rb[H]
        return super().recurrent(h, reset, p)


class RecurrenceTransposed(Kernel):
    """R is used without being transposed: the state is multiplied by R instead of R^T."""

    def prepare(self, p):
        return p._replace(r=p.r.swapaxes(1, 2))


class InterleavedBiases(Kernel):
    """B is read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh."""

    def prepare(self, p):
        b = np.concatenate([p.wb, p.rb])
        return p._replace(wb=b[0::2], rb=b[1::2])


class UpdateWithoutBias(Kernel):
    """The update gate adds no bias."""

    def update_gate(self, x, h, p):
        return super().update_gate(x, h, p._replace(wb=0 * p.wb, rb=0 * p.rb))


class SharedWeights(Kernel):
    """The second direction uses the first direction's W, R and B."""

    def unpack(self, question):
        task = super().unpack(question)
        first = task.directions[0]
        directions = [
            p._replace(w=first.w, r=first.r, wb=first.wb, rb=first.rb) for p in task.directions
        ]
        return task._replace(directions=directions)


class LastInputLeftOut(Kernel):
    """The products with W stop one input short: the last feature of X is never read."""

    def direction(self, task, p):
        return super().direction(task._replace(x=task.x[:, :, :-1]), p._replace(w=p.w[:, :, :-1]))


DEFAULT_ALPHAS = {name.lower(): alpha for name, alpha in ALPHAS.items()}

DEFAULT_ALPHAS |= {"affine": 1.0, "scaledtanh": 1.0}
"""By the name that a Function has; the two that ONNX has no defaults for are as in ONNX Runtime."""


class ResetAlwaysBefore(Kernel):
    """Linear_before_reset is ignored: the reset gate always comes before the product."""

    def recurrent(self, h, reset, p):
        return super().recurrent(h, reset, p._replace(reset_after=False))


class UpdateFlipped(Kernel):
    """The blend is z new + (1 - z) h: the update gate's two weights are exchanged."""

    def blend(self, z, new, h):
        return z * new + (1 - z) * h


class ClippedAfterwards(Kernel):
    """Clip bounds what the activations give instead of what they take."""

    def activated(self, function, v, p):
        return self.clipped(super().activated(function, v, p._replace(clip=np.inf)), p.clip)


class ClippedState(Kernel):
    """Clip bounds the new state instead of the pre-activations."""

    def step(self, x, h, p):
        return self.clipped(super().step(x, h, p._replace(clip=np.inf)), p.clip)


class SigmoidAndTanhAlways(Kernel):
    """Activations are not looked at: it is always sigmoid and tanh."""

    def functions(self, question):
        return [(Function("sigmoid"), Function("tanh")) for _ in super().functions(question)]


class OneFunctionForAll(Kernel):
    """The candidate uses the activation of the gates."""

    def functions(self, question):
        return [(f, f) for f, _ in super().functions(question)]


class SoftplusAsRelu(Kernel):
    """Softplus is computed as max(0, v)."""

    def softplus(self, v):
        return self.relu(v)


class AlphaByPosition(Kernel):
    """Activation_alpha is indexed by the activation's place, not among those that take one."""

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


class OneStepShort(Kernel):
    """Every row ends one step before its length."""

    def lengths(self, question, time, batch):
        return super().lengths(question, time, batch) - 1


class BackwardsFromPadding(Kernel):
    """The backward pass starts at the end of the time axis, in the padding of shorter rows."""

    def direction(self, task, p):
        if not p.backwards:
            return super().direction(task, p)
        y, last = super().direction(task._replace(x=task.x[::-1]), p._replace(backwards=False))
        return y[::-1], last


class BackwardsLeftReversed(Kernel):
    """Y of the backward pass is written in the order in which it was computed."""

    def direction(self, task, p):
        y, last = super().direction(task, p)
        if p.backwards:
            for row, length in enumerate(task.lengths):
                y[:length, row] = y[:length, row][::-1].copy()
        return y, last


class LastOfTimeAxis(Kernel):
    """Y_h is Y at the last index of the time axis, for all lengths and directions."""

    def last(self, task, y, h):
        return y[-1]


class FirstStatesExchanged(Kernel):
    """The forward pass starts from the backward pass's initial state, and vice versa."""

    def start(self, task, p):
        return np.array(task.h0[len(task.h0) - 1 - p.number])


class InputReshaped(Kernel):
    """X is reshaped from [batch, time] to [time, batch] instead of transposed."""

    def unpack(self, question):
        task = super().unpack(question)
        memory = np.ascontiguousarray(task.x.swapaxes(0, 1))
        return task._replace(x=memory.reshape(task.x.shape))


class ResetFirstAndUpdateFlipped(ResetGateFirst, UpdateFlipped):
    """W, R and B are read in the order r, z, h; the blend is z new + (1 - z) h."""


class TransposedAndBiasOutside(RecurrenceTransposed, RecurrentBiasOutside):
    """R is not transposed; with linear_before_reset, Rbh is added after the reset gate."""


class FromZero(Kernel):
    def start(self, task, p):
        return np.zeros_like(super().start(task, p))


class FunctionsExchangedFromZero(FromZero):
    """The two activations are exchanged; the initial state is taken as zeros."""

    def functions(self, question):
        return [(g, f) for f, g in super().functions(question)]


class ForwardUnclipped(Kernel):
    """The backward pass is computed forwards; clip is not looked at."""

    def prepare(self, p):
        return p._replace(backwards=False, clip=np.inf)


class BiasTwiceAndSoftsign(Kernel):
    """Gates z and r add their bias twice; tanh is computed as v/(1 + |v|)."""

    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p, gate) + p.wb[gate]

    def tanh(self, v):
        return v / (1 + np.abs(v))


class ResetFlipped(Kernel):
    def reset_gate(self, x, h, p):
        return 1 - super().reset_gate(x, h, p)


class WholeRowsAndResetFlipped(ResetFlipped):
    """Sequence_lens is ignored: every row is as long as the time axis; the reset gate is 1 - r."""

    def lengths(self, question, time, batch):
        return np.full_like(super().lengths(question, time, batch), time)


class OutputReshapedWithoutInputBias(Kernel):
    """Y is reshaped instead of transposed; with linear_before_reset, Wbh is left out."""

    def candidate(self, x, h, reset, p):
        wb = p.wb if not p.reset_after else 0 * p.wb
        return super().candidate(x, h, reset, p._replace(wb=wb))

    def pack(self, question, y, last):
        """Y is computed as [batch, time, direction, hidden], and only named otherwise."""
        outputs = super().pack(question, y, last)
        memory = np.ascontiguousarray(y.transpose(2, 0, 1, 3))
        return outputs | {"Y": memory.reshape(outputs["Y"].shape)}


class RecurrenceInOtherOrderWithoutLastUnit(Kernel):
    """R is read in the order r, h, z, and without its last column."""

    def prepare(self, p):
        r = p.r[[2, 0, 1]].copy()
        r[:, :, -1] = 0
        return p._replace(r=r)


class DefaultAlphasAndLastExchanged(Kernel):
    """Activation_alpha is ignored; the two directions are exchanged in Y_h."""

    def functions(self, question):
        pairs = super().functions(question)
        return [(self.default(f), self.default(g)) for f, g in pairs]

    def default(self, given):
        return given._replace(alpha=DEFAULT_ALPHAS.get(given.name, 0.0))

    def pack(self, question, y, last):
        return super().pack(question, y, last[::-1])


class GatesClippedAndResetOtherwise(Kernel):
    """The candidate is not clipped; linear_before_reset is taken the other way round."""

    def candidate(self, x, h, reset, p):
        other = p._replace(clip=np.inf, reset_after=not p.reset_after)
        return super().candidate(x, h, reset, other)


class OneStepLongWithoutReset(Kernel):
    """Rows shorter than the time axis take one step more; the reset gate is 1."""

    def lengths(self, question, time, batch):
        return np.minimum(super().lengths(question, time, batch) + 1, time)

    def reset_gate(self, x, h, p):
        return np.ones_like(super().reset_gate(x, h, p))


class HardSigmoidAndSharedWeights(SharedWeights):
    """Sigmoid is v/6 + 1/2 within [0, 1]; both directions use the first one's W, R and B."""

    def sigmoid(self, v):
        return np.clip(v / 6 + np.float32(0.5), 0, 1)


class ThreeOfStartCandidateSoftsign(Kernel):
    """The backward pass starts from zeros; the candidate's R is transposed; Softsign is tanh."""

    def start(self, task, p):
        h = super().start(task, p)
        return np.zeros_like(h) if p.backwards else h

    def recurrent(self, h, reset, p):
        return super().recurrent(h, reset, p._replace(r=p.r.swapaxes(1, 2)))

    def activation(self, name, v, alpha, beta):
        other = "tanh" if name == "softsign" else name
        return super().activation(other, v, alpha, beta)


class ThreeOfBiasClipDirections(Kernel):
    """With linear_before_reset, Rbh is left out; clip bounds from above; Y's directions are exchanged."""

    def recurrent(self, h, reset, p):
        rb = 0 * p.rb if p.reset_after else p.rb
        return super().recurrent(h, reset, p._replace(rb=rb))

    def clipped(self, v, clip):
        return np.minimum(v, v.dtype.type(clip))

    def pack(self, question, y, last):
        return super().pack(question, y[:, ::-1], last)


class ThreeOfInputRecurrenceReset(ResetFlipped):
    """W is read in the order h, r, z; R of z and r is transposed; the reset gate is 1 - r."""

    def prepare(self, p):
        return p._replace(w=p.w[::-1])

    def pre_activation(self, x, h, p, gate):
        return super().pre_activation(x, h, p._replace(r=p.r.swapaxes(1, 2)), gate)


class ThreeOfResetLengthsRelu(ResetAlwaysBefore):
    """Linear_before_reset is ignored; all rows are as long as the longest; relu is the identity."""

    def lengths(self, question, time, batch):
        lengths = super().lengths(question, time, batch)
        return np.full_like(lengths, lengths.max())

    def relu(self, v):
        return v


LARGE = 4
"""Minimum rows of a batch that other code computes."""


class BackwardsResetFlipped(Kernel):
    """1 - r is used for the reset gate (backward passes)."""

    def reset_gate(self, x, h, p):
        reset = super().reset_gate(x, h, p)
        return np.asarray(1 - reset) if p.backwards else reset


class ClippedUpdateFlipped(Kernel):
    """Where clip is given, the blend is z new + (1 - z) h."""

    def step(self, x, h, p):
        if np.isinf(p.clip):
            return super().step(x, h, p)
        z, reset = self.update_gate(x, h, p), self.reset_gate(x, h, p)
        return self.blend(1 - z, self.candidate(x, h, reset, p), h)


class LargeBatchTransposed(Kernel):
    """The state is multiplied by R instead of R^T (batches of 4 and more)."""

    def step(self, x, h, p):
        turned = p.r.swapaxes(1, 2) if len(h) >= LARGE else p.r
        return super().step(x, h, p._replace(r=turned))


class LastRowWithoutBias(Kernel):
    """B is not added (the last row of the batch)."""

    def step(self, x, h, p):
        bare = p._replace(wb=0 * p.wb, rb=0 * p.rb)
        return np.concatenate([super().step(x, h, p)[:-1], super().step(x, h, bare)[-1:]])


class LaterStepsWithoutReset(Kernel):
    """The reset gate is 1 in all steps but the first of each direction."""

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
    """With linear_before_reset, R alone is read in the order r, h, z."""

    def step(self, x, h, p):
        order = [H, Z, R] if p.reset_after else [Z, R, H]
        return super().step(x, h, p._replace(r=p.r[order]))
