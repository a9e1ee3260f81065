"""Whether tolerances say anything: those of a case that decides must.

An element says nothing where its tolerance is at least as large as its value: zero would be admitted in its
place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import ReadingNames
from ...vectors.case import REQUIRED, Answer

MOST_VACUOUS = 0.5
"""In a deciding case no more than this share of the elements says nothing, in the required class, and none
has an infinite tolerance."""


def vacuous(answer: Answer, limits: Mapping[str, Array]) -> tuple[Array, Array]:
    """(n,) of the elements of each stacked case how many say nothing under `limits`, and how many there are.

    Padding, which is zero and where no class admits anything but zero, is not counted. A case of padding
    alone counts as one element, which says nothing where something else is admitted.
    """
    nothing, elements, admitted = (
        np.zeros(len(next(iter(limits.values()))), int) for _ in range(3)
    )
    for name, limit in limits.items():
        computed = _computed(answer, name)
        size = np.abs(answer.outputs[name].astype(np.float64))
        with np.errstate(invalid="ignore"):  # of a signalling NaN
            says_nothing = (limit > 0) & ~(limit < size) | ~np.isfinite(size)
        nothing += _count(computed & says_nothing)
        elements += _count(computed)
        admitted += _count(says_nothing)
    padding = elements == 0
    return np.where(padding, admitted > 0, nothing), np.where(padding, 1, elements)


def vacuous_rows(under: Mapping[ReadingNames, Answer], dtype: str) -> dict[int, str]:
    """By row, why a stacked case says too little to decide; what is not there says enough.

    `under` has the answers by the readings followed.
    """
    found: dict[int, str] = {}
    name = REQUIRED[dtype]
    for reading, answer in under.items():
        of = f", under {' and '.join(reading)}" if reading else ""
        limits = answer.tolerances[name]
        nothing, elements = vacuous(answer, limits)
        boundless = infinite(answer, limits)
        for row in np.flatnonzero((boundless > 0) | (nothing > MOST_VACUOUS * elements)).tolist():
            why = admits_more(dtype, nothing[row], elements[row])
            if boundless[row]:
                why = f"{name} arithmetic has no bound; take fewer steps, smaller sizes or a smaller draw"
            found.setdefault(row, f"{why}{of}")
    return found


def admits_more(dtype: str, nothing: int, elements: int) -> str:
    """The sentence for a case of which so many of the elements say nothing."""
    share = f"{100 * nothing / elements:.0f} %"
    return (
        f"{REQUIRED[dtype]} arithmetic admits more than the value for {share} of the elements; "
        "take fewer steps, smaller sizes or a smaller draw"
    )


def infinite(answer: Answer, limits: Mapping[str, Array]) -> Array:
    """(n,) how many elements of each stacked case have an infinite tolerance under `limits`."""
    return np.asarray(sum(_count(_computed(answer, n) & ~np.isfinite(limits[n])) for n in limits))


def _computed(answer: Answer, name: str) -> Array:
    """Which elements are no padding: they have a value, or a class of arithmetic admits something else."""
    found = np.asarray(answer.outputs[name] != 0)
    for limits in answer.tolerances.values():
        found |= limits[name] > 0
    return found


def _count(elements: Array) -> Array:
    return np.asarray(np.count_nonzero(elements, axis=tuple(range(1, elements.ndim))))
