"""OpenCV's dnn module as a runtime of ONNX GRU.

The model names Y and Y_h both: where a node has no Y_h, OpenCV gives what would be Y_h
as Y, in its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from .onnx_file import ONNXFileRuntime

cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # what it raises, it prints too


def run_file(content: bytes, feeds: dict[str, Any], asked: Sequence[str]) -> list[Any]:
    """Give what OpenCV makes of the file of a model, of the outputs that are asked for."""
    net = cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
    for name, array in feeds.items():
        net.setInput(array, name)
    return list(net.forward(asked))


dnn = ONNXFileRuntime(
    "opencv",
    f"{cv2.__version__} dnn, CPU",
    "GRU on OpenCV's dnn module; W, R, B are initializers",
    lambda file: run_file(file.content, file.feeds, file.asked),
)
