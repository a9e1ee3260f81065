"""An independent oracle for ONNX GRU (opset 14).

Written from the text of the operator's schema alone, one scalar at a time, sharing nothing with
the generator it is there to check.  Results are mpmath numbers of `numbers`; `oracle.round_once`
takes them to a dtype.

Readings where the text leaves a choice: an activation's alpha (beta) is the next value of
activation_alpha (activation_beta) if the function takes one, and values left over are an error;
Affine and ScaledTanh, of which no operator is left, have no defaults; the clip
applies to the argument of every activation, and to nothing else.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy

from oracle import Array, Matrix, Vector, dot, vector

Function = Callable[[Any], Any]

DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}

# the functions that take an alpha, and those that take a beta, with the default; None: none
ALPHAS: dict[str, float | None] = {
    "Affine": None,
    "LeakyRelu": 0.01,
    "ThresholdedRelu": 1.0,
    "ScaledTanh": None,
    "HardSigmoid": 0.2,
    "Elu": 1.0,
}
BETAS: dict[str, float | None] = {"Affine": None, "ScaledTanh": None, "HardSigmoid": 0.5}


def evaluate(
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Array],
    *,
    numbers: Any,
    len_zero: str = "zeros",
) -> dict[str, list[Any]]:
    """Y and Y_h as nested lists in the shapes of the specification for the layout.

    `attributes`: by their ONNX names, all with a default filled in (clip: inf is none), but
    activation_alpha and activation_beta only where given.
    `len_zero`: Y_h of a row of length 0: "zeros" or "initial_hidden_state".
    """
    batch_first = attributes["layout"] == 1
    reversals = DIRECTIONS[attributes["direction"]]
    functions = _functions(attributes, numbers)
    X = inputs["X"]
    batch, seq_length = X.shape[:2] if batch_first else (X.shape[1], X.shape[0])
    hidden = attributes["hidden_size"]
    lengths = inputs.get("sequence_lens", [seq_length] * batch)

    zeros = [numbers.exact(0.0)] * hidden
    steps = [[[zeros] * seq_length for _ in range(batch)] for _ in reversals]  # [d][n][t]
    last = [[zeros] * batch for _ in reversals]  # [d][n]
    for d, backwards in enumerate(reversals):
        W = [vector(row, numbers) for row in inputs["W"][d]]
        R = [vector(row, numbers) for row in inputs["R"][d]]
        B = vector(inputs["B"][d], numbers) if "B" in inputs else zeros * 6
        f, g = functions[2 * d], functions[2 * d + 1]
        for n in range(batch):
            h = zeros
            if "initial_h" in inputs:
                initial = inputs["initial_h"]
                h = vector(initial[n, d] if batch_first else initial[d, n], numbers)
            times = range(lengths[n])  # X past the length is never looked at
            for t in reversed(times) if backwards else times:
                x = vector(X[n, t] if batch_first else X[t, n], numbers)
                h = _step(x, h, W, R, B, f, g, bool(attributes["linear_before_reset"]))
                steps[d][n][t] = h
            if lengths[n] > 0 or len_zero == "initial_hidden_state":
                last[d][n] = h

    D, N, T = range(len(reversals)), range(batch), range(seq_length)
    if batch_first:
        Y = [[[steps[d][n][t] for d in D] for t in T] for n in N]
        return {"Y": Y, "Y_h": [[last[d][n] for d in D] for n in N]}
    Y = [[[steps[d][n][t] for n in N] for d in D] for t in T]
    return {"Y": Y, "Y_h": last}


def _step(
    x: Vector,
    h: Vector,
    W: Matrix,
    R: Matrix,
    B: Vector,
    f: Function,
    g: Function,
    linear_before_reset: bool,
) -> Vector:
    """Ht of one row from its Xt and Ht-1: the equations of GRU, in their order."""
    H = len(h)
    Wz, Wr, Wh = W[:H], W[H : 2 * H], W[2 * H :]
    Rz, Rr, Rh = R[:H], R[H : 2 * H], R[2 * H :]
    Wbz, Wbr, Wbh, Rbz, Rbr, Rbh = (B[k * H : (k + 1) * H] for k in range(6))
    zt = [f(dot(x, Wz[j]) + dot(h, Rz[j]) + Wbz[j] + Rbz[j]) for j in range(H)]
    rt = [f(dot(x, Wr[j]) + dot(h, Rr[j]) + Wbr[j] + Rbr[j]) for j in range(H)]
    if linear_before_reset:
        ht = [g(dot(x, Wh[j]) + rt[j] * (dot(h, Rh[j]) + Rbh[j]) + Wbh[j]) for j in range(H)]
    else:
        rh = [rt[k] * h[k] for k in range(H)]
        ht = [g(dot(x, Wh[j]) + dot(rh, Rh[j]) + Rbh[j] + Wbh[j]) for j in range(H)]
    return [(1 - zt[j]) * ht[j] + zt[j] * h[j] for j in range(H)]


# the attributes


def _functions(attributes: Mapping[str, Any], numbers: Any) -> list[Function]:
    """f and g of each direction, each with its parameters and the clip in it."""
    names = attributes["activations"]
    clip = _float32(attributes["clip"])
    alphas = iter(attributes.get("activation_alpha") or [])
    betas = iter(attributes.get("activation_beta") or [])
    functions = [
        _function(name, _next(ALPHAS, name, alphas), _next(BETAS, name, betas), numbers)
        for name in names
    ]
    if [*alphas, *betas]:
        raise ValueError(f"more parameters than {names} take")
    return [_clipped(function, clip, numbers) for function in functions]


def _next(table: Mapping[str, float | None], name: str, given: Iterator[float]) -> float:
    """The parameter of a function from the list, else its default; 0 where it takes none."""
    if name not in table:
        return 0.0
    value = next(given, table[name])
    if value is None or not math.isfinite(_float32(value)):
        raise ValueError(f"a parameter of {name}: {value}")
    return _float32(value)


def _float32(value: float) -> float:
    with numpy.errstate(over="ignore"):
        return float(numpy.float32(value))


def _clipped(function: Function, clip: float, numbers: Any) -> Function:
    if clip == math.inf:
        return function
    high = numbers.exact(clip)
    return lambda x: function(min(max(x, -high), high))


def _function(name: str, alpha: float, beta: float, numbers: Any) -> Function:
    mp: Any = getattr(numbers, "context", None)  # exact fractions have none, and no tanh
    a, b = numbers.exact(alpha), numbers.exact(beta)
    zero, one = numbers.exact(0.0), numbers.exact(1.0)
    functions: dict[str, Function] = {
        "Relu": lambda x: max(zero, x),
        "Tanh": lambda x: mp.tanh(x),
        "Sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "Affine": lambda x: a * x + b,
        "LeakyRelu": lambda x: x if x >= 0 else a * x,
        "ThresholdedRelu": lambda x: x if x >= a else zero,
        "ScaledTanh": lambda x: a * mp.tanh(b * x),
        "HardSigmoid": lambda x: min(max(a * x + b, zero), one),
        "Elu": lambda x: x if x >= 0 else a * mp.expm1(x),
        "Softsign": lambda x: x / (1 + abs(x)),
        "Softplus": lambda x: max(x, zero) + mp.log1p(mp.exp(-abs(x))),
    }
    return functions[name]
