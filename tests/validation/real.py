"""Real runtimes, as far as they are installed, with the class of arithmetic each belongs to.

OpenVINO, ONNX Runtime and MNN are run by grucible's own adapters, torch by the example of the protocol; MNN
and torch from cases asked as GRUSequence-5. What a runtime does not offer, or is known to get wrong, is left out.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import grucible
from grucible import Question, Unsupported
from grucible.cases.dtypes import Array
from grucible.cases.operators import OPERATORS
from grucible.check.runtimes.posed import run_as
from grucible.vectors.block import Block

from .members import Member, Run

EXAMPLE = Path(grucible.__path__[0]) / "check/protocol/examples/gru_torch.py"
KNOWN = Path(grucible.__path__[0]) / "check/known/onnxruntime.yaml"
"""The cases that ONNX Runtime is known to get wrong; the others skip them, too."""


@cache
def _known() -> list[str]:
    return [one["cases"] for one in yaml.safe_load(KNOWN.read_text("utf-8")) if "diagnosis" in one]


def real_runtimes(dtype: str) -> list[Member]:
    """The installed runtimes that compute `dtype`."""
    found: list[tuple[str, str, Callable[[Question], Mapping[str, Array]]]] = []
    if find_spec("openvino"):
        adapters = import_module("grucible.check.runtimes.openvino")
        arithmetic = "bfloat16-gemm" if dtype == "bfloat16" else "float32"
        found.append((arithmetic, "OpenVINO, weights parameters", adapters.parameters))
        found.append((arithmetic, "OpenVINO, weights constant", adapters.constant))
        able = adapters.openvino_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        if dtype == "float32" and "BF16" in able:
            found.append(("bfloat16-gemm", "OpenVINO, default precision", adapters.default))
    if find_spec("onnxruntime") and find_spec("onnx") and dtype in ("float16", "float32"):
        adapters = import_module("grucible.check.runtimes.onnx_files")
        found.append(("float32", "ONNX Runtime", adapters.onnxruntime))
    if find_spec("torch"):
        own = "bfloat16-gemm" if dtype == "bfloat16" else dtype
        torch = partial(run_as, [OPERATORS["openvino.GRUSequence-5"]], torch_gru)
        found.append((own, "torch.nn.GRU", torch))
    if find_spec("MNN") and dtype == "float32":
        mnn = partial(run_as, [OPERATORS["openvino.GRUSequence-5"]], mnn_gru)
        found.append(("float32", "MNN", mnn))
    return [Member(dtype, name, about, _by_case(run)) for name, about, run in found]


def _by_case(runtime: Callable[[Question], Mapping[str, Array]]) -> Run:
    def run(block: Block) -> tuple[Array, Mapping[str, Array]]:
        answered: dict[int, Mapping[str, Array]] = {}
        for row, question in enumerate(block.questions()):
            if any(fnmatchcase(question.id, glob) for glob in _known()):
                continue
            try:
                answered[row] = runtime(question)
            except Exception:  # not offered, or refused, such as a cell without B
                continue
        names = next(iter(answered.values()), {})
        outputs = {name: np.stack([one[name] for one in answered.values()]) for name in names}
        return np.array([*answered], int), outputs

    return run


@cache
def _example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def torch_gru(question: Question) -> Mapping[str, Array]:
    """A question of GRUSequence-5 on torch.nn.GRU."""
    a = question.attributes
    _decline(question)
    torch = import_module("torch")
    inputs = {}
    for name, array in question.inputs.items():
        wide = array.astype(np.int64 if array.dtype.kind == "i" else np.float64)  # exactly
        kind = torch.int64 if array.dtype.kind == "i" else getattr(torch, question.dtype)
        inputs[name] = torch.from_numpy(np.ascontiguousarray(wide)).to(kind)
    with torch.no_grad():
        found = _example()["sequence"](inputs, f"text {a['direction']}", "cpu")
    dtype = question.outputs["Y"].dtype
    return {name: tensor.double().numpy().astype(dtype) for name, tensor in found.items()}


def mnn_gru(question: Question) -> Mapping[str, Array]:
    """A question of GRUSequence-5 on MNN, which reads neither lengths nor direction reverse, and whose tanh is
    wrong near 0."""
    _decline(question)
    if question.theme == "core_near_zero":
        raise Unsupported("tanh near 0")
    time = question.inputs["X"].shape[1]
    if (
        question.attributes["direction"] == "reverse"
        or question.inputs["sequence_lengths"].min() < time
    ):
        raise Unsupported("direction reverse, or a row shorter than the time axis")
    found: Mapping[str, Array] = import_module("grucible.check.runtimes.onnx_files").mnn(question)
    return found


def _decline(question: Question) -> None:
    """Refuse all but sigmoid, tanh, no clip and the reset gate after."""
    a, meant = question.attributes, question.semantics
    if a["activations"] != ["sigmoid", "tanh"] or np.isfinite(meant.clip) or not meant.reset_after:
        raise Unsupported("other activations, clip, or the reset gate before")
