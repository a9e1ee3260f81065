"""Find where observed states leave the exact ones, and which steps are wrong by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators import OPERATORS
from ..cases.operators.layout import shared_outputs
from ..cases.operators.readings import STORED, ReadingNames, as_read
from ..cases.operators.semantics import Semantics
from ..gen.exact.answers import DirectionTrace
from ..gen.gru import in_order, processing_order
from ..vectors.block import Block
from ..vectors.case import REQUIRED, difference
from .diagnosis.failing import FailingBlock
from .diagnosis.steps import steps_of
from .judging.case_result import CaseResult
from .judging.criterion import Demanded


@dataclass(frozen=True)
class StepPlace:
    """A step of a row of one direction.

    `step` is its number in the order of processing, `time` that of its input. All count from 0.
    """

    direction: str
    row: int
    step: int
    time: int


@dataclass(frozen=True)
class Leaving:
    """The first state of a direction that is off by more than its tolerance.

    It is that of the first step, there of the first row, there of the first unit; `others` counts further
    units of that state.
    """

    place: StepPlace
    unit: int
    expected: float
    observed: float
    tolerance: float
    others: int

    @property
    def off(self) -> float:
        """|observed - expected|; infinite where one of them alone is not finite."""
        return float(difference(np.array(self.observed), np.array(self.expected)))


@dataclass(frozen=True)
class Beside:
    """An element that is off though no step made it.

    It is in Y past a row's length, at `time`. Without a `time` it is in the last state of a row that has no
    step, or whose Y is right there.
    """

    output: str
    direction: str
    row: int
    time: int | None
    unit: int
    expected: float
    observed: float


@dataclass(frozen=True)
class WrongStep:
    """A step that is wrong by itself, from the observed state before it, and in which units."""

    place: StepPlace
    units: tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """Observed outputs of a case against its exact steps.

    `result` judges the outputs by the required class of the dtype. Nothing else is filled in where the case
    passed or gave no outputs. `reading` names the readings under which the steps are seen. `states`
    (direction, batch, steps, hidden) are the observed ones in the order of processing, float64, NaN where
    there is none; `every` says that none is missing, which `wrong` needs. `steps` counts all steps. Where
    `last_alone_right`, only Y has wrong last states: the steps are right, and Y is not.
    """

    result: CaseResult
    reading: ReadingNames = STORED
    states: Array | None = None
    every: bool = False
    leaving: tuple[Leaving, ...] = ()
    wrong: tuple[WrongStep, ...] = ()
    steps: int = 0
    beside: tuple[Beside, ...] = ()
    last_alone_right: bool = False

    @property
    def passed(self) -> bool:
        """Whether the case passed."""
        return self.result.verdict == "passed"


def find_deviation(
    result: CaseResult,
    block: Block,
    outputs: Arrays,
    reading: ReadingNames,
    directions: Sequence[DirectionTrace],
) -> Deviation:
    """Find how the `outputs` of the failed case of a block of one leave its exact steps under a reading."""
    read = replace(block, answers={STORED: block.answers[reading]})
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])

    def shared(arrays: Arrays) -> Arrays:
        found = shared_outputs(operator, attributes, arrays)
        return {role: array[0].astype(np.float64) for role, array in found.items()}

    seen, expected = shared(outputs), shared(read.answer.outputs)
    limits = shared(read.answer.tolerances[REQUIRED[block.dtype]])
    off = {role: ~_near(array, expected[role], limits[role]) for role, array in seen.items()}
    meant = as_read(reading, read.question(0).semantics)
    states, admitted = (_by_step(arrays, meant, directions) for arrays in (seen, limits))
    leaving, last_off = _find_leaving(states, admitted, directions, every="y" in seen)
    names: dict[str, str] = {tensor.role_in(attributes): tensor.name for tensor in operator.outputs}
    beside = []
    for d, one in enumerate(directions):
        for role, wrong in off.items():
            past = np.arange(wrong.shape[-2]) >= one.lengths[:, None]
            beyond = wrong[d] & (past[..., None] if role == "y" else ~last_off[d])
            for row, *times, unit in np.argwhere(beyond)[:1].tolist():
                at, time = (d, row, *times, unit), times[0] if times else None
                e, got = float(expected[role][at]), float(seen[role][at])
                beside.append(Beside(names[role], one.direction, row, time, unit, e, got))
    steps = _find_wrong_steps(read, reading, outputs, directions)
    alone = {"y", "ho"} <= seen.keys() and not off["ho"].any() and bool(last_off.any())
    total = int(sum(one.lengths.sum() for one in directions))
    return Deviation(
        result, reading, states, steps is not None, leaving, steps or (), total, tuple(beside), alone
    )  # fmt: skip


def _find_leaving(
    states: Array, admitted: Array, directions: Sequence[DirectionTrace], *, every: bool
) -> tuple[tuple[Leaving, ...], Array]:
    """Find the first state of each direction that is off, and (direction, batch, hidden) last ones that are.

    Only last states are there unless `every` state is.
    """
    found, last_off = [], []
    for one, seen, limits in zip(directions, states, admitted, strict=True):
        last = np.arange(seen.shape[1]) == one.lengths[:, None] - 1
        there = (one.time >= 0) if every else last
        leaves = ~_near(seen, one.state, limits) & there[..., None]
        last_off.append((leaves & last[..., None]).any(axis=1))
        for step, row, unit in np.argwhere(leaves.swapaxes(0, 1))[:1].tolist():
            at, others = (row, step, unit), int(leaves[row, step].sum()) - 1
            e, got, limit = (float(array[at]) for array in (one.state, seen, limits))
            found.append(Leaving(_place(one, row, step), unit, e, got, limit, others))
    return tuple(found), np.stack(last_off)


def _by_step(
    shared: Mapping[str, Array], meant: Semantics, directions: Sequence[DirectionTrace]
) -> Array:
    """Find what outputs have of each step's state, (direction, batch, steps, hidden); NaN for nothing."""
    found: Array = np.full((len(directions), *directions[0].state.shape), np.nan)
    for d, one in enumerate(directions):
        if "y" in shared:
            y = shared["y"][d]
            if meant.y_order != "processing":
                y = in_order(y, processing_order(meant.directions[d], one.lengths, y.shape[-2]))
            found[d] = y[:, : found.shape[2]]
        else:
            rows = np.flatnonzero(one.lengths)
            found[d, rows, one.lengths[rows] - 1] = shared["ho"][d, rows]
        found[d][one.time < 0] = np.nan
    return found


