"""Answering stacked inputs: they are converted to the shared layout once, and answers back once.

Inputs are kept if every output can be rounded (gen.exact). Unless they are exempt, they must also be
conditioned well enough to judge by, and their tolerances small enough to decide (gen.tolerances.gate). Unless
they plant special values, no intermediate may come near the dtype's overflow, and no pre-activation may leave
the range that the owner's documents define.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ..cases.operators import OPERATORS
from ..cases.operators.layout import GruInputs
from ..cases.operators.readings import STORED, ReadingNames
from ..cases.operators.semantics import StackedSemantics
from ..vectors.block import Block, BlockKey
from ..vectors.case import REQUIRED, Answer, difference, rows_of
from .exact.answers import enclose, exact_outputs
from .exact.balls import Balls
from .gru import DirectionWeights, gru, step
from .stacks import Float64, Peaks, Stack, join, stacks
from .tolerances.classes import CLASSES, ArithmeticClass, units_of
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
MIXED = 256
"""Maximum batch · hidden of cases whose dtypes are mixed in a stack; larger ones take their own time."""
LARGE = 5_000_000
"""Minimum batch · time · hidden² of a case judged by its steps alone; none that is shipped has more.

To prove its outputs would take hours: balls and errors grow with every step, and their bits with them."""
UNROUNDED = "an output could not be rounded at the highest precision"
NOTHING_NONPORTABLE = "is marked as nonportable, and it holds nothing that is"


@dataclass(frozen=True)
class Batch:
    """Cases of the block `key` to answer: n ids, attributes, and inputs stacked along a first axis.

    The masks `planted` and `exempt`, (n,), mark cases that plant special values, and cases that skip the
    quality gate.
    """

    key: BlockKey
    ids: Sequence[str]
    given: Sequence[Mapping[str, Any]]
    inputs: Arrays
    planted: Array
    exempt: Array


class _Asked(NamedTuple):
    """The cases of one stack of a batch, with the semantics that they have under a reading."""

    batch: Batch
    stack: Stack
    reading: ReadingNames

    @property
    def alike(self) -> Hashable:
        """What cases have in common that are evaluated together: large ones also their dtype."""
        batch, key = self.stack.inputs.x.shape[1], self.batch.key
        mixed = batch * self.stack.inputs.h0.shape[-1] <= MIXED
        return mixed or key.dtype, _judged_by_steps(key, self.stack), self.stack.alike


class _Found(NamedTuple):
    """Answers in the shared layout, by role, and by place the reason why a case has none."""

    answer: Answer
    reasons: Mapping[int, str]


Answered = tuple[Block | None, dict[int, str]]
"""The block of the cases that were kept, and by row the reason why any other was not."""


def answer_stacked(
    key: BlockKey, ids: Sequence[str], given: Sequence[Mapping[str, Any]], inputs: Arrays
) -> Answered:
    """Answer n stacked cases of the block `key`, whose numbers are given, if answers can be rounded."""
    every = np.ones(len(given), bool)
    return answer_batches([Batch(key, ids, given, inputs, every, every)])[0]


def answer_batches(batches: Sequence[Batch]) -> list[Answered]:
    """Answer the cases of batches of any operators and dtypes; evaluate those together that are alike.

    Readings are cases by themselves. Each block has its cases in the order of the ids.
    """
    asked = [
        _Asked(batch, stack.as_read(reading), reading)
        for batch in batches
        for stack in stacks(OPERATORS[batch.key.operator], batch.given, batch.inputs)
        for reading in (STORED, *batch.key.readings)
    ]
    groups: dict[Hashable, list[int]] = {}
    for place, one in enumerate(asked):
        groups.setdefault(one.alike, []).append(place)
    found: dict[int, _Found] = {}
    for places in groups.values():
        found |= zip(places, _evaluate([asked[place] for place in places]), strict=True)
    every = [(one, found[place]) for place, one in enumerate(asked)]
    answered = []
    for _, of_batch in groupby(every, lambda one: id(one[0].batch)):
        parts, reasons = list[Block](), dict[int, str]()
        for _, of_stack in groupby(of_batch, lambda one: id(one[0].stack.rows)):
            part, refused = _block([*of_stack])
            parts += [part] if part else []
            reasons |= refused
        answered.append((parts, reasons))
    return [
        (concatenate(parts, batch.ids), reasons)
        for batch, (parts, reasons) in zip(batches, answered, strict=True)
    ]


def _block(under: Sequence[tuple[_Asked, _Found]]) -> Answered:
    """Make the block of the cases of one stack, from what was found of them under each reading."""
    batch, stack, _ = under[0][0]
    key = batch.key
    reasons: dict[int, str] = {}
    for one, found in under:
        suffix = f", under {' and '.join(one.reading)}" if one.reading else ""
        for place, why in found.reasons.items():
            reasons.setdefault(place, f"{why}{suffix}")
    kept = np.setdiff1d(np.arange(len(stack)), list(reasons))
    rows, refused = stack.rows[kept], {int(stack.rows[n]): why for n, why in reasons.items()}
    if not kept.size:
        return None, refused
    answers = {}
    for one, found in under:
        outputs, *limits = (
            stack.handed_out(rows_of(arrays, kept), key.absent)
            for arrays in (found.answer.outputs, *found.answer.tolerances.values())
        )
        answers[one.reading] = Answer(
            outputs, dict(zip(found.answer.tolerances, limits, strict=True))
        )
    block = Block(
        path=key.path,
        operator=key.operator,
        dtype=key.dtype,
        tier=key.tier,
        ids=[batch.ids[row] for row in rows],
        given=[dict(batch.given[row]) for row in rows],
        inputs=rows_of(batch.inputs, rows),
        answers=answers,
    )
    return block, refused


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


def _evaluate(alike: Sequence[_Asked]) -> Iterator[_Found]:
    """Evaluate cases of several stacks together; yield what was found of each stack."""
    whole = join([one.stack for one in alike])
    by_steps = _judged_by_steps(alike[0].batch.key, alike[0].stack)

    def marked(values: Iterable[Any]) -> Array:
        return np.concatenate(
            [np.full(len(o.stack), v) for o, v in zip(alike, values, strict=True)]
        )

    roles = [_roles(one.batch.key, one.stack) for one in alike]
    marks = _Marks(
        marked(one.batch.key.dtype for one in alike),
        np.concatenate([one.batch.planted[one.stack.rows] for one in alike]),
        np.concatenate([one.batch.exempt[one.stack.rows] for one in alike]),
        marked(bool(one.reading) for one in alike),
        marked(one.stack.operator.sure_range for one in alike),
        marked("y" in one for one in roles),
        marked("ho" in one for one in roles),
    )
    _, batch, time, _ = whole.inputs.x.shape
    most = max(1, STACK_BYTES // chain_bytes(time, batch, whole.inputs.h0.shape[-1]))
    answers, reasons = dict[str, Answer](), dict[int, str]()
    for part in whole.parts(most):
        found, refused = _answer(part, marks.rows(part.rows), by_steps=by_steps)
        reasons |= {int(part.rows[place]): why for place, why in refused.items()}
        for dtype, kept, some in found:
            answer = answers.setdefault(dtype, Answer({}))
            for name, arrays in {"": some.outputs, **some.tolerances}.items():
                into = answer.tolerances.setdefault(name, {}) if name else answer.outputs
                for role, array in arrays.items():
                    if role not in into:
                        into[role] = np.zeros((len(whole), *array.shape[1:]), array.dtype)
                    into[role][part.rows[kept]] = array
    start = 0
    for one in alike:
        stop = start + len(one.stack)
        mine = {place - start: why for place, why in reasons.items() if start <= place < stop}
        answer = answers.get(one.batch.key.dtype, Answer({}))
        yield _Found(answer.rows(slice(start, stop)), mine)
        start = stop


class _Marks(NamedTuple):
    """Of each of n cases: its dtype; whether it plants special values, skips the gate, is another reading.

    Also its range, and whether it has outputs of the roles y and ho.
    """

    dtype: Array
    planted: Array
    exempt: Array
    read: Array
    sure_range: Array
    y: Array
    ho: Array

    def rows(self, which: Array) -> _Marks:
        """Take the marks of some of the cases."""
        return _Marks(*(array[which] for array in self))

    @property
    def roles(self) -> dict[str, Array]:
        """Say (n,) which of the cases have each role that any of them has."""
        return {r: of for r, of in (("y", self.y), ("ho", self.ho)) if of.any()}

    def of_each_dtype(self, places: Array) -> Iterator[tuple[str, Array]]:
        """Yield each dtype of the cases at some places, with the cases' numbers among these."""
        names, which = np.unique(self.dtype[places], return_inverse=True)
        return ((str(name), np.flatnonzero(which == n)) for n, name in enumerate(names))


