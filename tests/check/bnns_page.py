"""BNNSGraph's gru in numpy, as someone who has nothing but Apple's page would write it.

`run` is the page to the letter, `run_clipped` that with pre-activations clipped to ±50, as Core ML's
layer has them. `run_before` differs where the page can be doubted: without
applyResetGateAfterMatMul it applies the reset gate before the product, and the output of the
reverse direction stands at the time of its input. `run_last_in_time` takes the last output of reverse
from a sequence in that order, `run_sum_but_for_n` takes bias for a sum, but not the candidate's. All
compute in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Unsupported

Array = npt.NDArray[Any]
Runtime = Callable[[Question], dict[str, Array]]

ALPHA, BETA = float(np.float32(1.7159)), float(np.float32(2 / 3))  # of scaledTanh
SLOPE = float(np.float32(0.2))  # of hardSigmoid

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "hardSigmoid": lambda v: np.clip(SLOPE * v + 0.5, 0.0, 1.0),
    "linear": lambda v: v,
    "relu": lambda v: np.asarray(np.maximum(v, 0.0)),
    "scaledTanh": lambda v: np.asarray(ALPHA * np.tanh(BETA * v)),
    "sigmoid": lambda v: np.asarray(1.0 / (1.0 + np.exp(-v))),
    "tanh": lambda v: np.asarray(np.tanh(v)),
}


def run(question: Question) -> dict[str, Array]:
    """The literal formulas; a reverse output in processing order."""
    return _gru(question, before=False, time_aligned=False)


def run_before(question: Question) -> dict[str, Array]:
    """The reset gate before the product, unless after it is asked for; outputs at their times."""
    return _gru(question, before=True, time_aligned=True)


def run_clipped(question: Question) -> dict[str, Array]:
    """Every pre-activation clipped to [-50, 50]."""
    return _gru(question, before=False, time_aligned=False, clip=50.0)


def run_last_in_time(question: Question) -> dict[str, Array]:
    """A last output of reverse that belongs to the last x, which is the first step taken."""
    outputs = _gru(question, before=False, time_aligned=False)
    a = question.attributes
    if a["direction"] == "reverse" and not a["outputSequence"]:
        x = question.inputs["x"][-1:]
        first = replace(question, inputs={**question.inputs, "x": x})
        outputs["output"] = _gru(first, before=False, time_aligned=False)["output"]
    return outputs


def run_sum_but_for_n(question: Question) -> dict[str, Array]:
    """bias read as the sum of both biases for r and z, and as b_hn for n."""
    hidden = question.inputs["initialHiddenStates"].shape[-1]
    bias = question.inputs["inputBias"].copy()
    bias[:hidden] = bias[2 * hidden :] = 0
    changed = replace(question, inputs={**question.inputs, "inputBias": bias})
    return _gru(changed, before=False, time_aligned=False)


def _gru(
    question: Question, before: bool, time_aligned: bool, clip: float = np.inf
) -> dict[str, Array]:
    if question.operator != "bnnsgraph.gru":
        raise Unsupported(f"{question.operator} is not bnnsgraph.gru")
    a, dtype = question.attributes, question.inputs["x"].dtype
    v = {name: array.astype(np.float64) for name, array in question.inputs.items()}

    def clipped(name: str) -> Callable[[Array], Array]:
        return lambda v: ACTIVATIONS[name](np.clip(v, -clip, clip))

    A, RA = clipped(a["activation"]), clipped(a["recurrentActivation"])
    after = a["applyResetGateAfterMatMul"]
    W_ir, W_in, W_iz = np.split(v["inputHiddenWeight"], 3, axis=-2)
    W_hr, W_hn, W_hz = np.split(v["hiddenHiddenWeight"], 3, axis=-2)
    b_hr, b_hn, b_hz = np.split(v["bias"], 3, axis=-1)
    b_ir, b_in, b_iz = np.split(v["inputBias"], 3, axis=-1)

    h, steps = v["initialHiddenStates"], []
    with np.errstate(over="ignore", invalid="ignore"):
        for x in v["x"][::-1] if a["direction"] == "reverse" else v["x"]:
            r = RA(x @ W_ir.T + b_ir + h @ W_hr.T + b_hr)
            z = RA(x @ W_iz.T + b_iz + h @ W_hz.T + b_hz)
            if after:
                recurrent = (h @ W_hn.T + b_hn) * r
            elif before:
                recurrent = (r * h) @ W_hn.T + b_hn
            else:
                recurrent = h @ W_hn.T * r + b_hn
            n = A(x @ W_in.T + b_in + recurrent)
            h = (1 - z) * n + z * h
            steps.append(h)
    if not a["outputSequence"]:
        output = np.stack(steps[-1:])
    elif time_aligned and a["direction"] == "reverse":
        output = np.stack(steps[::-1])
    else:
        output = np.stack(steps)
    with np.errstate(over="ignore"):
        return {"output": output.astype(dtype), "hiddenStates": h.astype(dtype)}
