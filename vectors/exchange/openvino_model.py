"""A question of GRUCell-3 or GRUSequence-5 as an OpenVINO model of one node, and the layout `openvino`.

The node is built by OpenVINO's generic node factory: the operator by name and opset, its inputs by
position, and exactly the attributes the case writes out. The factory sets attributes through the visitor
that also reads IR files, so attributes that a case leaves out are left out of the model. OpenVINO 2026.4.1
accepts, refuses and computes such a model as it does the same model in IR. The functions in `openvino.opset3`
and `opset5` would fill in default activations and demand B, and so hide that an IR without them does not run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import openvino as ov
from openvino.op import Constant, Parameter
from openvino.utils.node_factory import NodeFactory

from ...cases.dtypes import Array
from ...cases.operators.openvino import OPERATORS as OPERATORS
from ..case import Case
from .manifest import CASES, NotSayable, Place, write_npz
from .node import NodeType, node_type

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def model(asked: NodeType, constants: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Return the model of one node; its Parameters are the ports that are not in `constants`, in order.

    An absent input has no port; only the last input (here, B) can be absent.
    """
    nodes, parameters = [], []
    for name, dtype, shape in asked.ports:
        element_type = ov.Type.bf16 if dtype == _BFLOAT16 else ov.Type(dtype)
        if name in constants:
            tensor = ov.Tensor(element_type, ov.Shape(list(constants[name].shape)))
            # a bfloat16 tensor's memory appears in Python as float16 of the same bits: hence the view
            tensor.data.view(constants[name].dtype)[...] = constants[name]
            nodes.append(Constant(tensor))
        else:
            open_shape = [-1 if isinstance(length, str) else length for length in shape]
            parameters.append(Parameter(element_type, ov.PartialShape(open_shape)))
            nodes.append(parameters[-1])
        nodes[-1].set_friendly_name(name)
    made = NodeFactory(asked.opset).create(asked.kind, nodes, json.loads(asked.attributes))
    return ov.Model(made.outputs(), parameters, asked.operator)


def write_case(
    folder: Path, name: str, case: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write model.xml, model.bin and tensors.npz in a folder for the case.

    OpenVINO writes the model. Its inputs, the weights too, have the names of the specification.
    """
    try:
        made = model(node_type(case.question), {})
    except RuntimeError as error:  # OpenVINO refuses the case's attributes
        why = str(error).strip().splitlines()[-1][:120]  # this line names no node
        raise NotSayable(f"OpenVINO makes no model of it: {why}") from None
    for port in made.inputs:
        port.get_tensor().set_names({port.get_node().get_friendly_name()})
    for port, tensor in zip(made.outputs, case.question.outputs, strict=True):
        port.get_tensor().set_names({tensor})
    test = f"{CASES}/{name}"
    (folder / test).mkdir()
    ov.save_model(made, folder / test / "model.xml", compress_to_fp16=False)
    return write_npz(folder, f"{test}/tensors.npz", arrays)
