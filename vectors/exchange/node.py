"""The content of a model with one node for a question, and the arrays that it is fed.

`onnx_model` and `openvino_model` make the models; nothing here needs their packages.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...cases.operators import OPERATORS
from ...cases.operators.onnx import GRU
from ...cases.question import sizes_of

if TYPE_CHECKING:
    from ...cases.dtypes import Arrays
    from ...cases.question import Question

IR_VERSION = 10  # from opset 21's time; today's runtimes read it
LENGTHS = frozenset(t.name for t in GRU.inputs if t.role == "lengths")
WEIGHTS = frozenset(t.name for t in GRU.inputs if t.role in ("w", "r", "b"))
TYPE_NAMES = {
    "float16": "FLOAT16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "bfloat16": "BFLOAT16",
    "int32": "INT32",
    "int64": "INT64",  # of an invalid question
}
"""ONNX's names of dtypes, which are members of TensorProto."""
Shape = tuple[Any, ...]
"""The dimensions of a tensor in a model: integers, or symbols where not fixed."""


@dataclass(frozen=True)
class Posing:
    """How a question becomes an ONNX model; the defaults are what an exporter writes.

    `constants` names the inputs that are initializers, by default W, R and B. With `both_outputs`, the model
    names both Y and Y_h, even if only one is asked for. With `dynamic`, batch and time are symbols. `opset`
    is the model's opset; None means the first that has all of GRU for the dtype.
    """

    constants: frozenset[str] = WEIGHTS
    both_outputs: bool = False
    dynamic: bool = False
    opset: int | None = None


class NodeType(NamedTuple):
    """All that a model depends on: everything in a case except its numbers.

    `attributes` is the JSON of the attributes that the case sets; `ports` has the name, dtype and shape of
    each given input, `outputs` the name and shape of each output that is asked for.
    """

    operator: str
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

    @property
    def kind(self) -> str:
        """The owner's name of the operator without its version, such as GRUSequence."""
        return self.operator.partition(".")[2].rpartition("-")[0]

    @property
    def opset(self) -> str:
        """The first of OpenVINO's opsets that has the operator, such as opset5."""
        return f"opset{self.operator.rpartition('-')[2]}"

    def dynamic(self) -> NodeType:
        """Return the same for any batch and number of steps: these dimensions are symbols."""
        operator = OPERATORS[self.operator]
        attributes = operator.with_defaults(json.loads(self.attributes))
        axes = {t.name: t.form(attributes).axes for t in (*operator.inputs, *operator.outputs)}

        def opened(name: str, shape: Shape) -> Shape:
            return tuple(
                axis if operator.sizes.get(axis) in ("batch", "time") else length
                for axis, length in zip(axes[name], shape, strict=True)
            )

        return self._replace(
            ports=tuple((name, dtype, opened(name, shape)) for name, dtype, shape in self.ports),
            outputs=tuple((name, opened(name, shape)) for name, shape in self.outputs),
        )


def node_type(question: Question) -> NodeType:
    """Describe the model that runs `question`."""
    operator, inputs, outputs = OPERATORS[question.operator], question.inputs, question.outputs
    return NodeType(
        question.operator,
        json.dumps(dict(question.given), sort_keys=True),
        tuple(
            (t.name, inputs[t.name].dtype, inputs[t.name].shape)
            for t in operator.inputs
            if t.name in inputs
        ),
        tuple((t.name, outputs[t.name].shape) for t in operator.outputs if t.name in outputs),
    )


class OneNode(NamedTuple):
    """A question as an ONNX model: its type, its opset, its initializers, and arrays for its inputs."""

    asked: NodeType
    opset: int
    constants: Arrays
    feeds: Arrays


def opset_for(dtype: str) -> int:
    """Return the first opset that has all of GRU for `dtype`: 14, which has layout, or for bfloat16 22."""
    return 22 if dtype == "bfloat16" else 14


def one_node(question: Question, posing: Posing) -> OneNode:
    """Describe `question` as an ONNX model of one node."""
    asked = node_type(question).dynamic() if posing.dynamic else node_type(question)
    if posing.both_outputs:
        attributes, sizes = question.attributes, sizes_of(question)
        both = tuple((t.name, GRU.shape(t, attributes, sizes)) for t in GRU.outputs)
        asked = asked._replace(outputs=both)
    inside = posing.constants
    return OneNode(
        asked,
        posing.opset or opset_for(question.dtype),
        {name: array for name, array in question.inputs.items() if name in inside},
        {name: array for name, array in question.inputs.items() if name not in inside},
    )


def ports_of(asked: NodeType) -> tuple[list[str], list[str]]:
    """Return the names of an ONNX node's inputs and outputs in their places.

    A tensor that is left out is "", or is dropped at the end.
    """
    given, gives = (
        [tensor.name if tensor.name in present else "" for tensor in tensors]
        for tensors, present in ((GRU.inputs, asked.inputs), (GRU.outputs, asked.asked))
    )
    for names in (given, gives):
        while not names[-1]:
            names.pop()
    return given, gives
