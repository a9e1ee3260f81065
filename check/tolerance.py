"""What difference is admitted: relative and absolute tolerances, or units in the last place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, FloatType
from ..cases.errors import GrucibleError
from ..vectors.case import Array


@dataclass(frozen=True)
class Tolerance:
    """|observed - expected| ≤ absolute + relative·|expected| + ulps·(spacing at expected)."""

    relative: float = 0.0
    absolute: float = 0.0
    ulps: float = 0.0

    def admitted(self, expected: Array, dtype: FloatType) -> Array:
        """The admitted difference of each element, in float64; `expected` is in float64."""
        special = ~np.isfinite(expected)
        finite = np.where(special, 0.0, expected) if special.any() else expected
        limit = np.abs(finite)
        limit *= self.relative
        limit += self.absolute
        if self.ulps:
            limit += self.ulps * spacing(finite, dtype)
        return limit

    def __str__(self) -> str:
        if self.ulps:
            return f"{self.ulps:g} ulp"
        return f"rtol {self.relative:g}, atol {self.absolute:g}"

    def as_json(self) -> dict[str, Any]:
        """The tolerance as the report gives it."""
        return {"ulp": self.ulps} if self.ulps else {"rtol": self.relative, "atol": self.absolute}


DEFAULTS: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-10, 1e-12),
    "float32": Tolerance(1e-4, 1e-5),
    "float16": Tolerance(2e-3, 2e-3),
    "bfloat16": Tolerance(3e-2, 3e-2),
}


def chosen_tolerances(
    rtol: float | None, atol: float | None, ulp: float | None
) -> dict[str, Tolerance]:
    """The tolerance of each dtype: what the user gave, for all dtypes, or the defaults.

    Of `rtol` and `atol` one alone leaves the other zero; `ulp` goes with neither. Raises
    GrucibleError for a negative or non-finite number.
    """
    given = {"--rtol": rtol, "--atol": atol, "--ulp": ulp}
    for option, value in given.items():
        if value is not None and not 0 <= value < np.inf:
            raise GrucibleError(f"{option} is {value}; expected a finite number, not negative")
    if ulp is not None:
        if rtol is not None or atol is not None:
            raise GrucibleError("--ulp goes with neither --rtol nor --atol; give one or the other")
        return dict.fromkeys(FLOAT_TYPES, Tolerance(ulps=ulp))
    if rtol is None and atol is None:
        return dict(DEFAULTS)
    return dict.fromkeys(FLOAT_TYPES, Tolerance(rtol or 0.0, atol or 0.0))


def spacing(values: Array, dtype: FloatType) -> Array:
    """The distance between neighbours of `dtype` at each finite value: one unit in the last place."""
    _, exponent = np.frexp(values)
    exponent = np.where(values == 0, dtype.least_exponent, exponent - dtype.precision)
    return np.ldexp(1.0, np.maximum(exponent, dtype.least_exponent))
