"""Answering stacked inputs: in the GRU's own layout all the way, and back once.

Inputs are kept if every output is decided (gen.exact). Those that were drawn must pass more, unless they are
exempt: they are conditioned well enough to judge by, and their tolerances say enough to decide
(gen.tolerances.gate); and where they plant no special values, nothing reaches the dtype's overflow, and no
pre-activation a size that the owner's documents leave open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays
from ..cases.operators.known import OPERATORS
from ..cases.operators.readings import STORED, ReadingNames, as_read
from ..cases.operators.signature import Operator
from ..vectors.block import Block
from ..vectors.case import REQUIRED, Answer
from ..vectors.difference import difference
from .exact.answers import exact_outputs
from .gru import gru
from .stacks import Float64, Peaks, PreActivations, Stack, stacks
from .tolerances.chains import chain_bytes
from .tolerances.classes import CLASSES
from .tolerances.gate import objections, vacuous_rows
from .tolerances.march import ErrorBounds, error_bounds, tolerances

STACK_BYTES = 16 << 20
"""Maximum bytes of Jacobians that the error march holds at once, of stacks of several cases."""
UNROUNDED = "an output could not be rounded at the highest precision"
NOTHING_NONPORTABLE = "is marked as nonportable, and it holds nothing that is"


@dataclass(frozen=True)
class Asked:
    """What stacked cases ask for, their numbers aside.

    Besides the stored reading the `readings` are followed; the outputs `absent` are left out.
    """

    operator: Operator
    dtype: str
    readings: tuple[ReadingNames, ...]
    absent: Collection[str]

    @property
    def followed(self) -> tuple[ReadingNames, ...]:
        """All readings that are followed."""
        return (STORED, *self.readings)

    def roles(self, attributes: Mapping[str, Any]) -> frozenset[str]:
        """The roles of the outputs: y, ho."""
        present = self.operator.present(self.operator.outputs, self.absent)
        return frozenset(tensor.role_in(attributes) for tensor in present)


@dataclass
class Answered:
    """The `rows` that were kept, ascending, with their answers; and by row why each other was not.

    The answers are by the readings followed, stacked in the order of `rows`.
    """

    rows: Array
    answers: Mapping[ReadingNames, Answer] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


def answer_rows(
    asked: Asked,
    given: Sequence[Mapping[str, Any]],
    inputs: Arrays,
    *,
    planted: Array | None = None,
    exempt: Array | None = None,
) -> Answered:
    """Answer n stacked cases, each with the attributes `given`.

    `planted` (n,) says which plant special values, `exempt` (n,) which are not judged by their conditioning;
    without them, all are: numbers that were not drawn are answered wherever an answer can be rounded.
    """
    every = np.ones(len(given), bool)
    planted, exempt = (every if mask is None else mask for mask in (planted, exempt))
    rows, answers = [np.zeros(0, int)], []
    reasons: dict[int, str] = {}
    for whole in stacks(asked.operator, given, inputs):
        for stack in _parts(whole):
            found = _answer(asked, stack, planted[stack.rows], exempt[stack.rows])
            reasons |= {int(stack.rows[place]): why for place, why in found.reasons.items()}
            if found.answers:
                rows.append(stack.rows[found.rows])
                answers.append(found.answers)
    places = np.concatenate(rows)
    order = np.argsort(places)
    return Answered(places[order], joined(answers, order), reasons)


def _parts(stack: Stack) -> Iterator[Stack]:
    """The stack in stacks of no more cases than the error march may hold at once."""
    _, batch, time, _ = stack.inputs.x.shape
    one = chain_bytes(time, batch, stack.inputs.h0.shape[-1])
    return stack.parts(max(1, STACK_BYTES // one))


def _answer(asked: Asked, stack: Stack, planted: Array, exempt: Array) -> Answered:
    """Answer the cases of one stack; rows are places in it."""
    near = overflows(stack, asked.dtype) | _out_of_range(asked, stack)
    reasons = {place: why for place, why in near.items() if not planted[place]}
    places = _without(np.arange(len(stack)), reasons)
    if not places.size:
        return Answered(places, {}, reasons)
    part = stack.only(places)
    bounds = {
        reading: error_bounds(as_read(reading, part.semantics), part.inputs, CLASSES[asked.dtype])
        for reading in asked.followed
    }
    for row, why in objections(bounds, asked.roles(stack.attributes), asked.dtype).items():
        if not exempt[places[row]]:
            reasons[int(places[row])] = why
    left = _without(places, reasons)
    if not left.size:
        return Answered(left, {}, reasons)
    outputs, undecided = _exact(asked, stack.only(left))
    reasons |= dict.fromkeys(left[undecided].tolist(), UNROUNDED)
    kept = left[~undecided]
    if not kept.size:
        return Answered(kept, {}, reasons)
    at = np.searchsorted(places, kept)
    answers = {
        reading: _with_tolerances(
            asked, stack, {role: a[~undecided] for role, a in roles.items()}, bounds[reading], at
        )
        for reading, roles in outputs.items()
    }
    vague = vacuous_rows(answers, asked.dtype)
    dropped = [row for row in vague if not exempt[kept[row]]]
    if dropped:
        reasons |= {int(kept[row]): vague[row] for row in dropped}
        rest = np.setdiff1d(np.arange(len(kept)), dropped)
        answers = {reading: one.rows(rest) for reading, one in answers.items()} if rest.size else {}
        kept = kept[rest]
    return Answered(kept, answers, reasons)


def _without(places: Array, reasons: Collection[int]) -> Array:
    return places[~np.isin(places, list(reasons))]


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


def _out_of_range(asked: Asked, stack: Stack) -> dict[int, str]:
    """By place, why a pre-activation of a case is larger than its operator leaves no doubt about, under
    any reading."""
    found = {}
    limit = stack.operator.sure_range
    for reading in asked.followed if math.isfinite(limit) else ():
        arithmetic = PreActivations(len(stack))
        with np.errstate(over="ignore", invalid="ignore"):
            gru(arithmetic, as_read(reading, stack.semantics), stack.inputs)
        for place in np.flatnonzero(~(arithmetic.largest <= limit)).tolist():
            found[place] = (
                f"a pre-activation of {arithmetic.largest[place]:.3g} is beyond {limit:g} "
                "(ledger: range); take a smaller draw"
            )
    return found


def _exact(asked: Asked, stack: Stack) -> tuple[dict[ReadingNames, Arrays], Array]:
    """Under each reading the exact outputs by role, rounded once, and which rows have one that could
    not be rounded."""
    undecided = np.zeros(len(stack), bool)
    found = {}
    for reading in asked.followed:
        found[reading], open_ = exact_outputs(
            as_read(reading, stack.semantics),
            stack.inputs,
            FLOAT_TYPES[asked.dtype],
            asked.roles(stack.attributes),
        )
        undecided |= open_
    return found, undecided


def _with_tolerances(
    asked: Asked, stack: Stack, outputs: Arrays, bounds: ErrorBounds, at: Array
) -> Answer:
    """The answer in the operator's layout; `at` are the rows of `bounds` that `outputs` are of."""
    by_class: dict[str, Arrays] = {}
    for role, answer in outputs.items():
        values, errors = bounds.of(role)
        for name, limit in tolerances(values[at], errors[at], answer, asked.dtype).items():
            by_class.setdefault(name, {})[role] = limit
    return Answer(
        stack.handed_out(outputs, asked.absent),
        {name: stack.handed_out(limits, asked.absent) for name, limits in by_class.items()},
    )


