"""Which exact answers balls of float64 numbers decide, a whole stack of cases at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.expansion.case_spec import CaseSpec
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...cases.operators.semantics import StackedSemantics, stack
from ..exact.balls import BallArithmetic, round_balls
from ..gru import gru
from ..tolerances.bounds import alike

Decided = Mapping[ReadingNames, Mapping[str, Arrays]]
"""By the readings followed and case id, the outputs that an operator names."""


def decided_by_balls(cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]) -> Decided:
    """The exact outputs, rounded once, of those of some cases of a block that balls decide.

    Under each reading a case is there with all its outputs or not at all. Outputs in float64 are
    never decided: a ball's radius is not small against their spacing.
    """
    found: dict[ReadingNames, dict[str, Arrays]] = {}
    for members, meant in alike(cases):
        if members[0].dtype == "float64":
            continue
        names = drawn[members[0].id]
        stacked = {name: np.stack([drawn[case.id][name] for case in members]) for name in names}
        operator = OPERATORS[members[0].operator]
        inputs = gru_inputs(operator, members[0].attributes, stacked)
        for reading in (STORED, *members[0].readings):
            outputs = _outputs(members, as_read(reading, stack(meant)), inputs)
            found.setdefault(reading, {}).update(outputs)
    return found


def _outputs(
    members: Sequence[CaseSpec], meant: StackedSemantics, inputs: GruInputs
) -> dict[str, Arrays]:
    """By id, the outputs of the stacked `members` of which every element is decided."""
    first = members[0]
    operator, attributes = OPERATORS[first.operator], first.attributes
    present = operator.present(operator.outputs, first.absent)
    wanted = {tensor.role_in(attributes) for tensor in present}
    decided = np.ones(len(members), bool)
    roles: dict[str, Array] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        y, ho = gru(BallArithmetic(), meant, inputs)
        balls: Any
        for role, balls in (("y", y), ("ho", ho)):
            if role in wanted:
                roles[role], proven = round_balls(balls, FLOAT_TYPES[first.dtype])
                decided &= proven.reshape(len(members), -1).all(axis=1)
    outputs = operator_outputs(operator, attributes, roles, first.absent)
    return {
        case.id: {name: array[row] for name, array in outputs.items()}
        for row, case in enumerate(members)
        if decided[row]
    }
