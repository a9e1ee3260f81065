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
from ...vectors.exchange.onnx_model import model
from ...vectors.exchange.onnx_node import NodeType, one_node
from .converted import run_as
from .posed import ONNX_FILES, decline

if TYPE_CHECKING:
    from ...cases.dtypes import Arrays
    from ...cases.question import Question

_CACHED_SESSIONS = 64


class ONNXRuntime:
    """ONNX GRU on ONNX Runtime's CPU provider: float16 and float32, layout 0.

    Where `runtimes.posed` says of `name` that W, R and B are initializers, as in real models, every case
    makes a session of its own (some 0.4 ms); otherwise they are inputs, and a session serves every case
    that asks the same question of other numbers.
    """

    parallel = True

    def __init__(self, name: str) -> None:
        self._name, self._posing = name, ONNX_FILES[name]
        self.version = f"{ort.__version__} CPU"
        self.__doc__ = (
            "GRU on ONNX Runtime's CPU provider; "
            f"W, R, B are {'initializers' if self._posing.constants else 'inputs'}, "
            f"opset {self._posing.opset}"
        )
        self._kept = lru_cache(maxsize=_CACHED_SESSIONS)(self._session)

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs ONNX Runtime gives for `question`, named and shaped as its operator has them.

        Raises Unsupported for what ONNX Runtime does not offer and for what ONNX GRU cannot ask; what
        ONNX Runtime refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        decline(self._name, question)
        asked, opset, constants, feeds = one_node(question, self._posing)
        made = self._session(asked, opset, constants) if constants else self._kept(asked, opset)
        return dict(zip(asked.asked, made.run(list(asked.asked), feeds), strict=True))

    def _session(self, asked: NodeType, opset: int, constants: Arrays | None = None) -> Any:
        return session_of(model(asked, opset, constants).SerializeToString())


def session_of(content: bytes) -> Any:
    """A session of the file of a model, on one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; ONNX Runtime would print them too
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


inputs = ONNXRuntime("onnxruntime")
constant = ONNXRuntime("onnxruntime-constant")
opset7 = ONNXRuntime("onnxruntime-opset7")
