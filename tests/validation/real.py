"""Real runtimes, as far as they are installed, with the class of arithmetic each belongs to.

OpenVINO and ONNX Runtime are run by grucible's own adapters; torch is fed here, from cases asked as
GRUSequence-5. What a runtime does not offer, or is known to get wrong, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Unsupported
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.layout import gru_inputs, operator_outputs
from grucible.check.runtimes.posed import run_as
from grucible.vectors.block import Block

Array = npt.NDArray[Any]
SEQUENCE = OPERATORS["openvino.GRUSequence-5"]
KNOWN = ("*Softplus*x64", "*/activation_defaults/*ThresholdedRelu*", "*/core/*Sigmoid_ThresholdedRelu-*",
         "*/core/*Tanh_ThresholdedRelu-*")  # fmt: skip
"""Cases that ONNX Runtime is known to get wrong: see check/known/onnxruntime.yaml."""


@dataclass(frozen=True)
class Real:
    """A real runtime: `run` gives the parts of some blocks that it offers, with their outputs."""

    about: str
    arithmetic: str
    run: Callable[[Sequence[Block]], Iterator[tuple[Block, Mapping[str, Array]]]]


def real_runtimes(dtype: str) -> list[Real]:
    """The installed runtimes that compute `dtype`."""
    found = []
    if find_spec("openvino"):
        adapters = import_module("grucible.check.runtimes.openvino")
        arithmetic = "bfloat16-gemm" if dtype == "bfloat16" else "float32"
        found += [
            Real("OpenVINO, weights parameters", arithmetic, _by_case(adapters.parameters)),
            Real("OpenVINO, weights constant", arithmetic, _by_case(adapters.constant)),
        ]
        if dtype == "float32" and adapters.default.computes_bfloat16:
            found.append(
                Real("OpenVINO, default precision", "bfloat16-gemm", _by_case(adapters.default))
            )
    if find_spec("onnxruntime") and find_spec("onnx") and dtype in ("float16", "float32"):
        adapters = import_module("grucible.check.runtimes.onnx_files")
        found.append(Real("ONNX Runtime", "float32", _by_case(adapters.onnxruntime)))
    if find_spec("torch"):
        own = {"bfloat16": "bfloat16-gemm"}.get(dtype, dtype)
        found.append(Real("torch.nn.GRU", own, _by_case(partial(run_as, SEQUENCE, torch_gru))))
    return found


def _by_case(
    runtime: Callable[[Question], Mapping[str, Array]],
) -> Callable[[Sequence[Block]], Iterator[tuple[Block, Mapping[str, Array]]]]:
    def run(blocks: Sequence[Block]) -> Iterator[tuple[Block, Mapping[str, Array]]]:
        for block in blocks:
            yield from _answered(runtime, block)

    return run


def _answered(
    runtime: Callable[[Question], Mapping[str, Array]], block: Block
) -> Iterator[tuple[Block, Mapping[str, Array]]]:
    outputs: list[Mapping[str, Array]] = []
    rows = []
    for row, question in enumerate(block.questions()):
        if any(fnmatchcase(question.id, glob) for glob in KNOWN):
            continue
        try:
            outputs.append(runtime(question))
        except Exception:  # not offered, or refused, such as a cell without B
            continue
        rows.append(row)
    yield from _stacked(block, rows, outputs)


def _stacked(
    block: Block, rows: list[int], outputs: Iterable[Mapping[str, Array]]
) -> Iterator[tuple[Block, Mapping[str, Array]]]:
    if rows:
        given = list(outputs)
        names = given[0]
        yield block.rows(np.array(rows)), {n: np.stack([one[n] for one in given]) for n in names}


def torch_gru(question: Question) -> Mapping[str, Array]:
    """A question of GRUSequence-5 on torch.nn.GRU, which has sigmoid, tanh, no clip and the reset gate
    after."""
    meant, dtype = question.semantics, question.dtype
    if {*meant.f} != {Activation("sigmoid")} or {*meant.g} != {Activation("tanh")}:
        raise Unsupported("other activations")
    if not meant.reset_after or np.isfinite(meant.clip):
        raise Unsupported("clip, or the reset gate before")
    inputs = gru_inputs(SEQUENCE, question.attributes, question.inputs)
    torch = import_module("torch")
    kind = getattr(torch, dtype)

    def tensor(array: Array) -> Any:
        wide = array.astype(np.float64 if dtype == "float64" else np.float32)  # holds it exactly
        return torch.from_numpy(np.ascontiguousarray(wide)).to(kind)

    directions, batch, hidden = inputs.h0.shape
    y = np.zeros((directions, batch, inputs.x.shape[1], hidden), inputs.x.dtype)
    ho = np.zeros_like(inputs.h0)
    order = ("r", "z", "h")
    for d, direction in enumerate(meant.directions):
        module = torch.nn.GRU(inputs.x.shape[-1], hidden, batch_first=True, dtype=kind)
        zero = np.zeros(hidden)
        b = {part: values[d] for part, values in inputs.b.items()}
        b.setdefault("wh", b.get("h", zero))
        weights = {
            "weight_ih_l0": np.concatenate([inputs.w[g][d] for g in order]),
            "weight_hh_l0": np.concatenate([inputs.r[g][d] for g in order]),
            "bias_ih_l0": np.concatenate([b.get("r", zero), b.get("z", zero), b["wh"]]),
            "bias_hh_l0": np.concatenate([zero, zero, b.get("rh", zero)]),
        }
        with torch.no_grad():
            for name, value in weights.items():
                getattr(module, name).copy_(tensor(value))
            for row, length in enumerate(inputs.lengths.tolist()):
                if length:
                    x = inputs.x[row, :length]
                    steps = x[::-1] if direction == "reverse" else x
                    found, last = module(tensor(steps)[None], tensor(inputs.h0[d, row])[None, None])
                    wide = found[0].to(torch.float64).numpy()
                    values = wide[::-1] if direction == "reverse" else wide
                    y[d, row, :length] = values.astype(
                        np.float32 if kind != torch.float64 else None
                    )
                    last = last[0, 0].to(torch.float64).numpy()
                    ho[d, row] = last.astype(np.float32 if kind != torch.float64 else None)
    return operator_outputs(SEQUENCE, question.attributes, {"y": y, "ho": ho})
