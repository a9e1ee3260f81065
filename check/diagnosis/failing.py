"""What a diagnosis works on: the failing cases, with their inputs and what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.operators.readings import STORED, ReadingNames, as_read
from ...gen.variants.evaluate import batches, stacks_of, variant_outputs
from ...gen.variants.variant import Variant
from ...gen.variants.work import too_large, work
from ...vectors.block import Block
from ...vectors.case import difference
from ..judging.criterion import Criterion
from ..judging.single_steps import LOOKED_AT, ask_steps, holds_every_state

NEARER = 0.25
"""Maximum distance from a variant that explains, by that from what is right: with half, it is neither."""
SPREAD = 3
"""Minimum elements that are finite in neither of two outputs, for each that is so in one alone."""

MOST_ERROR = 1e300
"""Maximum error that is counted: no sum of these overflows."""
MOST_BYTES, MOST_WORK = 256 << 20, 1 << 31
"""Maximum bytes of the failing cases that are kept, and maximum work of one variant of all of them.

All that are shipped take less. A hundred variants of all are tried, of two seconds each (gen.variants.work).
"""
MOST_LARGE, STEPS = 16, 8
"""Maximum large cases whose steps are asked, and steps of each; a case takes seconds."""


class FailingBlock:
    """The failing cases of one block: row i of everything is case i. All are compared under one `reading`.

    An output may differ from a variant's as far as the criterion admits, or eight times the median of
    that in the case, larger by as much as the variant's outputs are larger, and by one rounding.
    """

    def __init__(
        self,
        block: Block,
        observed: Arrays,
        criterion: Criterion,
        reading: ReadingNames = STORED,
    ) -> None:
        self.block, self.observed, self.criterion = block, observed, criterion
        self.reading = reading
        self.work = work(block.question(0))
        """What a variant of one case takes."""
        self.stacked = [
            replace(one, semantics=as_read(reading, one.semantics)) for one in stacks_of(block)
        ]
        self._seen = elements(observed, 1)
        self._right = elements(block.answers[reading].outputs, 1)
        self._limit = elements(self.admitted, 1)

    @property
    def admitted(self) -> Arrays:
        """What each element may be off by, by output."""
        return self.criterion.admitted(self.block, self.reading)

    @cached_property
    def _room(self) -> Room:
        return Room(self._limit, self._right, FLOAT_TYPES[self.block.dtype])

    def __len__(self) -> int:
        return len(self.block)

    @property
    def bytes(self) -> int:
        """What it holds, about: inputs, outputs and tolerances, and of the outputs four arrays in float64."""
        observed = sum(array.nbytes for array in self.observed.values())
        return self.block.nbytes + observed + 4 * self._seen.nbytes

    @property
    def holds_numbers(self) -> Array:
        """(n,) in which cases an element that was observed is finite."""
        return np.asarray(np.isfinite(self._seen).any(axis=1))

    def rows(self, keep: Array) -> FailingBlock:
        """Take the rows `keep`, a mask or indices."""
        where = np.flatnonzero(keep) if keep.dtype == bool else keep
        observed = {name: array[where] for name, array in self.observed.items()}
        return FailingBlock(self.block.rows(where), observed, self.criterion, self.reading)

    def distances(self, combinations: Sequence[Sequence[Variant]], *, known: bool = False) -> Array:
        """(c, n) Compute how far what was observed is from what combinations of variants give.

        It is the largest |observed - given| of each case in units of what is admitted: at most 1 explains
        the case. Infinite where the variants give the right answer there, to half of what is admitted, and
        where what was observed is not much nearer to them than to it. How far an infinity or a NaN spreads,
        the order of operations decides: elements where only one of the two is finite do not count if SPREAD
        times as many are finite in neither, or as many, of what is known. Of several variants only finite
        numbers tell. Nothing does where no number was observed, unless the variants are `known` from
        elsewhere. But what fills a place with NaN must have it there alone.
        """
        return self.compare(combinations, known=known)[0]

    def compare(
        self, combinations: Sequence[Sequence[Variant]], *, known: bool = False
    ) -> tuple[Array, Array]:
        """(c, n) Compute the `distances`, and beside them the share of each case's error that is left."""
        operator = OPERATORS[self.block.operator]
        meant = [[v for v in one if v.means_something_for(operator)] for one in combinations]
        at = [number for number, one in enumerate(meant) if one]
        found = np.full((2, len(meant), len(self)), np.inf)
        for some in batches(self.block, [meant[number] for number in at]):
            rows, at = at[: len(some)], at[len(some) :]
            given = elements(variant_outputs(self.block, self.stacked, some), 2)
            alone = np.array([len(one) == 1 for one in some])
            fills = np.array([any(v.fills for v in one) for one in some])
            found[:, rows] = self._compared(given, alone | fills, fills[:, None], known)
        return found[0], found[1]

    def _compared(
        self, given: Array, alone: Array, fills: Array, known: bool
    ) -> tuple[Array, Array]:
        """Compare with what variants give, (c, n, elements), `alone` where one variant gives it."""
        kind, seen, right, limit = (
            FLOAT_TYPES[self.block.dtype],
            self._seen,
            self._right,
            self._limit,
        )
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            given = np.where(np.abs(given) > kind.largest, np.copysign(np.inf, given), given)
            admitted = self._room.of(given)
            # a kernel that clips to the largest number makes it of an infinity
            wild, other = ~(np.abs(seen) < kind.largest), ~(np.abs(given) < kind.largest)
            off = np.where(wild | other, 0.0, np.abs(seen - given))
            ratio = np.where(off == 0.0, 0.0, off / admitted)  # 0 of two NaN
            tell = alone[:, None, None] | ~(wild | other)
            wrong = np.where(tell, difference(seen, right), 0.0)
            differ = (tell & ~(difference(given, right) <= 0.5 * limit)).any(axis=-1)
            apart, together = (wild ^ other).sum(axis=-1), (wild & other).sum(axis=-1)
            nearer = off.max(axis=-1) <= NEARER * wrong.max(axis=-1)
            finite = np.minimum(np.where(np.isfinite(wrong), wrong, 0.0), MOST_ERROR).sum(axis=-1)
            left = np.minimum(off, MOST_ERROR).sum(axis=-1) / np.maximum(finite, 1e-300)
        numbers = (known | (~wild).any(axis=-1)) & ((1 if known else SPREAD) * apart <= together)
        same = (np.isnan(seen) == np.isnan(given)).all(axis=-1)
        explains = differ & nearer & np.where(fills, same, numbers)
        return np.where(explains, ratio.max(axis=-1), np.inf), np.nan_to_num(left, nan=np.inf)


