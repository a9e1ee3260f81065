"""A case of ONNX GRU as a model of one node, for the runtimes that run ONNX models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto, helper
from onnx.helper import make_attribute

from ...cases.dtypes import dtype_name
from ...cases.operators.onnx import GRU
from .onnx_node import ATTRIBUTE_TYPES, IR_VERSION, TYPE_NAMES, one_node, ports_of

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

    from ...cases.dtypes import Array, Arrays
    from ...cases.question import Question
    from .onnx_node import NodeType, Posing, Shape

TYPES = {name: TensorProto.DataType.Value(word) for name, word in TYPE_NAMES.items()}


class ModelFile(NamedTuple):
    """A question as the file of a model: its bytes, arrays for its inputs, the outputs it names."""

    content: bytes
    feeds: Arrays
    asked: tuple[str, ...]

    def only(self, outputs: Iterable[Array], question: Question) -> Arrays:
        """`outputs`, one for each name in `asked`, without those that `question` does not ask for."""
        named = zip(self.asked, outputs, strict=True)
        return {name: array for name, array in named if name in question.outputs}


def model_file(question: Question, posing: Posing) -> ModelFile:
    """`question` as the file of a model."""
    asked, opset, written, feeds = one_node(question, posing)
    made = model(asked, opset, written)
    return ModelFile(made.SerializeToString(), feeds, asked.asked)


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
        *ports_of(asked),
    )
    for name, value in json.loads(asked.attributes).items():
        attribute = GRU.attribute(name)
        assert attribute
        wanted = ATTRIBUTE_TYPES.get(attribute.kind)
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
