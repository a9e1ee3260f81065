"""Names for entry points of an earlier installation."""

from .onnx_files import opencv as dnn  # type: ignore[attr-defined]  # noqa: F401
