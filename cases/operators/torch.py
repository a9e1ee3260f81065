"""PyTorch's nn.GRU, of one layer, and nn.GRUCell, as their docstrings give them.

Where these texts are silent or loose, `cases/torch/LEDGER.md` says which reading is taken, and why.
"""

from __future__ import annotations

from .activations import Activation
from .signature import DRAWN_OR_ZEROS, Attribute, Form, Notation, Operator, Tensor

_DOCS = "https://docs.pytorch.org/docs/stable/generated/"
_BATCH_FIRST = {"batch_first": True}
_TYPES = ("float32", "float16", "float64", "bfloat16")  # ledger: dtypes
# "(W_ir|W_iz|W_in)" (ledger: gate-order); n is the candidate h
_RZN = ("r", "z", "h")
_INPUT, _HIDDEN = ("wr", "wz", "wh"), ("rr", "rz", "rh")
_FIXED = {"f": Activation("sigmoid"), "g": Activation("tanh"), "reset_after": True}
_SIZE_ATTRIBUTES = (
    Attribute("input_size", "int", "number of features of the input",
              sets="input", required=True, positive=True),
    Attribute("hidden_size", "int", "number of features of the hidden state",
              sets="hidden", required=True, positive=True),
)  # fmt: skip


def _notation(step: str, before: str, new: str) -> Notation:
    """Write the formulas with these marks of this step, of the step before, and with a new state."""
    return Notation(
        x=f"x{step}", h=f"h{before}", z=f"z{step}", r=f"r{step}", t=f"n{step}", state=new,
        gate={"h": "n"}, w="W_i{gate}", u="W_h{gate}", matmul="{weight} {x}", times="*",
        b="b_i{gate}", rb="b_h{gate}", sum_b="b_i{gate} + b_h{gate}",
    )  # fmt: skip


def _of_layer(name: str) -> tuple[str, str]:
    return f"{name}_l0", f"{name}_l0_reverse"


GRU = Operator(
    name="torch.GRU",
    source=_DOCS + "torch.nn.GRU.html",
    attributes=(
        *_SIZE_ATTRIBUTES,
        Attribute("batch_first", "boolean", "the batch is the first axis of input and output",
                  default=False, token="batch_first"),
        Attribute("bidirectional", "boolean", "a second direction, from the last step to the first",
                  sets="direction", default=False, token="bidirectional",
                  choices={False: ("forward",), True: ("forward", "reverse")}),
    ),
    inputs=(
        Tensor("input", "x", "T",
               (Form(("N", "L", "input_size"), (), _BATCH_FIRST, "batch_first"),
                Form(("L", "N", "input_size")))),
        Tensor("h_0", "h0", "T", (Form(("D", "N", "hidden_size")),), required=False,
               fills=DRAWN_OR_ZEROS),  # ledger: batch-first-state
        Tensor("lengths", "lengths", "T1", (Form(("N",)),), required=False, least=1),  # ledger: packed
        Tensor("weight_ih", "w", "T", (Form(("D", "3*hidden_size", "input_size"), _RZN),),
               names=_of_layer("weight_ih")),
        Tensor("weight_hh", "r", "T", (Form(("D", "3*hidden_size", "hidden_size"), _RZN),),
               names=_of_layer("weight_hh")),
        Tensor("bias_ih", "b", "T", (Form(("D", "3*hidden_size"), _INPUT),),
               required=False, together="bias", names=_of_layer("bias_ih")),
        Tensor("bias_hh", "b", "T", (Form(("D", "3*hidden_size"), _HIDDEN),),
               required=False, together="bias", names=_of_layer("bias_hh")),
    ),
    outputs=(
        Tensor("output", "y", "T",  # ledger: side-by-side
               (Form(("N", "L", "D*hidden_size"), (), _BATCH_FIRST, "batch_first"),
                Form(("L", "N", "D*hidden_size")))),
        Tensor("h_n", "ho", "T", (Form(("D", "N", "hidden_size")),)),
    ),
    sizes={"N": "batch", "L": "time", "input_size": "input", "hidden_size": "hidden", "D": "direction"},
    types={"T": _TYPES, "T1": ("int64",)},
    id_order=("bidirectional", "batch_first"),
    notation=_notation("_t", "_(t-1)", "h_t"),
    always=_FIXED,
)  # fmt: skip

GRU_CELL = Operator(
    name="torch.GRUCell",
    source=_DOCS + "torch.nn.GRUCell.html",
    attributes=_SIZE_ATTRIBUTES,
    inputs=(
        Tensor("input", "x", "T", (Form(("N", "input_size")),)),
        Tensor("hidden", "h0", "T", (Form(("N", "hidden_size")),), required=False,
               fills=DRAWN_OR_ZEROS),
        Tensor("weight_ih", "w", "T", (Form(("3*hidden_size", "input_size"), _RZN),)),
        Tensor("weight_hh", "r", "T", (Form(("3*hidden_size", "hidden_size"), _RZN),)),
        Tensor("bias_ih", "b", "T", (Form(("3*hidden_size",), _INPUT),), required=False,
               together="bias"),
        Tensor("bias_hh", "b", "T", (Form(("3*hidden_size",), _HIDDEN),), required=False,
               together="bias"),
    ),
    outputs=(Tensor("output", "ho", "T", (Form(("N", "hidden_size")),)),),  # ledger: cell-output
    sizes={"N": "batch", "input_size": "input", "hidden_size": "hidden"},
    types={"T": _TYPES},
    id_order=(),
    notation=_notation("", "", "h'"),
    always=_FIXED,
)  # fmt: skip

OPERATORS = (GRU_CELL, GRU)
