"""Lines that build the model of one ONNX GRU, as `vectors/exchange/onnx_model.py` builds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...cases.dtypes import dtype_name
from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_node import ATTRIBUTE_TYPES, IR_VERSION, TYPE_NAMES, OneNode, ports_of
from .numbers import literal
from .verbatim import Verbatim


def model_lines(node: OneNode, verbatim: Verbatim) -> Iterator[str]:
    """The lines that leave the model in `model`; its initializers are in `inputs`."""
    verbatim.uses("from onnx import TensorProto, helper")
    ports, outputs = ports_of(node.asked)
    attributes = json.loads(node.asked.attributes)
    listed = {name for name, value in attributes.items() if value == []}
    yield "node = helper.make_node("
    yield '    "GRU",'
    yield f"    {literal(ports)},"
    yield f"    {literal(outputs)},"
    yield from (f"    {name}={_value(name, value)}," for name, value in attributes.items()
                if name not in listed)  # fmt: skip
    yield ")"
    for name in sorted(listed):
        verbatim.uses("from onnx import AttributeProto")
        kind = ATTRIBUTE_TYPES[_kind(name)]
        yield f'empty = helper.make_attribute("{name}", [], attr_type=AttributeProto.{kind})'
        yield "node.attribute.append(empty)"
    element = dtype_name(next(dtype for name, dtype, _ in node.asked.ports if name == "X"))
    if node.constants:
        yield "constants = ["
        for name, array in node.constants.items():
            yield f'    ("{name}", TensorProto.{TYPE_NAMES[dtype_name(array.dtype)]}),'
        yield "]"
    yield "graph = helper.make_graph("
    yield "    [node],"
    yield '    "gru",'
    yield "    ["
    for name, dtype, shape in node.asked.ports:
        if name not in node.constants:
            yield f"        {_port(name, dtype_name(dtype), shape)},"
    yield "    ],"
    yield "    ["
    yield from (f"        {_port(name, element, shape)}," for name, shape in node.asked.outputs)
    yield "    ],"
    if node.constants:
        yield "    ["
        yield "        helper.make_tensor(name, kind, inputs[name].shape, inputs[name].tobytes(), raw=True)"
        yield "        for name, kind in constants"
        yield "    ],"
    yield ")"
    yield f'opset = helper.make_opsetid("", {node.opset})'
    yield f"model = helper.make_model(graph, opset_imports=[opset], ir_version={IR_VERSION})"


def _kind(name: str) -> str:
    attribute = GRU.attribute(name)
    assert attribute
    return attribute.kind


def _value(name: str, value: Any) -> str:
    """An attribute's value of the type that the operator gives it."""
    if _kind(name) == "float":
        value = float(value)
    if _kind(name) == "floats":
        value = [float(one) for one in value]
    return literal(value)


def _port(name: str, dtype: str, shape: tuple[int | str, ...]) -> str:
    kind = f"TensorProto.{TYPE_NAMES[dtype]}"
    return f'helper.make_tensor_value_info("{name}", {kind}, {literal(list(shape))})'
