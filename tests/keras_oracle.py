"""An independent oracle for keras.layers.GRU.

Written from Keras's docstrings, from the ledger where they are silent, and from GRUCell.call's arithmetic
(which the docstrings lack), one row and one scalar at a time.  It shares nothing with the generator.

A step of a row is either valid or masked.  A masked step leaves the state alone; its output is that of the
step before it, and zeros at first.  Time runs backwards for go_backwards, and the output is in that order.

    leading-mask.initial-state   at first, the output of a masked step is the initial state
"""

from collections.abc import Collection, Mapping
from typing import Any

from oracle import Array, Numbers, Vector, dot, matrix, vector


def evaluate(
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    numbers: Numbers,
    readings: Collection[str] = frozenset(),
) -> dict[str, list[Any]]:
    """Output and state as nested lists in the shapes of the docstrings."""
    batch, timesteps, _ = inputs["inputs"].shape
    units = inputs["recurrent_kernel"].shape[0]
    zero = numbers.exact(0.0)
    kernel = [vector(column, numbers) for column in inputs["kernel"].T]
    recurrent = [vector(column, numbers) for column in inputs["recurrent_kernel"].T]
    bias = _biases(attributes["reset_after"], inputs.get("bias"), 3 * units, numbers)

    def step(x: Vector, h: Vector) -> Vector:
        def gate(place: int) -> Any:
            total = dot(kernel[place], x) + dot(recurrent[place], h)
            total += bias[0][place] + bias[1][place]
            return _activation(attributes["recurrent_activation"], total, numbers)

        z = [gate(unit) for unit in range(units)]
        r = [gate(units + unit) for unit in range(units)]
        found = []
        for unit in range(units):
            place = 2 * units + unit
            if attributes["reset_after"]:
                past = r[unit] * (dot(recurrent[place], h) + bias[1][place])
            else:
                past = dot(recurrent[place], [a * b for a, b in zip(r, h, strict=True)])
            total = dot(kernel[place], x) + bias[0][place] + past
            hh = _activation(attributes["activation"], total, numbers)
            found.append(z[unit] * h[unit] + (1 - z[unit]) * hh)
        return found

    outputs, states = [], []
    for row in range(batch):
        steps = matrix(inputs["inputs"][row], numbers)
        valid = inputs["mask"][row].tolist() if "mask" in inputs else [True] * timesteps
        if attributes["go_backwards"]:
            steps, valid = steps[::-1], valid[::-1]
        given = inputs.get("initial_state")
        state = [zero] * units if given is None else vector(given[row], numbers)
        before = state if "leading-mask.initial-state" in readings else [zero] * units
        sequence = []
        for x, counts in zip(steps, valid, strict=True):
            if counts:
                state = before = step(x, state)
            kept = counts or not attributes["zero_output_for_mask"]
            sequence.append(before if kept else [zero] * units)
        # "only used when `return_sequences` is `True`": the last output is that of the last valid step
        outputs.append(sequence if attributes["return_sequences"] else before)
        states.append(state)
    return {"output": outputs, "state": states}


def _biases(
    reset_after: bool, bias: Array | None, count: int, numbers: Numbers
) -> tuple[Vector, Vector]:
    """The biases of the kernel and of the recurrent kernel."""
    none = [numbers.exact(0.0)] * count
    if bias is None:
        return none, none
    return (vector(bias[0], numbers), vector(bias[1], numbers)) if reset_after else (
        vector(bias, numbers),
        none,
    )  # fmt: skip


def _activation(name: str, v: Any, numbers: Numbers) -> Any:
    """keras.activations, by their docstrings."""
    zero, one = numbers.exact(0.0), numbers.exact(1.0)
    match name:
        case "linear":
            return v
        case "leaky_relu":
            return v if v > 0 else numbers.exact(0.2) * v
        case "hard_sigmoid":
            return max(zero, min(one, numbers.exact(1 / 6) * v + numbers.exact(0.5)))
        case "elu":
            return v if v > 0 else numbers.context.expm1(v)  # type: ignore[attr-defined]
    return numbers.activation(name, v)  # relu, sigmoid, softplus, softsign, tanh
