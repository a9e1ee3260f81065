"""An independent oracle for gru of BNNSGraph.Builder.Tensor.

Written from Apple's page and the ledger alone, one scalar at a time, sharing nothing with the
generator it is there to check.  The numbers of the results are those of `numbers`;
`oracle.round_once` takes them to a dtype.

The stored reading: gates stacked r, n, z in all four tensors; `bias` holds b_h* and `inputBias`
b_i*, both added where the formulas have them, for both values of applyResetGateAfterMatMul; where that
is false the literal formula, in which the reset gate multiplies the finished product and b_hn
stands outside; reverse gives its output in processing order.  Each of `READINGS` changes one point.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy

from oracle import Array, Matrix, Numbers, Vector, dot

READINGS = frozenset(
    {
        "reset-false.before",  # false: n = A(W_in x + b_in + W_hn (r * h) + b_hn)
        "bias-sum.sum",  # true: bias holds b_i* + b_h*
        "input-bias-unused.ignored",  # false: inputBias is not used
        "reverse-order.time",  # reverse: output[t] belongs to x[t]
        "hard-sigmoid.sixth",
        "scaled-tanh.one",
    }
)
ACTIVATIONS = ("hardSigmoid", "linear", "relu", "scaledTanh", "sigmoid", "tanh")


class Parameters(NamedTuple):
    """What is fixed for all steps: the tensors by gate, and how to read the formulas."""

    input_weight: dict[str, Matrix]
    hidden_weight: dict[str, Matrix]
    input_bias: dict[str, Vector]
    hidden_bias: dict[str, Vector]
    activation: str
    recurrent_activation: str
    reset: str  # "product": of W_hn h; "product and bias": of W_hn h + b_hn; "state": of h
    readings: frozenset[str]
    numbers: Numbers


def evaluate(
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    numbers: Numbers,
    readings: Collection[str] = frozenset(),
) -> dict[str, list[Any]]:
    """Output and hiddenStates as nested lists in the shapes of the page."""
    steps, batch, _ = inputs["x"].shape
    hidden = inputs["initialHiddenStates"].shape[1]
    after = attributes["applyResetGateAfterMatMul"]
    reverse = attributes["direction"] == "reverse"

    input_bias = _vector(inputs["inputBias"], numbers)
    hidden_bias = _vector(inputs["bias"], numbers)
    if after and "bias-sum.sum" in readings:
        hidden_bias = [both - i for both, i in zip(hidden_bias, input_bias, strict=True)]
    if not after and "input-bias-unused.ignored" in readings:
        input_bias = [numbers.exact(0.0)] * len(input_bias)
    reset = "product and bias" if after else "product"
    if not after and "reset-false.before" in readings:
        reset = "state"
    parameters = Parameters(
        _gates(_matrix(inputs["inputHiddenWeight"], numbers), hidden),
        _gates(_matrix(inputs["hiddenHiddenWeight"], numbers), hidden),
        _gates(input_bias, hidden),
        _gates(hidden_bias, hidden),
        attributes["activation"],
        attributes["recurrentActivation"],
        reset,
        frozenset(readings),
        numbers,
    )

    times = list(range(steps))
    if reverse:
        times.reverse()
    states = [_vector(row, numbers) for row in inputs["initialHiddenStates"]]
    output = []  # in processing order
    for t in times:
        x = _matrix(inputs["x"][t], numbers)
        states = [_step(x[n], states[n], parameters) for n in range(batch)]
        output.append(states)
    if not attributes["outputSequence"]:
        output = output[-1:]
    elif reverse and "reverse-order.time" in readings:
        output.reverse()
    return {"output": output, "hiddenStates": states}


def _step(x: Vector, h: Vector, p: Parameters) -> Vector:
    """The state of one row after x: the four formulas, in their order."""

    def RA(a: Any) -> Any:
        return _activation(p.recurrent_activation, a, p)

    def A(a: Any) -> Any:
        return _activation(p.activation, a, p)

    def from_input(gate: str, j: int) -> Any:
        return dot(p.input_weight[gate][j], x) + p.input_bias[gate][j]

    def product(gate: str, j: int, state: Vector) -> Any:
        return dot(p.hidden_weight[gate][j], state)

    r, n, z = [], [], []
    for j in range(len(h)):
        r.append(RA(from_input("r", j) + product("r", j, h) + p.hidden_bias["r"][j]))
        z.append(RA(from_input("z", j) + product("z", j, h) + p.hidden_bias["z"][j]))
    for j in range(len(h)):
        b_hn = p.hidden_bias["n"][j]
        if p.reset == "product and bias":
            recurrent = (product("n", j, h) + b_hn) * r[j]
        elif p.reset == "product":
            recurrent = product("n", j, h) * r[j] + b_hn
        else:
            recurrent = product("n", j, [r[k] * h[k] for k in range(len(h))]) + b_hn
        n.append(A(from_input("n", j) + recurrent))
    return [(1 - z[j]) * n[j] + z[j] * h[j] for j in range(len(h))]


def _activation(name: str, v: Any, p: Parameters) -> Any:
    if name == "linear":
        return v
    if name == "hardSigmoid":
        sixth = "hard-sigmoid.sixth" in p.readings
        alpha = numpy.float32(1 / 6) if sixth else numpy.float32(0.2)
        a = p.numbers.exact(float(alpha)) * v + p.numbers.exact(0.5)
        return max(p.numbers.exact(0.0), min(p.numbers.exact(1.0), a))
    if name == "scaledTanh":
        if "scaled-tanh.one" in p.readings:
            return p.numbers.activation("tanh", v)
        alpha, beta = numpy.float32(1.7159), numpy.float32(2 / 3)
        inner = p.numbers.activation("tanh", p.numbers.exact(float(beta)) * v)
        return p.numbers.exact(float(alpha)) * inner
    return p.numbers.activation(name, v)  # relu, sigmoid, tanh


def _gates(stacked: list[Any], hidden: int) -> dict[str, list[Any]]:
    """The parts of a stacked tensor: concat(…r, …n, …z)."""
    return {
        "r": stacked[:hidden],
        "n": stacked[hidden : 2 * hidden],
        "z": stacked[2 * hidden :],
    }


def _vector(row: Array, numbers: Numbers) -> Vector:
    if not all(math.isfinite(entry) for entry in row):
        raise ValueError(f"not finite: {row}")
    return [numbers.exact(float(entry)) for entry in row]  # float64 holds each dtype exactly


def _matrix(rows: Array, numbers: Numbers) -> Matrix:
    return [_vector(row, numbers) for row in rows]
