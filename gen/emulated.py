"""The GRU in narrower arithmetic, emulated in numpy: what real kernels round, and where.

Each is an arithmetic for `gen.gru`, which holds the equations; here is only what rounds how. An
`Emulated` with the defaults is the GRU in numpy float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..cases.activations import Activation
from ..cases.operators import OPERATORS
from ..cases.semantics import stack
from ..vectors.case import Block
from ..vectors.convert import gru_inputs, operator_outputs
from .float64 import rows_by_function
from .gru import gru

Array = npt.NDArray[Any]
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


def blas(x: Array, factor: Array) -> Array:
    """The order of summation of numpy's BLAS."""
    return np.asarray(x @ factor)


def one_by_one(x: Array, factor: Array) -> Array:
    """Term after term, each product and each sum rounded."""
    total = x[..., :, :1] * factor[..., :1, :]
    for k in range(1, x.shape[-1]):
        total = total + x[..., :, k : k + 1] * factor[..., k : k + 1, :]
    return np.asarray(total)


def in_halves(x: Array, factor: Array) -> Array:
    """Pairwise: the sums of two halves, added."""
    n = x.shape[-1]
    if n == 1:
        return np.asarray(x * factor)
    half = n // 2
    return in_halves(x[..., :half], factor[..., :half, :]) + in_halves(
        x[..., half:], factor[..., half:, :]
    )


def fused(x: Array, factor: Array) -> Array:
    """Term after term with fused multiply-add: float32 products are exact in float64."""
    total = np.zeros(np.broadcast_shapes(x[..., :1].shape, factor[..., :1, :].shape), x.dtype)
    for k in range(x.shape[-1] - 1, -1, -1):
        product = x[..., k : k + 1].astype(np.float64) * factor[..., k : k + 1, :]
        total = (total + product).astype(x.dtype)
    return total


def in_float16(x: Array, factor: Array) -> Array:
    """Products in float32, accumulated in float16."""
    total = (x[..., :1] * factor[..., :1, :]).astype(np.float16)
    for k in range(1, x.shape[-1]):
        total = (total + x[..., k : k + 1] * factor[..., k : k + 1, :]).astype(np.float16)
    return np.asarray(total.astype(x.dtype))


def wide(x: Array, factor: Array) -> Array:
    """Factors of a narrow type, accumulated in float32, the sum stored in that type."""
    return (x.astype(np.float32) @ factor.astype(np.float32)).astype(x.dtype)


SIGMOIDS: dict[str, Callable[[Array], Array]] = {
    "1/(1+exp(-a))": lambda a: 1 / (1 + np.exp(-a)),
    "tanh(a/2)/2+1/2": lambda a: (
        a.dtype.type(0.5) * np.tanh(a.dtype.type(0.5) * a) + a.dtype.type(0.5)
    ),
    "exp(a)/(1+exp(a))": lambda a: np.where(
        a < 0, np.exp(np.minimum(a, 0)) / (1 + np.exp(np.minimum(a, 0))), 1 / (1 + np.exp(-a))
    ).astype(a.dtype),
}
TEXTBOOK: dict[str, Callable[[Array, Any, Any], Array]] = {
    "affine": lambda v, a, b: a * v + b,
    "leaky-relu": lambda v, a, _: np.where(v >= 0, v, a * v),
    "thresholded-relu": lambda v, a, _: np.where(v > a, v, 0 * v),
    "scaled-tanh": lambda v, a, b: a * np.tanh(b * v),
    "hard-sigmoid": lambda v, a, b: np.minimum(np.maximum(a * v + b, 0 * v), 0 * v + 1),
    "elu": lambda v, a, _: np.where(v >= 0, v, a * (np.exp(np.minimum(v, 0 * v)) - 1)),
    "softsign": lambda v, *_: v / (1 + np.abs(v)),
    # as log(1 + e^v), but e^v does not overflow
    "softplus": lambda v, *_: np.maximum(v, 0 * v) + np.log(1 + np.exp(-np.abs(v))),
}
"""The other functions as cases.activations writes them: of v, alpha and beta, in the type of v."""
BLENDS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "(1-z)t+zh": lambda z, t, h: (1 - z) * t + z * h,
    "t+z(h-t)": lambda z, t, h: t + z * (h - t),
    "h+(1-z)(t-h)": lambda z, t, h: h + (1 - z) * (t - h),
}


@dataclass
class Emulated:
    """What rounds how. `compute`: the type of every operation; `multiply`: of products of matrices;
    `operand`: what their factors go through; `kept`: what the state goes through at every step."""

    compute: Any = np.float32
    multiply: Callable[[Array, Array], Array] = blas
    operand: Rounding = exactly
    functions: Any = None
    kept: Rounding = exactly
    sigmoid: str = "1/(1+exp(-a))"
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

    def factor(self, matrix: Array) -> Array:
        """The transpose of the last two axes, gone through `operand`."""
        return self.operand(matrix.astype(self.compute)).swapaxes(-1, -2)

    def product(self, x: Array, factor: Array) -> Array:
        """x·matrixᵀ."""
        return self.multiply(self.operand(x), factor)

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
        if one.name in ("sigmoid", "tanh"):
            exact = np.tanh(wanted) if one.name == "tanh" else SIGMOIDS[self.sigmoid](wanted)
            error = self.tanh_error if one.name == "tanh" else self.sigmoid_error
            if error:
                exact = exact + kind(error) * np.sin(17 * wanted)
        else:
            exact = TEXTBOOK[one.name](wanted, kind(one.alpha), kind(one.beta))
        result: Array = exact.astype(self.compute)
        return result

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """The blend in the form asked for, gone through `kept`."""
        return self.kept(BLENDS[self.blended](z, t, h))


def run(arithmetic: Any, block: Block) -> dict[str, Array]:
    """The outputs of all cases of a block, computed in `arithmetic` and rounded to its dtype."""
    operator = OPERATORS[block.operator]
    members = [case.semantics for case in block.cases()]
    outputs = {name: np.zeros_like(array) for name, array in block.outputs.items()}
    for after in (False, True):
        rows = np.flatnonzero([meant.reset_after is after for meant in members])
        if not rows.size:
            continue
        part = block.rows(rows)
        attributes = operator.with_defaults(part.given[0])
        inputs = gru_inputs(operator, attributes, part.inputs)
        with np.errstate(all="ignore"):
            y, ho = gru(arithmetic, stack([members[i] for i in rows]), inputs)
            found = operator_outputs(operator, attributes, {"y": y, "ho": ho}, block.absent)
            for name, array in found.items():
                outputs[name][rows] = array.astype(outputs[name].dtype)
    return outputs
