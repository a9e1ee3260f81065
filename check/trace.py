"""Trace a case: the exact quantities of every step, and where observed states leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays
from ..cases.errors import GrucibleError, expected, texts
from ..cases.operators import OPERATORS
from ..cases.operators.layout import shared_outputs
from ..cases.operators.readings import STORED, ReadingNames, as_read
from ..cases.operators.semantics import Semantics
from ..gen.exact.answers import DirectionTrace, exact_trace
from ..gen.exact.enclosures import Undecided
from ..gen.gru import turned
from ..gen.variants.work import too_large
from ..vectors.block import Block, block_of
from ..vectors.case import REQUIRED, Case, difference
from ..vectors.vector_set import VectorSet
from .diagnosis.failing import FailingBlock
from .diagnosis.steps import steps_of
from .judging.case_result import CaseResult
from .judging.criterion import Demanded
from .judging.judge import judge_one
from .observed.observations import observe
from .observed.source import Observed, Source, stack_replies
from .protocol.header import Reply


@dataclass(frozen=True)
class Trace:
    """The exact quantities of every step of a case, rounded once to its dtype.

    `directions` are in the order of the direction axis; their arrays are in the order of processing (see
    DirectionTrace for names and shapes). `reading` names the readings that are followed.
    """

    case: Case = field(repr=False)
    directions: tuple[DirectionTrace, ...]
    reading: ReadingNames = STORED

    @property
    def arrays(self) -> Arrays:
        """Every array by direction and name, such as `forward/z`."""
        each = ((one, name, array) for one in self.directions for name, array in one.arrays.items())
        return {f"{one.direction}/{name}": array for one, name, array in each}

    def against(self, outputs: Mapping[str, Array]) -> Deviation:
        """Find where `outputs`, named, shaped and typed as the case asks, leave the exact steps.

        The tolerances are those of the class of arithmetic that the dtype requires. The deviation's `result`
        says if names, shapes or dtypes are wrong.
        """
        given = {name: np.asarray(array) for name, array in outputs.items()}
        return self.against_observed(stack_replies(block_of(self.case), [Reply("ok", given)]))

    def against_observed(self, observed: Observed) -> Deviation:
        """Find where the outputs that were observed for the case leave the exact steps.

        A case that fails under every accepted reading is compared with the nearest reading.
        """
        block = block_of(self.case)
        result = judge_one(block, observed, Demanded(REQUIRED[block.dtype]))
        if result.verdict != "failed":
            return Deviation(result)
        exact = self.under(_nearest_reading(block, observed.outputs))
        return _find_deviation(result, block, observed.outputs, exact)

    def under(self, reading: ReadingNames) -> Trace:
        """Trace the same case under a reading. Raises GrucibleError as `trace` does."""
        return self if reading == self.reading else trace(self.case, reading)


def trace(case: Case, reading: ReadingNames = STORED) -> Trace:
    """Trace the exact quantities of every step of a case, under the readings that are followed.

    Each quantity is proven exact, and rounded once. Raises GrucibleError for a large case, for readings under
    which the case has no answer, and for a quantity too close to the middle between two numbers of the dtype,
    as may happen where inputs overflow.
    """
    expected("case", case, Case, "a grucible.Case, as load_vectors gives them")
    reading = texts("reading", reading)
    if reading not in case.answers:
        known = ", ".join(map(repr, case.answers))
        raise GrucibleError(f"{case.id}: has no answer under {reading!r}; expected one of {known}")
    if too_large(case.question):
        why = "is too large to be traced; `grucible check` names its worst step"
        raise GrucibleError(f"{case.id}: {why}")
    operator = OPERATORS[case.operator]
    try:
        directions = exact_trace(operator, case.attributes, case.dtype, case.inputs, reading)
    except Undecided:
        why = f"a quantity is too close to the middle between two numbers of {case.dtype}"
        raise GrucibleError(f"{case.id}: {why}") from None
    return Trace(case, directions, reading)


@dataclass(frozen=True)
class StepPlace:
    """A step of a row of one direction.

    `step` is its number in the order of processing, `time` the number of its input. All count from 0.
    """

    direction: str
    row: int
    step: int
    time: int


@dataclass(frozen=True)
class Leaving:
    """The first state of a direction that is off by more than its tolerance.

    First means the first step, then the first row, then the first unit. `others` counts further units of
    that state that are off.
    """

    place: StepPlace
    unit: int
    expected: float
    observed: float
    tolerance: float
    others: int

    @property
    def off(self) -> float:
        """|observed - expected|; infinite where only one of the two is finite."""
        return float(difference(np.array(self.observed), np.array(self.expected)))


@dataclass(frozen=True)
class Beside:
    """An element that is off although no step made it.

    It is in Y past a row's length, at `time`. Without a `time`, it is in the last state of a row that has no
    step, or whose last step is right in Y.
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
    """A step that does not follow from the observed state before it, and the units that are wrong."""

    place: StepPlace
    units: tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """Observed outputs of a case against its exact steps.

    `result` judges the outputs by the required class of the dtype. Only a failed case has the other fields.
    `reading` names the readings of the exact steps. `states` (direction, batch, steps, hidden) are the
    observed states in the order of processing, in float64, NaN where there is none; `every` says that no
    state is missing, which `wrong` needs. `steps` counts all steps. `last_alone_right` says that last states
    are wrong in Y and right in Ho: the steps are right, and Y is not.
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


def _find_deviation(result: CaseResult, block: Block, outputs: Arrays, exact: Trace) -> Deviation:
    """Find how the `outputs` of the failed case of a block of one leave its exact steps."""
    reading, directions = exact.reading, exact.directions
    read = replace(block, answers=dict.fromkeys((STORED, reading), block.answers[reading]))
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
    steps = _find_wrong_steps(read, reading, outputs, directions, by_limit=not (leaving or beside))
    alone = {"y", "ho"} <= seen.keys() and not off["ho"].any() and bool(last_off.any())
    total = int(sum(one.lengths.sum() for one in directions))
    return Deviation(
        result, reading, states, steps is not None, leaving, steps or (), total, tuple(beside), alone
    )  # fmt: skip


def _find_leaving(
    states: Array, admitted: Array, directions: Sequence[DirectionTrace], *, every: bool
) -> tuple[tuple[Leaving, ...], Array]:
    """Find the first state of each direction that is off, and mark (direction, batch, hidden) last ones.

    Unless `every` state was observed, only last states are compared.
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
    """Find each step's observed state, (direction, batch, steps, hidden); NaN where outputs lack it."""
    found: Array = np.full((len(directions), *directions[0].state.shape), np.nan)
    for d, one in enumerate(directions):
        if "y" in shared:
            times = np.maximum(one.time, 0)[..., None]
            found[d] = np.take_along_axis(turned(meant, shared["y"])[d], times, axis=-2)
        else:
            rows = np.flatnonzero(one.lengths)
            found[d, rows, one.lengths[rows] - 1] = shared["ho"][d, rows]
        found[d][one.time < 0] = np.nan
    return found


