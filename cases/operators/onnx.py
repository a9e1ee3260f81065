"""ONNX GRU, opset 14, with opset 22's bfloat16.

Source: "GRU" in ONNX's operator documentation. Opset 22 is opset 14 with bfloat16 among its types;
opset 7 is opset 14 without `layout`. Where the text is ambiguous or silent, `cases/onnx/LEDGER.md`
says which reading is taken, and why.
"""

from __future__ import annotations

import math

import numpy as np

from .activations import Activation
from .signature import (
    DIRECTIONS,
    DRAWN_OR_ZEROS,
    SEQUENCE_SIZES,
    Attribute,
    Form,
    Operator,
    Tensor,
)  # fmt: skip


def _default(number: float) -> float:
    """Round a default of an attribute of type FLOAT to float32 (ledger: parameter-type)."""
    return float(np.float32(number))


# defaults "are the same as of corresponding ONNX operators" (ledger: parameter-defaults)
_ACTIVATIONS = {
    "Relu": Activation("relu"),
    "Tanh": Activation("tanh"),
    "Sigmoid": Activation("sigmoid"),
    "Affine": Activation("affine", math.nan, math.nan),
    "LeakyRelu": Activation("leaky-relu", _default(0.01)),
    "ThresholdedRelu": Activation("thresholded-relu", 1.0),
    "ScaledTanh": Activation("scaled-tanh", math.nan, math.nan),
    "HardSigmoid": Activation("hard-sigmoid", _default(0.2), 0.5),
    "Elu": Activation("elu", 1.0),
    "Softsign": Activation("softsign"),
    "Softplus": Activation("softplus"),
}
_BATCH_FIRST = {"layout": 1}

_ZRH = ("z", "r", "h")
_BOTH = ("wz", "wr", "wh", "rz", "rr", "rh")  # "Concatenation of [Wb[zrh], Rb[zrh]]"
_STATE = (
    Form(("batch_size", "num_directions", "hidden_size"), (), _BATCH_FIRST),
    Form(("num_directions", "batch_size", "hidden_size")),
)

GRU = Operator(
    name="onnx.GRU-14",
    source="https://onnx.ai/onnx/operators/onnx__GRU.html",
    attributes=(
        Attribute("hidden_size", "int", "number of neurons in the hidden layer",
                  sets="hidden", positive=True, token="h"),
        Attribute("direction", "string", "order of traversing the sequence",
                  sets="direction", default="forward", choices=DIRECTIONS, absent_token="nodir"),
        Attribute("layout", "int",
                  "0: time first in X and Y, directions first in initial_h and Y_h; 1: batch first in all",
                  default=0, choices={0: 0, 1: 1}, token="layout"),
        Attribute("linear_before_reset", "int",
                  "apply the linear transformation before multiplying by the output of the reset gate",
                  sets="reset_after", default=0, choices={0: False, 1: True}, token="lbr"),
        Attribute("activations", "strings", "f (gates z and r) and g (candidate h), for each direction",
                  sets="activations", default=["Sigmoid", "Tanh"], choices=_ACTIVATIONS, length=2,
                  per_direction=True, absent_token="noact"),
        Attribute("activation_alpha", "floats",
                  "alpha of each activation that takes one, in order (ledger: parameter-order)",
                  sets="alpha", single=True, token="alpha"),
        Attribute("activation_beta", "floats",
                  "beta of each activation that takes one, in order (ledger: parameter-order)",
                  sets="beta", single=True, token="beta"),
        Attribute("clip", "float", "bound of the clipping of pre-activations", sets="clip",
                  default=math.inf, positive=True, infinite=True, single=True, token="clip"),
    ),
    inputs=(
        Tensor("X", "x", "T",
               (Form(("batch_size", "seq_length", "input_size"), (), _BATCH_FIRST, "layout1"),
                Form(("seq_length", "batch_size", "input_size")))),
        Tensor("W", "w", "T", (Form(("num_directions", "3*hidden_size", "input_size"), _ZRH),)),
        Tensor("R", "r", "T", (Form(("num_directions", "3*hidden_size", "hidden_size"), _ZRH),)),
        Tensor("B", "b", "T", (Form(("num_directions", "6*hidden_size"), _BOTH),), required=False),
        Tensor("sequence_lens", "lengths", "T1", (Form(("batch_size",)),), required=False),
        Tensor("initial_h", "h0", "T", _STATE, required=False, fills=DRAWN_OR_ZEROS),
    ),
    outputs=(
        Tensor("Y", "y", "T",
               (Form(("batch_size", "seq_length", "num_directions", "hidden_size"), (), _BATCH_FIRST),
                Form(("seq_length", "num_directions", "batch_size", "hidden_size"))),
               required=False),
        Tensor("Y_h", "ho", "T", _STATE, required=False),
    ),
    sizes=SEQUENCE_SIZES,
    types={"T": ("float32", "float16", "float64", "bfloat16"), "T1": ("int32",)},
    id_order=(
        "direction", "layout", "linear_before_reset", "activations", "activation_alpha",
        "activation_beta", "clip",
    ),
)  # fmt: skip

OPERATORS = (GRU,)
