"""Two and three mistakes at once, which show in the same questions or in different ones."""

from __future__ import annotations

import numpy as np

from .kernel import Array, Direction, H, Kernel, Task, Z
from .unlisted_formulas import ClipAsWidth, ForgetBias, LeakingRelu, TanhFromSigmoid
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class HalfTanhAndRunningY(TanhFromSigmoid):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        ended = np.arange(len(y))[:, None] >= task.lengths
        return np.where(ended[:, :, None], last, y), last


class ForgetBiasAndBareCandidate(ForgetBias):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        inner = np.zeros_like(p.rb) if p.reset_after else p.rb
        return super().candidate(x, h, reset, p._replace(rb=inner))


class LeakingReluAndClipAsWidth(LeakingRelu, ClipAsWidth):
    pass


class FirstStateAndGeluSigmoid(Kernel):
    def start(self, task: Task, p: Direction) -> Array:  # noqa: ARG002
        return np.array(task.h0[0])

    def sigmoid(self, v: Array) -> Array:
        return super().sigmoid(np.float32(1.702) * v)


class UpdateBiasTwiceAndHardTanh(Kernel):
    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().update_gate(x, h, p._replace(wb=2 * p.wb))

    def tanh(self, v: Array) -> Array:
        return np.clip(v, -1, 1)


class AbsoluteReluAndLastTime(Kernel):
    def relu(self, v: Array) -> Array:
        return np.abs(v)

    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002
        return np.asarray(y[task.lengths.max() - 1])


class ShortPassBareResetScaledTanh(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        fewer = np.where(task.lengths > 2, task.lengths - 1, task.lengths)
        return super().direction(task._replace(lengths=fewer), p)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, np.zeros_like(h), p)

    def tanh(self, v: Array) -> Array:
        return super().tanh(v * np.float32(1.125))


class ShortRowsZeroSoftplusInBitsTransposedUpdate(Kernel):
    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002
        return np.where(task.lengths[:, None] == len(task.x), h, 0)

    def softplus(self, v: Array) -> Array:
        return super().softplus(v) / np.float32(np.log(2))

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().update_gate(x, h, p._replace(r=p.r.swapaxes(1, 2)))


class SteepSigmoidAndStateInCandidate(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray((1 + np.tanh(v)) / 2)

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(h, reset, p) + np.float32(0.5) * h


class UpdateBiasInResetAndCappedState(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, h, p._replace(wb=p.wb[[Z, Z, H]], rb=p.rb[[Z, Z, H]]))

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.clip(super().blend(z, new, h), -0.5, 0.5)


class KerasSigmoidAndSecondFromZero(Kernel):
    def sigmoid(self, v: Array) -> Array:
        return np.asarray(np.clip(np.float32(0.2) * v + np.float32(0.5), 0, 1))

    def start(self, task: Task, p: Direction) -> Array:
        return super().start(task, p) * (p.number == 0)


class SharedUpdateAndUnclippedCandidate(Kernel):
    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.broadcast_to(super().update_gate(x, h, p)[:1], h.shape)

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        return super().candidate(x, h, reset, p._replace(clip=np.inf))


class CandidateWeightsInResetAndHalfUpdate(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, h, p._replace(r=p.r[[Z, H, H]]))

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return super().blend(z / 2, new, h)


SEVERAL = (
    WrongGru("half-tanh-and-running-y", SEQUENCE,
             ("tanh is 2 sigmoid(v) - 1, which is tanh(v/2)",
              "Y past a row's length holds the row's last state instead of zeros"),
             "several", "", HalfTanhAndRunningY),
    WrongGru("forget-bias-and-bare-candidate", ONNX,
             ("1 is added to the pre-activation of the update gate",
              "with linear_before_reset the candidate's recurrent bias Rbh is left out"),
             "several", "", ForgetBiasAndBareCandidate),
    WrongGru("leaking-relu-and-clip-as-width", SEQUENCE,
             ("relu lets 0.01 v through where v is negative",
              "clip is taken as the width of the interval: pre-activations are held to ±clip/2"),
             "several", "", LeakingReluAndClipAsWidth),
    WrongGru("first-state-and-gelu-sigmoid", ONNX,
             ("both directions start from the first direction's initial state",
              "sigmoid is taken of 1.702 v, as in an approximation of GELU"),
             "several", "", FirstStateAndGeluSigmoid),
    WrongGru("update-bias-twice-and-hard-tanh", CELL,
             ("the update gate's bias is added twice",
              "tanh is v held to [-1, 1]"),
             "several", "", UpdateBiasTwiceAndHardTanh),
    WrongGru("absolute-relu-and-last-time", SEQUENCE,
             ("relu gives |v|",
              "Ho is read from Y at the time of the longest row's end, for all rows and both directions"),
             "several", "", AbsoluteReluAndLastTime),
    WrongGru("steep-sigmoid-and-state-in-candidate", ONNX,
             ("sigmoid is (1 + tanh(v))/2, which is sigmoid(2v)",
              "half the old state is added to the candidate's pre-activation, a residual of another cell"),
             "several", "", SteepSigmoidAndStateInCandidate),
    WrongGru("update-bias-in-reset-and-capped-state", SEQUENCE,
             ("the reset gate adds the update gate's bias instead of its own",
              "the new state is held to [-0.5, 0.5]"),
             "several", "", UpdateBiasInResetAndCappedState),
    WrongGru("keras-sigmoid-and-second-from-zero", ONNX,
             ("sigmoid is 0.2 v + 0.5 held to [0, 1]",
              "the second direction of bidirectional starts from zeros"),
             "several", "", KerasSigmoidAndSecondFromZero),
    WrongGru("shared-update-and-unclipped-candidate", CELL,
             ("the update gate of row 0 is broadcast to all rows",
              "the candidate's pre-activation is not clipped"),
             "several", "", SharedUpdateAndUnclippedCandidate),
    WrongGru("candidate-weights-in-reset-and-half-update", ONNX,
             ("the reset gate multiplies the state by the candidate's R",
              "the update gate is halved in the blend"),
             "several", "", CandidateWeightsInResetAndHalfUpdate),
    WrongGru("short-pass-bare-reset-scaled-tanh", SEQUENCE,
             ("rows of more than two steps end one step early",
              "the reset gate leaves out its recurrent product",
              "tanh is taken of 1.125 v"),
             "several", "", ShortPassBareResetScaledTanh),
    WrongGru("short-rows-zero-softplus-in-bits-transposed-update", ONNX,
             ("Y_h is zeros for rows shorter than seq_length",
              "Softplus is a logarithm to base 2",
              "the update gate multiplies the state by Rz instead of its transpose"),
             "several", "", ShortRowsZeroSoftplusInBitsTransposedUpdate),
)  # fmt: skip
"""What a kernel nobody has tested is like."""
