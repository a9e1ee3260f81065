"""A question of GRUCell-3 or GRUSequence-5 as an OpenVINO model of one node, described.

`openvino_model.py` makes the model of it, and a script that makes the same model is written from it
(`check/scripts`); nothing here needs OpenVINO.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...cases.operators.known import OPERATORS

if TYPE_CHECKING:
    from ...cases.operators.signature import Operator
    from ...cases.question import Question


class NodeType(NamedTuple):
    """What a model is compiled for: everything in a case except the numbers fed to Parameters.

    `attributes` is the JSON of the attributes written out; `ports` the name, dtype and shape of
    each input, in the specification's order. Absent inputs are not in it.
    """

    operator: str
    attributes: str
    ports: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]

    @property
    def kind(self) -> str:
        """OpenVINO's name of the operator, such as GRUSequence."""
        return self.operator.removeprefix("openvino.").rpartition("-")[0]

    @property
    def opset(self) -> str:
        """The first of OpenVINO's opsets that has the operator, such as opset5."""
        return f"opset{self.operator.rpartition('-')[2]}"

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
