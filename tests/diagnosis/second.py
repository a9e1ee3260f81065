"""A second list of wrong GRUs: bugs as real kernels have them, by somebody who had not seen the catalogue.

Names are those of second.yaml, which says what a right diagnosis names of each.
"""

# ruff: noqa: ARG001, ARG005
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import numpy as np

from .kernel import Changed, H, Kernel, R, Z, kernel
from .kernels import (
    after,
    backwards,
    bias_outside,
    in_memory_of,
    of_first,
    of_first_row,
    running_on,
    state_overwritten,
    transposed,
    unbounded,
)


def whole(n, lanes):
    """How many of n lie in whole vectors."""
    return n // lanes * lanes


def bfloat16(v):
    """Round to the nearest bfloat16, ties to even; the dtype stays."""
    bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(v.dtype)


def half(v):
    return v.astype(np.float16).astype(v.dtype)


def limited(most):
    return lambda v: np.clip(v, -most, most)


def with_gate(array, gate, of, first=0):
    """Take a gate's numbers from another gate, in the units from the first on."""
    array = array.copy()
    array[gate, first:] = array[of, first:]
    return array


def without(gate, lanes=None):
    """Put 0 for a gate: in all units, or in those past the last whole group of lanes."""

    def changed(array):
        array = array.copy()
        array[gate, whole(array.shape[1], lanes) if lanes else 0 :] = 0
        return array

    return changed


def direction_1(k, p):
    return p.number == 1


def clipping(k, p):
    return np.isfinite(p.clip)


# vector tails


def tail_zero(k, x, h, p):
    n, new = h.shape[1], Kernel.step(k, x, h, p)
    if n > 8:
        new[:, whole(n, 8) :] = 0
    return new


def overlapping_tail(k, x, h, p):
    acc = k.product(x, p.w[Z]) + p.wb[Z] + p.rb[Z]
    hr, n = k.product(h, p.r[Z]), h.shape[1]
    for at in range(0, whole(n, 8), 8):
        acc[:, at : at + 8] += hr[:, at : at + 8]
    if n < 8:
        acc += hr
    elif n % 8:
        acc[:, n - 8 :] += hr[:, n - 8 :]  # one unaligned vector for the rest
    return k.activated(p.f, acc, p)


def tail_not_stored(k, x, h, p):
    done = whole(h.shape[1], 16) or h.shape[1]
    return np.concatenate([Kernel.step(k, x, h, p)[:, :done], h[:, done:]], axis=1)


# strides and layout


def packed_to_4(w):
    packed = np.pad(w, ((0, 0), (0, 0), (0, -w.shape[2] % 4)))
    return packed.ravel()[: w.size].reshape(w.shape)


class BiasOfDirection1At3H(Kernel):
    def biases(self, question, b, shape, dtype):
        if b is not None and b.shape[1] == 4 * shape[2]:
            flat, n = b.ravel(), shape[2]
            b = np.stack([flat[d * 3 * n : d * 3 * n + 4 * n] for d in range(shape[0])])
        return super().biases(question, b, shape, dtype)


def x_time_first(k, question):
    task = Kernel.unpack(k, question)
    if question.attributes["layout"] == 1:
        task = task._replace(x=in_memory_of(question.inputs["X"], task.x.shape))
    return task


# in-place updates


def units_in_place(k, x, h, p):
    if not p.reset_after:  # r∘h has a buffer of its own
        return Kernel.step(k, x, h, p)
    z, reset = k.update_gate(x, h, p), k.reset_gate(x, h, p)
    wx, state = k.product(x, p.w[H]) + p.wb[H], h.copy()
    for u in range(h.shape[1]):
        a = wx[:, u] + reset[:, u] * (state @ p.r[H, u] + p.rb[H, u])
        state[:, u] = k.blend(z[:, u], k.activated(p.g, a, p), state[:, u])
    return state


def blocks_in_place(k, x, h, p):
    new, state = k.candidate(x, h, k.reset_gate(x, h, p), p), h.copy()
    for at in range(0, h.shape[1], 16):
        block = slice(at, at + 16)
        z = k.update_gate(x, state, p)[:, block]
        state[:, block] = k.blend(z, new[:, block], state[:, block])
    return state


def one_state_for_rows(k, x, h, p):
    if not p.reset_after:
        return Kernel.step(k, x, h, p)
    states = h.copy()
    for row in range(len(h)):
        if k.now < k.task.lengths[row]:
            before = states[max(row - 1, 0)][None]
            states[row] = Kernel.step(k, x[row][None], before, p)[0]
    return states


# stale or reused buffers


