"""ONNX Runtime's CPU provider as a runtime of ONNX GRU.

Where W, R and B are initializers, as in real models, every case makes a session of its own (some 0.4 ms).
"""

from __future__ import annotations

from typing import Any

import onnxruntime as ort

from .onnx_file import ONNXSessionRuntime
from .posed import ONNX_FILES


def session_of(content: bytes) -> Any:
    """Make a session of the file of a model, on one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; ONNX Runtime would print them too
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _runtime(name: str) -> ONNXSessionRuntime:
    posing = ONNX_FILES[name]
    return ONNXSessionRuntime(
        name,
        f"{ort.__version__} CPU",
        "GRU on ONNX Runtime's CPU provider; "
        f"W, R, B are {'initializers' if posing.constants else 'inputs'}, opset {posing.opset}",
        lambda model: session_of(model.SerializeToString()),
    )


inputs = _runtime("onnxruntime")
constant = _runtime("onnxruntime-constant")
opset7 = _runtime("onnxruntime-opset7")
