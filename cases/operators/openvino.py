"""OpenVINO GRUCell-3 and GRUSequence-5, as their specifications give them.

Sources: "GRUCell" and "GRUSequence" in the OpenVINO operation-set documentation. Where their text
is ambiguous, silent or wrong, `cases/openvino/LEDGER.md` says which reading is taken, and why.
"""

from __future__ import annotations

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

_NO_PARAMETERS = (
    "parameters of the activations; none of the three functions has one (ledger: alpha-beta)"
)
_ACTIVATIONS = {name: Activation(name) for name in ("relu", "sigmoid", "tanh")}
_T = ("float32", "float16", "float64", "bfloat16")  # ledger: t-float
_DOCS = "https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/"

# "gate order: zrh". B holds for z and r "the sum of biases"; with linear_before_reset the two
# biases of h "are placed separately", input part first (ledger: b-order).
_ZRH = ("z", "r", "h")
_SEPARATE_H = ("z", "r", "wh", "rh")

_SHARED_ATTRIBUTES = (
    Attribute("hidden_size", "int", "hidden state size",
              sets="hidden", required=True, positive=True, token="h"),
    Attribute("activations", "strings", "f (gates z and r) and g (candidate h)",
              sets="activations", default=["sigmoid", "tanh"], choices=_ACTIVATIONS, length=2,
              absent_token="noact"),  # ledger: act-default
    Attribute("activations_alpha", "floats", _NO_PARAMETERS, token="alpha"),
    Attribute("activations_beta", "floats", _NO_PARAMETERS, token="beta"),
    Attribute("clip", "float", "bound C of the clipping of pre-activations to [-C, C]",
              sets="clip", default=float("inf"), positive=True, infinite=True, token="clip"),
    Attribute("linear_before_reset", "boolean",
              "apply the reset gate to Ht-1*(Rh^T) + Rbh instead of to Ht-1",
              sets="reset_after", default=False, written={0: False, 1: True},  # ledger: lbr-bool
              token="lbr"),
)  # fmt: skip

_ID_ORDER = (
    "linear_before_reset", "activations", "activations_alpha", "activations_beta", "clip"
)  # fmt: skip
_BEFORE, _AFTER = {"linear_before_reset": False}, {"linear_before_reset": True}

GRU_CELL = Operator(
    name="openvino.GRUCell-3",
    source=_DOCS + "gru-cell-3.html",
    attributes=_SHARED_ATTRIBUTES,
    inputs=(
        Tensor("X", "x", "T", (Form(("batch_size", "input_size")),)),
        Tensor("initial_hidden_state", "h0", "T", (Form(("batch_size", "hidden_size")),),
               fills=DRAWN_OR_ZEROS),
        Tensor("W", "w", "T", (Form(("3*hidden_size", "input_size"), _ZRH),)),
        Tensor("R", "r", "T", (Form(("3*hidden_size", "hidden_size"), _ZRH),)),
        Tensor("B", "b", "T", (Form(("3*hidden_size",), _ZRH, _BEFORE, "3H"),
                               Form(("4*hidden_size",), _SEPARATE_H, _AFTER, "4H")),
               required=False),  # ledger: b-optional
    ),
    outputs=(Tensor("Ho", "ho", "T", (Form(("batch_size", "hidden_size")),)),),
    sizes={"batch_size": "batch", "input_size": "input", "hidden_size": "hidden"},
    types={"T": _T},
    id_order=_ID_ORDER,
)  # fmt: skip

GRU_SEQUENCE = Operator(
    name="openvino.GRUSequence-5",
    source=_DOCS + "gru-sequence-5.html",
    attributes=(
        *_SHARED_ATTRIBUTES,
        # ledger: direction-required, bidi-layout
        Attribute("direction", "string", "order of traversing the sequence",
                  sets="direction", required=True, choices=DIRECTIONS),
    ),
    inputs=(
        Tensor("X", "x", "T1", (Form(("batch_size", "seq_length", "input_size")),)),
        Tensor("initial_hidden_state", "h0", "T1",
               (Form(("batch_size", "num_directions", "hidden_size")),), fills=DRAWN_OR_ZEROS),
        Tensor("sequence_lengths", "lengths", "T2", (Form(("batch_size",)),)),
        Tensor("W", "w", "T1", (Form(("num_directions", "3*hidden_size", "input_size"), _ZRH),)),
        Tensor("R", "r", "T1", (Form(("num_directions", "3*hidden_size", "hidden_size"), _ZRH),)),
        Tensor("B", "b", "T1",  # ledger: b-type
               (Form(("num_directions", "3*hidden_size"), _ZRH, _BEFORE, "3H"),
                Form(("num_directions", "4*hidden_size"), _SEPARATE_H, _AFTER, "4H"))),
    ),
    outputs=(
        # the specification calls Y's third axis seq_len; it is X's seq_length
        Tensor("Y", "y", "T1",
               (Form(("batch_size", "num_directions", "seq_length", "hidden_size")),)),
        Tensor("Ho", "ho", "T1", (Form(("batch_size", "num_directions", "hidden_size")),)),
    ),
    sizes=SEQUENCE_SIZES,
    types={"T1": _T, "T2": ("int64", "int32")},  # ledger: t2-int
    id_order=("direction", *_ID_ORDER),
)  # fmt: skip

OPERATORS = (GRU_CELL, GRU_SEQUENCE)
