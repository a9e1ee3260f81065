"""The GRU in narrower arithmetic, emulated in numpy: what real kernels round, and where.

Each is an arithmetic for `gen.gru`, which holds the equations; here is only what rounds how. An
`Emulated` with the defaults is the GRU in numpy float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.activations import FUNCTIONS, Activation
from ...vectors.block import Block
from ..gru import gru
from ..stacks import rows_by_function, stacks

BFLOAT16: Any = ml_dtypes.bfloat16
Rounding = Callable[[Array], Array]


def exactly(values: Array) -> Array:
    """No rounding."""
    return values


def to_float16(values: Array) -> Array:
    """Rounded to float16, in the type it had."""
    return values.astype(np.float16).astype(values.dtype)


def to_bfloat16(values: Array) -> Array:
    """float32 numbers rounded to bfloat16."""
    return values.astype(BFLOAT16).astype(values.dtype)


def cut_to_bfloat16(values: Array) -> Array:
    """float32 numbers truncated to bfloat16."""
    return _masked(values, 16)


def cut_to_tf32(values: Array) -> Array:
    """float32 numbers truncated to TF32's 10 bits after the point."""
    return _masked(values, 13)


def to_tf32(values: Array) -> Array:
    """float32 numbers rounded to TF32, halves away from zero."""
    bits = values.view(np.uint32) + np.uint32(1 << 12)
    return _masked(bits.view(np.float32), 13)


def _masked(values: Array, bits: int) -> Array:
    mask = np.uint32((0xFFFFFFFF << bits) & 0xFFFFFFFF)
    return (np.ascontiguousarray(values).view(np.uint32) & mask).view(np.float32)


def _of_float32(rounding: Rounding, values: Array) -> Array:
    """A rounding of float32 numbers, of numbers of any type."""
    return np.asarray(rounding(values.astype(np.float32)).astype(np.float64))


TYPES: dict[str, tuple[str, Rounding]] = {
    "float16": ("rounded to float16", partial(_of_float32, to_float16)),
    "bfloat16": ("rounded to bfloat16", partial(_of_float32, to_bfloat16)),
    "bfloat16-cut": ("cut off to bfloat16", partial(_of_float32, cut_to_bfloat16)),
    "tf32": ("rounded to TF32", partial(_of_float32, to_tf32)),
    "tf32-cut": ("cut off to TF32", partial(_of_float32, cut_to_tf32)),
}
"""The narrower types, by name: in words, and what becomes of numbers."""


def blas(x: Array, weight: Array) -> Array:
    """The order of summation of numpy's BLAS."""
    return np.asarray(x @ weight)


def one_by_one(x: Array, weight: Array) -> Array:
    """Term after term, each product and each sum rounded."""
    total = x[..., :, :1] * weight[..., :1, :]
    for k in range(1, x.shape[-1]):
        total = total + x[..., :, k : k + 1] * weight[..., k : k + 1, :]
    return np.asarray(total)


def in_halves(x: Array, weight: Array) -> Array:
    """Pairwise: the sums of two halves, added."""
    n = x.shape[-1]
    if n == 1:
        return np.asarray(x * weight)
    half = n // 2
    return in_halves(x[..., :half], weight[..., :half, :]) + in_halves(
        x[..., half:], weight[..., half:, :]
    )


def fused(x: Array, weight: Array) -> Array:
    """Term after term with fused multiply-add: float32 products are exact in float64."""
    total = np.zeros(np.broadcast_shapes(x[..., :1].shape, weight[..., :1, :].shape), x.dtype)
    for k in range(x.shape[-1] - 1, -1, -1):
        product = x[..., k : k + 1].astype(np.float64) * weight[..., k : k + 1, :]
        total = (total + product).astype(x.dtype)
    return total


def in_float16(x: Array, weight: Array) -> Array:
    """Products in float32, accumulated in float16."""
    total = (x[..., :1] * weight[..., :1, :]).astype(np.float16)
    for k in range(1, x.shape[-1]):
        total = (total + x[..., k : k + 1] * weight[..., k : k + 1, :]).astype(np.float16)
    return np.asarray(total.astype(x.dtype))


def wide(x: Array, weight: Array) -> Array:
    """Operands of a narrow type, accumulated in float32, the sum stored in that type."""
    return (x.astype(np.float32) @ weight.astype(np.float32)).astype(x.dtype)


SIGMOIDS: dict[str, Callable[[Array], Array]] = {
    "1/(1+exp(-a))": lambda a: 1 / (1 + np.exp(-a)),
    "tanh(a/2)/2+1/2": lambda a: (
        a.dtype.type(0.5) * np.tanh(a.dtype.type(0.5) * a) + a.dtype.type(0.5)
    ),
    "exp(a)/(1+exp(a))": lambda a: np.where(
        a < 0, np.exp(np.minimum(a, 0)) / (1 + np.exp(np.minimum(a, 0))), 1 / (1 + np.exp(-a))
    ).astype(a.dtype),
}
BLENDS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "(1-z)t+zh": lambda z, t, h: (1 - z) * t + z * h,
    "t+z(h-t)": lambda z, t, h: t + z * (h - t),
    "h+(1-z)(t-h)": lambda z, t, h: h + (1 - z) * (t - h),
}


