"""The independent oracles of all operators, asked in one way.

Each is written from its owner's text alone (oracle and those named after an owner). Outputs are nested lists by
name, in the specification's shapes; readings are named as grucible names them.
"""

from __future__ import annotations

from typing import Any

import bnnsgraph_oracle
import keras_oracle
import numpy as np
import onnx_oracle
import torch_oracle
import webnn_oracle

import oracle
from grucible import Question
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.readings import STORED, ReadingNames

_LEN_ZERO = {STORED: "zeros", ("len-zero.initial-state",): "initial_hidden_state"}

_BY_NAMES: dict[str, Any] = {
    "bnnsgraph": bnnsgraph_oracle.evaluate,
    "keras": keras_oracle.evaluate,
}


def exact_outputs(
    question: Question, numbers: Any, readings: ReadingNames = STORED
) -> dict[str, Any]:
    """The exact outputs that a question asks for, under the readings that are followed."""
    found = _outputs(question, numbers, readings)
    return {name: found[name] for name in question.outputs}


def _outputs(question: Question, numbers: Any, readings: ReadingNames) -> dict[str, Any]:
    owner = OPERATORS[question.operator].owner
    inputs = question.inputs
    attributes = {name: value for name, value in question.attributes.items() if value is not None}
    if owner in _BY_NAMES:
        followed = frozenset(readings)
        return _BY_NAMES[owner](attributes, inputs, numbers=numbers, readings=followed)
    if question.operator == "torch.GRUCell":
        return torch_oracle.evaluate_cell(inputs, numbers=numbers)
    if owner == "torch":
        return torch_oracle.evaluate(attributes, inputs, numbers=numbers)
    if owner == "webnn":
        return webnn_oracle.evaluate(question.operator, attributes, inputs, numbers=numbers)
    held = _LEN_ZERO[readings]
    if owner == "onnx":
        attributes.setdefault("hidden_size", inputs["R"].shape[-1])
        return onnx_oracle.evaluate(attributes, inputs, numbers=numbers, len_zero=held)
    return oracle.evaluate(question.operator, attributes, inputs, numbers=numbers, len_zero=held)


def products(operator: str, sizes: dict[str, int]) -> int:
    """How many multiplications of weights a case takes."""
    of = {axis: sizes[symbol] for symbol, axis in OPERATORS[operator].sizes.items()}
    steps = of.get("time", 1) * of.get("direction", 1) * of["batch"]
    return steps * 3 * of["hidden"] * (of["hidden"] + of["input"])


def assert_rounds_to(exact: Any, stored: np.ndarray[Any, Any], question: Question) -> None:
    """Every number of an oracle's output is the stored one, once it is rounded."""
    values = np.array(exact, object)
    assert values.shape == stored.shape
    for value, number in zip(values.ravel(), stored.ravel(), strict=True):
        expected = oracle.round_once(value, question.dtype)
        if expected != number:  # is the oracle itself in doubt there?
            distance = oracle.distance_to_tie(value, question.dtype)
            assert distance < 2.0**-200, (question.id, value, number)
