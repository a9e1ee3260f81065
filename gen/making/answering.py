"""Answering a stack of drawn cases: in the GRU's own layout all the way, and back once.

A draw is kept if every output is decided (gen.exact); unless it plants special values, if nothing reaches
the dtype's overflow, and no pre-activation a size that the owner's documents leave open; if it is
conditioned well enough to judge by; and if its tolerances say enough to decide (gen.tolerances).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...vectors.case import Answer
from ..exact.answers import exact_outputs
from ..float64 import Peaks, PreActivations
from ..gru import gru
from ..stacks import Stack
from ..tolerances.chains import chain_bytes
from ..tolerances.classes import CLASSES
from ..tolerances.gate import objections, vacuous_rows
from ..tolerances.march import ErrorBounds, error_bounds, tolerances

STACK_BYTES = 16 << 20
UNROUNDED = "an output could not be rounded at the highest precision"


@dataclass(frozen=True)
class Drawn:
    """A stack of drawn cases of a block.

    `dtype` is that of the block, `readings` what may be followed besides the stored reading, `absent` the
    outputs left out. `planted` (n,) says which draws plant special values, `exempt` (n,) which are not
    judged by their conditioning.
    """

    stack: Stack
    dtype: str
    readings: tuple[ReadingNames, ...]
    absent: frozenset[str]
    planted: Array
    exempt: Array

    @property
    def roles(self) -> frozenset[str]:
        """The roles of the outputs: y, ho."""
        operator, attributes = self.stack.operator, self.stack.attributes
        present = operator.present(operator.outputs, self.absent)
        return frozenset(tensor.role_in(attributes) for tensor in present)


def kept_in_any_case(
    stack: Stack, dtype: str, readings: tuple[ReadingNames, ...], absent: frozenset[str]
) -> Drawn:
    """A stack whose numbers were given, not drawn: it is answered wherever an answer can be rounded."""
    every = np.ones(len(stack), bool)
    return Drawn(stack, dtype, readings, absent, planted=every, exempt=every)


@dataclass
class Answered:
    """The rows of a stack that were `kept`, with their answers, and why the others were not.

    `kept` are places in the stack; the answers are stacked in their order. `reasons` are by place.
    """

    kept: Array
    answers: Mapping[ReadingNames, Answer] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


def parts(stack: Stack) -> Iterator[Stack]:
    """The stack in stacks of no more cases than the error march may hold at once."""
    _, batch, time, _ = stack.inputs.x.shape
    one = chain_bytes(time, batch, stack.inputs.h0.shape[-1])
    return stack.parts(max(1, STACK_BYTES // one))


def answered(drawn: Drawn) -> Answered:
    """The answers of all rows that can be kept."""
    stack = drawn.stack
    near = overflows(stack, drawn.dtype) | out_of_range(drawn)
    reasons = {place: why for place, why in near.items() if not drawn.planted[place]}
    places = _without(np.arange(len(stack)), reasons)
    bounds = {}
    if len(places):
        bounds = _bounds(drawn, stack.only(places))
        for row, why in objections(bounds, drawn.roles, drawn.dtype).items():
            if not drawn.exempt[places[row]]:
                reasons[int(places[row])] = why
    left = _without(places, reasons)
    if not left.size:
        return Answered(left, {}, reasons)
    outputs, undecided = _exact(drawn, left)
    reasons |= dict.fromkeys(left[undecided].tolist(), UNROUNDED)
    kept = left[~undecided]
    if not kept.size:
        return Answered(kept, {}, reasons)
    at = np.searchsorted(places, kept)
    answers = {
        reading: _answer(
            drawn, {role: a[~undecided] for role, a in roles.items()}, bounds[reading], at
        )
        for reading, roles in outputs.items()
    }
    return _deciding(drawn, Answered(kept, answers, reasons))


def _deciding(drawn: Drawn, found: Answered) -> Answered:
    """Without the rows that say too little to decide, unless they are exempt."""
    objected = vacuous_rows(found.answers, drawn.dtype)
    exempt = drawn.exempt[found.kept]
    dropped = [row for row in objected if not exempt[row]]
    if not dropped:
        return found
    left = np.setdiff1d(np.arange(len(found.kept)), dropped)
    reasons = {int(found.kept[row]): objected[row] for row in dropped}
    answers = {reading: answer.rows(left) for reading, answer in found.answers.items()}
    return Answered(found.kept[left], answers if left.size else {}, found.reasons | reasons)


def peaks(stack: Stack) -> Array:
    """(n,) how large an intermediate of each case may become, evaluated in float64."""
    arithmetic = Peaks(len(stack))
    with np.errstate(over="ignore", invalid="ignore"):
        gru(arithmetic, stack.semantics, stack.inputs)
    return arithmetic.peak


def overflows(stack: Stack, dtype: str) -> dict[int, str]:
    """By place, why an intermediate of a case reaches too near the dtype's overflow."""
    peak, largest = peaks(stack), FLOAT_TYPES[dtype].largest
    # a sum of up to four counted quantities stays finite in the dtype
    near = ~(peak < largest / 4)
    return {
        int(place): (
            f"an intermediate of {peak[place]:.3g} is too near {dtype}'s overflow; take smaller "
            "sizes, parameters or a smaller draw"
        )
        for place in np.flatnonzero(near)
    }


