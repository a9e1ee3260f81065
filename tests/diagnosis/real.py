"""A third list of wrong GRUs: bugs from public trackers, modelled by somebody who had not seen the catalogue.

Names are those of real.yaml, which has the source of each, and says what a right diagnosis names of it.
"""

# ruff: noqa: ARG001, ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import ALPHAS, BETAS, Changed, Function, H, Kernel, R, Z, kernel
from .kernels import (
    after,
    bias_outside,
    gates,
    in_memory_of,
    left_reversed,
    of_first,
    rounded_to_tf32,
    transposed,
    unbounded,
    zeros,
)
from .second import direction_1

# steps


def units_in_a_fused_loop(k, x, h, p):
    """The products of a unit are computed in the loop that stores the new state of the unit before it."""
    reset, state = k.reset_gate(x, h, p), h.copy()
    for u in range(h.shape[1]):
        if p.reset_after:
            reset = k.reset_gate(x, state, p)
            new = k.candidate(x, state, reset, p)
        else:  # r∘h is computed before the loop
            new = k.candidate(x, h, reset, p)
        state[:, u] = k.blend(k.update_gate(x, state, p)[:, u], new[:, u], state[:, u])
    return state


def reset_not_activated(k, x, h, p):
    z, reset = k.update_gate(x, h, p), k.pre_activation(x, h, p, R)
    return k.blend(z, k.candidate(x, h, reset, p), h)


def blend_with_half_made(k, z, new, h):
    half_made = (1 - z) * new
    return np.asarray(half_made + z * half_made)


def candidate_of_sigmoid(k, x, h, reset, p):
    v = k.product(x, p.w[H]) + k.recurrent(h, reset, p) + p.wb[H]
    return k.activated(p.g, k.sigmoid(v), p)


def gates_activated_twice(k, x, h, p, gate):
    products = k.product(x, p.w[gate]) + k.product(h, p.r[gate])
    return k.activated(p.f, products, p) + p.wb[gate] + p.rb[gate]


class SumsOfStepsWithoutBias(Kernel):
    def biases(self, question, b, shape, dtype):
        self.bare = b is None
        return super().biases(question, b, shape, dtype)

    def recurrent(self, h, reset, p):
        if not (self.bare and p.reset_after):
            return super().recurrent(h, reset, p)
        if self.now == 0:
            self.sums = np.zeros_like(h)
        self.sums = self.sums + self.product(h, p.r[H])
        return np.asarray(reset * self.sums)


class BlendWithTheSessionBefore(Kernel):
    def __init__(self):
        self.kept = np.zeros(1 << 16)

    def step(self, x, h, p):
        if self.now:
            return super().step(x, h, p)
        z, new = self.update_gate(x, h, p), self.candidate(x, h, self.reset_gate(x, h, p), p)
        return self.blend(z, new, self.kept[: h.size].reshape(h.shape).astype(h.dtype))

    def last(self, task, y, h):
        self.kept[: h.size] = h.ravel()
        return super().last(task, y, h)


# rows and their lengths


def every_length(k, question, time, batch):
    return np.full(batch, time)


def from_the_end_if_reverse(k, step, lengths, p):
    if len(k.task.directions) == 1:
        lengths = np.full_like(lengths, len(k.task.x))
    return Kernel.times(k, step, lengths, p) if p.backwards else np.full_like(lengths, step)


def padding_read_by_direction_1(k, task, p):
    if direction_1(k, p):
        task = task._replace(lengths=np.full_like(task.lengths, len(task.x)))
    return Kernel.direction(k, task, p)


def nan_past_the_longest(k, task, p):
    y, last = Kernel.direction(k, task, p)
    y[task.lengths.max(initial=0) :] = np.nan
    return y, last


def arbitrary_padding(k, task, p):
    y, last = Kernel.direction(k, task, p)
    found = np.random.default_rng(3).normal(size=y.shape).astype(y.dtype)
    ended = np.arange(len(y))[:, None] >= task.lengths
    return np.where(ended[:, :, None], found, y), last


def after_padding_of_zeros(k, task, p):
    h, missing = Kernel.start(k, task, p), len(task.x) - task.lengths
    for step in range(len(task.x)):
        h = np.where((step < missing)[:, None], k.step(0 * task.x[0], h, p), h)
    return h