_Kept = tuple[str, Array, Answer]
"""A dtype, the places of kept cases of it, and their answers stacked in this order."""


def _answer(stack: Stack, marks: _Marks, *, by_steps: bool) -> tuple[list[_Kept], dict[int, str]]:
    """Answer the cases of one stack, in the shared layout.

    Returns what is kept of each dtype, and by place the reason why any other case is not.
    """
    near = {n: why for n, why in overflows(stack, marks.dtype).items() if not marks.read[n]}
    near |= _out_of_range(stack, marks.sure_range)
    reasons = {place: why for place, why in near.items() if not marks.planted[place]}
    places = np.setdiff1d(np.arange(len(stack)), list(reasons))
    if not places.size:
        return [], reasons
    part = stack.only(places)
    if by_steps:
        [dtype] = {*marks.dtype.tolist()}
        return [(dtype, places, _answer_steps(dtype, [*marks.roles], part))], reasons
    bounds = error_bounds(part.semantics, part.inputs, units_of(marks.dtype[places]))
    for dtype, rows in marks.of_each_dtype(places):
        mine = places[rows]
        roles = marks.rows(mine).roles
        for row, why in objections({STORED: bounds.rows(rows)}, roles, dtype).items():
            if not marks.exempt[mine[row]]:
                reasons[int(mine[row])] = why
    left = np.setdiff1d(places, list(reasons))
    if not left.size:
        return [], reasons
    part = stack.only(left)
    bounds, balls = bounds.rows(np.searchsorted(places, left)), enclose(part.semantics, part.inputs)
    found = []
    for dtype, rows in marks.of_each_dtype(left):
        of_rows = [one[rows] for one in balls]
        some = marks.rows(left[rows])
        kept, answer, refused = _round(dtype, part.only(rows), some, bounds.rows(rows), of_rows)
        reasons |= {int(left[rows[row]]): why for row, why in refused.items()}
        found.append((dtype, left[rows[kept]], answer))
    return found, reasons


