"""OpenCV's dnn module as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes the file of a model of one GRU node. The model names Y and Y_h both, whatever is asked
for: where a node has no Y_h, OpenCV gives what would be Y_h as Y, in its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model_file
from .converted import run_as
from .posed import ONNX_FILES, decline

if TYPE_CHECKING:
    from ...cases.question import Question


class OpenCV:
    """ONNX GRU on OpenCV's dnn module and CPU; W, R, B are initializers."""

    version = f"{cv2.__version__} dnn, CPU"
    parallel = True

    def __init__(self) -> None:
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # what it raises
        self.__doc__ = "GRU on OpenCV's dnn module; W, R, B are initializers"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs OpenCV gives for `question`, in the dtypes that it gives them.

        Raises Unsupported for bfloat16, of which OpenCV has no arrays in Python, and for what ONNX GRU
        cannot ask; what OpenCV refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        decline("opencv", question)
        file = model_file(question, ONNX_FILES["opencv"])
        return file.only(run_file(file.content, file.feeds, file.asked), question)


def run_file(content: bytes, feeds: dict[str, Any], asked: Sequence[str]) -> list[Any]:
    """What OpenCV gives for the file of a model, of the outputs that are asked for."""
    net = cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
    for name, array in feeds.items():
        net.setInput(array, name)
    return list(net.forward(asked))


dnn = OpenCV()