def out_of_range(drawn: Drawn) -> dict[int, str]:
    """By place, why a pre-activation of a case is larger than its operator leaves no doubt about, under
    any reading."""
    stack, found = drawn.stack, {}
    limit = stack.operator.sure_range
    for reading in (STORED, *drawn.readings) if math.isfinite(limit) else ():
        arithmetic = PreActivations(len(stack))
        with np.errstate(over="ignore", invalid="ignore"):
            gru(arithmetic, as_read(reading, stack.semantics), stack.inputs)
        for place in np.flatnonzero(~(arithmetic.largest <= limit)).tolist():
            found[place] = (
                f"a pre-activation of {arithmetic.largest[place]:.3g} is beyond {limit:g} "
                "(ledger: range); take a smaller draw"
            )
    return found


def _without(places: Array, reasons: Collection[int]) -> Array:
    return places[~np.isin(places, list(reasons))]


def _bounds(drawn: Drawn, stack: Stack) -> dict[ReadingNames, ErrorBounds]:
    """Under each reading the values in float64, and how far off each class may be."""
    return {
        reading: error_bounds(as_read(reading, stack.semantics), stack.inputs, CLASSES[drawn.dtype])
        for reading in (STORED, *drawn.readings)
    }


def _exact(drawn: Drawn, places: Array) -> tuple[dict[ReadingNames, Arrays], Array]:
    """Under each reading the exact outputs by role, rounded once, and which rows have one that could
    not be rounded."""
    stack = drawn.stack.only(places)
    undecided = np.zeros(len(places), bool)
    found = {}
    for reading in (STORED, *drawn.readings):
        meant = as_read(reading, stack.semantics)
        kind = FLOAT_TYPES[drawn.dtype]
        found[reading], open_ = exact_outputs(meant, stack.inputs, kind, drawn.roles)
        undecided |= open_
    return found, undecided


def _answer(drawn: Drawn, outputs: Arrays, bounds: ErrorBounds, at: Array) -> Answer:
    """The answer in the operator's layout; `at` are the rows of `bounds` that `outputs` are of."""
    by_class: dict[str, Arrays] = {}
    for role, answer in outputs.items():
        values, errors = bounds.of(role)
        for name, limit in tolerances(values[at], errors[at], answer, drawn.dtype).items():
            by_class.setdefault(name, {})[role] = limit
    handed_out = drawn.stack.handed_out
    return Answer(
        handed_out(outputs, drawn.absent),
        {name: handed_out(limits, drawn.absent) for name, limits in by_class.items()},
    )


def joined(
    parts: Sequence[Mapping[ReadingNames, Answer]], order: Array
) -> dict[ReadingNames, Answer]:
    """The answers of several stacks as those of a block, whose row i is row `order[i]` of them all."""

    def together(arrays: Sequence[Arrays]) -> Arrays:
        return {name: np.concatenate([a[name] for a in arrays])[order] for name in arrays[0]}

    found = {}
    for reading in parts[0]:
        each = [part[reading] for part in parts]
        found[reading] = Answer(
            together([one.outputs for one in each]),
            {name: together([one.tolerances[name] for one in each]) for name in each[0].tolerances},
        )
    return found
