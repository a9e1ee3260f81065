"""OpenVINO's GRUCell-3 and GRUSequence-5 in numpy, with all attributes."""

import numpy as np

from grucible import Unsupported

ACTIVATIONS = {
    "relu": lambda v: np.maximum(v, 0),
    "sigmoid": lambda v: (1 + np.tanh(v / 2)) / 2,
    "tanh": np.tanh,
}
DIRECTIONS = {"forward": [0], "reverse": [1], "bidirectional": [0, 1]}


def run(question):
    """Answer a question, computed in float64."""
    if not question.operator.startswith("openvino."):
        raise Unsupported("OpenVINO's operators alone")
    a, dtype = question.attributes, question.inputs["X"].dtype
    x = {name: array.astype(np.float64) for name, array in question.inputs.items()}
    f, g = (
        lambda v, n=n: ACTIVATIONS[n](np.clip(v, -a["clip"], a["clip"])) for n in a["activations"]
    )
    parts = 4 if a["linear_before_reset"] else 3
    W, R, B = x["W"], x["R"], x.get("B", np.zeros(parts * a["hidden_size"]))

    def step(x, h, W, R, B):
        (Wz, Wr, Wh), (Rz, Rr, Rh) = np.split(W, 3), np.split(R, 3)
        bz, br, bh, *rbh = np.split(B, parts)
        z, r = f(x @ Wz.T + h @ Rz.T + bz), f(x @ Wr.T + h @ Rr.T + br)
        recurrent = r * (h @ Rh.T + rbh[0]) if rbh else (r * h) @ Rh.T
        return (1 - z) * g(x @ Wh.T + recurrent + bh) + z * h

    if question.operator == "openvino.GRUCell-3":
        return {"Ho": step(x["X"], x["initial_hidden_state"], W, R, B).astype(dtype)}
    Y, Ho = (np.zeros(question.outputs[name].shape) for name in ("Y", "Ho"))
    for d, backwards in enumerate(DIRECTIONS[a["direction"]]):
        for row, length in enumerate(question.inputs["sequence_lengths"]):
            h = x["initial_hidden_state"][row, d]
            for t in sorted(range(length), reverse=backwards):
                h = Y[row, d, t] = Ho[row, d] = step(x["X"][row, t], h, W[d], R[d], B[d])
    return {"Y": Y.astype(dtype), "Ho": Ho.astype(dtype)}
