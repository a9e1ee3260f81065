"""The layout `webnn`: JSON as the web platform's tests of WebNN's gru have it.

https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru. A case of ONNX GRU becomes a test, with a name and a
graph of inputs, operators and expectedOutputs, if it asks only for what WebNN has: no clip, full lengths,
and relu, sigmoid and tanh, alike in both directions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.onnx import GRU
from ..case import Case
from .manifest import CASES, NotSayable, Place, write_npz

DIRECTIONS = {"forward": "forward", "reverse": "backward", "bidirectional": "both"}
"""WebNN's names of ONNX's directions."""
ACTIVATIONS = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}
"""WebNN's names of ONNX's activations."""


def write_case(
    folder: Path, name: str, case: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write a JSON file for the case, and its tensors as npz."""
    test = {"name": case.id, "graph": _graph(case, arrays)}
    (folder / f"{CASES}/{name}.json").write_text(json.dumps(test) + "\n", encoding="utf-8")
    return write_npz(folder, f"{CASES}/{name}.npz", arrays)


def _graph(case: Case, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the graph of one gru. Raises NotSayable for what WebNN's gru lacks."""
    for why in _lacking(case):
        raise NotSayable(why)
    attributes, inputs = case.attributes, case.inputs
    tensors = {"gruInput": inputs["X"], "gruWeight": inputs["W"], "gruRecurrentWeight": inputs["R"]}
    options: dict[str, Any] = {}
    if "B" in inputs:
        tensors["gruBias"], tensors["gruRecurrentBias"] = np.split(inputs["B"], 2, axis=1)
        options |= {"bias": "gruBias", "recurrentBias": "gruRecurrentBias"}
    if "initial_h" in inputs:
        tensors["gruInitialHiddenState"] = inputs["initial_h"]
        options["initialHiddenState"] = "gruInitialHiddenState"
    options |= {
        "resetAfter": bool(attributes["linear_before_reset"]),
        "returnSequence": "Y" in case.question.outputs,
        "direction": DIRECTIONS[attributes["direction"]],
        "layout": "zrn",
        "activations": [ACTIVATIONS[one] for one in attributes["activations"][:2]],
    }
    outputs = {"gruOutput1": "Y_h"} | ({"gruOutput2": "Y"} if options["returnSequence"] else {})
    expected = {name: arrays.get(f"outputs/{ours}") for name, ours in outputs.items()}
    return {
        "inputs": {name: _tensor(array) for name, array in tensors.items()},
        "operators": [
            {
                "name": "gru",
                "arguments": [
                    {"input": "gruInput"},
                    {"weight": "gruWeight"},
                    {"recurrentWeight": "gruRecurrentWeight"},
                    {"steps": inputs["X"].shape[0]},
                    {"hiddenSize": inputs["R"].shape[-1]},
                    {"options": options},
                ],
                "outputs": list(outputs),
            }
        ],
        "expectedOutputs": {
            n: _tensor(array) for n, array in expected.items() if array is not None
        },
    }


def _lacking(case: Case) -> Iterator[str]:
    """Say what WebNN's gru lacks of what a case asks for."""
    if case.operator != GRU.name:
        yield "is no ONNX GRU, the operator that is nearest to WebNN's gru"
    used, steps = case.attributes["activations"], case.inputs["X"].shape[0]
    lacking = {
        f"a test has one right answer, and these cases are {case.tier}": case.tier != "required",
        f"WebNN has no gru of {case.dtype}": case.dtype not in ("float16", "float32"),
        "WebNN's tensors are as with layout 0": case.attributes["layout"],
        "WebNN has no clip": np.isfinite(case.attributes["clip"]),
        f"WebNN's activations are {', '.join(ACTIVATIONS.values())}": set(used) - set(ACTIVATIONS),
        "WebNN has the same activations in both directions": used[:2] != used[-2:],
        "WebNN has no lengths": np.any(case.inputs.get("sequence_lens", steps) != steps),
        "WebNN always gives the last state": "Y_h" not in case.question.outputs,
    }
    yield from (why for why, lacks in lacking.items() if lacks)


def _tensor(array: Array) -> dict[str, Any]:
    return {
        "data": array.astype(np.float64).ravel().tolist(),
        "descriptor": {"shape": list(array.shape), "dataType": str(array.dtype.name)},
    }
