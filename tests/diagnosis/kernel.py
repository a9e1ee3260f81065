"""A GRU as a person writes a kernel: small functions, one of which a wrong one has otherwise.

`grucible check --runtime tests/diagnosis/kernel.py:right --select 'onnx.GRU-14/*/float32/*'`. Arrays are as
the kernel has them, the same for each operator: x [time, batch, input], h [batch, hidden], y [time, direction,
batch, hidden]. The arithmetic is the question's, float32 for float16.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grucible import Question, Unsupported

Array = npt.NDArray[Any]

Z, R, H = 0, 1, 2
"""The gates, in the order of W, R and B."""

BACKWARDS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
ALPHAS: dict[str, float] = {
    "Affine": 0.0,
    "Elu": 1.0,
    "HardSigmoid": 0.2,
    "LeakyRelu": 0.01,
    "ScaledTanh": 0.0,
    "ThresholdedRelu": 1.0,
}
BETAS: dict[str, float] = {"Affine": 0.0, "HardSigmoid": 0.5, "ScaledTanh": 0.0}


class Function(NamedTuple):
    """An activation, its name in lower case; parameters that it does not take are 0."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0


class Direction(NamedTuple):
    """What one direction is computed with: w [3, hidden, input], r [3, hidden, hidden], wb and rb [3, hidden]."""

    w: Array
    r: Array
    wb: Array
    rb: Array
    f: Function
    g: Function
    clip: float
    reset_after: bool
    backwards: bool
    number: int


class Task(NamedTuple):
    """A question, unpacked: x [time, batch, input], h0 [direction, batch, hidden], lengths [batch]."""

    x: Array
    h0: Array
    lengths: Array
    directions: Sequence[Direction]


