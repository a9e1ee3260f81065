"""An independent oracle for WebNN's gru and gruCell.

Written from the emulations in the specification and the ledger alone, one scalar at a time, sharing nothing
with the generator it is there to check.  `gru` calls `gru_cell` for each step and direction, as the emulation
does; what the emulation leaves out (the layout, activations) is from the text.  The numbers of the results are
those of `numbers`; `oracle.round_once` takes them to a dtype.
"""

from collections.abc import Mapping
from typing import Any

import numpy

from oracle import Array, Matrix, Numbers, Vector, dot, matrix, vector


def evaluate(
    operator: str, attributes: Mapping[str, Any], inputs: Mapping[str, Array], *, numbers: Numbers
) -> dict[str, list[Any]]:
    """The outputs by name, as nested lists in the shapes of the specification; output1 of a gru always."""
    options = {
        "resetAfter": True,
        "layout": "zrn",
        "activations": ["sigmoid", "tanh"],
        **attributes,
    }
    if operator == "webnn.gruCell":
        biases = [inputs.get(name) for name in ("bias", "recurrentBias")]
        weights = [inputs[name] for name in ("weight", "recurrentWeight")]
        states = matrix(inputs["hiddenState"], numbers)
        return {"output": _cell(inputs["input"], states, weights, biases, options, numbers)}
    return _gru(inputs, options, numbers)


def _gru(
    inputs: Mapping[str, Array], options: Mapping[str, Any], numbers: Numbers
) -> dict[str, list[Any]]:
    steps, batch, _ = inputs["input"].shape
    assert options["steps"] == steps
    direction = options.get("direction", "forward")
    count = 2 if direction == "both" else 1
    last: list[Any] = []
    sequence: list[list[Any]] = [[None] * count for _ in range(steps)]  # by time, then direction
    for d in range(count):
        weights = [inputs[name][d] for name in ("weight", "recurrentWeight")]
        biases = [inputs[n][d] if n in inputs else None for n in ("bias", "recurrentBias")]
        hidden = [[numbers.exact(0.0)] * options["hiddenSize"] for _ in range(batch)]
        if "initialHiddenState" in inputs:
            hidden = matrix(inputs["initialHiddenState"][d], numbers)
        for step in range(steps):
            time = steps - step - 1 if d == 1 or direction == "backward" else step
            hidden = _cell(inputs["input"][time], hidden, weights, biases, options, numbers)
            sequence[time][d] = hidden
        last.append(hidden)
    return {"output0": last, "output1": sequence}


def _cell(
    x: Array,
    states: Matrix,
    weights: list[Array],
    biases: list[Array | None],
    options: Mapping[str, Any],
    numbers: Numbers,
) -> Matrix:
    """The new state of every row."""
    size, layout = options["hiddenSize"], options["layout"]

    def stacked(array: Array | None) -> dict[str, Any]:
        """The parts of a tensor by gate: a matrix each, or a vector; zeros where there is no bias."""
        if array is None:
            array = numpy.zeros(3 * size)
        take = matrix if array.ndim == 2 else vector
        return {
            gate: take(array[k * size : (k + 1) * size], numbers) for k, gate in enumerate(layout)
        }

    w, r = map(stacked, weights)
    b, rb = map(stacked, biases)

    def f(a: Any) -> Any:
        return numbers.activation(options["activations"][0], a)

    def g(a: Any) -> Any:
        return numbers.activation(options["activations"][1], a)

    def new_state(row: Vector, h: Vector) -> Vector:
        def gate(name: str, j: int) -> Any:
            return f((b[name][j] + rb[name][j]) + (dot(row, w[name][j]) + dot(h, r[name][j])))

        z = [gate("z", j) for j in range(size)]
        reset = [gate("r", j) for j in range(size)]
        n = []
        for j in range(size):
            if options["resetAfter"]:
                inner = reset[j] * (rb["n"][j] + dot(h, r["n"][j]))
                n.append(g(b["n"][j] + (dot(row, w["n"][j]) + inner)))
            else:
                inner = dot([reset[k] * h[k] for k in range(size)], r["n"][j])
                n.append(g((b["n"][j] + rb["n"][j]) + (dot(row, w["n"][j]) + inner)))
        return [z[j] * h[j] + n[j] * (1 - z[j]) for j in range(size)]

    rows = matrix(x, numbers)
    return [new_state(row, h) for row, h in zip(rows, states, strict=True)]
