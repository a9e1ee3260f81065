"""tract as a runtime of ONNX GRU.

sequence_lens is an initializer as the weights are: tract knows no other.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import tract

from .onnx_file import ONNXFileRuntime

os.environ.setdefault("RUST_LIB_BACKTRACE", "0")  # a stack takes a refusal longer than a run


def run_file(content: bytes, feeds: dict[str, Any]) -> list[Any]:
    """Give what tract makes of the file of a model; it reads files alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gru.onnx"
        path.write_bytes(content)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [tensor.to_numpy() for tensor in runnable.run(list(feeds.values()))]


runnable = ONNXFileRuntime(
    "tract",
    str(tract.version()),
    "GRU on tract; W, R, B and sequence_lens are initializers",
    lambda file: run_file(file.content, file.feeds),
)
