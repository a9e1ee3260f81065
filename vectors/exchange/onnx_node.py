"""A question of ONNX GRU as a model of one node, described: what stands in the model, and what it is fed.

`onnx_model.py` makes the model of it, and a script that makes the same model is written from it
(`check/scripts`); nothing here needs the package onnx.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...cases.operators.onnx import GRU

if TYPE_CHECKING:
    from ...cases.dtypes import Arrays
    from ...cases.question import Question

IR_VERSION = 10  # of opset 21's time: what the runtimes of today read
LENGTHS = frozenset(t.name for t in GRU.inputs if t.role == "lengths")
WEIGHTS = frozenset(t.name for t in GRU.inputs if t.role in ("w", "r", "b"))
TYPE_NAMES = {
    "float16": "FLOAT16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "bfloat16": "BFLOAT16",
    "int32": "INT32",
    "int64": "INT64",  # of a question that must be refused
}
"""What ONNX calls a dtype, as a member of TensorProto."""
ATTRIBUTE_TYPES = {"float": "FLOAT", "floats": "FLOATS"}
"""What ONNX calls the type of an attribute, where its value alone does not say it."""
Shape = tuple[int | str, ...]
"""The dimensions of a tensor in a model; one that is not fixed is a symbol."""


@dataclass(frozen=True)
class Posing:
    """How a question becomes a model; by itself as an exporter writes one.

    `constants` names the inputs that are initializers: W, R and B. With `both_outputs` the model names Y and
    Y_h whatever is asked for. With `dynamic` batch and time are symbols. `opset` is the model's; None is
    the first that has all of GRU for the dtype.
    """

    constants: frozenset[str] = WEIGHTS
    both_outputs: bool = False
    dynamic: bool = False
    opset: int | None = None


class NodeType(NamedTuple):
    """What a model is made for: everything in a case except its numbers.

    `attributes` is the JSON of the attributes written out, `ports` the name, dtype and shape of each
    input, `outputs` the name and shape of each that is asked for.
    """

    attributes: str
    ports: tuple[tuple[str, np.dtype[Any], Shape], ...]
    outputs: tuple[tuple[str, Shape], ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the outputs that are asked for, in their order."""
        return tuple(name for name, _ in self.outputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in their order."""
        return tuple(name for name, _, _ in self.ports)

    def dynamic(self) -> NodeType:
        """The same for any batch and number of steps: these dimensions are symbols."""
        attributes = GRU.with_defaults(json.loads(self.attributes))
        axes = {t.name: t.form(attributes).axes for t in (*GRU.inputs, *GRU.outputs)}
        return self._replace(
            ports=tuple((n, dtype, _open(axes[n], shape)) for n, dtype, shape in self.ports),
            outputs=tuple((n, _open(axes[n], shape)) for n, shape in self.outputs),
        )


def _open(axes: tuple[str, ...], shape: Shape) -> Shape:
    return tuple(
        axis if GRU.sizes.get(axis) in ("batch", "time") else length
        for axis, length in zip(axes, shape, strict=True)
    )


class OneNode(NamedTuple):
    """A question as a model of one node: its type, its opset, its initializers, and arrays for its inputs."""

    asked: NodeType
    opset: int
    constants: Arrays
    feeds: Arrays


def node_type(question: Question) -> NodeType:
    """What a model must be made for to run `question`."""
    return NodeType(
        json.dumps(dict(question.given), sort_keys=True),
        tuple(
            (t.name, question.inputs[t.name].dtype, question.inputs[t.name].shape)
            for t in GRU.inputs
            if t.name in question.inputs
        ),
        tuple(
            (t.name, question.outputs[t.name].shape)
            for t in GRU.outputs
            if t.name in question.outputs
        ),
    )


def opset_for(dtype: str) -> int:
    """The first opset that has all of GRU for `dtype`: 14, which has layout, or for bfloat16 22."""
    return 22 if dtype == "bfloat16" else 14


def one_node(question: Question, posing: Posing) -> OneNode:
    """`question` as a model of one node."""
    asked = node_type(question).dynamic() if posing.dynamic else node_type(question)
    if posing.both_outputs:
        asked = asked._replace(outputs=_both(question))
    inside = posing.constants
    return OneNode(
        asked,
        posing.opset or opset_for(question.dtype),
        {name: array for name, array in question.inputs.items() if name in inside},
        {name: array for name, array in question.inputs.items() if name not in inside},
    )


def _both(question: Question) -> tuple[tuple[str, Shape], ...]:
    """The names and shapes of Y and Y_h."""
    x, r = question.inputs["X"].shape, question.inputs["R"].shape
    directions, hidden_size = r[0], r[2]
    if question.attributes["layout"] == 1:
        batch, steps = x[:2]
        return (
            ("Y", (batch, steps, directions, hidden_size)),
            ("Y_h", (batch, directions, hidden_size)),
        )
    steps, batch = x[:2]
    return ("Y", (steps, directions, batch, hidden_size)), ("Y_h", (directions, batch, hidden_size))


def ports_of(asked: NodeType) -> tuple[list[str], list[str]]:
    """The names of the node's inputs and outputs in their places: one that is left out is "", and those at
    the end are not there."""
    return (
        _named([t.name for t in GRU.inputs], asked.inputs),
        _named([t.name for t in GRU.outputs], asked.asked),
    )


def _named(names: list[str], present: tuple[str, ...]) -> list[str]:
    named = [name if name in present else "" for name in names]
    while not named[-1]:
        named.pop()
    return named
