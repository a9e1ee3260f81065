"""Answering stacked inputs: they are converted to the shared layout once, and answers back once.

Inputs are kept if every output can be rounded (gen.exact). Unless they are exempt, they must also be
conditioned well enough to judge by, and their tolerances small enough to decide (gen.tolerances.gate). Unless
they plant special values, no intermediate may come near the dtype's overflow, and no pre-activation may leave
the range that the owner's documents define.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ..cases.operators import OPERATORS
from ..cases.operators.layout import GruInputs
from ..cases.operators.readings import STORED, ReadingNames, as_read
from ..cases.operators.semantics import StackedSemantics
from ..vectors.block import Block, BlockKey
from ..vectors.case import REQUIRED, Answer, difference
from .exact.answers import exact_outputs
from .gru import gru
from .stacks import Float64, Peaks, Stack, stacks
from .tolerances.classes import CLASSES, ArithmeticClass
from .tolerances.gate import objections, vacuous_rows
from .tolerances.march import (
    ErrorBounds,
    against_answer,
    chain_bytes,
    error_bounds,
    tolerances,
)

STACK_BYTES = 16 << 20
"""Maximum bytes of Jacobians that the error march holds at once, if a stack has several cases."""
LARGE = 5_000_000
"""Minimum batch · time · hidden² of a case judged by its steps alone; none that is shipped has more.

