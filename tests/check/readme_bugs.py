"""Mistakes in check/examples/my_gru.py: what to replace in its text, by the misreading it makes."""

from __future__ import annotations

CLIP = 'np.clip(v, -a["clip"], a["clip"])'
LENGTHS = 'enumerate(question.inputs["sequence_lengths"])'
RECURRENT = "r * (h @ Rh.T + rbh[0]) if rbh else (r * h) @ Rh.T"
STEP = 'h = Y[row, d, t] = Ho[row, d] = step(x["X"][row, t], h, W[d], R[d], B[d])'
RESULT = 'return {"Y": Y.astype(dtype), "Ho": Ho.astype(dtype)}'
TIMES = "for t in sorted(range(length), reverse=backwards):"

BUGS: dict[str, tuple[tuple[str, str], ...]] = {
    "gate-order-rzh": (
        ("(Wz, Wr, Wh), (Rz, Rr, Rh)", "(Wr, Wz, Wh), (Rr, Rz, Rh)"),
        ("bz, br, bh, *rbh", "br, bz, bh, *rbh"),
    ),
    "W-gate-order-rzh": (("(Wz, Wr, Wh)", "(Wr, Wz, Wh)"),),
    "R-gate-order-zhr": (("(Rz, Rr, Rh)", "(Rz, Rh, Rr)"),),
    "B-gate-order-hzr": (("bz, br, bh, *rbh", "bh, bz, br, *rbh"),),
    "Rbh-outside": ((RECURRENT, "r * (h @ Rh.T) + rbh[0] if rbh else (r * h) @ Rh.T"),),
    "Rbh-ignored": ((RECURRENT, "r * (h @ Rh.T) if rbh else (r * h) @ Rh.T"),),
    "lbr-ignored": ((RECURRENT, "(r * h) @ Rh.T + (rbh[0] if rbh else 0)"),),
    "reset-gate-ignored": ((RECURRENT, "h @ Rh.T + (rbh[0] if rbh else 0)"),),
    "update-gate-flipped": (("(1 - z) * g(", "z * g("), ("+ z * h", "+ (1 - z) * h")),
    "bias-ignored": (('x.get("B"', '0 * x.get("B"'),),
    "clip-ignored": ((CLIP, "v"),),
    "clip-upper-only": ((CLIP, 'np.minimum(v, a["clip"])'),),
    "clip-after-activation": (
        (f"ACTIVATIONS[n]({CLIP})", 'np.clip(ACTIVATIONS[n](v), -a["clip"], a["clip"])'),
    ),
    "clip-candidate-only": (
        (
            "z, r = f(x @ Wz.T + h @ Rz.T + bz), f(x @ Wr.T + h @ Rr.T + br)",
            'F = ACTIVATIONS[a["activations"][0]]; '
            "z, r = F(x @ Wz.T + h @ Rz.T + bz), F(x @ Wr.T + h @ Rr.T + br)",
        ),
    ),
    "activations-ignored": (('for n in a["activations"]', 'for n in ("sigmoid", "tanh")'),),
    "activations-exchanged": (("f, g = (", "g, f = ("),),
    "first-activation-for-both": (("* g(", "* f("),),
    "sigmoid-as-hard-sigmoid": (("1 / (1 + np.exp(-v))", "np.clip(0.2 * v + 0.5, 0, 1)"),),
    "relu-as-leaky-relu": (("np.maximum(v, 0)", "np.maximum(v, 0.01 * v)"),),
    "tanh-as-hard-tanh": (('"tanh": np.tanh', '"tanh": lambda v: np.clip(v, -1, 1)'),),
    "tanh-pade": (
        (
            '"tanh": np.tanh',
            '"tanh": lambda v: (lambda u: u * (27 + u * u) / (27 + 9 * u * u))(np.clip(v, -3, 3))',
        ),
    ),
    "h0-ignored": (('x["initial_hidden_state"]', '(0 * x["initial_hidden_state"])'),),
    "R-transposed": (("Rz.T", "Rz"), ("Rr.T", "Rr"), ("Rh.T", "Rh")),
    "R-transposed-candidate": (("Rh.T", "Rh"),),
    "input-tail-dropped": (
        ("x @ Wz.T", "x[..., :-1] @ Wz[:, :-1].T"),
        ("x @ Wr.T", "x[..., :-1] @ Wr[:, :-1].T"),
        ("x @ Wh.T", "x[..., :-1] @ Wh[:, :-1].T"),
    ),
    "weights-shared": (("W[d], R[d], B[d]", "W[0], R[0], B[0]"),),
    "R-shared": (("W[d], R[d], B[d]", "W[d], R[0], B[d]"),),
    "reverse-ignored": (("reverse=backwards", "reverse=False"),),
    "reverse-assumed": (("reverse=backwards", "reverse=True"),),
    "lengths-ignored": (
        (LENGTHS, 'enumerate([Y.shape[2]] * len(question.inputs["sequence_lengths"]))'),
    ),
    "lengths-of-first-row": (
        (LENGTHS, 'enumerate([question.inputs["sequence_lengths"][0]] * len(Y))'),
    ),
    "lengths-one-short": (("range(length)", "range(length - 1)"),),
    "length-0-as-1": (("range(length)", "range(max(length, 1))"),),
    "Y-in-processing-order": (
        (TIMES, TIMES.replace("for t in", "for n, t in enumerate(").replace("backwards):", "backwards)):")),
        (STEP, STEP.replace("Y[row, d, t]", "Y[row, d, n]")),
    ),
    "Y-directions-exchanged": ((RESULT, RESULT.replace("Y.astype", "Y[:, ::-1].astype")),),
    "Ho-directions-exchanged": ((RESULT, RESULT.replace("Ho.astype", "Ho[:, ::-1].astype")),),
    "Ho-of-last-step": ((RESULT, RESULT.replace("Ho.astype", "Y[:, :, -1].astype")),),
    "state-carried-over": (
        ('h = x["initial_hidden_state"][row, d]', 'h = h if row else x["initial_hidden_state"][row, d]'),
    ),
}  # fmt: skip
