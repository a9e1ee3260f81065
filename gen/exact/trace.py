"""The exact quantities of every step, rounded once, proven: what stands between a question and its answer.

Evaluated as the answers are (gen.exact.answers): by balls of float64 numbers, and by Arb where these leave
any quantity open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.operators.layout import GruInputs, gru_inputs
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...cases.operators.semantics import Semantics, semantics, stack
from ...cases.operators.signature import Operator
from ..gru import AnySemantics, DirectionWeights, Step, gru, processing_order, step
from .balls import BallArithmetic, round_balls
from .enclosures import Enclosures, at_enough_bits
from .rounding import Undecided, round_array


@dataclass(frozen=True)
class DirectionTrace:
    """Every step of one direction, in the order of processing: exact, rounded once to the case's dtype.

    `direction` is forward or reverse. `time` (batch, steps) is the place on the time axis where a step has
    its input, and -1 where a row is over; there all else is NaN. `h0` (batch, hidden) is the state before
    the first step. The others are (batch, steps, hidden): the pre-activations `a_z`, `a_r` and `a_h`, before
    they are clipped; the gates `z` and `r`; the candidate `t`; `u`, what the reset gate multiplies, the state
    before the step or its product with the weights; and the `state` after the step.
    """

    direction: str
    time: Array
    h0: Array
    a_z: Array
    a_r: Array
    a_h: Array
    z: Array
    r: Array
    t: Array
    u: Array
    state: Array

    @property
    def lengths(self) -> Array:
        """(batch,) how many steps each row takes."""
        return np.asarray((self.time >= 0).sum(axis=1))

    @property
    def arrays(self) -> Arrays:
        """All arrays by name."""
        names = (field.name for field in fields(self) if field.name != "direction")
        return {name: getattr(self, name) for name in names}


def exact_trace(
    operator: Operator,
    attributes: Mapping[str, Any],
    dtype: str,
    inputs: Mapping[str, Array],
    reading: ReadingNames = STORED,
) -> tuple[DirectionTrace, ...]:
    """The steps of each direction of one case, in the order of the direction axis.

    `attributes` has the defaults filled in; `reading` names the readings that are followed. Raises
    Undecided where a quantity is too close to the middle between two numbers of `dtype`.
    """
    meant = as_read(reading, semantics(operator, attributes))
    given = gru_inputs(operator, attributes, inputs)
    stacked = {name: array[None] for name, array in inputs.items()}
    kind = FLOAT_TYPES[dtype]
    try:
        found = _by_balls(meant, gru_inputs(operator, attributes, stacked), kind)
    except Undecided:
        rounded = partial(round_array, dtype=kind)
        found = at_enough_bits(
            lambda: _quantities(Enclosures(), meant, given, kind, rounded), given
        )
    return tuple(_direction(meant, given, found, d) for d in range(len(meant.directions)))


def _by_balls(meant: Semantics, inputs: GruInputs, dtype: FloatType) -> Arrays:
    """The quantities by balls of float64 numbers; Undecided where these leave one open."""

    def rounded(balls: Any) -> Array:
        values, proven = round_balls(balls, dtype)
        if not proven.all():
            raise Undecided
        return np.asarray(values[0])

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _quantities(BallArithmetic(), stack([meant]), inputs, dtype, rounded)


def _quantities(
    arithmetic: Any,
    meant: AnySemantics,
    inputs: GruInputs,
    dtype: FloatType,
    rounded: Callable[[Any], Array],
) -> Arrays:
    """The quantities of each step (gen.gru.Step) by name, (direction, batch, steps, hidden) each, 0 where a
    row is over."""
    steps = int(inputs.lengths.max(initial=0))
    shape = (len(meant.directions), inputs.lengths.shape[-1], steps, inputs.h0.shape[-1])
    found = {name: np.zeros(shape, dtype.numpy) for name in Step._fields}

    def advance(
        d: DirectionWeights, number: int, rows: Array, wx: Mapping[str, Any], old: Any
    ) -> Any:
        taken = step(arithmetic, meant, d, wx, old)
        for name, values in taken._asdict().items():
            found[name][d.index, rows, number] = rounded(values)
        return taken.state

    gru(arithmetic, meant, inputs, advance=advance)
    return found


def _direction(meant: Semantics, inputs: GruInputs, found: Arrays, index: int) -> DirectionTrace:
    """The steps of direction number `index`, with the time of each."""
    direction, lengths = meant.directions[index], inputs.lengths
    steps = next(iter(found.values())).shape[2]
    order = processing_order(direction, lengths, inputs.x.shape[-2])
    numbers = np.broadcast_to(np.arange(steps), (len(lengths), steps))
    over = numbers >= lengths[:, None]
    time = numbers if order is None else order[:, :steps]
    return DirectionTrace(
        direction=direction,
        time=np.where(over, -1, time),
        h0=inputs.h0[index],
        **{name: _none(values[index], over) for name, values in found.items()},
    )


def _none(values: Array, over: Array) -> Array:
    """Values with NaN where a row is over."""
    return np.asarray(np.where(over[..., None], values.dtype.type(np.nan), values))
