"""onnx.reference.ReferenceEvaluator as a runtime of ONNX GRU, and of what can be asked as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model
from ...vectors.exchange.onnx_node import NodeType, one_node
from .converted import run_as
from .posed import ONNX_FILES

if TYPE_CHECKING:
    from ...cases.question import Question

_CACHED_MODELS = 64


class ONNXReference:
    """ONNX GRU on onnx.reference.ReferenceEvaluator, which is written in numpy."""

    version = str(onnx.__version__)
    parallel = True

    def __init__(self) -> None:
        self.__doc__ = "GRU on onnx.reference.ReferenceEvaluator"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs the evaluator gives for `question`; what it refuses is its own exception."""
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        asked, opset, _, feeds = one_node(question, ONNX_FILES["onnx-reference"])
        outputs = evaluated(_evaluator(asked, opset), asked.asked, feeds)
        return dict(zip(asked.asked, outputs, strict=True))


@lru_cache(maxsize=_CACHED_MODELS)
def _evaluator(asked: NodeType, opset: int) -> Any:
    return ReferenceEvaluator(model(asked, opset))


def evaluated(evaluator: Any, asked: Sequence[str], feeds: dict[str, Any]) -> list[Any]:
    """What an evaluator gives of the outputs that are asked for."""
    with np.errstate(over="ignore"):
        return list(evaluator.run(list(asked), feeds))


reference = ONNXReference()
