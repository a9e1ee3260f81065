"""OpenVINO's importer of ONNX files as a runtime of ONNX GRU.

It is another way than the node factory of openvino.py into the same CPU plugin. Every case is a model of its
own, compiled with the properties of openvino.py (some 20 ms).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import openvino as ov

from ...vectors.exchange.onnx_model import ModelFile
from .onnx_file import ONNXFileRuntime
from .openvino import infer, request_of, typed
from .posed import EXACT, ONNX_FILES


@cache
def _core() -> Any:
    return ov.Core()


def _run(file: ModelFile) -> list[Any]:
    request = request_of(_core(), _core().read_model(file.content, b""), EXACT)
    return [typed(array) for array in infer(request, list(file.feeds.values()))]


def _runtime(name: str) -> ONNXFileRuntime:
    return ONNXFileRuntime(
        name,
        f"{ov.get_version().partition('-')[0]} ONNX frontend, CPU",
        "GRU on OpenVINO's ONNX frontend and CPU plugin; W, R, B are initializers"
        f"{'; batch and time are symbols' if ONNX_FILES[name].dynamic else ''}",
        _run,
    )


frontend = _runtime("openvino-onnx")
dynamic = _runtime("openvino-onnx-dynamic")
