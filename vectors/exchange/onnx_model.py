"""A case of ONNX GRU as a model of one node, for the runtimes that run ONNX models."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto, helper
from onnx.helper import make_attribute

from ...cases.dtypes import dtype_name
from ...cases.operators.onnx import GRU

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

    from ...cases.dtypes import Array, Arrays
    from ...cases.question import Question

IR_VERSION = 10  # of opset 21's time: what the runtimes of today read
LENGTHS = frozenset(t.name for t in GRU.inputs if t.role == "lengths")
WEIGHTS = frozenset(t.name for t in GRU.inputs if t.role in ("w", "r", "b"))
TYPES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "bfloat16": TensorProto.BFLOAT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,  # of a question that must be refused
}
Shape = tuple[int | str, ...]
"""The dimensions of a tensor in a model; one that is not fixed is a symbol."""
_ATTRIBUTE_TYPES = {"float": "FLOAT", "floats": "FLOATS"}


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


class ModelFile(NamedTuple):
    """A question as the file of a model: its bytes, arrays for its inputs, the outputs it names."""

    content: bytes
    feeds: Arrays
    asked: tuple[str, ...]

    def only(self, outputs: Iterable[Array], question: Question) -> Arrays:
        """`outputs`, one for each name in `asked`, without those that `question` does not ask for."""
        named = zip(self.asked, outputs, strict=True)
        return {name: array for name, array in named if name in question.outputs}


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


def model_file(
    question: Question,
    *,
    constants: Container[str] = WEIGHTS,
    both_outputs: bool = False,
    dynamic: bool = False,
) -> ModelFile:
    """`question` as an exporter writes it: W, R and B are initializers, every shape is fixed.

    `constants` names the inputs that are initializers. With `both_outputs` the model names Y and Y_h
    whatever is asked for. With `dynamic` batch and time are symbols.
    """
    asked = node_type(question).dynamic() if dynamic else node_type(question)
    if both_outputs:
        asked = asked._replace(outputs=_both(question))
    written = {name: array for name, array in question.inputs.items() if name in constants}
    feeds = {name: array for name, array in question.inputs.items() if name not in constants}
    made = model(asked, opset_for(question.dtype), written)
    return ModelFile(made.SerializeToString(), feeds, asked.asked)


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


def model(
    asked: NodeType, opset: int, constants: Mapping[str, npt.NDArray[Any]] | None = None
) -> ModelProto:
    """The model of one GRU node; what is in `constants` is an initializer, the rest are inputs.

    Attributes are written with the types that the operator gives them, and only where the case does.
    """
    constants = constants or {}
    shapes = {name: (dtype, shape) for name, dtype, shape in asked.ports}
    node = helper.make_node(
        "GRU",
        _named([t.name for t in GRU.inputs], shapes),
        _named([t.name for t in GRU.outputs], asked.asked),
    )
    for name, value in json.loads(asked.attributes).items():
        attribute = GRU.attribute(name)
        assert attribute
        wanted = _ATTRIBUTE_TYPES.get(attribute.kind)
        kind = None if wanted is None else AttributeProto.AttributeType.Value(wanted)
        node.attribute.append(make_attribute(name, value, attr_type=kind))
    element = TYPES[dtype_name(shapes["X"][0])]
    graph = helper.make_graph(
        [node],
        "gru",
        [_port(name, *of) for name, of in shapes.items() if name not in constants],
        [helper.make_tensor_value_info(name, element, shape) for name, shape in asked.outputs],
        [
            helper.make_tensor(name, TYPES[dtype_name(a.dtype)], a.shape, a.tobytes(), raw=True)
            for name, a in constants.items()
        ],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )


def _port(name: str, dtype: np.dtype[Any], shape: Shape) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TYPES[dtype_name(dtype)], shape)


def _named(names: list[str], present: Any) -> list[str]:
    """Names in their places, a left-out one as "", without those at the end."""
    named = [name if name in present else "" for name in names]
    while not named[-1]:
        named.pop()
    return named
