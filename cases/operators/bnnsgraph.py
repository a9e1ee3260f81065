"""Apple BNNSGraph's gru, as the page of BNNSGraph.Builder.Tensor.gru gives it.

The page contradicts itself; `cases/bnnsgraph/LEDGER.md` says where, and which reading is taken.
No Apple runtime was run: everything here rests on documents alone.
"""

from __future__ import annotations

import numpy as np

from .activations import Activation
from .signature import DRAWN_OR_ZEROS, ZEROS_OR_DRAWN, Attribute, Form, Notation, Operator, Tensor

# Apple's enumeration names no parameters: these are from Core ML's recurrent layers, as C floats
# (ledger: hard-sigmoid, scaled-tanh)
_ACTIVATIONS = {
    "hardSigmoid": Activation("hard-sigmoid", float(np.float32(0.2)), 0.5),
    "linear": Activation("affine", 1.0, 0.0),
    "relu": Activation("relu"),
    "scaledTanh": Activation(
        "scaled-tanh", float(np.float32(1.7159)), float(np.float32(2.0 / 3.0))
    ),
    "sigmoid": Activation("sigmoid"),
    "tanh": Activation("tanh"),
}
# "concat(W_ir, W_in, W_iz)" (ledger: gate-order); n is the candidate h
_RNZ = ("r", "h", "z")

_NOTATION = Notation(
    x="x[t, ...]",
    h="h[t-1, ...]",
    z="z[t, ...]",
    r="r[t, ...]",
    t="n[t, ...]",
    state="h[t, ...]",
    gate={"h": "n"},
    w="W_i{gate}",
    u="W_h{gate}",
    matmul="matmul({weight}, {x})",
    times="*",
    b="b_i{gate}",
    rb="b_h{gate}",
    sum_b="b_h{gate}",
    functions={"affine": "linear", "hard-sigmoid": "hardSigmoid", "scaled-tanh": "scaledTanh"},
)

GRU = Operator(
    name="bnnsgraph.gru",
    source="https://developer.apple.com/documentation/accelerate/bnnsgraph/builder/tensor/"
    "gru(initialhiddenstates:inputhiddenweight:hiddenhiddenweight:bias:inputbias:direction:"
    "activation:recurrentactivation:applyresetgateaftermatmul:outputsequence:)",
    attributes=(
        Attribute("direction", "string", "order of the time steps", sets="direction", required=True,
                  choices={"forward": ("forward",), "reverse": ("reverse",)}),
        Attribute("activation", "string", "A, the activation of the new gate n",
                  sets="g", required=True, choices=_ACTIVATIONS),
        Attribute("recurrentActivation", "string", "RA, the activation of the gates r and z",
                  sets="f", required=True, choices=_ACTIVATIONS),
        Attribute("applyResetGateAfterMatMul", "boolean",
                  "the reset gate multiplies matmul(W_hn, h) + b_hn, instead of matmul(W_hn, h) "
                  "(ledger: reset-false)", sets="bias_inside", required=True, token="after"),
        Attribute("outputSequence", "boolean",
                  "output holds the state of every step instead of the last alone",
                  sets="sequence", required=True, token="sequence"),
    ),
    inputs=(
        Tensor("x", "x", "T", (Form(("L", "N", "Hin")),)),
        Tensor("initialHiddenStates", "h0", "T", (Form(("N", "Hout")),), fills=DRAWN_OR_ZEROS),
        Tensor("inputHiddenWeight", "w", "T", (Form(("3*Hout", "Hin"), _RNZ),)),
        Tensor("hiddenHiddenWeight", "r", "T", (Form(("3*Hout", "Hout"), _RNZ),)),
        # without applyResetGateAfterMatMul, bias is added outside the product with the reset gate
        # (ledger: reset-false, bias-sum)
        Tensor("bias", "b", "T",
               (Form(("3*Hout",), ("rr", "rh", "rz"), {"applyResetGateAfterMatMul": True}),
                Form(("3*Hout",), _RNZ, {"applyResetGateAfterMatMul": False}, "sum"))),
        Tensor("inputBias", "b", "T", (Form(("3*Hout",), ("wr", "wh", "wz")),),
               fills=ZEROS_OR_DRAWN),
    ),
    outputs=(
        Tensor("output", "y", "T",
               (Form(("L", "N", "Hout"), (), {"outputSequence": True}),
                Form(("1", "N", "Hout"), (), {"outputSequence": False}, "last", "ho"))),
        Tensor("hiddenStates", "ho", "T", (Form(("N", "Hout")),)),
    ),
    sizes={"N": "batch", "L": "time", "Hin": "input", "Hout": "hidden"},
    types={"T": ("float32", "float16")},
    id_order=(
        "direction", "applyResetGateAfterMatMul", "recurrentActivation", "activation",
        "outputSequence",
    ),
    notation=_NOTATION,
    sure_range=50.0,  # where Core ML's layer clips (ledger: range)
    # both formulas compute W_hn h before r multiplies it; output[-1] is the last step taken
    # (ledger: reset-false, reverse-order)
    always={"reset_after": True, "y_order": "processing"},
)  # fmt: skip

OPERATORS = (GRU,)
