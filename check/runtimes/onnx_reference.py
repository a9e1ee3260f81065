"""onnx.reference.ReferenceEvaluator, which is written in numpy, as a runtime of ONNX GRU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from .onnx_file import ONNXSessionRuntime


def evaluated(evaluator: Any, asked: Sequence[str], feeds: dict[str, Any]) -> list[Any]:
    """Give what an evaluator makes of the outputs that are asked for."""
    with np.errstate(over="ignore"):
        return list(evaluator.run(list(asked), feeds))


reference = ONNXSessionRuntime(
    "onnx-reference",
    str(onnx.__version__),
    "GRU on onnx.reference.ReferenceEvaluator",
    ReferenceEvaluator,
)
