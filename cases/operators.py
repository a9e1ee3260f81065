"""Every operator grucible knows, by name."""

from __future__ import annotations

from .openvino.operators import OPERATORS as _OPENVINO
from .signature import Operator

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _OPENVINO}
