"""Real runtimes, as far as they are installed, with the class of arithmetic each belongs to.

OpenVINO is run by grucible's own adapter; ONNX Runtime and torch are fed here from the shared
layout of a GRU's inputs. What a runtime does not offer is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grucible.cases.operators import OPERATORS
from grucible.cases.semantics import Semantics
from grucible.vectors.case import Block, Case
from grucible.vectors.convert import GruInputs, gru_inputs, operator_outputs

Array = npt.NDArray[Any]
Shared = tuple[Array, Array]
"""y and ho in the shared layout."""


@dataclass(frozen=True)
class Real:
    """A real runtime: `run` gives the part of a block that it offers, with its outputs."""

    about: str
    arithmetic: str
    run: Callable[[Block], Iterator[tuple[Block, Mapping[str, Array]]]]


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
        found.append(Real("ONNX Runtime", "float32", _by_shared(onnxruntime_gru)))
    if find_spec("torch"):
        own = {"bfloat16": "bfloat16-gemm"}.get(dtype, dtype)
        found.append(Real("torch.nn.GRU", own, _by_shared(torch_gru)))
    return found


def _by_case(
    runtime: Callable[[Case], Mapping[str, Array]],
) -> Callable[[Block], Iterator[tuple[Block, Mapping[str, Array]]]]:
    def run(block: Block) -> Iterator[tuple[Block, Mapping[str, Array]]]:
        outputs: list[Mapping[str, Array]] = []
        rows = []
        for row, case in enumerate(block.cases()):
            try:
                outputs.append(runtime(case))
            except RuntimeError:  # refused, such as a cell without B
                continue
            rows.append(row)
        yield from _stacked(block, rows, outputs)

    return run


def _by_shared(
    compute: Callable[[Semantics, GruInputs, str], Shared | None],
) -> Callable[[Block], Iterator[tuple[Block, Mapping[str, Array]]]]:
    def run(block: Block) -> Iterator[tuple[Block, Mapping[str, Array]]]:
        operator = OPERATORS[block.operator]
        outputs, rows = [], []
        for row, case in enumerate(block.cases()):
            inputs = gru_inputs(operator, case.attributes, case.inputs)
            found = compute(case.semantics, inputs, block.dtype)
            if found is not None:
                roles = {"y": found[0], "ho": found[1]}
                outputs.append(operator_outputs(operator, case.attributes, roles))
                rows.append(row)
        yield from _stacked(block, rows, outputs)

    return run


def _stacked(
    block: Block, rows: list[int], outputs: Iterable[Mapping[str, Array]]
) -> Iterator[tuple[Block, Mapping[str, Array]]]:
    if rows:
        given = list(outputs)
        names = given[0]
        yield block.rows(np.array(rows)), {n: np.stack([one[n] for one in given]) for n in names}


def onnxruntime_gru(meant: Semantics, inputs: GruInputs, dtype: str) -> Shared | None:
    """One case on ONNX Runtime's CPU provider."""
    y, ho = _session(_question(meant, inputs, dtype)).run(None, _feeds(inputs))
    return y.transpose(1, 2, 0, 3), ho


def onnx_reference_gru(meant: Semantics, inputs: GruInputs, dtype: str) -> Shared | None:
    """One case on onnx.reference.ReferenceEvaluator."""
    y, ho = _evaluator(_question(meant, inputs, dtype)).run(None, _feeds(inputs))
    return y.transpose(1, 2, 0, 3), ho


class _Question(NamedTuple):
    """What an ONNX model is made for; sizes are batch, time, input and hidden."""

    direction: str
    activations: tuple[str, ...]
    clip: float
    reset_after: bool
    dtype: str
    sizes: tuple[int, int, int, int]
    bias: bool


def _question(meant: Semantics, inputs: GruInputs, dtype: str) -> _Question:
    [first, *more] = meant.directions
    batch, time, size = inputs.x.shape
    return _Question(
        "bidirectional" if more else first,
        (meant.f, meant.g) * len(meant.directions),
        meant.clip,
        meant.reset_after,
        dtype,
        (batch, time, size, inputs.h0.shape[-1]),
        bool(inputs.b),
    )


def _feeds(inputs: GruInputs) -> dict[str, Array]:
    gates = ("z", "r", "h")
    feeds = {
        "X": inputs.x.transpose(1, 0, 2),
        "W": np.concatenate([inputs.w[g] for g in gates], 1),
        "R": np.concatenate([inputs.r[g] for g in gates], 1),
        "sequence_lens": inputs.lengths.astype(np.int32),
        "initial_h": inputs.h0,
    }
    if inputs.b:
        zero = np.zeros_like(inputs.b["z"])
        parts = [inputs.b["z"], inputs.b["r"], inputs.b.get("wh", inputs.b.get("h"))]
        feeds["B"] = np.concatenate([*parts, zero, zero, inputs.b.get("rh", zero)], 1)
    return {name: np.ascontiguousarray(a) for name, a in feeds.items()}


@lru_cache(maxsize=64)
def _session(question: _Question) -> Any:
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    model = _model(question).SerializeToString()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=64)
def _evaluator(question: _Question) -> Any:
    return import_module("onnx.reference").ReferenceEvaluator(_model(question))


def _model(question: _Question) -> Any:
    onnx = import_module("onnx")
    helper = onnx.helper
    batch, time, size, hidden = question.sizes
    d = 2 if question.direction == "bidirectional" else 1
    kind = {"float16": onnx.TensorProto.FLOAT16, "float32": onnx.TensorProto.FLOAT}[question.dtype]
    shapes = {
        "X": [time, batch, size],
        "W": [d, 3 * hidden, size],
        "R": [d, 3 * hidden, hidden],
        "B": [d, 6 * hidden],
        "sequence_lens": [batch],
        "initial_h": [d, batch, hidden],
    }
    if not question.bias:
        del shapes["B"]
    ports = [name if name in shapes else "" for name in ("X", "W", "R", "B", "sequence_lens")]
    attributes: dict[str, Any] = {
        "hidden_size": hidden,
        "direction": question.direction,
        "activations": [name.capitalize() for name in question.activations],
        "linear_before_reset": int(question.reset_after),
    }
    if np.isfinite(question.clip):
        attributes["clip"] = question.clip
    node = helper.make_node("GRU", [*ports, "initial_h"], ["Y", "Y_h"], **attributes)

    def port(name: str, shape: list[int]) -> Any:
        of = onnx.TensorProto.INT32 if name == "sequence_lens" else kind
        return helper.make_tensor_value_info(name, of, shape)

    outputs = {"Y": [time, d, batch, hidden], "Y_h": [d, batch, hidden]}
    graph = helper.make_graph(
        [node],
        "gru",
        [port(name, shape) for name, shape in shapes.items()],
        [port(name, shape) for name, shape in outputs.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)


def torch_gru(meant: Semantics, inputs: GruInputs, dtype: str) -> Shared | None:
    """One case on torch.nn.GRU, which has sigmoid, tanh, no clip and the reset gate after."""
    if (meant.f, meant.g, meant.clip, meant.reset_after) != ("sigmoid", "tanh", np.inf, True):
        return None
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
    return y, ho
