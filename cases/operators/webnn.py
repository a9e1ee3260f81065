"""WebNN's gru and gruCell, as the Web Neural Network API specifies them.

Source: "gru" and "gruCell" of MLGraphBuilder. The specification's formulas stand in notes alone;
`cases/webnn/LEDGER.md` says where the text is silent or contradicts itself, and what is taken.
"""

from __future__ import annotations

from .activations import Activation
from .signature import DRAWN_OR_ZEROS, Attribute, Form, Notation, Operator, Tensor

_ACTIVATIONS = {name: Activation(name) for name in ("relu", "sigmoid", "tanh")}
_DIRECTIONS = {"forward": ("forward",), "backward": ("reverse",), "both": ("forward", "reverse")}
_T = {"T": ("float32", "float16")}
_DOCS = "https://www.w3.org/TR/webnn/#api-mlgraphbuilder-"

_HIDDEN_SIZE = Attribute("hiddenSize", "int", "the number of features in the hidden state",
                         sets="hidden", required=True, positive=True, token="h")  # fmt: skip
_OPTIONS = (
    Attribute("resetAfter", "boolean",
              "apply the reset gate after instead of before matrix multiplication",
              sets="reset_after", default=True, token="after"),  # ledger: reset-default
    Attribute("layout", "string",
              "the order of the update (z), reset (r) and new (n) gate in weights and biases",
              default="zrn", choices={"zrn": "zrn", "rzn": "rzn"}),
    Attribute("activations", "strings", "the functions of the update and reset gate, and of the new gate",
              sets="activations", default=["sigmoid", "tanh"], choices=_ACTIVATIONS, length=2,
              absent_token="noact"),
)  # fmt: skip
_ID_ORDER = ("resetAfter", "layout", "activations")
_NOTATION = Notation(
    x="input", h="hidden", z="z", r="r", t="n", state="newHidden", gate={"h": "n"},
    w="weight_{gate}", u="recurrentWeight_{gate}", matmul="matmul({x}, transpose({weight}))",
    times="*", b="bias_{gate}", rb="recurrentBias_{gate}",
)  # fmt: skip


def _stacked(*axes: str, side: str = "") -> tuple[Form, Form]:
    """Make the two forms of a tensor that stacks the gates: in the order zrn, and in the order rzn."""
    first, second = (
        Form(axes, tuple(side + gate for gate in gates), {"layout": layout}, layout)
        for layout, gates in (("zrn", "zrh"), ("rzn", "rzh"))
    )
    return first, second


GRU = Operator(
    name="webnn.gru",
    source=_DOCS + "gru",
    attributes=(
        Attribute("steps", "int", "the number of time steps",
                  sets="time", required=True, positive=True, token="t"),
        _HIDDEN_SIZE,
        Attribute("direction", "string", "the processing direction of the input sequence",
                  sets="direction", default="forward", choices=_DIRECTIONS, absent_token="nodir"),
        *_OPTIONS,
    ),
    inputs=(
        Tensor("input", "x", "T", (Form(("steps", "batchSize", "inputSize")),)),
        Tensor("weight", "w", "T", _stacked("numDirections", "3*hiddenSize", "inputSize")),
        Tensor("recurrentWeight", "r", "T", _stacked("numDirections", "3*hiddenSize", "hiddenSize")),
        Tensor("bias", "b", "T", _stacked("numDirections", "3*hiddenSize", side="w"), required=False),
        Tensor("recurrentBias", "b", "T", _stacked("numDirections", "3*hiddenSize", side="r"),
               required=False),
        Tensor("initialHiddenState", "h0", "T", (Form(("numDirections", "batchSize", "hiddenSize")),),
               required=False, fills=DRAWN_OR_ZEROS),
    ),
    outputs=(
        Tensor("output0", "ho", "T", (Form(("numDirections", "batchSize", "hiddenSize")),)),
        # returnSequence is true where this output is asked for (ledger: return-sequence)
        Tensor("output1", "y", "T", (Form(("steps", "numDirections", "batchSize", "hiddenSize")),),
               required=False),
    ),
    sizes={"batchSize": "batch", "steps": "time", "inputSize": "input", "hiddenSize": "hidden",
           "numDirections": "direction"},
    types=_T,
    id_order=("direction", *_ID_ORDER),
    notation=_NOTATION,
)  # fmt: skip

GRU_CELL = Operator(
    name="webnn.gruCell",
    source=_DOCS + "grucell",
    attributes=(_HIDDEN_SIZE, *_OPTIONS),
    inputs=(
        Tensor("input", "x", "T", (Form(("batchSize", "inputSize")),)),
        Tensor("weight", "w", "T", _stacked("3*hiddenSize", "inputSize")),
        Tensor("recurrentWeight", "r", "T", _stacked("3*hiddenSize", "hiddenSize")),
        Tensor("hiddenState", "h0", "T", (Form(("batchSize", "hiddenSize")),), fills=DRAWN_OR_ZEROS),
        Tensor("bias", "b", "T", _stacked("3*hiddenSize", side="w"), required=False),
        Tensor("recurrentBias", "b", "T", _stacked("3*hiddenSize", side="r"), required=False),
    ),
    outputs=(Tensor("output", "ho", "T", (Form(("batchSize", "hiddenSize")),)),),
    sizes={"batchSize": "batch", "inputSize": "input", "hiddenSize": "hidden"},
    types=_T,
    id_order=_ID_ORDER,
    notation=_NOTATION,
)  # fmt: skip

OPERATORS = (GRU, GRU_CELL)