class Kernel:
    """A GRU of OpenVINO's and ONNX's operators. One object answers all questions, one after another.

    Wrong ones may read the `task` and the number of the step that is computed `now`.
    """

    task: Task
    now: int

    def __call__(self, question: Question) -> dict[str, Array]:
        if question.dtype == "bfloat16" or question.operator == "bnnsgraph.gru":
            raise Unsupported("OpenVINO's and ONNX's operators in float16, float32 and float64")
        with np.errstate(all="ignore"):
            task = self.unpack(question)
            done = [self.direction(task, one) for one in task.directions]
            y = np.stack([states for states, _ in done], axis=1)
            last = np.stack([h for _, h in done])
            outputs = self.pack(question, y, last)
            return {
                name: outputs[name].astype(wanted.dtype)
                for name, wanted in question.outputs.items()
            }

    # what is asked

    def unpack(self, question: Question) -> Task:
        a = question.attributes
        given = {name: self.converted(name, array) for name, array in question.inputs.items()}
        w, r, x = given["W"], given["R"], given["X"]
        if question.operator == "openvino.GRUCell-3":
            w, r, x = w[None], r[None], x[:, None]
        time_first = question.operator == "onnx.GRU-14" and a["layout"] == 0
        x = x if time_first else np.swapaxes(x, 0, 1)
        backwards = BACKWARDS[a.get("direction", "forward")]
        hidden = r.shape[2]
        wb, rb = self.biases(question, given.get("B"), (len(w), 3, hidden), w.dtype)
        lengths = self.lengths(question, x.shape[0], x.shape[1])
        h0 = given.get("initial_h", given.get("initial_hidden_state"))
        if h0 is None:
            h0 = np.zeros((len(w), x.shape[1], hidden), w.dtype)
        elif not time_first:
            h0 = h0[None] if h0.ndim == 2 else np.swapaxes(h0, 0, 1)
        functions = self.functions(question)
        w, r = w.reshape(len(w), 3, hidden, -1), r.reshape(len(w), 3, hidden, hidden)
        reset_after = bool(a["linear_before_reset"])
        directions = [
            self.prepare(Direction(w[d], r[d], wb[d], rb[d], f, g, a["clip"], reset_after, back, d))
            for d, (back, (f, g)) in enumerate(zip(backwards, functions, strict=True))
        ]
        return Task(x, h0, lengths, directions)

    def prepare(self, p: Direction) -> Direction:
        """Change what a direction is computed with: for kernels that read weights otherwise."""
        return p

    def converted(self, name: str, array: Array) -> Array:  # noqa: ARG002 - for those that differ by name
        """Convert an input to the dtype of the computation; integers stay."""
        return array.astype(np.float32) if array.dtype == np.float16 else array

    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        """Those of the input's products and those of the state's, each [direction, 3, hidden]."""
        wb, rb = np.zeros(shape, dtype), np.zeros(shape, dtype)
        if b is None:
            return wb, rb
        parts = b.reshape(shape[0], -1, shape[2])
        wb[:] = parts[:, :3]
        if question.operator == "onnx.GRU-14":
            rb[:] = parts[:, 3:]
        elif parts.shape[1] == 4:
            rb[:, H] = parts[:, 3]
        return wb, rb

    def lengths(self, question: Question, time: int, batch: int) -> Array:
        found = question.inputs.get("sequence_lens", question.inputs.get("sequence_lengths"))
        return np.full(batch, time) if found is None else found.astype(np.int64)

    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        """f and g of each direction."""
        a = question.attributes
        names, both = a["activations"], BACKWARDS[a.get("direction", "forward")]
        if question.operator != "onnx.GRU-14":
            f, g = map(Function, names)
            return [(f, g) for _ in both]
        alphas, betas = iter(a.get("activation_alpha") or ()), iter(a.get("activation_beta") or ())
        names = names * 2 if len(names) < 2 * len(both) else names
        taken = [
            Function(
                name.lower(),
                next(alphas, ALPHAS[name]) if name in ALPHAS else 0.0,
                next(betas, BETAS[name]) if name in BETAS else 0.0,
            )
            for name in names
        ]
        return list(zip(taken[::2], taken[1::2], strict=True))

    # functions

    def sigmoid(self, v: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-v)))

    def tanh(self, v: Array) -> Array:
        return np.asarray(np.tanh(v))

    def relu(self, v: Array) -> Array:
        return np.asarray(np.maximum(v, 0))

    def elu(self, v: Array, alpha: Any) -> Array:
        return np.where(v >= 0, v, alpha * np.expm1(np.minimum(v, 0)))

    def softplus(self, v: Array) -> Array:
        return np.asarray(np.maximum(v, 0) + np.log1p(np.exp(-np.abs(v))))

    def softsign(self, v: Array) -> Array:
        return np.asarray(v / (1 + np.abs(v)))

    def thresholdedrelu(self, v: Array, alpha: Any) -> Array:
        return np.where(v > alpha, v, 0)

    def activation(self, name: str, v: Array, alpha: float, beta: float) -> Array:
        a, b = v.dtype.type(np.float32(alpha)), v.dtype.type(np.float32(beta))
        known: dict[str, Callable[[], Array]] = {
            "sigmoid": lambda: self.sigmoid(v),
            "tanh": lambda: self.tanh(v),
            "relu": lambda: self.relu(v),
            "affine": lambda: a * v + b,
            "leakyrelu": lambda: np.where(v >= 0, v, a * v),
            "thresholdedrelu": lambda: self.thresholdedrelu(v, a),
            "scaledtanh": lambda: a * self.tanh(b * v),
            "hardsigmoid": lambda: np.clip(a * v + b, 0, 1),
            "elu": lambda: self.elu(v, a),
            "softsign": lambda: self.softsign(v),
            "softplus": lambda: self.softplus(v),
        }
        return np.asarray(known[name]())

    def clipped(self, v: Array, clip: float) -> Array:
        return np.clip(v, -v.dtype.type(clip), v.dtype.type(clip))

    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return self.activation(
            function.name, self.clipped(v, p.clip), function.alpha, function.beta
        )

    # one step

    def product(self, v: Array, matrix: Array) -> Array:
        """v [batch, n] times the transpose of a matrix [hidden, n]."""
        return np.asarray(v @ matrix.T)

    def pre_activation(self, x: Array, h: Array, p: Direction, gate: int) -> Array:
        """Of z or r."""
        return np.asarray(
            self.product(x, p.w[gate]) + self.product(h, p.r[gate]) + p.wb[gate] + p.rb[gate]
        )

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return self.activated(p.f, self.pre_activation(x, h, p, Z), p)

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return self.activated(p.f, self.pre_activation(x, h, p, R), p)

    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        """Compute what the candidate takes from the state."""
        if p.reset_after:
            return np.asarray(reset * (self.product(h, p.r[H]) + p.rb[H]))
        return np.asarray(self.product(reset * h, p.r[H]) + p.rb[H])

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        v = self.product(x, p.w[H]) + self.recurrent(h, reset, p) + p.wb[H]
        return self.activated(p.g, v, p)

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray((1 - z) * new + z * h)

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        """Compute the state after a step: [batch, hidden]."""
        z = self.update_gate(x, h, p)
        reset = self.reset_gate(x, h, p)
        return self.blend(z, self.candidate(x, h, reset, p), h)

    # all steps

    def times(self, step: int, lengths: Array, p: Direction) -> Array:
        """Which time each row is at, in a step; meaningless for rows that have ended."""
        return np.maximum(lengths - 1 - step, 0) if p.backwards else np.full_like(lengths, step)

    def start(self, task: Task, p: Direction) -> Array:
        return np.array(task.h0[p.number])

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        """Compute the states [time, batch, hidden] of a direction, and the last of each row [batch, hidden]."""
        h, rows = self.start(task, p), np.arange(len(task.lengths))
        y = np.zeros((len(task.x), *h.shape), h.dtype)
        self.task = task
        for step in range(len(task.x)):
            self.now = step
            valid = step < task.lengths
            at = self.times(step, task.lengths, p)
            h = np.where(valid[:, None], self.step(task.x[at, rows], h, p), h)
            y[at[valid], rows[valid]] = h[valid]
        return y, self.last(task, y, h)

    def last(self, task: Task, y: Array, h: Array) -> Array:  # noqa: ARG002 - for those that read it from Y
        """Choose the state after a row's last step; 0 where it has none."""
        return np.where(task.lengths[:, None] > 0, h, 0)

    # what is answered

    def pack(self, question: Question, y: Array, last: Array) -> dict[str, Array]:
        """Lay out y [time, direction, batch, hidden] and last [direction, batch, hidden] as the operator does."""
        if question.operator == "openvino.GRUCell-3":
            return {"Ho": last[0]}
        if question.operator == "openvino.GRUSequence-5":
            return {"Y": y.transpose(2, 1, 0, 3), "Ho": last.swapaxes(0, 1)}
        if question.attributes["layout"] == 0:
            return {"Y": y, "Y_h": last}
        return {"Y": y.transpose(2, 0, 1, 3), "Y_h": last.swapaxes(0, 1)}


