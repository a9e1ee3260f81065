"""The trace of a case: the exact quantities of every step, and what is observed against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError, expected, texts
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import STORED, ReadingNames
from ...gen.exact.rounding import Undecided
from ...gen.exact.trace import DirectionTrace, exact_trace
from ...vectors.block import block_of
from ...vectors.case import REQUIRED, Case
from ..judging.criterion import Demanded
from ..judging.judge import judge_one
from ..observed.source import Observed, Reply, stacked
from .deviation import Deviation, deviation, nearest_reading


@dataclass(frozen=True)
class Trace:
    """The exact quantities of every step of a case, rounded once to its dtype.

    `directions` has an entry for each direction, in the order of the direction axis, with arrays in the
    order of processing (see DirectionTrace for names and shapes). `reading` names the readings that are
    followed.
    """

    case: Case = field(repr=False)
    directions: tuple[DirectionTrace, ...]
    reading: ReadingNames = STORED

    @property
    def arrays(self) -> Arrays:
        """Every array under the direction and its name, such as `forward/z`."""
        return {
            f"{one.direction}/{name}": array
            for one in self.directions
            for name, array in one.arrays.items()
        }

    def against(self, outputs: Mapping[str, Array]) -> Deviation:
        """Where `outputs`, named, shaped and typed as the case asks, leave the exact steps.

        By the tolerances of the class of arithmetic that the dtype requires. What is wrong with names,
        shapes or dtypes stands in the deviation's `result`.
        """
        block = block_of(self.case)
        given = {name: np.asarray(array) for name, array in outputs.items()}
        return self.against_observed(stacked(block, [Reply("ok", given)]))

    def against_observed(self, observed: Observed) -> Deviation:
        """Where what a source observed of the case leaves the exact steps.

        A case that fails under every accepted reading is looked at under the one it is nearest to.
        """
        block = block_of(self.case)
        result = judge_one(block, observed, Demanded(REQUIRED[block.dtype]))
        if result.verdict != "failed":
            return Deviation(result)
        reading = nearest_reading(block, observed.outputs)
        directions = self.under(reading).directions
        return deviation(result, block, observed.outputs, reading, directions)

    def under(self, reading: ReadingNames) -> Trace:
        """The trace of the same case under a reading. Raises GrucibleError as `trace` does."""
        return self if reading == self.reading else trace(self.case, reading)


def trace(case: Case, reading: ReadingNames = STORED) -> Trace:
    """The exact quantities of every step of a case, under the readings that are followed.

    Proven as the answers are: each quantity is exact, and rounded once, by itself. Raises GrucibleError for
    readings that the case has no answer under, and where a quantity is too close to the middle between two
    numbers of the dtype, as happens where inputs overflow.
    """
    expected("case", case, Case, "a grucible.Case, as load_vectors gives them")
    reading = texts("reading", reading)
    if reading not in case.answers:
        known = ", ".join(map(repr, case.answers))
        raise GrucibleError(f"{case.id}: has no answer under {reading!r}; expected one of {known}")
    operator = OPERATORS[case.operator]
    try:
        directions = exact_trace(operator, case.attributes, case.dtype, case.inputs, reading)
    except Undecided:
        raise GrucibleError(
            f"{case.id}: a quantity of a step is too close to the middle between two numbers of "
            f"{case.dtype} to be rounded; no precision that is tried decides it"
        ) from None
    return Trace(case, directions, reading)
