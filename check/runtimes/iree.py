"""Names for entry points of an earlier installation."""

from .onnx_files import iree as compiled  # type: ignore[attr-defined]  # noqa: F401