def failing_blocks(block: Block, observed: Arrays, criterion: Criterion) -> list[FailingBlock]:
    """Split the failing cases of a block by the reading that each follows.

    A case follows another reading than the stored one where it has all elements in which the two differ as
    that reading has them. Of several such readings, it is the one of fewest wrong elements.
    """
    rights = np.stack([elements(answer.outputs, 1) for answer in block.answers.values()])
    limits = np.stack([elements(criterion.admitted(block, one), 1) for one in block.answers])
    wrong = ~(difference(elements(observed, 1), rights) <= limits)
    differ = ~(difference(rights[0], rights) <= limits)
    follows = np.asarray(differ.any(axis=2) & ~(differ & wrong).any(axis=2))
    follows[0] = True
    chosen = np.where(follows, wrong.sum(axis=2), np.inf).argmin(axis=0)
    found = []
    for place, reading in enumerate(block.answers):
        if (rows := np.flatnonzero(chosen == place)).size:
            mine = {name: array[rows] for name, array in observed.items()}
            found.append(FailingBlock(block.rows(rows), mine, criterion, reading))
    return found


def by_part(parts: Sequence[FailingBlock], which: Array) -> Iterator[tuple[FailingBlock, Array]]:
    """Yield each part, with what `which` (n,), of the cases of all parts, says of its own."""
    start = 0
    for part in parts:
        yield part, which[start : start + len(part)]
        start += len(part)


def blocks_of(parts: Sequence[FailingBlock], which: Array) -> list[tuple[Block, Array]]:
    """List the blocks of some failing cases, each with which of its cases `which` (n,) says."""
    return [(part.block, rows) for part, rows in by_part(parts, which) if rows.any()]


def any_of(masks: Iterable[Array], count: int) -> Array:
    """(count,) Join masks of the failing cases."""
    return np.asarray(np.any([np.zeros(count, bool), *masks], axis=0))


def evenly(items: Array, most: int) -> Array:
    """Take at most `most` of the items, evenly."""
    if len(items) <= most:
        return items
    return np.asarray(items[np.linspace(0, len(items) - 1, most).round().astype(int)])


