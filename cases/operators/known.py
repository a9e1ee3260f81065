"""Every operator grucible knows, by name."""

from __future__ import annotations

from .bnnsgraph import OPERATORS as _BNNSGRAPH
from .onnx import OPERATORS as _ONNX
from .openvino import OPERATORS as _OPENVINO
from .signature import Operator

OPERATORS: dict[str, Operator] = {
    operator.name: operator for operator in (*_OPENVINO, *_ONNX, *_BNNSGRAPH)
}
