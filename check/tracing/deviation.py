"""Where observed states leave the exact ones, and which steps are wrong by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...gen.exact.trace import DirectionTrace
from ...vectors.block import Block
from ...vectors.case import REQUIRED, Answer
from ..diagnosis.failing import FailingBlock
from ..diagnosis.steps import steps_of
from ..judging.case_result import CaseResult
from ..judging.criterion import Demanded
from .states import Beside, Leaving, Place, States, near, place


@dataclass(frozen=True)
class WrongStep:
    """A step that is wrong by itself, from the observed state before it, and in which units."""

    place: Place
    units: tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """What was observed of a case, against its exact steps.

    `result` is the judgement on the outputs, by the required class of the dtype, and all that there is where
    the case passed or gave no outputs. `reading` names the readings under which its steps are looked at.
    `states` (direction, batch, steps, hidden) are the observed states in the order of processing, in
    float64, NaN where none was handed out; `every` says whether all were. `leaving` has the first state of
    each direction that leaves. `wrong` are the steps that are wrong by themselves, direction by direction
    and row by row, which only `every` state tells; `steps` is how many there are. `beside` is what is off
    and no step's state. `last_alone_right` says that Y has last states that are off, and the output of the
    last states has all of them right: so the steps are right, and Y is not.
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


def deviation(
    result: CaseResult,
    block: Block,
    outputs: Arrays,
    reading: ReadingNames,
    directions: Sequence[DirectionTrace],
) -> Deviation:
    """How the `outputs` of the failed case of a block of one leave its exact steps under a reading."""
    read = _under(block, reading)
    meant = as_read(reading, read.question(0).semantics)
    seen = States(read, meant, directions, outputs)
    wrong = _wrong_steps(read, reading, outputs, directions)
    return Deviation(
        result=result,
        reading=reading,
        states=seen.states,
        every=wrong is not None,
        leaving=tuple(seen.leaving()),
        wrong=wrong or (),
        steps=sum(int(one.lengths.sum()) for one in directions),
        beside=tuple(seen.beside()),
        last_alone_right=seen.last_alone_right,
    )


def nearest_reading(block: Block, outputs: Mapping[str, Array]) -> ReadingNames:
    """Of a case's readings the one from whose answer the fewest elements are off; of equals the first."""

    def off(answer: Answer) -> int:
        return sum(
            int((~near(outputs[name], expected, limit)).sum())
            for name, expected, limit in _limited(block, answer)
        )

    return min(block.answers, key=lambda reading: off(block.answers[reading]))


def _limited(block: Block, answer: Answer) -> Iterator[tuple[str, Array, Array]]:
    limits = answer.tolerances[REQUIRED[block.dtype]]
    return ((name, expected, limits[name]) for name, expected in answer.outputs.items())


def _under(block: Block, reading: ReadingNames) -> Block:
    """The block with the answer under a reading as the stored one."""
    return replace(block, answers={STORED: block.answers[reading]})


def _wrong_steps(
    block: Block, reading: ReadingNames, outputs: Arrays, directions: Sequence[DirectionTrace]
) -> tuple[WrongStep, ...] | None:
    """The steps that are wrong by themselves, in the order of directions, rows and steps; None where not
    every state was handed out."""
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
        WrongStep(place(directions[d], row, number), tuple(np.flatnonzero(units[d, at]).tolist()))
        for d, row, number, at in found
    )
