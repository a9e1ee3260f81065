"""Names for entry points of an earlier installation."""

from .onnx_files import onnx_reference as reference  # type: ignore[attr-defined]  # noqa: F401
