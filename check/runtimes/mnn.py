"""Names for entry points of an earlier installation."""

from .onnx_files import mnn as loop  # type: ignore[attr-defined]  # noqa: F401
from .onnx_files import mnn_kernel as kernel  # type: ignore[attr-defined]  # noqa: F401