def _nearest_reading(block: Block, outputs: Mapping[str, Array]) -> ReadingNames:
    """Find the reading with the fewest elements that are off; in a tie, the first reading."""

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
    block: Block,
    reading: ReadingNames,
    outputs: Arrays,
    directions: Sequence[DirectionTrace],
    *,
    by_limit: bool,
) -> tuple[WrongStep, ...] | None:
    """Find the steps that are wrong by themselves, by direction, row and step; None without every state.

    Those are the ones that are clearly wrong, or, `by_limit`, all that are off by more than is admitted.
    """
    part = FailingBlock(block, outputs, Demanded(REQUIRED[block.dtype]), reading)
    looked_at = steps_of(part)
    if not looked_at:
        return None
    [steps] = looked_at
    units = (steps.off if by_limit else steps.wrong)[0]
    found = sorted(
        (d, int(steps.row[at]), int(steps.number[0, d, at]), at)
        for d, at in np.argwhere(units.any(axis=-1)).tolist()
    )
    return tuple(
        WrongStep(_place(directions[d], row, number), tuple(np.flatnonzero(units[d, at]).tolist()))
        for d, row, number, at in found
    )


@dataclass(frozen=True)
class StepRange:
    """The steps of one `direction`, one `row` and one number `step`; None selects all.

    Steps are numbered in the order of processing. Rows and steps count from 0.
    """

    direction: str | None = None
    row: int | None = None
    step: int | None = None

    def rows(self, one: DirectionTrace) -> list[int]:
        """List the rows of a direction; with a `step`, those that take it."""
        rows = range(len(one.lengths)) if self.row is None else [self.row]
        return [row for row in rows if self.step is None or self.step < one.lengths[row]]

    def steps(self, one: DirectionTrace, row: int) -> list[int]:
        """List the numbers of the steps of a row of a direction."""
        return list(range(one.lengths[row])) if self.step is None else [self.step]

    def check(self, directions: Sequence[DirectionTrace]) -> None:
        """Raise GrucibleError if there is none of the steps."""
        names = [one.direction for one in directions]
        lengths = directions[0].lengths.tolist()
        rows = lengths if self.row is None else lengths[self.row : self.row + 1]
        there = bool(rows) and (self.step is None or self.step < max(rows))
        if not there or self.direction not in (None, *names):
            steps = ", ".join(map(str, lengths))
            what = f"{' and '.join(names)}, and rows of {steps} steps; rows and steps count from 0"
            raise GrucibleError(f"no such step: the case has {what}")


WHOLE = StepRange()
"""All steps."""


@dataclass(frozen=True)
class Traced:
    """A trace, and the deviation `found` between it and the outputs of the runtime called `name`."""

    trace: Trace
    name: str = ""
    found: Deviation | None = None

    @property
    def observed(self) -> list[Array | None]:
        """The observed states (batch, steps, hidden) of each direction; None where there are none.

        They are in the case's dtype and the order of processing, with NaN where outputs lack a state.
        """
        if self.found is None or self.found.states is None:
            return [None] * len(self.trace.directions)
        kind = FLOAT_TYPES[self.trace.case.dtype].numpy
        with np.errstate(invalid="ignore"):
            return [states.astype(kind) for states in self.found.states]


def traced_against(exact: Trace, vectors: VectorSet, source: Source) -> Traced:
    """Compare the only case of a set of vectors with what `source` answers.

    Raises VectorFileError for vectors that do not match their digests, and for outputs that do not belong to
    these vectors. As in `check`, an error of the runtime is an error of the case.
    """
    [part] = observe(vectors, source)
    found = exact.against_observed(part.observed)
    name = f"{source.name} {source.version}".rstrip()
    return Traced(exact.under(found.reading), name, found)