def nearest_reading(block: Block, outputs: Mapping[str, Array]) -> ReadingNames:
    """Find the reading from whose answer the fewest elements are off; of equals the first."""

    def count_off(reading: ReadingNames) -> int:
        answer = block.answers[reading]
        limits = answer.tolerances[REQUIRED[block.dtype]]
        return sum(int((~_near(outputs[n], e, limits[n])).sum()) for n, e in answer.outputs.items())

    return min(block.answers, key=count_off)


def _near(seen: Array, expected: Array, limit: Array) -> Array:
    """Find the elements that are off by no more than the limit."""
    off = difference(seen.astype(np.float64), expected.astype(np.float64))
    return np.asarray((off <= limit) & np.isfinite(off))


def _place(one: DirectionTrace, row: int, step: int) -> StepPlace:
    return StepPlace(one.direction, row, step, int(one.time[row, step]))


def _find_wrong_steps(
    block: Block, reading: ReadingNames, outputs: Arrays, directions: Sequence[DirectionTrace]
) -> tuple[WrongStep, ...] | None:
    """Find the steps that are wrong by themselves, by direction, row and step; None without every state."""
    part = FailingBlock(block, outputs, Demanded(REQUIRED[block.dtype]))
    part.stacked = [replace(one, semantics=as_read(reading, one.semantics)) for one in part.stacked]
    looked_at = steps_of(part)
    if not looked_at:
        return None
    [steps] = looked_at
    units = steps.wrong[0]
    found = sorted(
        (d, int(steps.row[at]), int(steps.number[0, d, at]), at)
        for d, at in np.argwhere(units.any(axis=-1)).tolist()
    )
    return tuple(
        WrongStep(_place(directions[d], row, number), tuple(np.flatnonzero(units[d, at]).tolist()))
        for d, row, number, at in found
    )
