"""What generation is compared with: a GRU as one writes it in numpy, in float64, case by case.

The inputs of a case are those its specification names, in its layout. Per time step the rows are
computed together; a row stops at its own length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Case

Array = npt.NDArray[np.float64]


def sigmoid(a: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-a)))


def relu(a: Array) -> Array:
    return np.maximum(a, 0.0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": relu,
}


def evaluate(cases: Iterable[Case]) -> list[dict[str, Array]]:
    """The outputs of every case, one case after the other."""
    with np.errstate(all="ignore"):  # some cases hold NaN, infinities, or overflow
        return [
            cell(case.attributes, case.inputs)
            if "Cell" in case.operator
            else sequence(case.attributes, case.inputs)
            for case in cases
        ]


def cell(attributes: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Array]:
    """openvino.GRUCell-3."""
    x, h, w, r = (
        inputs[name].astype(np.float64) for name in ("X", "initial_hidden_state", "W", "R")
    )
    parts = 4 if attributes["linear_before_reset"] else 3
    b = inputs["B"].astype(np.float64) if "B" in inputs else np.zeros(parts * h.shape[-1])
    return {"Ho": step(attributes, x, h, np.split(w, 3), np.split(r, 3), np.split(b, parts))}


def sequence(attributes: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Array]:
    """openvino.GRUSequence-5."""
    x, h0, w, r, b = (
        inputs[name].astype(np.float64) for name in ("X", "initial_hidden_state", "W", "R", "B")
    )
    lengths = inputs["sequence_lengths"]
    parts = 4 if attributes["linear_before_reset"] else 3
    directions = {"bidirectional": ["forward", "reverse"]}.get(
        attributes["direction"], [attributes["direction"]]
    )
    y = np.zeros((x.shape[0], len(directions), x.shape[1], h0.shape[-1]))
    ho = np.zeros(h0.shape)
    for d, direction in enumerate(directions):
        gates_w, gates_r, gates_b = np.split(w[d], 3), np.split(r[d], 3), np.split(b[d], parts)
        h = h0[:, d].copy()
        for number in range(lengths.max()):
            rows = np.flatnonzero(number < lengths)
            times = lengths[rows] - 1 - number if direction == "reverse" else number
            h[rows] = step(attributes, x[rows, times], h[rows], gates_w, gates_r, gates_b)
            y[rows, d, times] = h[rows]
        ho[:, d] = np.where(lengths[:, None] > 0, h, 0.0)
    return {"Y": y, "Ho": ho}


def step(
    attributes: Mapping[str, Any],
    x: Array,
    h: Array,
    w: list[Array],
    r: list[Array],
    b: list[Array],
) -> Array:
    """The next state of every row."""
    f, g = (ACTIVATIONS[name] for name in attributes["activations"])
    clip = attributes["clip"]

    def clipped(a: Array) -> Array:
        return a if clip == np.inf else np.clip(a, -clip, clip)

    z = f(clipped(x @ w[0].T + h @ r[0].T + b[0]))
    reset = f(clipped(x @ w[1].T + h @ r[1].T + b[1]))
    if attributes["linear_before_reset"]:
        a = x @ w[2].T + reset * (h @ r[2].T + b[3]) + b[2]
    else:
        a = x @ w[2].T + (reset * h) @ r[2].T + b[2]
    t = g(clipped(a))
    return np.asarray((1.0 - z) * t + z * h)
