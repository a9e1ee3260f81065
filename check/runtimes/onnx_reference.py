"""onnx.reference.ReferenceEvaluator as a runtime of ONNX GRU, and of what can be asked as one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator

from ...cases.operators.onnx import GRU
from .converted import run_as
from .onnx_model import Question, model, question

if TYPE_CHECKING:
    from ...vectors.case import Case

_CACHED_MODELS = 64


class ONNXReference:
    """ONNX GRU on onnx.reference.ReferenceEvaluator, which is written in numpy."""

    version = str(onnx.__version__)

    def __init__(self) -> None:
        self.__doc__ = "GRU on onnx.reference.ReferenceEvaluator"

    def __call__(self, case: Case) -> dict[str, npt.NDArray[Any]]:
        """The outputs the evaluator gives for `case`; what it refuses is its own exception."""
        return run_as(GRU, self._run, case)

    def _run(self, case: Case) -> dict[str, npt.NDArray[Any]]:
        asked = question(case)
        with np.errstate(over="ignore"):
            outputs = _evaluator(asked, 22 if case.dtype == "bfloat16" else 14).run(
                list(asked.outputs), dict(case.inputs)
            )
        return dict(zip(asked.outputs, outputs, strict=True))


@lru_cache(maxsize=_CACHED_MODELS)
def _evaluator(asked: Question, opset: int) -> Any:
    return ReferenceEvaluator(model(asked, opset))


reference = ONNXReference()
