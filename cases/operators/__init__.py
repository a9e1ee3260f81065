"""The GRU operators that grucible knows, as data."""

from __future__ import annotations

from ..console import suggest
from ..errors import GrucibleError
from .bnnsgraph import OPERATORS as _BNNSGRAPH
from .keras import OPERATORS as _KERAS
from .onnx import OPERATORS as _ONNX
from .openvino import OPERATORS as _OPENVINO
from .signature import Operator
from .torch import OPERATORS as _TORCH
from .webnn import OPERATORS as _WEBNN

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (*_OPENVINO, *_ONNX, *_BNNSGRAPH, *_TORCH, *_KERAS, *_WEBNN)
}


def operator_named(name: str) -> Operator:
    """Get the operator of this name. Raises GrucibleError for an unknown name."""
    if name not in OPERATORS:
        near = suggest(name, OPERATORS)
        raise GrucibleError(f"operator is {name!r}{near}; expected one of {', '.join(OPERATORS)}")
    return OPERATORS[name]