class StateLeft(Kernel):
    def __init__(self):
        self.workspace = np.zeros(1 << 16)

    def unpack(self, question):
        task = super().unpack(question)
        if "initial_h" in question.inputs:
            self.workspace[: task.h0.size] = task.h0.ravel()
        return task

    def start(self, task, p):
        one = task.h0[0].size
        held = self.workspace[p.number * one : (p.number + 1) * one]
        return held.reshape(task.h0[0].shape).astype(task.h0.dtype)

    def direction(self, task, p):
        y, h = super().direction(task, p)
        self.workspace[p.number * h.size : (p.number + 1) * h.size] = h.ravel()
        return y, h


class BiasLeft(Kernel):
    def __init__(self):
        self.buffer = np.zeros(1 << 12)

    def biases(self, question, b, shape, dtype):
        if b is not None:
            self.buffer[: b.size] = b.ravel()
            return super().biases(question, b, shape, dtype)
        parts = 4 if question.attributes["linear_before_reset"] else 3
        held = self.buffer[: parts * shape[2]].astype(dtype).reshape(1, -1)
        return super().biases(question, held, shape, dtype)


class SumNotCleared(Kernel):
    def candidate(self, x, h, reset, p):
        if self.now == 0:
            self.acc = np.zeros_like(h)
        self.acc = self.acc + self.product(x, p.w[H])  # gemm with beta 1
        return self.activated(p.g, self.acc + self.recurrent(h, reset, p) + p.wb[H], p)


class GoesOn(Kernel):
    def start(self, task, p):
        return self.state.copy() if p.number else super().start(task, p)

    def direction(self, task, p):
        y, self.state = super().direction(task, p)
        return y, self.state


def padded_to_8(array, filled):
    size = array.shape[-1]
    more = [(0, 0)] * (array.ndim - 1) + [(0, -size % 8 if size > 8 else 0)]
    return np.pad(array, more, constant_values=filled)


# off by one


def without_odd_unit(k, x, h, p):
    acc = k.product(x, p.w[R]) + p.wb[R] + p.rb[R]
    for u in range(0, h.shape[1] - 1, 2):  # unrolled by two
        acc = acc + h[:, u, None] * p.r[R, :, u] + h[:, u + 1, None] * p.r[R, :, u + 1]
    return k.activated(p.f, acc, p)


def two_steps_at_a_time(k, task, p):
    h, rows = k.start(task, p), np.arange(len(task.lengths))
    y = np.zeros((len(task.x), *h.shape), h.dtype)
    k.task = task
    for step in range(len(task.x)):
        k.now, valid = step, step < whole(task.lengths, 2)
        at = k.times(step, task.lengths, p)
        h = np.where(valid[:, None], k.step(task.x[at, rows], h, p), h)
        y[at[valid], rows[valid]] = h[valid]
    return y, k.last(task, y, h)


# outputs


def last_time_of_direction_1(k, question, y, last):
    last = np.stack([last[0], y[-1, 1]]) if len(last) == 2 else last
    return Kernel.pack(k, question, y, last)


def last_unwritten_beside_y(k, question, y, last):
    return Kernel.pack(k, question, y, 0 * last + np.nan if "Y" in question.outputs else last)


def only_last_of_y(k, question, y, last):
    written = np.zeros_like(y)
    for p in k.task.directions:
        for row, length in enumerate(k.task.lengths):
            if length:
                at = 0 if p.backwards else length - 1
                written[at, p.number, row] = y[at, p.number, row]
    return Kernel.pack(k, question, written, last)


def only_first_row(last):
    return np.where(np.arange(last.shape[1])[:, None] == 0, last, np.nan)


def only_first_direction(y):
    return np.where(np.arange(y.shape[1])[:, None, None] == 0, y, 0)


# activations


SIGMOIDS = 1 / (1 + np.exp(-(np.arange(512) - 256) / 32))


def sigmoid_by_table(k, v):
    at = np.clip(np.floor(np.nan_to_num(v) * 32) + 256, 0, 511).astype(np.int64)
    return SIGMOIDS[at].astype(v.dtype)


def sigmoid_by_fast_exp(k, v):
    scaled = np.clip(-v.astype(np.float64), -87, 87) * 12102203 + 1064866805
    return (1 / (1 + scaled.astype(np.int32).view(np.float32))).astype(v.dtype)


# two at once


