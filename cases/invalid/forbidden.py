"""Where each owner's text forbids what: the entries of the ledgers.

What an owner has no line for is no defect of its operators. Where the text is silent, or says that behaviour
is undefined, the line does not decide: what a runtime does is reported alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ..operators.signature import Operator

Rule = Literal[
    "shape", "dtype", "dtype of lengths", "required input", "required attribute", "hidden",
    "activation", "number of activations", "number of parameters", "clip", "direction", "layout",
    "switch", "length below", "length above",
]  # fmt: skip


class Forbidden(NamedTuple):
    """An entry of the owner's ledger, and whether it decides."""

    ledger: str
    decides: bool = True


_LINES: Mapping[str, Mapping[Rule, Forbidden]] = {
    "openvino": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("w-type"),
        "dtype of lengths": Forbidden("t2-int"),
        "required input": Forbidden("required-inputs"),
        "required attribute": Forbidden("required-attributes"),
        "hidden": Forbidden("hidden-size"),
        "activation": Forbidden("act-names"),
        "number of activations": Forbidden("act-arity"),
        "clip": Forbidden("clip-default"),
        "direction": Forbidden("direction-required"),
        "switch": Forbidden("lbr-bool", decides=False),
        "length below": Forbidden("len-negative", decides=False),
        "length above": Forbidden("len-beyond", decides=False),
    },
    "onnx": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("one-type"),
        "dtype of lengths": Forbidden("types"),
        "required input": Forbidden("required-inputs"),
        "hidden": Forbidden("hidden-size"),
        "activation": Forbidden("names"),
        "number of activations": Forbidden("arity"),
        "number of parameters": Forbidden("parameter-order", decides=False),
        "clip": Forbidden("clip-range", decides=False),
        "direction": Forbidden("direction"),
        "layout": Forbidden("layout"),
        "length below": Forbidden("lens-range", decides=False),
        "length above": Forbidden("lens-range", decides=False),
    },
    "bnnsgraph": {
        "shape": Forbidden("shapes"),
        "dtype": Forbidden("dtype"),
        "required input": Forbidden("declaration"),
        "required attribute": Forbidden("declaration"),
        "activation": Forbidden("declaration"),
        "direction": Forbidden("direction"),
    },
}

_OF_TENSORS: Mapping[tuple[str, str, Rule], Forbidden] = {
    # "of type T", which that page does not define
    ("openvino.GRUSequence-5", "B", "dtype"): Forbidden("b-type", decides=False),
}
"""By operator and input, what its text says otherwise of that input alone."""


def forbidden(operator: Operator, rule: Rule, tensor: str = "") -> Forbidden | None:
    """Find where the owner's text forbids breaking `rule`, in one input if it is named; None if nowhere."""
    here = _OF_TENSORS.get((operator.name, tensor, rule))
    return here or _LINES.get(operator.owner, {}).get(rule)