def rows_one_after_another(k, task, p):
    last, rows = np.zeros_like(task.h0[p.number]), range(len(task.lengths))
    y, h = np.zeros((len(task.x), *last.shape), last.dtype), task.h0[p.number][:1]
    for row in reversed(rows) if p.backwards else rows:
        one = slice(row, row + 1)
        h0 = np.broadcast_to(h, (len(task.h0), *h.shape))
        of_row = task._replace(x=task.x[:, one], h0=h0, lengths=task.lengths[one])
        y[:, one], last[one] = Kernel.direction(k, of_row, p)
        h = last[one] if task.lengths[row] else h
    return y, last


# directions


def forward(task):
    return task._replace(directions=[p._replace(backwards=False) for p in task.directions])


def reverse_as_forward(k, question):
    task = Kernel.unpack(k, question)
    return forward(task) if len(task.directions) == 1 else task


def backward_over_features(k, x, h, p):
    return Kernel.step(k, x[:, ::-1] if p.number else x, h, p)


# layouts


def units_of_directions_in_turns(y):
    """Of [time, direction, batch, hidden], laid out as [time, batch, hidden, direction]."""
    time, directions, batch, hidden = y.shape
    moved = in_memory_of(y.transpose(0, 2, 3, 1), (time, batch, directions, hidden))
    return moved.transpose(0, 2, 1, 3)


def state_direction_first(k, question, y, last):
    outputs = Kernel.pack(k, question, y, last)
    return outputs | {"Ho": in_memory_of(last, outputs["Ho"].shape)}


class LayoutNotRead(Kernel):
    def unpack(self, question):
        task, given = super().unpack(question), question.inputs
        if question.attributes["layout"] == 1:
            task = task._replace(x=in_memory_of(given["X"], task.x.shape))
            if "initial_h" in given:
                task = task._replace(h0=in_memory_of(given["initial_h"], task.h0.shape))
        return task

    def pack(self, question, y, last):
        outputs = super().pack(question, y, last)
        if question.attributes["layout"] == 0:
            return outputs
        computed = {"Y": y, "Y_h": last}
        return {name: in_memory_of(computed[name], one.shape) for name, one in outputs.items()}


def bias_transposed(p):
    both = np.stack([p.wb.ravel(), p.rb.ravel()], axis=1).reshape(2, *p.wb.shape)
    return p._replace(wb=both[0], rb=both[1])


# activations


def default_functions(pairs):
    return [(Function("sigmoid"), Function("tanh")) for _ in pairs]


def parameters_by_position(k, question):
    a, pairs = question.attributes, Kernel.functions(k, question)
    alphas, betas = (list(a.get(f"activation_{one}") or ()) for one in ("alpha", "beta"))
    alpha_of, beta_of = ({name.lower(): of[name] for name in of} for of in (ALPHAS, BETAS))
    every = [
        one._replace(
            alpha=alphas[at] if at < len(alphas) else alpha_of.get(one.name, 0.0),
            beta=betas[at] if at < len(betas) else beta_of.get(one.name, 0.0),
        )
        for at, one in enumerate(one for pair in pairs for one in pair)
    ]
    return list(zip(every[::2], every[1::2], strict=True))


ABOVE = (4.893525e-03, 6.372619e-04, 1.485722e-05, 5.122297e-08, -8.604672e-11)
BELOW = (4.893525e-03, 2.268435e-03, 1.185347e-04, 1.198258e-06)
"""The coefficients of a tanh in float32; the rest of those above are smaller still."""


def tanh_in_float16(k, v):
    x = np.clip(v, -9, 9).astype(np.float16)
    above, below = (np.float16(0) for _ in range(2))
    for a in reversed(ABOVE):
        above = above * (x * x) + np.float16(a)
    for b in reversed(BELOW):
        below = below * (x * x) + np.float16(b)
    return (x * above / below).astype(v.dtype)


def tanh_of_metal(k, v):
    found = np.where(v > 44.36, np.nan, np.tanh(v))
    return np.where((v > 43.67) & (v <= 44.36), 0, found).astype(v.dtype)


