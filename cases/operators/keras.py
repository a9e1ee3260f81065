"""Keras's layer GRU, as its docstring and those of its base class RNN and of its activations give it.

The docstrings have no formula, and contradict themselves; `cases/keras/LEDGER.md` says where, and which
reading is taken.
"""

from __future__ import annotations

from .activations import Activation
from .signature import DRAWN_OR_ZEROS, Attribute, Form, Notation, Operator, Tensor

# Keras's own parameters (ledger: hard-sigmoid, leaky-relu)
_ACTIVATIONS = {
    "elu": Activation("elu", 1.0),
    "hard_sigmoid": Activation("hard-sigmoid", 1.0 / 6.0, 0.5),
    "leaky_relu": Activation("leaky-relu", 0.2),
    "linear": Activation("affine", 1.0, 0.0),
    "relu": Activation("relu"),
    "sigmoid": Activation("sigmoid"),
    "softplus": Activation("softplus"),
    "softsign": Activation("softsign"),
    "tanh": Activation("tanh"),
}
_ZRH = ("z", "r", "h")  # ledger: gate-order
_BOTH = (
    "wz",
    "wr",
    "wh",
    "rz",
    "rr",
    "rh",
)  # "separate biases for `kernel` and `recurrent_kernel`"

# the names of GRUCell.call, whose comment has "biases: bias_z_i, bias_r_i, bias_h_i"
_NOTATION = Notation(
    x="x", h="h_tm1", z="z", r="r", t="hh", state="h", w="kernel_{gate}", u="recurrent_kernel_{gate}",
    matmul="{x} @ {weight}", times="*", b="bias_{gate}_i", rb="bias_{gate}_r", sum_b="bias_{gate}",
    functions={"affine": "linear", "hard-sigmoid": "hard_sigmoid", "leaky-relu": "leaky_relu"},
)  # fmt: skip

GRU = Operator(
    name="keras.GRU",
    source="https://keras.io/api/layers/recurrent_layers/gru/",
    attributes=(
        Attribute("units", "int", "dimensionality of the output space",
                  sets="hidden", required=True, positive=True),
        Attribute("activation", "string", "activation function of the candidate",
                  sets="g", default="tanh", choices=_ACTIVATIONS, token="act_"),
        Attribute("recurrent_activation", "string", "activation function of both gates",
                  sets="f", default="sigmoid", choices=_ACTIVATIONS, token="rec_"),
        Attribute("reset_after", "boolean",
                  "apply the reset gate after the matrix multiplication (ledger: default-variant)",
                  sets="reset_after", default=True, token="after"),
        Attribute("go_backwards", "boolean",
                  "process the sequence backwards, and return it reversed (ledger: backwards-order)",
                  sets="direction", default=False, token="backwards",
                  choices={False: ("forward",), True: ("reverse",)}),
        Attribute("return_sequences", "boolean", "return the full sequence instead of the last output",
                  sets="sequence", default=False, token="sequences"),
        Attribute("zero_output_for_mask", "boolean",
                  "the sequence has zeros for masked time steps (ledger: zero-output, masked-output)",
                  sets="y_padding", default=False, token="zeroed",
                  choices={False: "repeated", True: "zeros"}),
    ),
    inputs=(
        Tensor("inputs", "x", "T", (Form(("batch", "timesteps", "features")),)),
        Tensor("initial_state", "h0", "T", (Form(("batch", "units")),), required=False,
               fills=DRAWN_OR_ZEROS),
        Tensor("mask", "lengths", "M", (Form(("batch", "timesteps")),), required=False),
        Tensor("kernel", "w", "T", (Form(("features", "3*units"), _ZRH),)),
        Tensor("recurrent_kernel", "r", "T", (Form(("units", "3*units"), _ZRH),)),
        Tensor("bias", "b", "T",  # ledger: bias-shape
               (Form(("2", "3*units"), _BOTH, {"reset_after": True}, "2x3U"),
                Form(("3*units",), _ZRH, {"reset_after": False}, "3U")),
               required=False),
    ),
    outputs=(
        Tensor("output", "y", "T",
               (Form(("batch", "timesteps", "units"), (), {"return_sequences": True}),
                Form(("batch", "units"), (), {"return_sequences": False}, "last", "ho"))),
        Tensor("state", "ho", "T", (Form(("batch", "units")),), required=False),
    ),
    sizes={"batch": "batch", "timesteps": "time", "features": "input", "units": "hidden"},
    types={"T": ("float32", "float16", "float64", "bfloat16"), "M": ("bool",)},  # ledger: dtypes
    id_order=(
        "go_backwards", "reset_after", "recurrent_activation", "activation", "return_sequences",
        "zero_output_for_mask",
    ),
    notation=_NOTATION,
    always={"y_order": "processing", "empty_row": "initial_hidden_state"},  # ledger: zero-row
)  # fmt: skip

OPERATORS = (GRU,)