To prove its outputs would take hours: balls and errors grow with every step, and their bits with them."""
UNROUNDED = "an output could not be rounded at the highest precision"
NOTHING_NONPORTABLE = "is marked as nonportable, and it holds nothing that is"


def answer_stacked(
    key: BlockKey,
    ids: Sequence[str],
    given: Sequence[Mapping[str, Any]],
    inputs: Arrays,
    *,
    planted: Array | None = None,
    exempt: Array | None = None,
) -> tuple[Block | None, dict[int, str]]:
    """Answer n stacked cases of the block `key`, each with an id and with attributes in `given`.

    The masks `planted` and `exempt`, (n,), mark cases that plant special values, and cases that skip the
    quality gate. Without masks, all cases are both: given numbers are answered if answers can be rounded.
    Returns the block of kept cases, in the order of `ids`, and by row the reason why any other was not kept.
    """
    every = np.ones(len(given), bool)
    planted, exempt = (every if mask is None else mask for mask in (planted, exempt))
    parts: list[Block] = []
    reasons: dict[int, str] = {}
    for whole in stacks(OPERATORS[key.operator], given, inputs):
        _, batch, time, _ = whole.inputs.x.shape
        one = chain_bytes(time, batch, whole.inputs.h0.shape[-1])
        for stack in whole.parts(max(1, STACK_BYTES // one)):
            kept, answers, refused = _answer(key, stack, planted[stack.rows], exempt[stack.rows])
            reasons |= {int(stack.rows[place]): why for place, why in refused.items()}
            if kept.size:
                rows = stack.rows[kept]
                parts.append(
                    Block(
                        path=key.path,
                        operator=key.operator,
                        dtype=key.dtype,
                        tier=key.tier,
                        ids=[ids[row] for row in rows],
                        given=[dict(given[row]) for row in rows],
                        inputs={name: array[rows] for name, array in inputs.items()},
                        answers=answers,
                    )
                )
    return concatenate(parts, ids), reasons


def concatenate(parts: Sequence[Block], ids: Sequence[str]) -> Block | None:
    """Join parts of one block, with the cases in the order of `ids`; return None without parts."""
    if not parts:
        return None

    def join(arrays: Sequence[Arrays]) -> Arrays:
        return {name: np.concatenate([one[name] for one in arrays]) for name in arrays[0]}

    answers = {}
    for reading, first in parts[0].answers.items():
        each = [part.answers[reading] for part in parts]
        limits = {name: join([one.tolerances[name] for one in each]) for name in first.tolerances}
        answers[reading] = Answer(join([one.outputs for one in each]), limits)
    whole = replace(
        parts[0],
        ids=[one for part in parts for one in part.ids],
        given=[one for part in parts for one in part.given],
        inputs=join([part.inputs for part in parts]),
        answers=answers,
    )
    place = {one: number for number, one in enumerate(ids)}
    return whole.rows(np.argsort([place[one] for one in whole.ids]))


def _answer(
    key: BlockKey, stack: Stack, planted: Array, exempt: Array
) -> tuple[Array, dict[ReadingNames, Answer], dict[int, str]]:
    """Answer the cases of one stack.

    Returns the places of kept cases in the stack; their answers by reading, stacked in this order; and by
    place the reason why any other case was not kept.
    """
    near = overflows(stack, key.dtype) | _out_of_range(key, stack)
    reasons = {place: why for place, why in near.items() if not planted[place]}
    places = np.setdiff1d(np.arange(len(stack)), list(reasons))
    if not places.size:
        return places, {}, reasons
    part = stack.only(places)
    if _judged_by_steps(key, stack):
        return places, _answer_steps(key, part), reasons
    bounds = {
        reading: error_bounds(as_read(reading, part.semantics), part.inputs, CLASSES[key.dtype])
        for reading in (STORED, *key.readings)
    }
    for row, why in objections(bounds, _roles(key, stack), key.dtype).items():
        if not exempt[places[row]]:
            reasons[int(places[row])] = why
    left = np.setdiff1d(places, list(reasons))
    if not left.size:
        return left, {}, reasons
    outputs, undecided = _exact(key, stack.only(left))
    reasons |= dict.fromkeys(left[undecided].tolist(), UNROUNDED)
    kept = left[~undecided]
    if not kept.size:
        return kept, {}, reasons
    at = np.searchsorted(places, kept)
    answers = {}
    for reading, roles in outputs.items():
        rounded = {role: array[~undecided] for role, array in roles.items()}
        answers[reading] = _with_tolerances(key, stack, rounded, bounds[reading], at)
    vague = vacuous_rows(answers, key.dtype)
    sharp = np.array([row not in vague or exempt[kept[row]] for row in range(len(kept))])
    reasons |= {int(kept[row]): vague[row] for row in np.flatnonzero(~sharp).tolist()}
    return kept[sharp], {names: one.rows(sharp) for names, one in answers.items()}, reasons


def _judged_by_steps(key: BlockKey, stack: Stack) -> bool:
    """Say whether cases are LARGE, and their outputs hold the state after every step."""
    _, batch, time, _ = stack.inputs.x.shape
    large = time > 1 and batch * time * stack.inputs.h0.shape[-1] ** 2 > LARGE
    return large and key.tier != "nonportable" and "y" in _roles(key, stack)


def _answer_steps(key: BlockKey, stack: Stack) -> dict[ReadingNames, Answer]:
    """Run the GRU in float64, and admit everything finite: single steps are judged, nothing as a whole.

    What is no state of a step, such as zeros in padding, admits no more than elsewhere.
    """
    kind, roles, found = FLOAT_TYPES[key.dtype], _roles(key, stack), {}

    def handed_out(states: tuple[Array, Array], dtype: Any) -> Arrays:
        named = zip(("y", "ho"), states, strict=True)
        return stack.handed_out({k: a.astype(dtype) for k, a in named if k in roles}, key.absent)

    for reading in (STORED, *key.readings):
        meant = as_read(reading, stack.semantics)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = handed_out(gru(Float64(), meant, stack.inputs), kind.numpy)
            limits = {
                one.name: handed_out(_limits_without_steps(meant, stack.inputs, one, kind), "f4")
                for one in CLASSES[key.dtype]
            }
        found[reading] = Answer(outputs, limits)
    return found


def _limits_without_steps(
    meant: StackedSemantics, inputs: GruInputs, one: ArithmeticClass, kind: FloatType
) -> tuple[Array, Array]:
    """Compute the admitted differences of Y and Ho, infinite for states of steps.

    A class that rounds the initial state may do so where that is handed out.
    """
    h0 = inputs.h0.astype(np.float64)
    lost = np.abs(h0) * one.state + one.state_tiny if one.operands else np.zeros_like(h0)
    given = replace(
        inputs,
        x=np.zeros_like(inputs.x[..., :1]),
        w={gate: array[..., :1] for gate, array in inputs.w.items()},
        h0=against_answer(h0, lost, inputs.h0, one, kind),
    )
    return gru(Float64(), meant, given, advance=lambda *step: np.full_like(step[-1], np.inf))


def _roles(key: BlockKey, stack: Stack) -> frozenset[str]:
    """Find the roles of the outputs that a block has: y, ho."""
    present = stack.operator.present(stack.operator.outputs, key.absent)
    return frozenset(tensor.role_in(stack.attributes) for tensor in present)


def peaks(stack: Stack, reading: ReadingNames = STORED) -> Peaks:
    """Evaluate in float64 how large the intermediates of each case may become."""
    arithmetic = Peaks(len(stack))
    with np.errstate(over="ignore", invalid="ignore"):
        gru(arithmetic, as_read(reading, stack.semantics), stack.inputs)
    return arithmetic


def overflows(stack: Stack, dtype: str) -> dict[int, str]:
    """Say by place which cases have an intermediate too near the dtype's overflow."""
    largest = FLOAT_TYPES[dtype].largest
    if _largest_possible(stack) < largest / 4:
        return {}
    peak = peaks(stack).peak
    # a sum of up to four counted quantities stays finite in the dtype
    near = ~(peak < largest / 4)
    return {
        int(place): (
            f"an intermediate of {peak[place]:.3g} is too near {dtype}'s overflow; take smaller "
            "sizes, parameters or a smaller draw"
        )
        for place in np.flatnonzero(near)
    }


