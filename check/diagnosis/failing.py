"""What a diagnosis works on: the failing cases, with their inputs and what was observed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators.readings import STORED
from ...gen.variants.evaluate import Stacks, loosest, stacks, variant_outputs
from ...gen.variants.variant import Variant
from ...vectors.block import Block
from ..judging.criterion import Criterion

NEARER = 0.25
"""What was observed is nearer to a variant that explains it than this share of its way from right."""

SPREAD = 3
"""So many times as many elements are finite in neither of two outputs as in one of them alone."""


class FailingBlock:
    """The cases of a block that failed, with their inputs, what was observed of them, and the criterion.

    Row i of everything is case i.

    An output may be off from a variant's by what the criterion admits, or eight times the median of
    that in the case, larger by as much as the variant's outputs are larger, and by one rounding.
    """

    def __init__(self, block: Block, observed: Arrays, criterion: Criterion) -> None:
        self.block, self.observed = block, {n: a.astype(np.float64) for n, a in observed.items()}
        self.criterion = criterion
        self.stacked: Stacks = stacks(block)
        tight, loose = criterion.admitted(block, STORED), loosest(block)
        self._limits = {False: (tight, _wider(tight)), True: (loose, _wider(loose))}

    def __len__(self) -> int:
        return len(self.block)

    def rows(self, keep: Array) -> FailingBlock:
        """Those of the rows `keep`, a mask or indices."""
        where = np.flatnonzero(keep) if keep.dtype == bool else keep
        observed = {name: array[where] for name, array in self.observed.items()}
        return FailingBlock(self.block.rows(where), observed, self.criterion)

    def distance(self, variants: Sequence[Variant], *, loose: bool = False) -> Array:
        """(n,) the largest |observed - what `variants` give| in units of what is admitted.

        At most 1 explains the case. Infinite where the variants give the right answer there, to half
        of what is admitted, and where what was observed is not much nearer to them than to it. How
        far an infinity or a NaN spreads, the order of operations decides: elements where only one of the
        two is finite do not count if SPREAD times as many are finite in neither. Of several variants
        only finite numbers tell, and nothing does where none was observed. With `loose`, by the
        largest tolerance of any class.
        """
        outputs = variant_outputs(self.block, self.stacked, variants)
        alone = len(variants) == 1
        limits, wider = self._limits[loose]
        scale = np.maximum(1.0, _largest(outputs) / _largest(self.block.answer.outputs))
        found, differ = np.zeros(len(self)), np.zeros(len(self), bool)
        from_variant, from_right = np.zeros(len(self)), np.zeros(len(self))
        apart, together, tells = np.zeros(len(self)), np.zeros(len(self)), np.zeros(len(self), bool)
        kind = FLOAT_TYPES[self.block.dtype]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            for name, limit in limits.items():
                given, seen = outputs[name], self.observed[name]
                right = self.block.answer.outputs[name].astype(np.float64)
                given = np.where(np.abs(given) > kind.largest, np.copysign(np.inf, given), given)
                rounding = 2.0**-kind.precision * np.abs(given) + 2.0**kind.least_exponent
                room = wider[name] * scale.reshape(-1, *[1] * (given.ndim - 1))
                room = np.where((limit == 0) & (given == 0), 0.0, room)  # padding that stays zero
                wild, other = ~np.isfinite(seen), ~np.isfinite(given)
                apart += _per_case(wild ^ other, np.sum)
                together += _per_case(wild & other, np.sum)
                tells |= ~_per_case(wild, np.all)
                off = np.where(wild | other, 0.0, np.abs(seen - given))
                ratio = np.where(off == 0.0, 0.0, off / (room + rounding))  # 0 of two NaN
                found = np.maximum(found, _per_case(ratio))
                from_variant = np.maximum(from_variant, _per_case(off))
                tell = alone | ~(wild | other)
                wrong = np.where(tell, _difference(seen, right), 0.0)
                from_right = np.maximum(from_right, _per_case(wrong))
                unlike = ~(_difference(given, right) <= 0.5 * limit)
                differ |= _per_case(tell & unlike).astype(bool)
        nearer = from_variant <= NEARER * from_right
        return np.where(differ & nearer & tells & (SPREAD * apart <= together), found, np.inf)


def _difference(a: Array, b: Array) -> Array:
    """|a - b|: 0 where both are the same infinity or NaN, infinite where only one is finite."""
    off = np.abs(a - b)
    special = ~(np.isfinite(a) & np.isfinite(b))
    off[special] = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf)[special]
    return np.asarray(off)


def _per_case(values: Array, of: Callable[..., Array] = np.max) -> Array:
    return np.asarray(of(values.reshape(len(values), -1), axis=1))


def _largest(outputs: Arrays) -> Array:
    """(n,) the largest finite absolute value of each case's outputs, and at least the least normal
    number."""
    wide = [np.abs(a.astype(np.float64)).reshape(len(a), -1) for a in outputs.values()]
    each = [np.where(np.isfinite(a), a, 0.0).max(axis=1) for a in wide]
    return np.asarray(np.maximum.reduce([*each, np.full(len(each[0]), 2.0**-1022)]))


def _wider(limits: Arrays) -> Arrays:
    """Tolerances in float64, at least eight times the case's median: a variant's small elements are
    not small in the right answer, whose tolerances these are."""
    elements = np.concatenate([limit.reshape(len(limit), -1) for limit in limits.values()], axis=1)
    known = np.where((elements > 0) & np.isfinite(elements), elements, np.nan).astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a case without one
        median = np.nan_to_num(np.nanmedian(known, axis=1))
    return {
        name: np.maximum(limit, 8.0 * median.reshape(-1, *[1] * (limit.ndim - 1)))
        for name, limit in limits.items()
    }