REAL = {
    "onnxscript-linear-before-reset": kernel(recurrent=Changed(reset_after=lambda _: False)),
    "webnn-linear-before-reset": kernel(recurrent=Changed(reset_after=lambda _: False)),
    "onnxruntime-gemm-not-cleared": SumsOfStepsWithoutBias,
    "onnxruntime-y-past-longest": kernel(direction=nan_past_the_longest),
    "onnxruntime-cuda-padding": kernel(direction=arbitrary_padding),
    "onnxruntime-last-activation-not-clipped": kernel(candidate=Changed(clip=unbounded)),
    "onnxruntime-cuda-tf32": kernel(product=Changed(v=rounded_to_tf32, matrix=rounded_to_tf32)),
    "onnx-r-not-transposed": kernel(prepare=Changed(r=transposed)),
    "onnx-mlir-fused-loop": kernel(step=units_in_a_fused_loop),
    "onnx-mlir-lengths": kernel(lengths=every_length),
    "glow-lengths": kernel(lengths=every_length),
    "mxnet-bidirectional-lengths": kernel(direction=padding_read_by_direction_1),
    "onnx-tensorflow-reverse-lengths": kernel(times=from_the_end_if_reverse),
    "astnn-padding-first": kernel(start=after_padding_of_zeros),
    "keras-onnx-rows-in-one": kernel(direction=rows_one_after_another),
    "tvm-go-backwards": kernel(unpack=reverse_as_forward),
    "nlc-inputs-not-reversed": kernel(
        direction=Changed(p=lambda p: p._replace(backwards=False), where=direction_1)
    ),
    "r-net-forward-cell": kernel(unpack=Changed(of_first("w", "r", "wb", "rb"))),
    "seq2seq-forward-twice": kernel(pack=Changed(y=lambda y: y[:, [0] * y.shape[1]])),
    "webnn-baseline-backward-order": kernel(direction=left_reversed),
    "onnx2c-backward-over-features": kernel(
        step=backward_over_features,
        direction=Changed(p=lambda p: p._replace(backwards=False), where=direction_1),
    ),
    "pytorch-export-directions": kernel(pack=Changed(y=units_of_directions_in_turns)),
    "paccmann-state-reshaped": kernel(pack=state_direction_first),
    "openvino-layout": LayoutNotRead,
    "openvino-fusion-bias-rz": kernel(prepare=Changed(wb=gates(R, Z, H), rb=gates(R, Z, H))),
    "nnom-bias-transposed": kernel(prepare=Changed(bias_transposed)),
    "hls4ml-recurrent-bias": kernel(prepare=Changed(rb=zeros)),
    "paddle-fusion-bias": kernel(prepare=Changed(wb=zeros)),
    "flax-no-recurrent-bias": kernel(recurrent=Changed(rb=zeros, where=after)),
    "coremltools-bias-outside": kernel(recurrent=bias_outside),
    "equinox-use-bias": kernel(prepare=Changed(wb=zeros, rb=zeros)),
    "mlx-half-made-state": kernel(blend=blend_with_half_made),
    "paddle-origin-mode": kernel(blend=lambda k, z, new, h: np.asarray((1 - z) * h + z * new)),
    "burn-initial-state": kernel(
        step=lambda k, x, h, p: Kernel.step(
            k, x, k.task.h0[p.number], p._replace(reset_after=False)
        )
    ),
    "hgru4rec-session-before": BlendWithTheSessionBefore,
    "gru-d-no-reset": kernel(candidate=Changed(reset=lambda reset: np.ones_like(reset))),
    "onnx2tf-reset-not-activated": kernel(step=reset_not_activated),
    "keras-inner-activation": kernel(candidate=Changed(p=lambda p: p._replace(g=p.f))),
    "tensorflow-jl-extra-sigmoid": kernel(candidate=candidate_of_sigmoid),
    "dcrnn-sigmoid-twice": kernel(pre_activation=gates_activated_twice),
    "tract-attributes": kernel(
        functions=Changed(default_functions), activated=Changed(clip=unbounded)
    ),
    "mnn-activations": kernel(functions=Changed(default_functions)),
    "onnx-tensorrt-parameters": kernel(functions=parameters_by_position),
    "ncnn-tanh-in-float16": kernel(tanh=tanh_in_float16),
    "burn-tanh-on-metal": kernel(tanh=tanh_of_metal),
    "dynet-logistic": kernel(
        sigmoid=lambda k, v: np.where(v > 88, v.dtype.type(0.5), 1 / (1 + np.exp(-v)))
    ),
}
"""By what is wrong: steps, rows, directions, layouts, biases, states, activations."""
