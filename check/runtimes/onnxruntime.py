"""ONNX Runtime's CPU provider as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes a model of one GRU node with exactly the attributes that the case writes out. What
ONNX Runtime says it does not offer (layout 1, float64, bfloat16) is declared unsupported; any other
refusal is its own error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import onnxruntime as ort

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import WEIGHTS, NodeType, model, node_type
from .converted import run_as
from .runtime import Unsupported

if TYPE_CHECKING:
    from ...cases.question import Question

_CACHED_SESSIONS = 64
_SILENT = 4  # errors are raised; ONNX Runtime would print them too


class ONNXRuntime:
    """ONNX GRU on ONNX Runtime's CPU provider: float16 and float32, layout 0.

    With `constant_weights`, W, R and B are initializers, as in real models, and every case makes a
    session of its own (some 0.4 ms); otherwise they are inputs, and a session serves every case that
    asks the same question of other numbers. `opset` is that of the model; before 14 there is no
    layout.
    """

    parallel = True

    def __init__(self, *, constant_weights: bool, opset: int = 14) -> None:
        self.constant_weights, self.opset = constant_weights, opset
        self.version = f"{ort.__version__} CPU"
        self.__doc__ = (
            "GRU on ONNX Runtime's CPU provider; "
            f"W, R, B are {'initializers' if constant_weights else 'inputs'}, opset {opset}"
        )
        self._kept_session = lru_cache(maxsize=_CACHED_SESSIONS)(self._session)

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs ONNX Runtime gives for `question`, named and shaped as its operator has them.

        Raises Unsupported for what ONNX Runtime does not offer and for what ONNX GRU cannot ask; what
        ONNX Runtime refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        if question.attributes["layout"] == 1:
            raise Unsupported("layout 1: ONNX Runtime has no batchwise recurrent operators")
        if question.dtype in ("float64", "bfloat16"):
            raise Unsupported(f"ONNX Runtime's GRU has no {question.dtype}")
        if self.opset < 14 and "layout" in question.given:
            raise Unsupported(
                f"GRU has no layout before opset 14, and the model is of {self.opset}"
            )
        inputs = dict(question.inputs)
        asked = node_type(question)
        if self.constant_weights:
            constants = {name: inputs.pop(name) for name in WEIGHTS & inputs.keys()}
            session = self._session(asked, constants)
        else:
            session = self._kept_session(asked)
        return dict(zip(asked.asked, session.run(list(asked.asked), inputs), strict=True))

    def _session(self, asked: NodeType, constants: dict[str, Any] | None = None) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _SILENT
        made = model(asked, self.opset, constants).SerializeToString()
        return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"])


inputs = ONNXRuntime(constant_weights=False)
constant = ONNXRuntime(constant_weights=True)
opset7 = ONNXRuntime(constant_weights=False, opset=7)
