"""What is remarkable in the values of an answer. Whether they are right is not asked here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...cases.dtypes import Array
from .step import Cause

_FAR = 1e6
"""Values so many times as large as any that is expected are no result of a GRU's arithmetic."""
_SWAPPED = "numbers are little-endian: the least significant byte first"
_NEAR = 1e-2
"""So near to the expected values, relatively, are only they."""


def byte_order(seen: Mapping[str, Array], expected: Mapping[str, Array]) -> Cause | None:
    """The cause where the expected values came with the bytes of each in the other order."""
    for name, array in seen.items():
        swapped, wanted = _float64(array.byteswap()), _float64(expected[name])
        if wanted.any() and not _near(_float64(array), wanted) and _near(swapped, wanted):
            return Cause(f"{name} has the bytes of each number in the wrong order", _SWAPPED)
    return None


def remarkable(seen: Mapping[str, Array], expected: Mapping[str, Array]) -> Cause | None:
    """What is to be looked at in the values, if anything: not finite, far too large, all zeros."""
    for name, array in seen.items():
        values, wanted = _float64(array), _float64(expected[name])
        if not np.isfinite(wanted).all() or not wanted.any():
            continue
        if count := int((~np.isfinite(values)).sum()):
            return Cause(
                f"{count} of {values.size} values of {name} are NaN or infinite",
                "is all memory initialised, and are the inputs read with their dtype and order?",
            )
        if np.abs(values).max() > _FAR * np.abs(wanted).max():
            return Cause(
                f"{name} has values as large as {np.abs(values).max():.1e}; expected are none above "
                f"{np.abs(wanted).max():.1g}",
                f"are the inputs read with their dtype, and from the right byte on? {_SWAPPED}",
            )
        if not values.any():
            return Cause(f"all values of {name} are zero", "is the result copied into the answer?")
    return None


def _float64(array: Array) -> Array:
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def _near(seen: Array, expected: Array) -> bool:
    return bool(np.allclose(seen, expected, rtol=_NEAR, atol=0))
