"""OpenVINO's importer of ONNX files as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes the file of a model of one GRU node, which OpenVINO's ONNX frontend reads: another way
in than the node factory of openvino.py, to the same CPU plugin.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import openvino as ov

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model_file
from .converted import run_as
from .openvino import infer, request_of, typed
from .posed import EXACT, ONNX_FILES

if TYPE_CHECKING:
    from ...cases.question import Question


class OpenVINOONNX:
    """ONNX GRU on OpenVINO's ONNX frontend and CPU plugin; W, R, B are initializers.

    With `dynamic`, batch and time are symbols in the file, as exporters write them that are told of
    dynamic axes. Every case is a model of its own, compiled with the properties of openvino.py (some 20 ms).
    """

    parallel = True

    def __init__(self, *, dynamic: bool) -> None:
        self._name = "openvino-onnx-dynamic" if dynamic else "openvino-onnx"
        self.__doc__ = (
            "GRU on OpenVINO's ONNX frontend and CPU plugin; W, R, B are initializers"
            f"{'; batch and time are symbols' if dynamic else ''}"
        )

    @cached_property
    def _core(self) -> Any:
        return ov.Core()

    @property
    def version(self) -> str:
        """OpenVINO's version, such as `2026.4.1 ONNX frontend, CPU`."""
        return f"{ov.get_version().partition('-')[0]} ONNX frontend, CPU"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs OpenVINO gives for `question`, in the dtypes that it gives them.

        Raises Unsupported for what ONNX GRU cannot ask; what OpenVINO refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        file = model_file(question, ONNX_FILES[self._name])
        request = request_of(self._core, self._core.read_model(file.content, b""), EXACT)
        return file.only(map(typed, infer(request, list(file.feeds.values()))), question)


frontend = OpenVINOONNX(dynamic=False)
dynamic = OpenVINOONNX(dynamic=True)
