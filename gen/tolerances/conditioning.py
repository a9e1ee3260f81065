"""The quality gate: draws that no correct kernel can be held to are not made.

A draw is conditioned well enough if float32 arithmetic is proven to be near the exact value for most
elements, and if no pre-activation may be on either side of where a guarded function breaks, in the class
that is required.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.readings import ReadingNames
from ...vectors.case import REQUIRED
from .classes import CLASSES
from .march import ErrorBounds
from .vacuity import MOST_VACUOUS, admits_more

GATE, GATE_FLOOR, GATE_SHARE = 1e-3, 0.1, 0.5
"""The float32 bound is below GATE·max(|h|, GATE_FLOOR) for GATE_SHARE of the elements of an output."""


def objections(
    under: Mapping[ReadingNames, ErrorBounds], roles: Collection[str], dtype: str
) -> dict[int, str]:
    """By row, why a stacked case is too ill-conditioned to judge anything by; what is not there is not.

    `under` has the bounds by the readings followed, in the classes of `dtype`; `roles` are those of the
    outputs that count.
    """
    found: dict[int, str] = {}
    for reading, bounds in under.items():
        of = f", under {' and '.join(reading)}" if reading else ""
        for row, why in (
            *_straddling(bounds, dtype),
            *_unsharp(bounds, roles, dtype),
            *_vacuous(bounds, roles, dtype),
        ):
            found.setdefault(row, why + of)
    return found


def _straddling(bounds: ErrorBounds, dtype: str) -> Iterator[tuple[int, str]]:
    required = [one.name for one in CLASSES[dtype]].index(REQUIRED[dtype])
    for row in np.flatnonzero(bounds.straddles[:, required]).tolist():
        yield (
            row,
            f"in {REQUIRED[dtype]} arithmetic a pre-activation may be on either side of where its "
            "activation breaks; take smaller sizes or other parameters",
        )


def _unsharp(bounds: ErrorBounds, roles: Collection[str], dtype: str) -> Iterator[tuple[int, str]]:
    float32 = [one.name for one in CLASSES[dtype]].index("float32")
    for role in ("y", "ho"):
        if role in roles:
            values, errors = bounds.of(role)
            shares = _sharp(values, errors[..., float32])
            for row in np.flatnonzero(shares < GATE_SHARE).tolist():
                yield (
                    row,
                    f"float32 arithmetic is proven to be within {GATE:g} of the value for only "
                    f"{100 * shares[row]:.0f} % of the elements of {role}; take fewer steps, smaller "
                    "sizes or a smaller draw",
                )


def _vacuous(bounds: ErrorBounds, roles: Collection[str], dtype: str) -> Iterator[tuple[int, str]]:
    """Rows whose tolerances, which are no smaller than these bounds, will say nothing: they need no exact
    answer to be refused."""
    required = [one.name for one in CLASSES[dtype]].index(REQUIRED[dtype])
    found = [bounds.of(role) for role in ("y", "ho") if role in roles]
    nothing, elements = (np.zeros(len(bounds.y), int) for _ in range(2))
    for values, errors in found:
        flat = values.reshape(len(values), -1)
        limit = errors[..., required].reshape(flat.shape)
        computed = limit > 0
        nothing += (computed & ~(limit < np.abs(flat))).sum(axis=1)
        elements += computed.sum(axis=1)
    for row in np.flatnonzero(nothing > MOST_VACUOUS * elements).tolist():
        yield row, admits_more(dtype, nothing[row], elements[row])


def _sharp(values: Array, bound: Array) -> Array:
    """(n,) of the computed elements of each case (padding is not), the share whose bound is small."""
    flat, limit = values.reshape(len(values), -1), bound.reshape(len(bound), -1)
    computed = limit > 0
    with np.errstate(invalid="ignore"):
        sharp = computed & (limit < GATE * np.maximum(np.abs(flat), GATE_FLOOR))
    count = computed.sum(axis=1)
    return np.where(count > 0, sharp.sum(axis=1) / np.maximum(count, 1), 1.0)
