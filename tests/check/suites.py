"""Suites of others, as they should be or changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SHAPES = {"X": (2, 3), "initial_hidden_state": (2, 4), "W": (12, 3), "R": (12, 4), "B": (12,)}
ONE = "openvino.GRUCell-3/core/float32/lbr0-relu_relu-alpha0.25_0.75-beta0.5_2-clip0.5"


def tensor(shape: Sequence[int], data: Any = 0.5, dtype: str = "float32") -> dict[str, Any]:
    """A tensor of WebNN."""
    return {"data": data, "descriptor": {"shape": [*shape], "dataType": dtype}}


def gru(call: dict[str, Any], options: dict[str, Any], steps: Any = 2, **more: Any) -> Any:
    """A test of WebNN of two steps, whose operator, options and expected outputs are so."""
    shapes = {"x": [2, 3, 2], "w": [1, 12, 2], "r": [1, 12, 4], "h": [1, 3, 4]}
    if call.get("name") == "gruCell":
        shapes = {name: shape[1:] for name, shape in shapes.items()}
    inputs = {name: tensor(shape) for name, shape in shapes.items()}
    arguments = [{"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"steps": steps}]
    arguments += [{"hiddenSize": 4}, {"options": options}]
    given = {"name": "gru", "arguments": arguments, "outputs": ["o"], **call}
    graph = {"inputs": inputs, "operators": [given], "expectedOutputs": {}, **more}
    return {"name": "t", "graph": graph}
