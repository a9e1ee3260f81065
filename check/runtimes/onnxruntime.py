"""Names for entry points of an earlier installation."""

from .onnx_files import onnxruntime as inputs  # type: ignore[attr-defined]  # noqa: F401
from .onnx_files import onnxruntime_constant as constant  # type: ignore[attr-defined]  # noqa: F401
from .onnx_files import onnxruntime_opset7 as opset7  # type: ignore[attr-defined]  # noqa: F401
