"""Part of a trace: some direction, row or step of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...cases.errors import GrucibleError
from ...gen.exact.trace import DirectionTrace


@dataclass(frozen=True)
class Part:
    """The steps of one `direction`, of one `row`, of one number in the order of processing, or of all where
    that is None. Rows and steps count from 0."""

    direction: str | None = None
    row: int | None = None
    step: int | None = None

    def has_direction(self, one: DirectionTrace) -> bool:
        """Whether steps of a direction may be among them."""
        return self.direction in (None, one.direction)

    def rows(self, one: DirectionTrace) -> list[int]:
        """The rows of a direction, in order; with a `step`, those that take it."""
        rows = range(len(one.lengths)) if self.row is None else [self.row]
        return [row for row in rows if self.step is None or self.step < one.lengths[row]]

    def steps(self, one: DirectionTrace, row: int) -> list[int]:
        """The numbers of the steps of a row of a direction."""
        return list(range(one.lengths[row])) if self.step is None else [self.step]

    def check(self, directions: Sequence[DirectionTrace]) -> None:
        """Raise GrucibleError where none of the steps is there."""
        names = [one.direction for one in directions]
        if self.direction is not None and self.direction not in names:
            raise GrucibleError(f"--direction {self.direction}: the case has {' and '.join(names)}")
        lengths = directions[0].lengths
        if self.row is not None and self.row >= len(lengths):
            raise GrucibleError(f"--row {self.row}: the case has the rows 0 to {len(lengths) - 1}")
        most = int(lengths.max() if self.row is None else lengths[self.row])
        if self.step is not None and self.step >= most:
            whose = "the longest row" if self.row is None else f"row {self.row}"
            has = f"{most} step{'s' * (most > 1)}, counted from 0" if most else "no step"
            raise GrucibleError(f"--step {self.step}: {whose} has {has}")


WHOLE = Part()
"""All steps."""