@dataclass
class Failing:
    """The failing cases that are kept to be explained, and the others.

    `left_out` are the (dtype, id) of cases too large for variants; and, where all together are more than
    MOST_BYTES or MOST_WORK, of some of those of most work. `large` has a few steps of cases too
    large, to explain them, and many, to hold that against.
    """

    parts: list[FailingBlock] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    large: list[tuple[FailingBlock, FailingBlock]] = field(default_factory=list)
    _bytes: int = 0
    _work: int = 0

    def add(self, block: Block, observed: Arrays, criterion: Criterion) -> None:
        """Keep the failing cases of a block, if there is room."""
        if too_large(block.question(0)):
            self._leave_out(block)
            for row in np.arange(min(len(block), MOST_LARGE - len(self.large))):
                one = {name: array[[row]] for name, array in observed.items()}
                self._ask_steps(block.rows(np.array([row])), one, criterion)
            return
        for part in failing_blocks(block, observed, criterion):
            self._keep(part)
        while self._bytes > MOST_BYTES or self._work > MOST_WORK:
            place = max(range(len(self.parts)), key=lambda place: self.parts[place].work)
            largest = self.parts.pop(place)
            self._bytes -= largest.bytes
            self._work -= largest.work * len(largest)
            half = np.arange(len(largest)) < len(largest) // 2
            self._leave_out(largest.block.rows(~half))
            if half.any():
                self._keep(largest.rows(half))

    def _ask_steps(self, block: Block, observed: Arrays, criterion: Criterion) -> None:
        """Keep some steps of a large case as a case of one step, where they hold its states."""
        with suppress(GrucibleError):  # one too near overflow is explained by nothing
            if holds_every_state(block):
                few, many = (
                    FailingBlock(*ask_steps(block, observed, most), criterion)
                    for most in (STEPS, LOOKED_AT)
                )
                if not too_large(few.block.question(0)):
                    self.large.append((few, many))

    def _keep(self, part: FailingBlock) -> None:
        self.parts.append(part)
        self._bytes += part.bytes
        self._work += part.work * len(part)

    def _leave_out(self, block: Block) -> None:
        self.left_out += [(block.dtype, case_id) for case_id in block.ids]


class Room:
    """What is admitted of what variants give, from the `limit` of what is `right` (n, elements).

    It is the limit, or eight times the median of that in the case; larger by as much as what they give is
    larger; at least the share that is admitted of the case's largest number; and one rounding. The limit of a
    case that is zero, or below normal numbers, is what underflow may lose: it is as large as what rounding
    may lose of the least numbers that it spares. Where nothing may be lost, as of a state that is handed
    through, that is one rounding.
    """

    def __init__(self, limit: Array, right: Array, kind: FloatType) -> None:
        normal, size = 2.0 ** (kind.least_exponent + kind.precision - 1), _largest(right)
        self._size = np.where(size <= normal, normal * 2.0**kind.precision, size)
        self._rounding, self._least = 2.0**-kind.precision, 2.0**kind.least_exponent
        self._wide = _wider(limit, right, self._size * self._rounding)
        self._share = np.where(size <= normal, 0.0, _largest(limit) / self._size)[:, None]
        self._zero = limit == 0  # as of padding that stays zero

    def of(self, given: Array) -> Array:
        """(c, n, elements) Compute it of what each of c combinations gives."""
        scale = np.maximum(1.0, _largest(given) / self._size)
        admitted = np.maximum(self._wide * scale[..., None], self._share * np.abs(given))
        admitted = np.where(self._zero & (given == 0), 0.0, admitted)
        return np.asarray(admitted + self._rounding * np.abs(given) + self._least)


def elements(arrays: Arrays, leading: int) -> Array:
    """Put the elements of all outputs side by side, in float64, behind the `leading` axes."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        flat = [a.astype(np.float64).reshape(*a.shape[:leading], -1) for a in arrays.values()]
    return np.concatenate(flat, axis=-1)


def _largest(outputs: Array) -> Array:
    """Find the largest finite absolute value of each case; at least the least normal number."""
    size = np.where(np.isfinite(outputs), np.abs(outputs), 0.0)
    return np.asarray(np.maximum(size.max(axis=-1), 2.0**-1022))


def _wider(limits: Array, right: Array, one: Array) -> Array:
    """Make tolerances (n, elements) at least eight times the case's median, without those of right zeros.

    A variant's small elements are not small in the right answer, whose tolerances these are. Where all are
    zero, the median is what `one` rounding may lose (n,).
    """
    known = (limits > 0) & np.isfinite(limits)
    some = known & (right != 0)  # a zero is off by no more than underflow
    known = np.where(some.any(axis=1, keepdims=True), some, known)
    count = known.sum(axis=1)
    middle = np.maximum((count - 1) // 2, 0)[:, None]
    median = np.take_along_axis(np.sort(np.where(known, limits, np.inf), axis=1), middle, axis=1)
    median = np.where(count[:, None] == 0, one[:, None], median)
    return np.asarray(np.maximum(limits, 8.0 * median))