@dataclass
class Emulated:
    """What rounds how. `compute`: the type of every operation; `multiply`: of products of matrices;
    `operand`: what their operands go through; `kept`: what the state goes through at every step."""

    compute: Any = np.float32
    multiply: Callable[[Array, Array], Array] = blas
    operand: Rounding = exactly
    functions: Any = None
    kept: Rounding = exactly
    sigmoid_form: str = "1/(1+exp(-a))"
    blended: str = "(1-z)t+zh"
    tanh_error: float = 0.0
    sigmoid_error: float = 0.0
    zero: Any = field(init=False)

    def __post_init__(self) -> None:
        self.zero = self.compute(0)

    def numbers(self, array: Array) -> Array:
        """The array in the type of every operation."""
        return array.astype(self.compute)

    def bias(self, array: Array) -> Array:
        """As any numbers."""
        return self.numbers(array)

    def weight(self, matrix: Array) -> Array:
        """The transpose of the last two axes, gone through `operand`."""
        return self.operand(matrix.astype(self.compute)).swapaxes(-1, -2)

    def product(self, x: Array, weight: Array) -> Array:
        """x·matrixᵀ."""
        return self.multiply(self.operand(x), weight)

    def activation(self, functions: Any, a: Array, clip: Array) -> Array:
        """The activation of `a`, clipped first, by stacked case."""
        limit = clip.astype(self.compute)
        a = np.minimum(np.maximum(a, -limit), limit)
        result = np.empty_like(a)
        for one, cases in rows_by_function(functions).items():
            result[cases] = self._of(one, a[cases])
        return result

    def _of(self, one: Activation, a: Array) -> Array:
        if one.name == "relu":
            return np.asarray(np.maximum(a, self.zero))
        wanted = a.astype(self.functions or self.compute)
        kind = wanted.dtype.type
        value = FUNCTIONS[one.name].value(self, wanted, kind(one.alpha), kind(one.beta))
        return np.asarray(value.astype(self.compute))

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """The blend in the form asked for, gone through `kept`."""
        return self.kept(BLENDS[self.blended](z, t, h))

    # The functions as cases.operators.activations writes them, in the type of v.

    def affine(self, v: Array, a: Any, b: float) -> Array:
        """a·v + b."""
        return np.asarray(a * v + v.dtype.type(b))

    def at_least(self, v: Array, low: float) -> Array:
        """max(v, low)."""
        return np.asarray(np.maximum(v, v.dtype.type(low)))

    def at_most(self, v: Array, high: float) -> Array:
        """min(v, high)."""
        return np.asarray(np.minimum(v, v.dtype.type(high)))

    def above(self, v: Array, a: Any) -> Array:
        """v where v > a, else 0."""
        return np.where(v > a, v, v.dtype.type(0))

    def sigmoid(self, v: Array) -> Array:
        """The sigmoid in the form asked for, off by `sigmoid_error`."""
        return self._off(SIGMOIDS[self.sigmoid_form](v), v, self.sigmoid_error)

    def tanh(self, v: Array) -> Array:
        """The hyperbolic tangent, off by `tanh_error`."""
        return self._off(np.tanh(v), v, self.tanh_error)

    def _off(self, value: Array, v: Array, error: float) -> Array:
        return value + v.dtype.type(error) * np.sin(17 * v) if error else value

    def expm1(self, v: Array) -> Array:
        """e^v - 1, with that difference."""
        return np.asarray(np.exp(v) - 1)

    def softplus(self, v: Array) -> Array:
        """log(1 + e^v), where e^v does not overflow."""
        return np.asarray(np.maximum(v, 0 * v) + np.log(1 + np.exp(-np.abs(v))))

    def softsign(self, v: Array) -> Array:
        """v/(1 + |v|)."""
        return np.asarray(v / (1 + np.abs(v)))


def emulate(arithmetic: Any, block: Block) -> Arrays:
    """The outputs of all cases of a block, computed in `arithmetic` and rounded to its dtype."""
    outputs = {name: np.zeros_like(array) for name, array in block.answer.outputs.items()}
    for one in stacks(OPERATORS[block.operator], block.given, block.inputs):
        with np.errstate(all="ignore"):
            y, ho = gru(arithmetic, one.semantics, one.inputs)
            for name, array in one.handed_out({"y": y, "ho": ho}, block.absent).items():
                outputs[name][one.rows] = array.astype(outputs[name].dtype)
    return outputs
