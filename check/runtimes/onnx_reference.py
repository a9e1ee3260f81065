"""onnx.reference.ReferenceEvaluator as a runtime of ONNX GRU, and of what can be asked as one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import NodeType, model, node_type, opset_for
from .converted import run_as

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
        asked = node_type(question)
        with np.errstate(over="ignore"):
            outputs = _evaluator(asked, opset_for(question.dtype)).run(
                list(asked.asked), dict(question.inputs)
            )
        return dict(zip(asked.asked, outputs, strict=True))


@lru_cache(maxsize=_CACHED_MODELS)
def _evaluator(asked: NodeType, opset: int) -> Any:
    return ReferenceEvaluator(model(asked, opset))


reference = ONNXReference()
