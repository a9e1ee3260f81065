"""What a failing case of the page has besides its values: its trace, and a script that reproduces it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....cases.errors import GrucibleError
from ....vectors.case import Case
from ...diagnosis.failing import FailingBlock
from ...report import Report
from ...scripts.script import script
from ...tracing.observing import Traced
from ...tracing.part import WHOLE
from ...tracing.trace import trace
from ..trace import against_lines, step_lines

MOST_NUMBERS = 2000
"""Of a larger case no script is in the page: some 40 kB of text each."""
MOST_STEPS = 64
"""A case of more steps, over all rows and directions, has no trace in the page."""


@dataclass(frozen=True)
class Section:
    """More about a failing case: a title, and lines of text, such as of a program that can be copied."""

    title: str
    lines: tuple[str, ...]


def more_sections(part: FailingBlock, row: int, report: Report) -> Iterator[Section]:
    """The trace of the failing case of a row, and a script that asks what the user named as the runtime for
    it, as far as it is small enough and there is one.

    What a runtime calls itself names nothing that is run: it would choose the command.
    """
    one = part.rows(np.array([row]))
    case = one.block.case(0)
    yield from _trace(one, case, report.runtime)
    numbers = sum(array.size for array in (*case.inputs.values(), *case.answer.outputs.values()))
    if report.asked and numbers <= MOST_NUMBERS:
        try:
            lines = script(case, report.asked).splitlines()
        except GrucibleError:  # of this runtime there is none
            return
        yield Section("A script for a bug report", tuple(lines))


def _trace(one: FailingBlock, case: Case, runtime: str) -> Iterator[Section]:
    """Where the observed states leave the exact ones, and the numbers of the first step that does."""
    outputs = {name: array[0] for name, array in one.observed.items()}
    stacks = one.stacked
    if sum(int(s.inputs.lengths.sum()) * len(s.semantics.directions) for s in stacks) > MOST_STEPS:
        return
    try:
        exact = trace(case)
        found = exact.against(outputs)
        near = exact.under(found.reading)
    except GrucibleError:  # a quantity that could not be rounded
        return
    traced = Traced(near, runtime, found)
    lines = [*against_lines(traced, full=False), *step_lines(traced, WHOLE, full=False)]
    yield Section("Where it leaves the exact states", tuple(lines[1:]))
