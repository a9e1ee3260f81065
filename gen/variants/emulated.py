"""The GRU in narrower arithmetic, emulated in numpy: what real kernels round, and where.

Each is an arithmetic for `gen.gru`, which holds the equations; here is only what rounds how, and
the variants that do. An `Emulated` with the defaults is the GRU in numpy float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from ..stacks import Float64
from .variant import Variant

BFLOAT16: Any = ml_dtypes.bfloat16
Rounding = Callable[[Array], Array]


def exactly(values: Array) -> Array:
    """Round nothing."""
    return values


def to_float16(values: Array) -> Array:
    """Round to float16; keep the type."""
    return values.astype(np.float16).astype(values.dtype)


def to_bfloat16(values: Array) -> Array:
    """Round float32 numbers to bfloat16."""
    return values.astype(BFLOAT16).astype(values.dtype)


def cut_to_bfloat16(values: Array) -> Array:
    """Cut float32 numbers off to bfloat16."""
    return _masked(values, 16)


def cut_to_tf32(values: Array) -> Array:
    """Cut float32 numbers off to TF32's 10 bits after the point."""
    return _masked(values, 13)


def to_tf32(values: Array) -> Array:
    """Round float32 numbers to TF32, halves away from zero."""
    bits = values.view(np.uint32) + np.uint32(1 << 12)
    return _masked(bits.view(np.float32), 13)


def to_tf32_even(values: Array) -> Array:
    """Round float32 numbers to TF32, halves to even: float16 in a wider range."""
    bits = values.view(np.uint32)
    return _masked((bits + np.uint32(0xFFF) + ((bits >> 13) & 1)).view(np.float32), 13)


def _masked(values: Array, bits: int) -> Array:
    mask = np.uint32((0xFFFFFFFF << bits) & 0xFFFFFFFF)
    return (np.ascontiguousarray(values).view(np.uint32) & mask).view(np.float32)


def _of_float32(rounding: Rounding, values: Array) -> Array:
    """Round numbers of any type as float32 numbers."""
    return np.asarray(rounding(values.astype(np.float32)).astype(np.float64))


TYPES: dict[str, tuple[str, Rounding]] = {
    "float16": ("rounded to float16", partial(_of_float32, to_float16)),
    "bfloat16": ("rounded to bfloat16", partial(_of_float32, to_bfloat16)),
    "bfloat16-cut": ("cut off to bfloat16", partial(_of_float32, cut_to_bfloat16)),
    "tf32": ("rounded to TF32", partial(_of_float32, to_tf32)),
    "tf32-cut": ("cut off to TF32", partial(_of_float32, cut_to_tf32)),
}
"""The narrower types, by name: in words, and what becomes of numbers."""


def in_float16(x: Array, weight: Array) -> Array:
    """Products in float32, accumulated in float16."""
    total = (x[..., :1] * weight[..., :1, :]).astype(np.float16)
    for k in range(1, x.shape[-1]):
        total = (total + x[..., k : k + 1] * weight[..., k : k + 1, :]).astype(np.float16)
    return np.asarray(total.astype(x.dtype))


@dataclass
class Emulated(Float64):
    """An arithmetic that rounds to narrower types.

    `compute` is the type of every operation, `multiply` that of products of matrices, `operand` what their
    operands go through, and `kept` what the state goes through at every step.
    """

    compute: Any = np.float32
    multiply: Callable[[Array, Array], Array] = np.matmul
    operand: Rounding = exactly
    kept: Rounding = exactly

    def numbers(self, array: Array) -> Array:
        """Convert the array to the type of every operation."""
        return array.astype(self.compute)

    def weight(self, matrix: Array) -> Array:
        """Transpose the last two axes of what went through `operand`."""
        return self.operand(matrix.astype(self.compute)).swapaxes(-1, -2)

    def product(self, x: Array, weight: Array) -> Array:
        """x·matrixᵀ."""
        return self.multiply(self.operand(x), weight)

    def activation(self, function: Any, a: Array, clip: Any) -> Array:
        """Apply the activation to `a`, clipped first, by stacked case."""
        return super().activation(function, a, clip.astype(self.compute))

    def _of(self, one: Activation, a: Array) -> Array:
        kind = a.dtype.type
        return np.asarray(FUNCTIONS[one.name].value(self, a, kind(one.alpha), kind(one.beta)))

    def sigmoid(self, v: Array) -> Array:
        """1/(1 + e^-v), as most kernels write it."""
        return np.asarray(1 / (1 + np.exp(-v)))

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """(1 - z)·t + z·h, gone through `kept`."""
        return self.kept(super().blend(z, t, h))


def _losing(
    name: str, about: str, arithmetic: Emulated, than: tuple[str, ...] = ("float64", "float32")
) -> Variant:
    """Make the variant that computes in an arithmetic, which is worse `than` some required classes."""
    return Variant(name, about, kind="precision", worse_than=than, arithmetic=arithmetic)


PRECISION_VARIANTS = (
    _losing("float32-arithmetic", "computed in float32", Emulated(), ("float64",)),
    _losing("float16-accumulation", "products accumulated in float16", Emulated(multiply=in_float16)),
    _losing("tf32-products", "the operands of products cut to TF32", Emulated(operand=cut_to_tf32)),
    _losing("bfloat16-products", "the operands of products rounded to bfloat16", Emulated(operand=to_bfloat16)),
    _losing("float16-state", "the state rounded to float16 at every step", Emulated(kept=to_float16)),
    _losing("bfloat16-state", "the state rounded to bfloat16 at every step", Emulated(kept=to_bfloat16)),
)  # fmt: skip
"""All operations in a narrower type, the operands of products, or the state."""
UNLISTED_PRECISION = (
    _losing("operands-rounded-to-tf32", "the operands of products rounded to TF32", Emulated(operand=to_tf32)),
    _losing("operands-rounded-to-tf32-even", "the operands of products rounded to TF32, halves to even", Emulated(operand=to_tf32_even)),
    _losing("operands-cut-to-bfloat16", "the operands of products cut to bfloat16", Emulated(operand=cut_to_bfloat16)),
    _losing("operands-rounded-to-float16", "the operands of products rounded to float16", Emulated(operand=to_float16)),
)  # fmt: skip
"""The same, in no catalogue."""
