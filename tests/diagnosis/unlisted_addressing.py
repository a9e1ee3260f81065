"""One mistake each in where a kernel reads or writes: strides, buffers, rows, times."""

from __future__ import annotations

import numpy as np

from grucible import Question

from .kernel import Array, Direction, H, Kernel, R, Task, Z
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class GateStrideOfW(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        return task._replace(directions=[p._replace(r=self.gates_of(p)) for p in task.directions])

    def gates_of(self, p: Direction) -> Array:
        _, hidden, size = p.w.shape
        flat = p.r.ravel()
        starts = [min(gate * hidden * size, flat.size - hidden * hidden) for gate in (Z, R, H)]
        return np.stack([flat[at : at + hidden**2].reshape(hidden, hidden) for at in starts])


class StateInPlace(Kernel):
    """Unit after unit: each sees the new states of those before it."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        state = h.copy()
        for unit in range(h.shape[1]):
            state[:, unit] = super().step(x, state, p)[:, unit]
        return state


class InputOneStepLate(Kernel):
    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        late = np.concatenate([task.x[:1], task.x[:-1]])
        return super().direction(task._replace(x=late), p)


class BackwardsFromForwards(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        return super().start(task, p) if p.number == 0 else self.state

    def last(self, task: Task, y: Array, h: Array) -> Array:
        self.state = h
        return super().last(task, y, h)


class SharedRecurrence(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        first = task.directions[0]
        return task._replace(directions=[p._replace(r=first.r) for p in task.directions])


class SortedRows(Kernel):
    """Rows are sorted by length for packing, and Y is never put back."""

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        y, last = super().direction(task, p)
        return y[:, np.argsort(-task.lengths, kind="stable")], last


class BackwardsFromLength(Kernel):
    def times(self, step: int, lengths: Array, p: Direction) -> Array:
        at = super().times(step, lengths, p)
        return np.minimum(at + 1, lengths.max() - 1) if p.backwards else at


class BiasRunsOn(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        flat = (p.wb + p.rb).ravel()
        hidden = h.shape[1]
        at = gate * hidden + np.arange(len(x) * hidden).reshape(len(x), hidden)
        return np.asarray(
            self.product(x, p.w[gate]) + self.product(h, p.r[gate]) + flat[at % flat.size]
        )


class InterleavedGates(Kernel):
    """One product gives [batch, 2 * hidden]: z, then r; they are read in turns."""

    def gates(self, x: Array, h: Array, p: Direction) -> Array:
        both = [self.pre_activation(x, h, p, gate) for gate in (Z, R)]
        return self.activated(p.f, np.concatenate(both, axis=1), p)

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return self.gates(x, h, p)[:, 0::2]

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return self.gates(x, h, p)[:, 1::2]


class HoistedRecurrence(Kernel):
    """The candidate's recurrent term is computed before the loop."""

    def start(self, task: Task, p: Direction) -> Array:
        self.first = super().start(task, p)
        return self.first

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:  # noqa: ARG002
        return super().recurrent(self.first, reset, p)


class StateBeforeInput(Kernel):
    """[x, h] times [W | R] in one product, and x and h stacked the other way round."""

    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        weights = np.concatenate([p.w[gate], p.r[gate]], axis=1)
        return np.asarray(
            self.product(np.concatenate([h, x], axis=1), weights) + p.wb[gate] + p.rb[gate]
        )


class InputBiasTwice(Kernel):
    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        return super().pre_activation(x, h, p._replace(rb=p.wb), gate)


class ResetFromNewState(Kernel):
    """The update gate's share of the state is written before the reset gate is computed."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        z = self.update_gate(x, h, p)
        kept = z * h
        reset = self.reset_gate(x, kept, p)
        return np.asarray((1 - z) * self.candidate(x, kept, reset, p) + kept)


class RowsShareReset(Kernel):
    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.broadcast_to(super().reset_gate(x, h, p)[:1], h.shape)


class StateOfNextRow(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        return super().recurrent(np.roll(h, -1, axis=0), reset, p)


class CandidateBiasOfReset(Kernel):
    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        return super().candidate(x, h, reset, p._replace(wb=p.wb[[Z, R, R]]))


def _one(name: str, operator: str, kernel: type[Kernel], mistake: str, place: str = "") -> WrongGru:
    return WrongGru(name, operator, (mistake,), "single", place, kernel)


ADDRESSING = (
    _one("gate-stride-of-w", SEQUENCE, GateStrideOfW,
         "the gates of R are hidden * input elements apart as in W, instead of hidden * hidden"),
    _one("state-in-place", SEQUENCE, StateInPlace,
         "the state is updated in place unit by unit, so later units see the new state of earlier ones"),
    _one("input-one-step-late", ONNX, InputOneStepLate,
         "each time is computed with the input of the time before, the first one with its own"),
    _one("backwards-from-forwards", SEQUENCE, BackwardsFromForwards,
         "the backward pass starts from the forward pass's last state instead of its own initial state",
         "only the second direction of bidirectional"),
    _one("shared-recurrence", ONNX, SharedRecurrence,
         "the backward pass uses the forward pass's R, with its own W and B",
         "only the second direction of bidirectional"),
    _one("sorted-rows", ONNX, SortedRows,
         "rows are sorted by length, the longest first, and Y is left in that order while Y_h is not",
         "only batches that are not sorted already"),
    _one("backwards-from-length", SEQUENCE, BackwardsFromLength,
         "the backward pass starts one time too late, at index length, and never reaches time 0",
         "only backward passes"),
    _one("bias-runs-on", CELL, BiasRunsOn,
         "the pointer to the bias is not reset for each row, so row n adds the bias of n gates further on",
         "gates z and r of all rows but the first"),
    _one("interleaved-gates", ONNX, InterleavedGates,
         "z and r come from one product side by side, and are read as if they were interleaved"),
    _one("hoisted-recurrence", SEQUENCE, HoistedRecurrence,
         "the candidate's recurrent term is computed from the initial state at every step",
         "all steps but the first"),
    _one("state-before-input", CELL, StateBeforeInput,
         "state and input are concatenated as [h, x] for a product with [W | R]",
         "gates z and r"),
    _one("input-bias-twice", ONNX, InputBiasTwice,
         "gates z and r add Wb twice and never add Rb"),
    _one("reset-from-kept", CELL, ResetFromNewState,
         "z h overwrites the state before reset gate and candidate are computed from it"),
    _one("rows-share-reset", ONNX, RowsShareReset,
         "the reset gate of row 0 is broadcast to all rows",
         "all rows but the first"),
    _one("state-of-next-row", SEQUENCE, StateOfNextRow,
         "the candidate's recurrent term takes the state of the next row of the batch"),
    _one("candidate-bias-of-reset", ONNX, CandidateBiasOfReset,
         "the candidate adds the reset gate's Wb instead of its own"),
)  # fmt: skip
"""A mistake in an index, an offset or the moment of a write."""
