"""The exact outputs, and the exact quantities of every step: rounded once, proven.

Balls of float64 numbers decide most of them, for all cases at once (gen.exact.balls). Arb's balls decide the
others, and all numbers in float64, case by case (gen.exact.enclosures).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.operators.layout import GruInputs, gru_inputs
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...cases.operators.semantics import Semantics, StackedSemantics, one_of, semantics
from ...cases.operators.signature import Operator
from ..gru import DirectionWeights, Step, gru, processing_order, step, step_numbers
from .balls import BallArithmetic, Balls, round_balls
from .elementary import TINY
from .enclosures import (
    FIRST_BITS,
    MOST_BITS,
    Enclosures,
    Undecided,
    at_enough_bits,
    outputs_by_arb,
    round_array,
)

MORE_BITS = 24
"""More bits than the rounding needs, so that hardly an output is too close to the middle of two numbers."""


def exact_outputs(
    meant: StackedSemantics,
    inputs: GruInputs,
    balls: Sequence[Balls],
    dtype: FloatType,
    wanted: Collection[str],
) -> tuple[Arrays, Array]:
    """Evaluate the exact `y` and `ho` (those `wanted`) of n stacked cases, rounded once to `dtype`.

    `balls` enclose them. Also returns a mask (n,) of the cases with an element that even the highest
    precision does not decide.
    """
    found, decided, radii = decided_by_balls(balls, dtype, wanted)
    undecided = np.zeros(len(decided), bool)
    for row in np.flatnonzero(~decided).tolist():
        bits = likely_bits(radii[row], dtype)
        try:
            exact = outputs_by_arb(one_of(meant, row), inputs.rows(row), dtype, wanted, bits)
        except Undecided:
            undecided[row] = True
            continue
        for role, array in exact.items():
            found[role][row] = array
    return found, undecided


def likely_bits(radii: Array, dtype: FloatType) -> int:
    """Estimate the bits that decide a case, whose balls have radii up to `radii` (steps,) in float64.

    Balls grow by about the same factor in each step, at any precision. So the growth of those that are still
    small says how many bits all steps need. It gets a fifth more: a second try costs twice the bits.
    """
    sizes = np.log2(np.sort(radii[radii < 2.0**-4]))
    if len(sizes) < 2:
        return FIRST_BITS
    growth = 1.2 * (sizes[-1] - sizes[0]) / (len(sizes) - 1) * (len(radii) - 1)
    bits = dtype.precision + MORE_BITS + 53 + sizes[0] + growth
    return int(np.clip(64 * np.ceil(bits / 64), FIRST_BITS, MOST_BITS))


def enclose(meant: StackedSemantics, inputs: GruInputs) -> tuple[Balls, Balls]:
    """Evaluate `y` and `ho` of stacked cases over balls of float64 numbers."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        outputs: Any = gru(BallArithmetic(), meant, inputs)
    return outputs  # type: ignore[no-any-return]


def decided_by_balls(
    balls: Sequence[Balls], dtype: FloatType, wanted: Collection[str]
) -> tuple[Arrays, Array, Array]:
    """Round enclosed `y` and `ho` to `dtype`, and mark (n,) the cases that this decides entirely.

    Outputs in float64 are never decided: each ball holds several such numbers. Also returns the largest
    radius of each time, (n, time).
    """
    found: Arrays = {}
    decided = np.ones(len(balls[0].rad), bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for role, output in zip(("y", "ho"), balls, strict=True):
            if role in wanted:
                found[role], proven = round_balls(output, dtype)
                decided &= proven.reshape(len(decided), -1).all(axis=1)
    return found, decided, np.moveaxis(balls[0].rad, -2, 1).max(axis=(2, 3, 4), initial=TINY)


@dataclass(frozen=True)
class DirectionTrace:
    """Every step of one direction, in the order of processing: exact, rounded once to the case's dtype.

    `direction` is forward or reverse. `time` (batch, steps) is the place on the time axis where a step has
    its input, and -1 where a row is over; quantities are NaN there. `h0` (batch, hidden) is the state before
    the first step. The others are (batch, steps, hidden): the pre-activations `a_z`, `a_r` and `a_h`, before
    they are clipped; the gates `z` and `r`; the candidate `t`; `u`, multiplied by the reset gate (the state
    before the step, or its product with the weights); and the `state` after the step.
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
        """The number of steps of each row, (batch,)."""
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
    """Evaluate the steps of each direction of one case, in the order of the direction axis.

    `attributes` has the defaults filled in; `reading` names the readings that are followed. Raises
    Undecided where a quantity is too close to the middle between two numbers of `dtype`.
    """
    meant = as_read(reading, semantics(operator, attributes))
    given = gru_inputs(operator, attributes, inputs)
    found = at_enough_bits(lambda: _quantities(meant, given, FLOAT_TYPES[dtype]), given)
    return tuple(_direction(meant, given, found, d) for d in range(len(meant.directions)))


def _quantities(meant: Semantics, inputs: GruInputs, dtype: FloatType) -> Arrays:
    """Evaluate the quantities of each step (gen.gru.Step) by name.

    Each is (direction, batch, steps, hidden), 0 where a row is over.
    """
    arithmetic, steps = Enclosures(), int(inputs.lengths.max(initial=0))
    shape = (len(meant.directions), inputs.lengths.shape[-1], steps, inputs.h0.shape[-1])
    found = {name: np.zeros(shape, dtype.numpy) for name in Step._fields}

    def advance(
        d: DirectionWeights, number: int, rows: Array, wx: Mapping[str, Any], old: Any
    ) -> Any:
        taken = step(arithmetic, meant, d, wx, old)
        for name, values in taken._asdict().items():
            found[name][d.index, rows, number] = round_array(values, dtype)
        return taken.state

    gru(arithmetic, meant, inputs, advance=advance)
    return found


def _direction(meant: Semantics, inputs: GruInputs, found: Arrays, index: int) -> DirectionTrace:
    """Make the trace of direction number `index`."""
    direction, lengths = meant.directions[index], inputs.lengths
    steps = next(iter(found.values())).shape[2]
    at_time = step_numbers(direction, inputs, inputs.x.shape[-2])
    order = processing_order(at_time, lengths)
    numbers = np.broadcast_to(np.arange(steps), (len(lengths), steps))
    over = numbers >= lengths[:, None]
    time = numbers if order is None else order[:, :steps]
    return DirectionTrace(
        direction=direction,
        time=np.where(over, -1, time),
        h0=inputs.h0[index],
        **{
            name: np.where(over[..., None], values.dtype.type(np.nan), values[index])
            for name, values in found.items()
        },
    )
