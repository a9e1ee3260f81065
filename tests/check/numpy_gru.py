"""The GRU in numpy, as README has it, and the same with one mistake each.

`grucible check --runtime tests/check/numpy_gru.py:run`. Everything is computed in float64 (in
`in_float32`: in float32) and rounded to the case's dtype at the end. `MISTAKES` are runtimes, by the mistake they make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Unsupported

Array = npt.NDArray[Any]
Runtime = Callable[[Question], Mapping[str, Array]]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda v: np.asarray(0.5 * np.tanh(0.5 * v) + 0.5),
    "tanh": lambda v: np.asarray(np.tanh(v)),
    "relu": lambda v: np.asarray(np.maximum(v, 0)),
}
BACKWARDS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def run(question: Question, mistake: str = "", arithmetic: str = "float64") -> dict[str, Array]:
    """GRUCell-3 and GRUSequence-5, or all but one thing of them."""
    if not question.operator.startswith("openvino."):
        raise Unsupported("OpenVINO's operators alone")
    a = question.attributes
    after = a["linear_before_reset"]
    parts = 4 if after else 3
    x = {name: array.astype(arithmetic) for name, array in question.inputs.items()}
    dtype = question.inputs["X"].dtype
    clip = np.inf if mistake == "clip ignored" else a["clip"]

    def activation(name: str, v: Array) -> Array:
        return ACTIVATIONS[name](np.clip(v, -clip, clip))

    def step(x: Array, h: Array, w: Array, r: Array, b: Array) -> Array:
        f, g = a["activations"]
        if mistake == "activations exchanged":
            f, g = g, f
        (wz, wr, wh), (rz, rr, rh), (bz, br, bh, *rbh) = (
            np.split(w, 3),
            np.split(r, 3),
            np.split(b, parts),
        )
        if mistake == "gates z and r exchanged":
            wz, wr, rz, rr, bz, br = wr, wz, rr, rz, br, bz
        z = activation(f, x @ wz.T + h @ rz.T + bz)
        reset = activation(f, x @ wr.T + h @ rr.T + br)
        inner = rbh[0] if rbh else np.zeros_like(bh)
        if after is (mistake == "linear_before_reset inverted"):
            recurrent = (reset * h) @ rh.T + inner
        elif mistake == "Rbh outside the product":
            recurrent = reset * (h @ rh.T) + inner
        else:
            recurrent = reset * (h @ rh.T + inner)
        new = (1 - z) * activation(g, x @ wh.T + recurrent + bh) + z * h
        assert new.dtype == arithmetic
        return np.asarray(new)

    w, r, h0 = x["W"], x["R"], x["initial_hidden_state"]
    b = x.get("B", np.zeros(parts * a["hidden_size"], arithmetic))
    if mistake == "h0 ignored":
        h0 = np.zeros_like(h0)
    if "direction" not in a:
        return {"Ho": step(x["X"], h0, w, r, b).astype(dtype)}

    batch, time, _ = x["X"].shape
    backwards = BACKWARDS[a["direction"]]
    y, ho = np.zeros((batch, len(backwards), time, a["hidden_size"])), np.zeros_like(h0)
    lengths = question.inputs["sequence_lengths"]
    if mistake == "sequence_lengths ignored":
        lengths = np.full_like(lengths, time)
    for row, length in enumerate(lengths):
        for d, reverse in enumerate(backwards):
            h = h0[row, d]
            if mistake == "h0 kept for length 0":
                ho[row, d] = h
            steps = range(length)
            for t in reversed(steps) if reverse and mistake != "reverse ignored" else steps:
                h = y[row, d, t] = ho[row, d] = step(x["X"][row, t], h, w[d], r[d], b[d])
    if mistake == "directions exchanged in Y":
        y = y[:, ::-1]
    return {"Y": y.astype(dtype), "Ho": ho.astype(dtype)}


in_float32 = partial(run, arithmetic="float32")
"""The same in float32, whatever the dtype: to float64 vectors, not good enough."""

keeps_h0 = partial(run, mistake="h0 kept for length 0")
"""Another reading of the specification, not a mistake (ledger: len-zero)."""

MISTAKES: dict[str, Runtime] = {
    mistake: partial(run, mistake=mistake)
    for mistake in (
        "gates z and r exchanged",
        "linear_before_reset inverted",
        "Rbh outside the product",
        "activations exchanged",
        "clip ignored",
        "h0 ignored",
        "sequence_lengths ignored",
        "reverse ignored",
        "directions exchanged in Y",
    )
}
