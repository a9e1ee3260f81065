"""Names for entry points of an earlier installation."""

from .onnx_files import openvino_onnx as frontend  # type: ignore[attr-defined]  # noqa: F401
from .onnx_files import openvino_onnx_dynamic as dynamic  # type: ignore[attr-defined]  # noqa: F401
