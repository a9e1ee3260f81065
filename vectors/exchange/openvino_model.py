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
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
import openvino as ov
from openvino.op import Constant, Parameter
from openvino.utils.node_factory import NodeFactory

from ...cases.operators.known import OPERATORS

if TYPE_CHECKING:
    from ...cases.operators.signature import Operator
    from ...cases.question import Question

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class NodeType(NamedTuple):
    """What a model is compiled for: everything in a case except the numbers fed to Parameters.

    `attributes` is the JSON of the attributes written out; `ports` the name, dtype and shape of
    each input, in the specification's order. Absent inputs are not in it.
    """

    operator: str
    attributes: str
    ports: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]

    def dynamic(self) -> NodeType:
        """The same for any batch and number of steps: these dimensions are -1."""
        operator = OPERATORS[self.operator]
        attributes = operator.with_defaults(json.loads(self.attributes))
        axes = {t.name: t.form(attributes).axes for t in operator.inputs}
        return self._replace(
            ports=tuple(
                (name, dtype, tuple(map(partial(_open, operator), axes[name], shape)))
                for name, dtype, shape in self.ports
            )
        )


def _open(operator: Operator, axis: str, length: int) -> int:
    return -1 if operator.sizes.get(axis) in ("batch", "time") else length


def node_type(question: Question) -> NodeType:
    """What a model must be made for to run `question`."""
    return NodeType(
        question.operator,
        json.dumps(dict(question.given), sort_keys=True),
        tuple(
            (t.name, question.inputs[t.name].dtype, question.inputs[t.name].shape)
            for t in OPERATORS[question.operator].inputs
            if t.name in question.inputs
        ),
    )


def model(asked: NodeType, constants: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The model of one node; its Parameters are the ports that are not in `constants`, in order.

    An absent input is an absent port, which only a trailing input can be (here, B).
    """
    nodes, parameters = [], []
    for name, dtype, shape in asked.ports:
        element_type = ov.Type.bf16 if dtype == _BFLOAT16 else ov.Type(dtype)
        if name in constants:
            tensor = ov.Tensor(element_type, ov.Shape(list(shape)))
            fill(tensor, constants[name])
            nodes.append(Constant(tensor))
        else:
            parameters.append(Parameter(element_type, ov.PartialShape(list(shape))))
            nodes.append(parameters[-1])
        nodes[-1].set_friendly_name(name)
    kind, _, opset = asked.operator.removeprefix("openvino.").rpartition("-")
    node = NodeFactory(f"opset{opset}").create(kind, nodes, json.loads(asked.attributes))
    return ov.Model(node.outputs(), parameters, asked.operator)


def fill(tensor: Any, array: npt.NDArray[Any]) -> None:
    """Copy `array` into `tensor`, which has its element type and shape.

    A bfloat16 tensor's memory appears in Python as float16 of the same bits: hence the view.
    """
    tensor.data.view(array.dtype)[...] = array
