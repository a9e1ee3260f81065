"""What a diagnosis works on: the failing cases, with their inputs and what was observed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators.readings import STORED
from ...gen.variants.evaluate import batches, loosest, stacks_of, variant_outputs
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from ...vectors.difference import difference
from ..judging.criterion import Criterion

NEARER = 0.25
"""What was observed is nearer to a variant that explains it than this share of its way from right."""

SPREAD = 3
"""So many times as many elements are finite in neither of two outputs as in one of them alone."""


class FailingBlock:
    """The failing cases of one block: row i of everything is case i.

    An output may be off from a variant's by what the criterion admits, or eight times the median of
    that in the case, larger by as much as the variant's outputs are larger, and by one rounding.
    """

    def __init__(self, block: Block, observed: Arrays, criterion: Criterion) -> None:
        self.block, self.observed, self.criterion = block, observed, criterion
        self.stacked = stacks_of(block)
        self._seen, self._right = _elements(observed, 1), _elements(block.answer.outputs, 1)
        tight, loose = criterion.admitted(block, STORED), loosest(block)
        self._limits = {False: _elements(tight, 1), True: _elements(loose, 1)}

    def __len__(self) -> int:
        return len(self.block)

    def rows(self, keep: Array) -> FailingBlock:
        """The rows `keep`, a mask or indices."""
        where = np.flatnonzero(keep) if keep.dtype == bool else keep
        observed = {name: array[where] for name, array in self.observed.items()}
        return FailingBlock(self.block.rows(where), observed, self.criterion)

    def distances(self, combinations: Sequence[Sequence[Variant]], *, loose: bool = False) -> Array:
        """(c, n) for each combination of variants the largest |observed - what it gives| of each case,
        in units of what is admitted.

        At most 1 explains the case. Infinite where the variants give the right answer there, to half
        of what is admitted, and where what was observed is not much nearer to them than to it. How
        far an infinity or a NaN spreads, the order of operations decides: elements where only one of the
        two is finite do not count if SPREAD times as many are finite in neither. Of several variants
        only finite numbers tell, and nothing does where none was observed. With `loose`, by the
        largest tolerance of any class.
        """
        found = [
            self._distances(
                _elements(variant_outputs(self.block, self.stacked, batch), 2),
                np.array([len(variants) == 1 for variants in batch])[:, None, None],
                self._limits[loose],
            )
            for batch in batches(self.block, combinations)
        ]
        return np.concatenate(found) if found else np.empty((0, len(self)))

    def _distances(self, given: Array, alone: Array, limit: Array) -> Array:
        """The distances of what variants give, (c, n, elements), `alone` where one variant gives it."""
        kind, seen, right = FLOAT_TYPES[self.block.dtype], self._seen, self._right
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            scale = np.maximum(1.0, _largest(given) / _largest(right))
            given = np.where(np.abs(given) > kind.largest, np.copysign(np.inf, given), given)
            room = _wider(limit) * scale[..., None]
            room = np.where((limit == 0) & (given == 0), 0.0, room)  # padding that stays zero
            room = room + 2.0**-kind.precision * np.abs(given) + 2.0**kind.least_exponent
            wild, other = ~np.isfinite(seen), ~np.isfinite(given)
            off = np.where(wild | other, 0.0, np.abs(seen - given))
            ratio = np.where(off == 0.0, 0.0, off / room)  # 0 of two NaN
            tell = alone | ~(wild | other)
            wrong = np.where(tell, difference(seen, right), 0.0)
            differ = (tell & ~(difference(given, right) <= 0.5 * limit)).any(axis=-1)
            apart, together = (wild ^ other).sum(axis=-1), (wild & other).sum(axis=-1)
            nearer = off.max(axis=-1) <= NEARER * wrong.max(axis=-1)
        explains = differ & nearer & (~wild).any(axis=-1) & (SPREAD * apart <= together)
        return np.where(explains, ratio.max(axis=-1), np.inf)


def _elements(arrays: Arrays, leading: int) -> Array:
    """The elements of all outputs side by side, in float64, behind the `leading` axes."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        flat = [a.astype(np.float64).reshape(*a.shape[:leading], -1) for a in arrays.values()]
    return np.concatenate(flat, axis=-1)


def _largest(outputs: Array) -> Array:
    """The largest finite absolute value of each case, and at least the least normal number."""
    size = np.where(np.isfinite(outputs), np.abs(outputs), 0.0)
    return np.asarray(np.maximum(size.max(axis=-1), 2.0**-1022))


def _wider(limits: Array) -> Array:
    """Tolerances (n, elements), at least eight times the case's median: a variant's small elements are
    not small in the right answer, whose tolerances these are."""
    known = np.where((limits > 0) & np.isfinite(limits), limits, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a case without one
        median = np.nan_to_num(np.nanmedian(known, axis=1))
    return np.asarray(np.maximum(limits, 8.0 * median[:, None]))