right = Kernel()


class Changed:
    """A method that changes what the right one is given, and its result, where that is asked of a direction.

    `arguments` change those of the method, by name, or fields of the Direction or Task among them.
    """

    def __init__(
        self,
        result: Callable[[Any], Any] = lambda found: found,
        where: Callable[[Kernel, Any], bool] = lambda *_: True,
        **arguments: Callable[[Any], Any],
    ) -> None:
        self.result, self.where, self.arguments = result, where, arguments

    def __set_name__(self, owner: type, name: str) -> None:
        self.right = getattr(super(owner, owner), name)
        self.names = [*inspect.signature(self.right).parameters][1:]

    def __get__(self, k: Kernel, _: type) -> Callable[..., Any]:
        return partial(self, k)

    def __call__(self, k: Kernel, *values: Any) -> Any:
        given = dict(zip(self.names, values, strict=True))
        if not self.where(k, given.get("p")):
            return self.right(k, *values)
        for name, change in self.arguments.items():
            if name in given:
                given[name] = change(given[name])
            else:
                [of] = (one for one in given if name in getattr(given[one], "_fields", ()))
                new = change(getattr(given[of], name))
                given[of] = given[of]._replace(**{name: new})
        return self.result(self.right(k, *given.values()))


def kernel(*others: type[Kernel], **methods: Any) -> type[Kernel]:
    """Make a kernel that is wrong in these methods, and in those of others."""
    return type("Wrong", (*others, Kernel), methods)
