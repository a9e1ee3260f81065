"""The quality gate: it rejects draws by which no kernel can be judged, and draws that decide nothing.

A draw is conditioned well enough if float32 arithmetic is proven to be near the exact value for most
elements, and if in the required class no pre-activation may be on either side of a guarded function's
break. It decides something if most tolerances of the required class are smaller than the values: a larger
tolerance would admit zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import ReadingNames
from ...vectors.case import REQUIRED, Answer
from .classes import CLASSES
from .march import ErrorBounds

GATE, GATE_FLOOR, GATE_SHARE = 1e-3, 0.1, 0.5
"""The gate: a float32 bound below GATE·max(|h|, GATE_FLOOR) for GATE_SHARE of the elements of an output."""
MOST_VACUOUS = 0.5
"""Maximum share of elements in a deciding case whose required tolerance is no smaller than the value.

No element of such a case has an infinite tolerance."""


def objections(
    under: Mapping[ReadingNames, ErrorBounds], roles: Mapping[str, Array], dtype: str
) -> dict[int, str]:
    """Say by row why a stacked case is too ill-conditioned to judge by; good rows are left out.

    `under` has the bounds by reading, in the classes of `dtype`; `roles` mark (n,) which cases have an output
    of each role.
    """
    found: dict[int, str] = {}
    for reading, bounds in under.items():
        for row, why in (*_straddling(bounds, dtype), *_unsharp(bounds, roles, dtype)):
            found.setdefault(row, why + _under(reading))
    return found


def vacuous_rows(under: Mapping[ReadingNames, Answer], dtype: str) -> dict[int, str]:
    """Say by row why a stacked case says too little to decide; good rows are left out.

    `under` has the answers by reading.
    """
    found: dict[int, str] = {}
    name = REQUIRED[dtype]
    for reading, answer in under.items():
        limits = answer.tolerances[name]
        nothing, elements = vacuous(answer, limits)
        boundless = infinite(answer, limits)
        for row in np.flatnonzero((boundless > 0) | (nothing > MOST_VACUOUS * elements)).tolist():
            share = 100 * nothing[row] / elements[row]
            why = f"the tolerance is larger than the value in {share:.0f} % of the elements"
            why = "the rounding error has no bound" if boundless[row] else why
            why = f"in {name} arithmetic {why}; take fewer steps, smaller sizes or a smaller draw"
            found.setdefault(row, why + _under(reading))
    return found


def vacuous(answer: Answer, limits: Mapping[str, Array]) -> tuple[Array, Array]:
    """Count the elements of each stacked case that say nothing under `limits`, and all elements, (n,).

    Padding is not counted: elements that are zero and for which every class admits only zero. A case of
    padding alone counts as one element, which says nothing if `limits` admit anything else.
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


def infinite(answer: Answer, limits: Mapping[str, Array]) -> Array:
    """Count the elements of each stacked case that have an infinite tolerance under `limits`, (n,)."""
    return np.asarray(sum(_count(_computed(answer, n) & ~np.isfinite(limits[n])) for n in limits))


def _straddling(bounds: ErrorBounds, dtype: str) -> Iterator[tuple[int, str]]:
    why = (
        f"in {REQUIRED[dtype]} arithmetic rounding may carry an activation's argument across a jump of "
        "the activation; take smaller sizes or other parameters"
    )
    at = _place(dtype, REQUIRED[dtype])
    yield from ((row, why) for row in np.flatnonzero(bounds.straddles[:, at]).tolist())


def _unsharp(
    bounds: ErrorBounds, roles: Mapping[str, Array], dtype: str
) -> Iterator[tuple[int, str]]:
    for role, has in roles.items():
        values, errors = bounds.of(role)
        limit = errors[..., _place(dtype, "float32")].reshape(len(values), -1)
        values, computed = np.abs(values).reshape(limit.shape), limit > 0
        with np.errstate(invalid="ignore"):
            sharp = computed & (limit < GATE * np.maximum(values, GATE_FLOOR))
        count = computed.sum(axis=1)
        shares = np.where(count > 0, sharp.sum(axis=1) / np.maximum(count, 1), 1.0)
        for row in np.flatnonzero(has & (shares < GATE_SHARE)).tolist():
            yield (
                row,
                f"float32 arithmetic is proven to be within {GATE:g} of the value for only "
                f"{100 * shares[row]:.0f} % of the elements of {role}; take fewer steps, smaller "
                "sizes or a smaller draw",
            )


def _place(dtype: str, name: str) -> int:
    return [one.name for one in CLASSES[dtype]].index(name)


def _under(reading: ReadingNames) -> str:
    return f", under {' and '.join(reading)}" if reading else ""


def _computed(answer: Answer, name: str) -> Array:
    """Mark the elements that are no padding: they are not zero, or a class admits something else."""
    found = np.asarray(answer.outputs[name] != 0)
    for limits in answer.tolerances.values():
        found |= limits[name] > 0
    return found


def _count(elements: Array) -> Array:
    return np.asarray(np.count_nonzero(elements, axis=tuple(range(1, elements.ndim))))
