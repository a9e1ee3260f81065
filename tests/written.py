"""Other right ways to compute a GRU: orders of sums, forms of functions and of the blend, narrow storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grucible.cases.dtypes import Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import FUNCTIONS, Activation
from grucible.gen.gru import gru
from grucible.gen.stacks import stacks
from grucible.gen.variants.emulated import Emulated
from grucible.vectors.block import Block


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
class Written(Emulated):
    """An emulation in textbook forms. `functions`: the type that activations are computed in."""

    functions: Any = None
    sigmoid_form: str = "1/(1+exp(-a))"
    blended: str = "(1-z)t+zh"
    tanh_error: float = 0.0
    sigmoid_error: float = 0.0

    def __post_init__(self) -> None:
        self.zero = self.compute(0)

    def _of(self, one: Activation, a: Array) -> Array:
        wanted = a.astype(self.functions or self.compute)
        kind = wanted.dtype.type
        value = FUNCTIONS[one.name].value(self, wanted, kind(one.alpha), kind(one.beta))
        return np.asarray(value.astype(self.compute))

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        return self.kept(BLENDS[self.blended](z, t, h))

    def sigmoid(self, v: Array) -> Array:
        return self._off(SIGMOIDS[self.sigmoid_form](v), v, self.sigmoid_error)

    def tanh(self, v: Array) -> Array:
        return self._off(np.tanh(v), v, self.tanh_error)

    def _off(self, value: Array, v: Array, error: float) -> Array:
        return value + v.dtype.type(error) * np.sin(17 * v) if error else value

    def expm1(self, v: Array) -> Array:
        return np.asarray(np.exp(v) - 1)

    def softplus(self, v: Array) -> Array:
        return np.asarray(np.maximum(v, 0 * v) + np.log(1 + np.exp(-np.abs(v))))


def emulate(arithmetic: Any, block: Block) -> Arrays:
    """The outputs of all cases of a block, computed in `arithmetic` and rounded to its dtype."""
    outputs = {name: np.zeros_like(array) for name, array in block.answer.outputs.items()}
    for one in stacks(OPERATORS[block.operator], block.given, block.inputs):
        with np.errstate(all="ignore"):
            y, ho = gru(arithmetic, one.semantics, one.inputs)
            for name, array in one.handed_out({"y": y, "ho": ho}, block.absent).items():
                outputs[name][one.rows] = array.astype(outputs[name].dtype)
    return outputs
