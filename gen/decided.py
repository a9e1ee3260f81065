"""Which exact answers balls of float64 numbers decide, a whole stack of cases at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..cases.case_spec import CaseSpec
from ..cases.dtypes import FLOAT_TYPES
from ..cases.operators import OPERATORS
from ..cases.readings import as_read
from ..cases.semantics import Semantics, stack
from ..vectors.case import Array, Arrays
from ..vectors.convert import gru_inputs, operator_outputs
from .balls import BallArithmetic, round_balls
from .bounds import alike
from .gru import gru
from .wide_balls import WideBallArithmetic, round_wide_balls

Decided = Mapping[str, Mapping[str, Arrays]]
"""By reading ("" for the stored one) and case id, the outputs that an operator names."""

_BALLS: tuple[Any, Any] = BallArithmetic(), round_balls
_WIDE_BALLS: tuple[Any, Any] = WideBallArithmetic(), round_wide_balls


def decided_by_balls(cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]) -> Decided:
    """The exact outputs, rounded once, of those of some cases of a block that balls decide.

    Under each reading a case is there with all its outputs or not at all. What balls leave open is
    tried with wide ones, and outputs in float64 with these alone.
    """
    found: dict[str, dict[str, Arrays]] = {}
    for members, meant in alike(cases):
        wide = members[0].dtype == "float64"
        for reading in ("", *members[0].readings):
            outputs = found.setdefault(reading, {})
            left = [(case, as_read(reading, one)) for case, one in zip(members, meant, strict=True)]
            for arithmetic in (_WIDE_BALLS,) if wide else (_BALLS, _WIDE_BALLS):
                if left:
                    outputs |= _decided(left, drawn, *arithmetic)
                left = [(case, one) for case, one in left if case.id not in outputs]
    return found


def _decided(
    pairs: Sequence[tuple[CaseSpec, Semantics]],
    drawn: Mapping[str, Arrays],
    arithmetic: Any,
    rounded: Any,
) -> dict[str, Arrays]:
    """By id, the outputs of those of some alike cases of which an arithmetic decides every element."""
    cases = [case for case, _ in pairs]
    first = cases[0]
    operator, attributes = OPERATORS[first.operator], first.attributes
    stacked = {name: np.stack([drawn[case.id][name] for case in cases]) for name in drawn[first.id]}
    wanted = {
        tensor.role_in(attributes) for tensor in operator.present(operator.outputs, first.absent)
    }
    decided = np.ones(len(cases), bool)
    roles: dict[str, Array] = {}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inputs = gru_inputs(operator, attributes, stacked)
        y, ho = gru(arithmetic, stack([meant for _, meant in pairs]), inputs)
        for role, balls in (("y", y), ("ho", ho)):
            if role in wanted:
                roles[role], proven = rounded(balls, FLOAT_TYPES[first.dtype])
                decided &= proven.reshape(len(cases), -1).all(axis=1)
    outputs = operator_outputs(operator, attributes, roles, first.absent)
    return {
        case.id: {name: array[row] for name, array in outputs.items()}
        for row, case in enumerate(cases)
        if decided[row]
    }