class HalfSums(Kernel):
    def product_half(self, v, matrix):
        acc = np.zeros((len(v), len(matrix)), np.float16)
        for u in range(v.shape[1]):
            acc = (acc + v[:, u, None] * matrix[:, u]).astype(np.float16)
        return acc.astype(v.dtype)

    def candidate(self, x, h, reset, p):
        if p.reset_after:
            hr = reset * (self.product_half(h, p.r[H]) + p.rb[H])
        else:
            hr = self.product_half(reset * h, p.r[H]) + p.rb[H]
        return self.activated(p.g, self.product_half(x, p.w[H]) + hr + p.wb[H], p)


def arbitrary_biases(k, question, b, shape, dtype):
    if b is None:
        b = np.random.default_rng(7).normal(size=(shape[0], 3 * shape[2])).astype(dtype)
    return Kernel.biases(k, question, b, shape, dtype)


def time_before_direction(k, question, y, last):
    last = np.stack([last[p.number] if p.backwards else y[-1, p.number] for p in k.task.directions])
    outputs = Kernel.pack(k, question, y, last)
    return outputs | {"Y": in_memory_of(y.transpose(2, 0, 1, 3), outputs["Y"].shape)}


def state_direction_first(k, question):
    task, state = Kernel.unpack(k, question), question.inputs.get("initial_h")
    if question.attributes["layout"] == 1 and state is not None:
        task = task._replace(h0=in_memory_of(k.converted("initial_h", state), task.h0.shape))
    return task


def tail_of_y_unwritten(y):
    units = np.arange(n := y.shape[3])
    return np.where(units < (whole(n, 8) if n > 8 else n), y, np.nan)


def update_gate_clipped_before_bias(k, x, h, p):
    v = k.clipped(k.product(x, p.w[Z]) + k.product(h, p.r[Z]), p.clip)
    return k.activated(p.f, v + p.wb[Z] + p.rb[Z], p._replace(clip=np.inf))


def biases_of_direction_0(k, question, b, shape, dtype):
    b = None if b is None else np.broadcast_to(b[:1], b.shape)
    return Kernel.biases(k, question, b, shape, dtype)