def _round(
    dtype: str, stack: Stack, marks: _Marks, bounds: ErrorBounds, balls: Sequence[Balls]
) -> tuple[Array, Answer, dict[int, str]]:
    """Round the outputs of cases of one dtype, and find their tolerances.

    Returns the places of kept cases, their answers, and by place the reason why any other is not kept.
    """
    kind, wanted = FLOAT_TYPES[dtype], [*marks.roles]
    outputs, open_ = exact_outputs(stack.semantics, stack.inputs, balls, kind, wanted)
    reasons = dict.fromkeys(np.flatnonzero(open_).tolist(), UNROUNDED)
    kept = np.flatnonzero(~open_)
    if not kept.size:
        return kept, Answer({}), reasons
    rounded = rows_of(outputs, kept)
    answer = Answer(rounded, _tolerances(rounded, bounds, kept, dtype))
    for role in wanted:  # what a case has not, says nothing of it
        for arrays in (answer.outputs, *answer.tolerances.values()):
            arrays[role][~marks.roles[role][kept]] = 0
    vague = vacuous_rows({STORED: answer}, dtype)
    sharp = np.array([row not in vague or marks.exempt[kept[row]] for row in range(len(kept))])
    reasons |= {int(kept[row]): vague[row] for row in np.flatnonzero(~sharp).tolist()}
    return kept[sharp], answer.rows(sharp), reasons


def _judged_by_steps(key: BlockKey, stack: Stack) -> bool:
    """Say whether cases are LARGE, and their outputs hold the state after every step."""
    _, batch, time, _ = stack.inputs.x.shape
    large = time > 1 and batch * time * stack.inputs.h0.shape[-1] ** 2 > LARGE
    return large and key.tier != "nonportable" and "y" in _roles(key, stack)


def _answer_steps(dtype: str, roles: Collection[str], stack: Stack) -> Answer:
    """Run the GRU in float64, and admit everything finite: single steps are judged, nothing as a whole.

    What is no state of a step, such as zeros in padding, admits no more than elsewhere.
    """
    kind = FLOAT_TYPES[dtype]

    def of_roles(states: tuple[Array, Array], dtype: Any) -> Arrays:
        named = zip(("y", "ho"), states, strict=True)
        return {role: array.astype(dtype) for role, array in named if role in roles}

    with np.errstate(over="ignore", invalid="ignore"):
        return Answer(
            of_roles(gru(Float64(), stack.semantics, stack.inputs), kind.numpy),
            {
                one.name: of_roles(
                    _limits_without_steps(stack.semantics, stack.inputs, one, kind), "f4"
                )
                for one in CLASSES[dtype]
            },
        )


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


