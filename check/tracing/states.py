"""The observed states of a case in the order of processing, and the first that leave the exact ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import shared_outputs
from ...cases.operators.semantics import Semantics
from ...gen.exact.trace import DirectionTrace
from ...gen.gru import in_order, processing_order
from ...vectors.block import Block
from ...vectors.case import REQUIRED
from ...vectors.difference import difference


@dataclass(frozen=True)
class Place:
    """A step of a row of one direction: its number in the order of processing, and the time that its input
    has. All count from 0."""

    direction: str
    row: int
    step: int
    time: int


@dataclass(frozen=True)
class Leaving:
    """The first state of a direction that is off by more than its tolerance: that of the first step, there
    of the first row, there of the first unit. `others` is how many more units of that state are."""

    place: Place
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
    """An element that no step has made and that is off: of Y past a row's length (`time` is where), or of
    the last state of a row whose Y is right there, or that has no step (`time` is None)."""

    output: str
    direction: str
    row: int
    time: int | None
    unit: int
    expected: float
    observed: float


def near(seen: Array, expected: Array, limit: Array) -> Array:
    """Which elements are off by no more than the limit."""
    off = difference(seen.astype(np.float64), expected.astype(np.float64))
    return np.asarray((off <= limit) & np.isfinite(off))


def place(one: DirectionTrace, row: int, step: int) -> Place:
    """The place of a step of a direction."""
    return Place(one.direction, row, step, int(one.time[row, step]))


class States:
    """The observed states of a case, (direction, batch, steps, hidden) in the order of processing."""

    def __init__(
        self, block: Block, meant: Semantics, directions: Sequence[DirectionTrace], outputs: Arrays
    ) -> None:
        operator = OPERATORS[block.operator]
        attributes = operator.with_defaults(block.given[0])
        self._names: dict[str, str] = {t.role_in(attributes): t.name for t in operator.outputs}
        answer = block.answer
        self._seen, self._expected, self._limits = (
            {role: array[0].astype(np.float64) for role, array in found.items()}
            for found in (
                shared_outputs(operator, attributes, arrays)
                for arrays in (outputs, answer.outputs, answer.tolerances[REQUIRED[block.dtype]])
            )
        )
        self._meant, self._directions = meant, directions
        self.exact = np.stack([one.state.astype(np.float64) for one in directions])
        self._time = np.stack([one.time for one in directions])
        self.states, self.limits = self._by_step(self._seen), self._by_step(self._limits)

    def _by_step(self, shared: Mapping[str, Array]) -> Array:
        """What the outputs hold of each step's state; NaN where that is nothing."""
        found: Array = np.full(self.exact.shape, np.nan)
        steps = self.exact.shape[2]
        for d, one in enumerate(self._directions):
            if "y" in shared:
                found[d] = self._processed(shared["y"][d], d)[:, :steps]
            else:
                rows = np.flatnonzero(one.lengths)
                found[d, rows, one.lengths[rows] - 1] = shared["ho"][d, rows]
        found[self._time < 0] = np.nan
        return found

    def _processed(self, y: Array, d: int) -> Array:
        """A direction's Y in the order of processing."""
        if self._meant.y_order == "processing":
            return y
        lengths = self._directions[d].lengths
        return in_order(y, processing_order(self._meant.directions[d], lengths, y.shape[-2]))

    @property
    def _all(self) -> tuple[Arrays, Arrays, Arrays]:
        """Observed, expected and admitted, by role."""
        return self._seen, self._expected, self._limits

    @property
    def _handed_out(self) -> Array:
        """(direction, batch, steps) which states were handed out."""
        last = np.arange(self.exact.shape[2]) == (self._time >= 0).sum(axis=-1)[..., None] - 1
        return np.asarray((self._time >= 0) & (last | ("y" in self._seen)))

    @cached_property
    def _leaves(self) -> Array:
        return ~near(self.states, self.exact, self.limits) & self._handed_out[..., None]

    def leaving(self) -> Iterator[Leaving]:
        """The first state of each direction that leaves the exact ones."""
        for d, leaves in enumerate(self._leaves):
            where = np.argwhere(leaves.swapaxes(0, 1))
            if not where.size:
                continue
            step, row, unit = where[0].tolist()
            at = (d, row, step, unit)
            yield Leaving(
                place=place(self._directions[d], row, step),
                unit=unit,
                expected=float(self.exact[at]),
                observed=float(self.states[at]),
                tolerance=float(self.limits[at]),
                others=int(leaves[row, step].sum()) - 1,
            )

    @property
    def last_alone_right(self) -> bool:
        """Whether the last states, handed out by themselves, are right, though Y has some that are not."""
        both = "y" in self._seen and "ho" in self._seen
        off = both and any(self._inherited(d).any() for d in range(len(self._directions)))
        return off and bool(near(*(one["ho"] for one in self._all)).all())

    def beside(self) -> Iterator[Beside]:
        """The first element of each output and direction that is off and no step's state."""
        seen, expected, limits = self._all
        off = {role: ~near(seen[role], expected[role], limits[role]) for role in seen}
        for d, one in enumerate(self._directions):
            if "y" in off:
                past = np.arange(off["y"].shape[2]) >= one.lengths[:, None]
                yield from self._first("y", d, off["y"][d] & past[..., None])
            if "ho" in off:
                yield from self._first("ho", d, off["ho"][d] & ~self._inherited(d))

    def _inherited(self, d: int) -> Array:
        """(batch, hidden) where a last state is off as the state of the last step is."""
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
