"""A question of GRUCell-3 or GRUSequence-5 as an OpenVINO model of one node.

The node is built by OpenVINO's generic node factory: the operator by name and opset, its inputs by
position, and exactly the attributes the case writes out. The factory sets attributes through the visitor
that also reads IR files, so whatever is left out of a case is left out of the model; on 2026.4.1 it
accepts, refuses and computes what the same model as IR does. The functions in `openvino.opset3` and
`opset5` would fill in default activations and insist on B, and so hide that an IR without them does not run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import openvino as ov
from openvino.op import Constant, Parameter
from openvino.utils.node_factory import NodeFactory

if TYPE_CHECKING:
    from .openvino_node import NodeType

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def model(asked: NodeType, constants: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The model of one node; its Parameters are the ports that are not in `constants`, in order."""
    made, parameters = node(asked, constants)
    return ov.Model(made.outputs(), parameters, asked.operator)


def node(asked: NodeType, constants: Mapping[str, npt.NDArray[Any]]) -> tuple[Any, list[Any]]:
    """The node, and the Parameters that lead to it.

    An absent input is an absent port, which only a trailing input can be (here, B).
    """
    nodes, parameters = [], []
    for name, dtype, shape in asked.ports:
        element_type = ov.Type.bf16 if dtype == _BFLOAT16 else ov.Type(dtype)
        if name in constants:
            nodes.append(Constant(filled(element_type, constants[name])))
        else:
            parameters.append(Parameter(element_type, ov.PartialShape(list(shape))))
            nodes.append(parameters[-1])
        nodes[-1].set_friendly_name(name)
    made = NodeFactory(asked.opset).create(asked.kind, nodes, json.loads(asked.attributes))
    return made, parameters


def filled(element_type: Any, array: npt.NDArray[Any]) -> Any:
    """A tensor of OpenVINO's with the numbers of `array`."""
    tensor = ov.Tensor(element_type, ov.Shape(list(array.shape)))
    fill(tensor, array)
    return tensor


def fill(tensor: Any, array: npt.NDArray[Any]) -> None:
    """Copy `array` into `tensor`, which has its element type and shape.

    A bfloat16 tensor's memory appears in Python as float16 of the same bits: hence the view.
    """
    tensor.data.view(array.dtype)[...] = array