SECOND = {
    "tail-of-4-candidate-bias": kernel(candidate=Changed(wb=without(H, 4))),
    "tail-of-8-zero": kernel(step=tail_zero),
    "overlapping-tail-added-twice": kernel(update_gate=overlapping_tail),
    "tail-of-4-reset-with-update-weights": kernel(
        reset_gate=Changed(r=lambda r: with_gate(r, R, Z, whole(r.shape[1], 4)))
    ),
    "tail-of-16-not-stored": kernel(step=tail_not_stored),
    "w-packed-to-4-read-densely": kernel(prepare=Changed(w=packed_to_4)),
    "r-rows-interleaved": kernel(
        prepare=Changed(r=lambda r: r.reshape(-1, 3, r.shape[1]).swapaxes(0, 1), where=direction_1)
    ),
    "bias-of-direction-1-at-3h": BiasOfDirection1At3H,
    "layout1-x-read-time-first": kernel(unpack=x_time_first),
    "candidate-reads-units-already-new": kernel(step=units_in_place),
    "update-gate-reads-blocks-already-new": kernel(step=blocks_in_place),
    "reset-state-overwrites-state": kernel(step=state_overwritten),
    "one-state-buffer-for-all-rows": kernel(step=one_state_for_rows),
    "state-left-by-the-call-before": StateLeft,
    "bias-left-by-the-call-before": BiasLeft,
    "candidate-sum-not-cleared": SumNotCleared,
    "direction-1-goes-on-from-direction-0": GoesOn,
    "padding-of-x-uninitialised": kernel(
        prepare=Changed(w=lambda w: padded_to_8(w, 0)),
        step=Changed(x=lambda x: padded_to_8(x, np.nan)),
    ),
    "two-steps-at-a-time": kernel(direction=two_steps_at_a_time),
    "odd-last-unit-of-state-skipped": kernel(reset_gate=without_odd_unit),
    "reverse-reads-x-a-step-early": kernel(
        direction=Changed(x=lambda x: np.concatenate([x[:1], x[:-1]]), where=backwards)
    ),
    "a-step-too-many": kernel(
        lengths=lambda k, question, time, batch: np.minimum(
            Kernel.lengths(k, question, time, batch) + 1, time
        )
    ),
    "reset-gate-of-row-0": kernel(reset_gate=Changed(of_first_row)),
    "length-of-row-0": kernel(lengths=Changed(lambda all_: np.full_like(all_, all_[0]))),
    "activations-of-direction-0": kernel(functions=Changed(lambda pairs: pairs[:1] * len(pairs))),
    "reverse-from-the-longest-row": kernel(
        times=Changed(lengths=lambda all_: np.full_like(all_, all_.max(initial=0)))
    ),
    "reset-gate-with-update-bias": kernel(prepare=Changed(wb=lambda wb: wb[[Z, Z, H]])),
    "r-in-order-rzh": kernel(prepare=Changed(r=lambda r: r[[R, Z, H]])),
    "candidate-with-f-when-clipped": kernel(
        candidate=Changed(p=lambda p: p._replace(g=p.f), where=clipping)
    ),
    "reset-bias-in-candidate": kernel(
        recurrent=Changed(rb=lambda rb: with_gate(rb, H, R), where=after)
    ),
    "recurrent-biases-from-input-half": kernel(prepare=Changed(p=lambda p: p._replace(rb=p.wb))),
    "directions-of-y-exchanged": kernel(pack=Changed(y=lambda y: y[:, ::-1])),
    "y-h-of-direction-1-from-last-time": kernel(pack=last_time_of_direction_1),
    "candidate-biases-exchanged": kernel(
        candidate=Changed(p=lambda p: p._replace(wb=p.rb, rb=p.wb), where=after)
    ),
    "state-in-float16": kernel(blend=Changed(half)),
    "r-in-bfloat16": kernel(prepare=Changed(r=bfloat16)),
    "update-gate-in-8-bits": kernel(
        update_gate=Changed(
            lambda z: np.rint(z * 255) / z.dtype.type(255), where=lambda k, p: p.f.name == "sigmoid"
        )
    ),
    "wide-x-in-bfloat16": kernel(  # the matrix unit takes bfloat16; fewer inputs go the scalar way
        direction=Changed(x=lambda x: bfloat16(x) if x.shape[2] >= 16 else x)
    ),
    "tanh-by-pade": kernel(
        tanh=lambda k, v: (v := np.clip(v, -3, 3)) * (27 + v * v) / (27 + 9 * v * v)
    ),
    "sigmoid-by-table": kernel(sigmoid=sigmoid_by_table),
    "sigmoid-by-fast-exp": kernel(sigmoid=sigmoid_by_fast_exp),
    "sigmoid-argument-limited-to-6": kernel(sigmoid=Changed(v=limited(6))),
    "y-h-not-written": kernel(pack=last_unwritten_beside_y),
    "direction-1-of-y-not-written": kernel(pack=Changed(y=only_first_direction)),
    "rows-past-the-first-not-written": kernel(pack=Changed(last=only_first_row)),
    "only-last-step-of-y": kernel(pack=only_last_of_y),
    "reset-gate-not-clipped": kernel(reset_gate=Changed(clip=unbounded)),
    "candidate-clipped-after-activation": kernel(
        candidate=lambda k, x, h, reset, p: k.clipped(
            Kernel.candidate(k, x, h, reset, p._replace(clip=np.inf)), p.clip
        )
    ),
    "recurrent-bias-outside-reset": kernel(recurrent=bias_outside),
    "direction-1-resets-before": kernel(
        prepare=Changed(reset_after=lambda _: False, where=direction_1)
    ),
    "tail-update-without-state-and-candidate-not-clipped": kernel(
        update_gate=Changed(r=without(Z, 4)), candidate=Changed(clip=unbounded)
    ),
    "candidate-sums-in-float16-and-sigmoid-limited-to-5": kernel(
        HalfSums, sigmoid=Changed(v=limited(5))
    ),
    "update-gate-of-row-0-and-no-candidate-bias-after": kernel(
        update_gate=Changed(of_first_row), prepare=Changed(wb=without(H), where=after)
    ),
    "candidate-r-transposed-and-x-of-first-four-rows": kernel(
        recurrent=Changed(r=transposed), step=Changed(x=lambda x: x[np.arange(len(x)) % 4])
    ),
    "bias-garbage-and-initial-state-in-float16": kernel(
        biases=arbitrary_biases, start=Changed(half)
    ),
    "y-laid-out-time-before-direction-and-ho-from-last-time": kernel(pack=time_before_direction),
    "initial-state-of-row-0-and-r-of-direction-0": kernel(
        unpack=Changed(of_first("r")), start=Changed(lambda h: np.array(of_first_row(h)))
    ),
    "padding-repeats-state-and-backward-reset-without-bias": kernel(
        direction=running_on, prepare=Changed(wb=without(R), where=backwards)
    ),
    "layout1-initial-h-direction-first-and-tail-of-y-not-written": kernel(
        unpack=state_direction_first, pack=Changed(y=tail_of_y_unwritten)
    ),
    "update-gate-clipped-before-bias-and-biases-of-direction-0": kernel(
        update_gate=update_gate_clipped_before_bias, biases=biases_of_direction_0
    ),
}
"""Alone, then two at once."""
