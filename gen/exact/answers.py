"""The exact outputs, rounded once, proven.

Balls of float64 numbers decide most of them, all cases at once (gen.exact.balls); what they leave open,
and all in float64, is evaluated over Arb's balls, case by case (gen.exact.enclosures).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...cases.operators.semantics import StackedSemantics, one_of, semantics
from ...cases.operators.signature import Operator
from ..gru import gru
from .balls import BallArithmetic, round_balls
from .enclosures import outputs_by_arb
from .rounding import Undecided


def exact_outputs(
    meant: StackedSemantics, inputs: GruInputs, dtype: FloatType, wanted: Collection[str]
) -> tuple[Arrays, Array]:
    """The exact `y` and `ho` (those `wanted`) of n stacked cases, rounded once to `dtype`; and (n,) which
    cases have an element that even the highest precision does not decide."""
    count = len(inputs.x)
    found, decided = decided_by_balls(meant, inputs, dtype, wanted)
    undecided = np.zeros(count, bool)
    for row in np.flatnonzero(~decided).tolist():
        try:
            exact = outputs_by_arb(one_of(meant, row), inputs.rows(row), dtype, wanted)
        except Undecided:
            undecided[row] = True
            continue
        for role, array in exact.items():
            found[role][row] = array
    return found, undecided


def decided_by_balls(
    meant: StackedSemantics, inputs: GruInputs, dtype: FloatType, wanted: Collection[str]
) -> tuple[Arrays, Array]:
    """Round the outputs of balls of float64 numbers; and say, (n,), which cases that decides entirely.

    Outputs in float64 are never decided: each ball holds several such numbers.
    """
    found: Arrays = {}
    decided = np.ones(len(inputs.x), bool)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        outputs: Any = gru(BallArithmetic(), meant, inputs)
        for role, output in zip(("y", "ho"), outputs, strict=True):
            if role in wanted:
                found[role], proven = round_balls(output, dtype)
                decided &= proven.reshape(len(decided), -1).all(axis=1)
    return found, decided


def exact_answer(
    operator: Operator,
    attributes: Mapping[str, Any],
    dtype: str,
    inputs: Mapping[str, Array],
    reading: ReadingNames = STORED,
    absent: Container[str] = (),
) -> Arrays:
    """The exact outputs of one case, by Arb: those not `absent`, rounded once to `dtype`, named and shaped
    as the operator has them.

    `attributes` has the defaults filled in; `reading` names the readings that are followed. Raises
    Undecided.
    """
    meant = as_read(reading, semantics(operator, attributes))
    present = operator.present(operator.outputs, absent)
    roles = outputs_by_arb(
        meant,
        gru_inputs(operator, attributes, inputs),
        FLOAT_TYPES[dtype],
        {tensor.role_in(attributes) for tensor in present},
    )
    return operator_outputs(operator, attributes, roles, absent)
