"""Lines that build OpenVINO's model of one node, as `vectors/exchange/openvino_model.py` builds it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ...cases.dtypes import dtype_name
from ...vectors.exchange.openvino_node import NodeType
from .numbers import literal
from .verbatim import Verbatim

_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16"}


def model_lines(asked: NodeType, constants: frozenset[str], verbatim: Verbatim) -> Iterator[str]:
    """The lines that leave the model in `model`; the values of its Constants are in `inputs`."""
    verbatim.uses(
        "import openvino as ov",
        "from openvino.op import Parameter",
        "from openvino.utils.node_factory import NodeFactory",
    )
    parameters = []
    yield "ports = ["
    for name, dtype, shape in asked.ports:
        kind = f"ov.Type.{_type(dtype)}"
        if name in constants:
            verbatim.uses("from openvino.op import Constant")
            yield f'    Constant(filled({kind}, inputs["{name}"])),'
        else:
            parameters.append(name)
            yield f"    Parameter({kind}, ov.PartialShape({literal(list(shape))})),  # {name}"
    yield "]"
    yield "attributes = {"
    for name, value in json.loads(asked.attributes).items():
        yield f'    "{name}": {literal(value)},'
    yield "}"
    yield f'node = NodeFactory("{asked.opset}").create("{asked.kind}", ports, attributes)'
    fed = f"ports[:{len(parameters)}]" if constants else "ports"
    yield f'model = ov.Model(node.outputs(), {fed}, "gru")'


def _type(dtype: np.dtype[np.generic]) -> str:
    name = dtype_name(dtype)
    return _TYPES.get(name, name.replace("int", "i"))