def peaks(stack: Stack) -> Peaks:
    """Evaluate in float64 how large the intermediates of each case may become."""
    arithmetic, lengths = Peaks(len(stack)), stack.inputs.lengths

    def advance(d: DirectionWeights, number: int, rows: Array, wx: Any, old: Array) -> Array:
        with arithmetic.only(lengths[:, rows] > number):
            return np.asarray(step(arithmetic, stack.semantics, d, wx, old).state)

    with np.errstate(over="ignore", invalid="ignore"):
        gru(arithmetic, stack.semantics, stack.inputs, advance=advance)
    return arithmetic


def overflows(stack: Stack, dtype: str | Array) -> dict[int, str]:
    """Say by place which cases have an intermediate too near the overflow of their dtype, (n,) or one."""
    dtypes = np.broadcast_to(dtype, len(stack)).tolist()
    # a sum of up to four counted quantities stays finite in the dtype
    most = np.array([FLOAT_TYPES[one].largest / 4 for one in dtypes])
    unsure = np.flatnonzero(~(_largest_possible(stack) < most))
    if not unsure.size:
        return {}
    peak = peaks(stack.only(unsure)).peak
    near = ~(peak < most[unsure])
    return {
        int(unsure[place]): (
            f"an intermediate {_how_large(peak[place])} is too near {dtypes[unsure[place]]}'s overflow, "
            "or beyond it; take smaller sizes, parameters or a smaller draw"
        )
        for place in np.flatnonzero(near)
    }


def _how_large(peak: float) -> str:
    return "that overflows float64" if np.isnan(peak) else f"of {peak:.3g}"


def _largest_possible(stack: Stack) -> Array:
    """Bound every intermediate of `Peaks` from the largest numbers of each case's inputs, (n,).

    Under sigmoid and tanh a state is at most 1 or the largest initial one, and a gate at most 1. The bound is
    infinite for a case with other functions.
    """
    given, meant = stack.inputs, stack.semantics

    def largest(*arrays: Array) -> Array:  # NaN, if one is
        sizes = [np.abs(a.astype(np.float64)).reshape(len(a), -1).max(axis=1) for a in arrays]
        return np.asarray(np.max(sizes, axis=0))

    state = np.maximum(1.0, largest(given.h0))
    with np.errstate(over="ignore", invalid="ignore"):
        total = given.x.shape[-1] * largest(given.x) * largest(*given.w.values())
        total += given.h0.shape[-1] * state * largest(*given.r.values())
        total += 4.0 * largest(np.zeros((len(stack), 1)), *given.b.values()) + state
        for functions in (*meant.f, *meant.g):
            total *= [1.0 if one.name in ("sigmoid", "tanh") else np.inf for one in functions]
        return np.asarray(4.0 * total)


def _out_of_range(stack: Stack, sure_range: Array) -> dict[int, str]:
    """Say by place which cases have a pre-activation beyond their operator's sure range, (n,)."""
    if not np.isfinite(sure_range).any():
        return {}
    largest = peaks(stack).largest
    return {
        place: f"a pre-activation of {largest[place]:.3g} is beyond {sure_range[place]:g} "
        "(ledger: range); take a smaller draw"
        for place in np.flatnonzero(~(largest <= sure_range)).tolist()
    }


def _tolerances(outputs: Arrays, bounds: ErrorBounds, at: Array, dtype: str) -> dict[str, Arrays]:
    """Find the tolerances by class and role; `at` are the rows of `bounds` that belong to `outputs`."""
    found: dict[str, Arrays] = {}
    for role, answer in outputs.items():
        values, errors = bounds.of(role)
        for name, limit in tolerances(values[at], errors[at], answer, dtype).items():
            found.setdefault(name, {})[role] = limit
    return found


def find_nonportable(block: Block) -> Array:
    """Mark the cases that depend on more than finite numbers of ordinary size, (n,).

    They hold NaN or infinities, come near overflow, or have answers that depend on -0 or subnormal numbers.
    """
    kind = FLOAT_TYPES[block.dtype]
    found, tiny = np.zeros(len(block), bool), np.zeros(len(block), bool)
    for array in _numbers(block).values():
        found |= _any(~(np.abs(array) <= kind.largest))
        tiny |= _any(_tiny(array, block.dtype))
    open_ = np.flatnonzero(~found)
    left = block.rows(open_)
    for stack in stacks(OPERATORS[block.operator], left.given, left.inputs):
        found[open_[stack.rows[list(overflows(stack, block.dtype))]]] = True
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
