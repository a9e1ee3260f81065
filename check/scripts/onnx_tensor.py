"""What a script holds that saves tensors of ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnx import helper


def save(path: Path, name: str, kind: int, array: Any) -> None:
    """Write an array as a TensorProto of the element type `kind`; of bfloat16 its bits are given."""
    made = helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)
    path.write_bytes(made.SerializeToString())