def _largest_possible(stack: Stack) -> float:
    """Bound every intermediate of `Peaks` from the largest numbers of the inputs; infinite if not known.

    Under sigmoid and tanh a state is at most 1 or the largest initial one, and a gate at most 1.
    """
    functions = list(chain(*stack.semantics.f, *stack.semantics.g))
    if not {one.name for one in functions} <= {"sigmoid", "tanh"}:
        return math.inf
    given = stack.inputs

    def largest(*arrays: Array) -> Any:  # NaN, if one is
        return np.max([np.abs(a.astype(np.float64)).max(initial=0.0) for a in arrays])

    state = np.maximum(1.0, largest(given.h0))
    total = given.x.shape[-1] * largest(given.x) * largest(*given.w.values())
    total += given.h0.shape[-1] * state * largest(*given.r.values())
    total += 4.0 * largest(np.zeros(1), *given.b.values()) + state
    parameters = max(1.0, *(max(abs(one.alpha), abs(one.beta)) for one in functions))
    return float(4.0 * parameters * total)


def _out_of_range(key: BlockKey, stack: Stack) -> dict[int, str]:
    """Say by place which cases have, under any reading, a pre-activation beyond the operator's sure range."""
    found = {}
    limit = stack.operator.sure_range
    for reading in (STORED, *key.readings) if math.isfinite(limit) else ():
        largest = peaks(stack, reading).largest
        for place in np.flatnonzero(~(largest <= limit)).tolist():
            found[place] = (
                f"a pre-activation of {largest[place]:.3g} is beyond {limit:g} "
                "(ledger: range); take a smaller draw"
            )
    return found


def _exact(key: BlockKey, stack: Stack) -> tuple[dict[ReadingNames, Arrays], Array]:
    """Evaluate the exact outputs by reading and role, rounded once; mark cases that cannot be rounded."""
    undecided = np.zeros(len(stack), bool)
    found = {}
    for reading in (STORED, *key.readings):
        found[reading], open_ = exact_outputs(
            as_read(reading, stack.semantics),
            stack.inputs,
            FLOAT_TYPES[key.dtype],
            _roles(key, stack),
        )
        undecided |= open_
    return found, undecided


def _with_tolerances(
    key: BlockKey, stack: Stack, outputs: Arrays, bounds: ErrorBounds, at: Array
) -> Answer:
    """Make the answer in the operator's layout; `at` are the rows of `bounds` that belong to `outputs`."""
    by_class: dict[str, Arrays] = {}
    for role, answer in outputs.items():
        values, errors = bounds.of(role)
        for name, limit in tolerances(values[at], errors[at], answer, key.dtype).items():
            by_class.setdefault(name, {})[role] = limit
    return Answer(
        stack.handed_out(outputs, key.absent),
        {name: stack.handed_out(limits, key.absent) for name, limits in by_class.items()},
    )


def find_nonportable(block: Block) -> Array:
    """Mark the cases that depend on more than finite numbers of ordinary size, (n,).

    They hold NaN or infinities, come near overflow, or have answers that depend on -0 or subnormal numbers.
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
    """Mark the cases whose answers depend on -0 or subnormal numbers, (n,).

    With +0 in place of these, an output leaves the required tolerance, or a zero changes its sign. Cases also
    count if X, initial state and biases have no other numbers, for such cases are drawn so.
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
    """Evaluate in float64 the outputs that a block's cases would have for other `inputs`."""
    found = {name: np.empty(array.shape) for name, array in block.answer.outputs.items()}
    for stack in stacks(OPERATORS[block.operator], block.given, inputs):
        with np.errstate(over="ignore", invalid="ignore"):
            y, ho = gru(Float64(), stack.semantics, stack.inputs)
        for name, array in stack.handed_out({"y": y, "ho": ho}, block.absent).items():
            found[name][stack.rows] = array
    return found


def _numbers(block: Block) -> Arrays:
    """Take the inputs that are numbers of the block's dtype, in float64."""
    kind = FLOAT_TYPES[block.dtype]
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return {
            name: array.astype(np.float64)
            for name, array in block.inputs.items()
            if array.dtype == kind.numpy
        }


def _tiny(values: Array, dtype: str) -> Array:
    """Mark numbers that are -0, or subnormal in the dtype."""
    kind = FLOAT_TYPES[dtype]
    least = 2.0 ** (kind.least_exponent + kind.precision - 1)
    size = np.abs(values)
    return np.asarray((size < least) & ((size > 0.0) | np.signbit(values)))


def _any(where: Array) -> Array:
    """Mark the stacked cases that have a marked element, (n,)."""
    return np.asarray(where.reshape(len(where), -1).any(axis=1))
