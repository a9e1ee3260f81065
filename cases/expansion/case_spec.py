"""One case before its numbers are drawn: from a value of every factor to what it asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..errors import GrucibleError
from ..operators.known import OPERATORS
from ..operators.readings import ReadingNames, touched_by
from ..operators.semantics import semantics
from ..operators.signature import ABSENT, Operator
from ..specs.factors import PRESENT, ZEROS, lengths
from ..specs.spec_model import Assignment


@dataclass(frozen=True)
class CaseSpec:
    """One case before its numbers are drawn.

    `given` are exactly the attributes written out; `sizes` every size symbol, the number of
    directions included; `absent` the optional inputs and outputs left out; `zeros` the inputs that
    are zeros though they might be drawn; `types` the dtype of each type variable; `lengths` one length
    per row, None without them; `factors` the value of every factor.
    """

    id: str
    operator: str
    dtype: str
    tier: str
    readings: tuple[ReadingNames, ...]
    given: dict[str, Any]
    sizes: dict[str, int]
    absent: frozenset[str]
    types: dict[str, str]
    lengths: tuple[int, ...] | None
    draw: str
    factors: Assignment
    zeros: frozenset[str] = frozenset()

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute, defaults filled in."""
        return OPERATORS[self.operator].with_defaults(self.given)


def case_of(operator: Operator, values: Assignment, tier: str | None = None) -> CaseSpec:
    """Make the case, still without id, dtype and types, that has these values of all factors.

    Without `tier` it is required, or ambiguous where it touches an ambiguous point. Raises ValueError
    or GrucibleError, with the reason, where there is no such case.
    """
    given = _given(operator, values)
    meant = semantics(operator, operator.with_defaults(given))
    tensors = (*operator.inputs, *operator.outputs)
    absent = frozenset(t.name for t in tensors if values.get(t.name, PRESENT) == ABSENT)
    if not operator.present(operator.outputs, absent):
        raise GrucibleError("leaves out every output; expected one or more")
    case = CaseSpec(
        id="",
        operator=operator.name,
        dtype="",
        tier=tier or "required",
        readings=(),
        given=given,
        sizes={
            symbol: len(meant.directions) if axis == "direction" else values[symbol]
            for symbol, axis in operator.sizes.items()
        },
        absent=absent,
        types={},
        lengths=_lengths(operator, values),
        draw=values["draw"],
        factors=values,
        zeros=frozenset(t.name for t in tensors if values.get(t.name) == ZEROS),
    )
    readings = () if tier else touched_by(case, meant)
    return replace(case, tier="ambiguous", readings=readings) if readings else case


def _given(operator: Operator, values: Assignment) -> dict[str, Any]:
    """List the attributes written out."""
    return {
        attribute.name: values[attribute.name]
        for attribute in operator.attributes
        if ABSENT not in (values[attribute.name], values.get(f"{attribute.name}_attribute"))
    }


def _lengths(operator: Operator, values: Assignment) -> tuple[int, ...] | None:
    """Make the length of each row; None where there are no lengths."""
    tensor = operator.tensor("lengths")
    if tensor is None or values[tensor.name] == ABSENT:
        return None
    of = {axis: values[symbol] for symbol, axis in operator.sizes.items() if symbol in values}
    batch, time, value = of["batch"], of["time"], values[tensor.name]
    if isinstance(value, str):
        return lengths(value, batch, time)
    if len(value) != batch or max(value) > time:
        raise GrucibleError(
            f"{tensor.name} {value} do not fit a batch of {batch} rows of {time} steps; "
            f"expected {batch} numbers from 0 to {time}"
        )
    return tuple(value)