def joined(
    parts: Sequence[Mapping[ReadingNames, Answer]], order: Array
) -> dict[ReadingNames, Answer]:
    """The answers of several stacks as those of one, whose row i is row `order[i]` of them all."""

    def together(arrays: Sequence[Arrays]) -> Arrays:
        return {name: np.concatenate([a[name] for a in arrays])[order] for name in arrays[0]}

    found = {}
    for reading in parts[0] if parts else ():
        each = [part[reading] for part in parts]
        found[reading] = Answer(
            together([one.outputs for one in each]),
            {name: together([one.tolerances[name] for one in each]) for name in each[0].tolerances},
        )
    return found


def find_nonportable(block: Block) -> Array:
    """Find the cases that hang on more than finite numbers of ordinary size, (n,).

    They hold NaN or infinities, come near overflow, or their answers hang on -0 or on subnormal numbers.
    """
    kind = FLOAT_TYPES[block.dtype]
    found, tiny = np.zeros(len(block), bool), np.zeros(len(block), bool)
    for array in _numbers(block).values():
        found |= _any(~(np.abs(array) <= kind.largest))
        tiny |= _any(_tiny(array, block.dtype))
    for stack in stacks(OPERATORS[block.operator], block.given, block.inputs):
        found[stack.rows[list(overflows(stack, block.dtype))]] = True
    rows = np.flatnonzero(tiny & ~found)
    if rows.size:
        found[rows] = _hangs_on_tiny(block.rows(rows))
    return found


