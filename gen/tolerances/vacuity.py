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
from .classes import CLASSES

MOST_VACUOUS = 0.5
"""In a deciding case no more than this share of the elements says nothing, in the required class, and none
has an infinite tolerance."""


def vacuous(answer: Answer, limits: Mapping[str, Array], dtype: str) -> tuple[Array, Array]:
    """(n,) of the elements of each stacked case how many say nothing under `limits`, and how many there are.

    Padding, where no class of the dtype admits anything, is not counted.
    """
    nothing, elements = (np.zeros(len(next(iter(limits.values()))), int) for _ in range(2))
    for name, limit in limits.items():
        computed = _computed(answer, name, dtype)
        size = np.abs(answer.outputs[name].astype(np.float64))
        nothing += _count(computed & (limit > 0) & ~(limit < size))
        elements += _count(computed)
    return nothing, elements


def vacuous_rows(under: Mapping[ReadingNames, Answer], dtype: str) -> dict[int, str]:
    """By row, why a stacked case says too little to decide; what is not there says enough.

    `under` has the answers by the readings followed.
    """
    found: dict[int, str] = {}
    name = REQUIRED[dtype]
    for reading, answer in under.items():
        of = f", under {' and '.join(reading)}" if reading else ""
        limits = answer.tolerances[name]
        nothing, elements = vacuous(answer, limits, dtype)
        boundless = infinite(answer, limits, dtype)
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


def infinite(answer: Answer, limits: Mapping[str, Array], dtype: str) -> Array:
    """(n,) how many elements of each stacked case have an infinite tolerance under `limits`."""
    return np.asarray(
        sum(_count(_computed(answer, n, dtype) & ~np.isfinite(limits[n])) for n in limits)
    )


def _computed(answer: Answer, name: str, dtype: str) -> Array:
    return np.asarray(answer.tolerances[CLASSES[dtype][-1].name][name] > 0)


def _count(elements: Array) -> Array:
    return np.asarray(np.count_nonzero(elements.reshape(len(elements), -1), axis=1))
