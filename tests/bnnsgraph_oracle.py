"""An independent oracle for gru of BNNSGraph.Builder.Tensor.

Written from Apple's page and the ledger alone, one scalar at a time, sharing nothing with the
generator it is there to check.  The numbers of the results are those of `numbers`;
`oracle.round_once` takes them to a dtype.

The stored reading: gates stacked r, n, z in all four tensors; `bias` holds b_h* and `inputBias`
b_i*, both added where the formulas have them, for both values of applyResetGateAfterMatMul; where that
is false the literal formula, in which the reset gate multiplies the finished product and b_hn
stands outside; reverse gives its output in processing order.  Each other reading changes one point:

    reset-false.before          false: n = A(W_in x + b_in + W_hn (r * h) + b_hn)
    bias-sum.sum                true: bias holds b_i* + b_h*
    input-bias-unused.ignored   false: inputBias is not used
    reverse-order.time          reverse: output[t] belongs to x[t]
    hard-sigmoid.sixth, scaled-tanh.one
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy

from oracle import Array, Numbers, Vector, dot, matrix, vector


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

    input_bias, hidden_bias = (vector(inputs[name], numbers) for name in ("inputBias", "bias"))
    if after and "bias-sum.sum" in readings:
        hidden_bias = [both - i for both, i in zip(hidden_bias, input_bias, strict=True)]
    if not after and "input-bias-unused.ignored" in readings:
        input_bias = [numbers.exact(0.0)] * len(input_bias)

    def gates(stacked: list[Any]) -> dict[str, list[Any]]:
        """The parts of a stacked tensor: concat(…r, …n, …z)."""
        return {gate: stacked[k * hidden : (k + 1) * hidden] for k, gate in enumerate("rnz")}

    W, R = (
        gates(matrix(inputs[name], numbers)) for name in ("inputHiddenWeight", "hiddenHiddenWeight")
    )
    b_i, b_h = gates(input_bias), gates(hidden_bias)

    def RA(a: Any) -> Any:
        return _activation(attributes["recurrentActivation"], a, numbers, readings)

    def A(a: Any) -> Any:
        return _activation(attributes["activation"], a, numbers, readings)

    def step(x: Vector, h: Vector) -> Vector:
        """The state of one row after x: the four formulas, in their order."""
        r, n, z = [], [], []
        for j in range(hidden):
            r.append(RA(dot(W["r"][j], x) + b_i["r"][j] + dot(R["r"][j], h) + b_h["r"][j]))
            z.append(RA(dot(W["z"][j], x) + b_i["z"][j] + dot(R["z"][j], h) + b_h["z"][j]))
        for j in range(hidden):
            b_hn = b_h["n"][j]
            if after:
                recurrent = (dot(R["n"][j], h) + b_hn) * r[j]
            elif "reset-false.before" in readings:
                recurrent = dot(R["n"][j], [r[k] * h[k] for k in range(hidden)]) + b_hn
            else:
                recurrent = dot(R["n"][j], h) * r[j] + b_hn
            n.append(A(dot(W["n"][j], x) + b_i["n"][j] + recurrent))
        return [(1 - z[j]) * n[j] + z[j] * h[j] for j in range(hidden)]

    states = matrix(inputs["initialHiddenStates"], numbers)
    output = []  # in processing order
    for t in reversed(range(steps)) if reverse else range(steps):
        x = matrix(inputs["x"][t], numbers)
        states = [step(x[n], states[n]) for n in range(batch)]
        output.append(states)
    if not attributes["outputSequence"]:
        output = output[-1:]
    elif reverse and "reverse-order.time" in readings:
        output.reverse()
    return {"output": output, "hiddenStates": states}


def _activation(name: str, v: Any, numbers: Numbers, readings: Collection[str]) -> Any:
    if name == "linear":
        return v
    if name == "hardSigmoid":
        alpha = numpy.float32(1 / 6 if "hard-sigmoid.sixth" in readings else 0.2)
        a = numbers.exact(float(alpha)) * v + numbers.exact(0.5)
        return max(numbers.exact(0.0), min(numbers.exact(1.0), a))
    if name == "scaledTanh":
        if "scaled-tanh.one" in readings:
            return numbers.activation("tanh", v)
        alpha, beta = numpy.float32(1.7159), numpy.float32(2 / 3)
        inner = numbers.activation("tanh", numbers.exact(float(beta)) * v)
        return numbers.exact(float(alpha)) * inner
    return numbers.activation(name, v)  # relu, sigmoid, tanh
