"""Names for entry points of an earlier installation."""

from .onnx_files import tract as runnable  # type: ignore[attr-defined]  # noqa: F401