def _hangs_on_tiny(block: Block) -> Array:
    """(n,) of which cases the answer hangs on -0 and subnormal numbers.

    With zeros in their place an output is off by more than what is required, or a zero has another sign; or
    there is nothing else in X, in the initial state and in the biases, which is how such cases are drawn.
    """
    flushed, nothing_else = dict(block.inputs), np.ones(len(block), bool)
    for tensor in OPERATORS[block.operator].inputs:
        if tensor.name in _numbers(block):
            given = block.inputs[tensor.name]
            tiny = _tiny(given.astype(np.float64), block.dtype)
            flushed[tensor.name] = np.where(tiny, given.dtype.type(0), given)
            if tensor.role in ("x", "h0", "b"):
                nothing_else &= ~_any(~tiny & (given != 0))
    hangs = nothing_else
    limits = block.answer.tolerances[REQUIRED[block.dtype]]
    before, after = (_in_float64(block, inputs) for inputs in (block.inputs, flushed))
    for name, limit in limits.items():
        hangs |= _any(~(difference(after[name], before[name]) <= limit))
        zero = (before[name] == 0) & (after[name] == 0)
        hangs |= _any(zero & (np.signbit(before[name]) != np.signbit(after[name])))
    return hangs


def _in_float64(block: Block, inputs: Arrays) -> Arrays:
    """The outputs of the cases of a block for other `inputs`, in float64."""
    found = {name: np.empty(array.shape) for name, array in block.answer.outputs.items()}
    for stack in stacks(OPERATORS[block.operator], block.given, inputs):
        with np.errstate(over="ignore", invalid="ignore"):
            y, ho = gru(Float64(), stack.semantics, stack.inputs)
        for name, array in stack.handed_out({"y": y, "ho": ho}, block.absent).items():
            found[name][stack.rows] = array
    return found


def _numbers(block: Block) -> Arrays:
    """The inputs that are numbers of the block's dtype, in float64."""
    kind = FLOAT_TYPES[block.dtype]
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return {
            name: array.astype(np.float64)
            for name, array in block.inputs.items()
            if array.dtype == kind.numpy
        }


def _tiny(values: Array, dtype: str) -> Array:
    """Where a number is -0, or subnormal in the dtype."""
    kind = FLOAT_TYPES[dtype]
    least = 2.0 ** (kind.least_exponent + kind.precision - 1)
    size = np.abs(values)
    return np.asarray((size < least) & ((size > 0.0) | np.signbit(values)))


def _any(where: Array) -> Array:
    """(n,) in which of stacked cases it is anywhere."""
    return np.asarray(where.reshape(len(where), -1).any(axis=1))
