"""The number types of cases, by their names in the vectors, and arrays of these types.

`float16`, `float32` and `float64` are IEEE 754 binary16, binary32 and binary64; `bfloat16` is the
upper half of a binary32 (8 significand bits, binary32's exponents), an `ml_dtypes` array in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np  # before ml_dtypes, which prints a traceback if it cannot import numpy
import numpy.typing as npt

# isort: split
import ml_dtypes

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class FloatType:
    """A binary floating-point type.

    `precision` counts significand bits with the implicit one; a finite value is n·2^e with
    |n| < 2^precision and e ≥ `least_exponent`, and is at most `largest` in magnitude.
    """

    name: str
    precision: int
    least_exponent: int
    largest: float
    numpy: np.dtype[Any]

    def nearest(self, x: Array) -> Array:
        """Round float64 numbers once to this narrower type, ties to even, and return them as float64."""
        _, exponent = np.frexp(x)
        exponent = np.maximum(exponent - self.precision, self.least_exponent)
        rounded = np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)
        return np.where(np.abs(rounded) > self.largest, np.copysign(np.inf, x), rounded)

    def spacing(self, values: Array) -> Array:
        """Compute one unit in the last place at each finite value: the distance between neighbours."""
        _, exponent = np.frexp(values)
        exponent = np.where(values == 0, self.least_exponent, exponent - self.precision)
        return np.ldexp(1.0, np.maximum(exponent, self.least_exponent))


FLOAT_TYPES: dict[str, FloatType] = {
    t.name: t
    for t in (
        FloatType("float16", 11, -24, 65504.0, np.dtype(np.float16)),
        FloatType("bfloat16", 8, -133, float.fromhex("0x1.fep127"), np.dtype(ml_dtypes.bfloat16)),
        FloatType("float32", 24, -149, float.fromhex("0x1.fffffep127"), np.dtype(np.float32)),
        FloatType(
            "float64", 53, -1074, float.fromhex("0x1.fffffffffffffp1023"), np.dtype(np.float64)
        ),
    )
}
INTEGER_TYPES: dict[str, np.dtype[Any]] = {"int32": np.dtype(np.int32), "int64": np.dtype(np.int64)}

NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    **{name: t.numpy for name, t in FLOAT_TYPES.items()},
    **INTEGER_TYPES,
    "bool": np.dtype(np.bool_),
}
"""The numpy dtype of every type of a tensor: floating-point numbers, integers, and masks."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Get the numpy dtype called `name`, a key of NUMPY_TYPES."""
    return NUMPY_TYPES[name]


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Name a numpy dtype: `float16` … `int64`; any other dtype by numpy's own name."""
    return "bfloat16" if dtype == FLOAT_TYPES["bfloat16"].numpy else str(dtype.name)
