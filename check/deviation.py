"""Find where observed states leave the exact ones, and which steps are wrong by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from ..vectors.case import REQUIRED, Answer, difference
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

    Either of Y past a row's length, at `time`; or, without a `time`, of the last state of a row that has no
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

    `result` judges the outputs by the required class of the dtype; where the case passed or gave no outputs,
    nothing else is filled in. `reading` names the readings under which the steps are seen. `states`
    (direction, batch, steps, hidden) are observed, in the order of processing, float64, NaN where none was
    handed out; `every` says whether all were, which `wrong` needs. `steps` counts all steps.
    `last_alone_right` says that Y has wrong last states and the output of last states has none: the steps are
    right, and Y is not.
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
    seen = _States(read, as_read(reading, read.question(0).semantics), directions, outputs)
    wrong = _find_wrong_steps(read, reading, outputs, directions)
    return Deviation(
        result=result,
        reading=reading,
        states=seen.states,
        every=wrong is not None,
        leaving=tuple(seen.find_leaving()),
        wrong=wrong or (),
        steps=sum(int(one.lengths.sum()) for one in directions),
        beside=tuple(seen.find_beside()),
        last_alone_right=seen.last_alone_right,
    )


def nearest_reading(block: Block, outputs: Mapping[str, Array]) -> ReadingNames:
    """Find the reading from whose answer the fewest elements are off; of equals the first."""

    def count_off(answer: Answer) -> int:
        limits = answer.tolerances[REQUIRED[block.dtype]]
        return sum(
            int((~_near(outputs[name], expected, limits[name])).sum())
            for name, expected in answer.outputs.items()
        )

    return min(block.answers, key=lambda reading: count_off(block.answers[reading]))


def _near(seen: Array, expected: Array, limit: Array) -> Array:
    """Find the elements that are off by no more than the limit."""
    off = difference(seen.astype(np.float64), expected.astype(np.float64))
    return np.asarray((off <= limit) & np.isfinite(off))


def _place(one: DirectionTrace, row: int, step: int) -> StepPlace:
    return StepPlace(one.direction, row, step, int(one.time[row, step]))


class _States:
    """The observed states of a case, (direction, batch, steps, hidden) in the order of processing."""

    def __init__(
        self, block: Block, meant: Semantics, directions: Sequence[DirectionTrace], outputs: Arrays
    ) -> None:
        operator = OPERATORS[block.operator]
        attributes = operator.with_defaults(block.given[0])
        self._names: dict[str, str] = {
            tensor.role_in(attributes): tensor.name for tensor in operator.outputs
        }
        self._meant, self._directions = meant, directions
        limits = block.answer.tolerances[REQUIRED[block.dtype]]
        self._seen, self._expected, self._limits = (
            {role: array[0].astype(np.float64) for role, array in found.items()}
            for found in (
                shared_outputs(operator, attributes, arrays)
                for arrays in (outputs, block.answer.outputs, limits)
            )
        )
        self._off = {
            role: ~_near(seen, self._expected[role], self._limits[role])
            for role, seen in self._seen.items()
        }
        self._exact = np.stack([one.state.astype(np.float64) for one in directions])
        self.states, self._admitted = self._by_step(self._seen), self._by_step(self._limits)
        time = np.stack([one.time for one in directions])
        last = np.arange(self._exact.shape[2]) == (time >= 0).sum(axis=-1)[..., None] - 1
        handed_out = (time >= 0) & (last | ("y" in self._seen))
        self._leaves = ~_near(self.states, self._exact, self._admitted) & handed_out[..., None]

    def _by_step(self, shared: Mapping[str, Array]) -> Array:
        """Find what outputs have of each step's state; NaN for nothing."""
        found: Array = np.full(self._exact.shape, np.nan)
        for d, one in enumerate(self._directions):
            if "y" in shared:
                y = shared["y"][d]
                if self._meant.y_order != "processing":
                    order = processing_order(self._meant.directions[d], one.lengths, y.shape[-2])
                    y = in_order(y, order)
                found[d] = y[:, : found.shape[2]]
            else:
                rows = np.flatnonzero(one.lengths)
                found[d, rows, one.lengths[rows] - 1] = shared["ho"][d, rows]
            found[d][one.time < 0] = np.nan
        return found

    def find_leaving(self) -> Iterator[Leaving]:
        """Find the first state of each direction that leaves the exact ones."""
        for d, leaves in enumerate(self._leaves):
            where = np.argwhere(leaves.swapaxes(0, 1))
            if not where.size:
                continue
            step, row, unit = where[0].tolist()
            at = (d, row, step, unit)
            yield Leaving(
                place=_place(self._directions[d], row, step),
                unit=unit,
                expected=float(self._exact[at]),
                observed=float(self.states[at]),
                tolerance=float(self._admitted[at]),
                others=int(leaves[row, step].sum()) - 1,
            )

    @property
    def last_alone_right(self) -> bool:
        """Whether last states are right where they are handed out alone, though Y has some that are not."""
        if not {"y", "ho"} <= self._seen.keys() or self._off["ho"].any():
            return False
        return any(self._last_leaves(d).any() for d in range(len(self._directions)))

    def find_beside(self) -> Iterator[Beside]:
        """Find the first element of each output and direction that is off though no step made it."""
        for d, one in enumerate(self._directions):
            if "y" in self._off:
                past = np.arange(self._off["y"].shape[2]) >= one.lengths[:, None]
                yield from self._first("y", d, self._off["y"][d] & past[..., None])
            if "ho" in self._off:
                yield from self._first("ho", d, self._off["ho"][d] & ~self._last_leaves(d))

    def _last_leaves(self, d: int) -> Array:
        """Find, (batch, hidden), where the state of the last step of a direction is off."""
        lengths = self._directions[d].lengths
        found = np.zeros(self._seen["ho"][d].shape, bool)
        rows = np.flatnonzero(lengths)
        found[rows] = self._leaves[d, rows, lengths[rows] - 1]
        return found

    def _first(self, role: str, d: int, off: Array) -> Iterator[Beside]:
        where = np.argwhere(off)
        if where.size:
            row, *time, unit = where[0].tolist()
            at = (d, *where[0].tolist())
            yield Beside(
                output=self._names[role],
                direction=self._directions[d].direction,
                row=row,
                time=time[0] if time else None,
                unit=unit,
                expected=float(self._expected[role][at]),
                observed=float(self._seen[role][at]),
            )


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
