"""Other right ways to compute a GRU: orders of sums, forms of functions and of the blend, narrow storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import Any

import numpy as np
from sums import WIDER, flush

from grucible.cases.dtypes import Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import FUNCTIONS, Activation
from grucible.gen.gru import gru
from grucible.gen.stacks import stacks
from grucible.gen.variants.emulated import Emulated
from grucible.vectors.block import Block


def _exp2(v: Array) -> Array:
    return np.exp2(v * v.dtype.type(np.log2(np.e)))


def _small(v: Array, near: Array, far: Callable[[Array], Array]) -> Array:
    """`near` below 0.625 and an odd function of `far` beyond, as Cephes has it."""
    return np.where(np.abs(v) < 0.625, near, np.copysign(far(np.abs(v)), v)).astype(v.dtype)


def _horner(v: Array, *coefficients: float) -> Array:
    total = v * 0 + v.dtype.type(coefficients[0])
    for one in coefficients[1:]:
        total = total * v + v.dtype.type(one)
    return np.asarray(total)


def _rational_sigmoid(a: Array) -> Array:
    """Eigen's and MLAS's: a ratio of polynomials within ±18."""
    a = np.clip(a, -18, 18)
    p = _horner(a * a, 4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05,
                8.51377133304701e-03, 2.48287947061529e-01)  # fmt: skip
    q = _horner(a * a, 6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06,
                1.70198817374094e-03, 1.16817656904453e-01, 9.93151921023180e-01)  # fmt: skip
    return np.clip(a * p / q + a.dtype.type(0.5), 0, 1)


def _rational_tanh(v: Array) -> Array:
    """Eigen's: a ratio of polynomials within ±9."""
    v = np.clip(v, -9, 9)
    p = _horner(v * v, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
                5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04,
                4.89352455891786e-03)  # fmt: skip
    q = _horner(v * v, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03,
                4.89352518554385e-03)  # fmt: skip
    return np.clip(v * p / q, -1, 1)


def _cephes_tanh(v: Array) -> Array:
    s = v * v
    p = _horner(s, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                -3.33332819422e-1)  # fmt: skip
    return _small(v, v + v * s * p, lambda a: 1 - 2 / (np.exp(a + a) + 1))


SIGMOIDS: dict[str, Callable[[Array], Array]] = {
    "1/(1+exp(-a))": lambda a: 1 / (1 + np.exp(-a)),
    "tanh(a/2)/2+1/2": lambda a: (
        a.dtype.type(0.5) * np.tanh(a.dtype.type(0.5) * a) + a.dtype.type(0.5)
    ),
    "exp(a)/(1+exp(a))": lambda a: np.where(
        a < 0, np.exp(np.minimum(a, 0)) / (1 + np.exp(np.minimum(a, 0))), 1 / (1 + np.exp(-a))
    ).astype(a.dtype),
    "1-1/(1+exp(a))": lambda a: 1 - 1 / (1 + np.exp(a)),
    "1/(1+exp2(-a log2 e))": lambda a: 1 / (1 + _exp2(-a)),
    "p(a)/q(a)+1/2": _rational_sigmoid,
}
TANHS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "expm1(2v)/(expm1(2v)+2)": lambda v: np.copysign(
        (e := np.expm1(-2 * np.abs(v))) / (e + 2), v
    ).astype(v.dtype),
    "sinh/cosh": lambda v: (
        np.sinh(w := np.clip(v, *((-20, 20) if v.itemsize > 2 else (-9, 9)))) / np.cosh(w)
    ),
    "p(v)/q(v)": _rational_tanh,
    "p(v), 1-2/(1+exp(2v))": _cephes_tanh,
}
BLENDS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "(1-z)t+zh": lambda z, t, h: (1 - z) * t + z * h,
    "t+z(h-t)": lambda z, t, h: t + z * (h - t),
    "h+(1-z)(t-h)": lambda z, t, h: h + (1 - z) * (t - h),
    "fma(z,h,fma(-z,t,t))": lambda z, t, h: _fma(z, h, _fma(-z, t, t)),
    "flushed": lambda z, t, h: flush(flush(flush(1 - z) * t) + flush(z * h)),
}


def _fma(a: Array, b: Array, c: Array) -> Array:
    kind = WIDER[c.dtype.name if c.dtype.name in WIDER else "float16"]
    return (a.astype(kind) * b.astype(kind) + c.astype(kind)).astype(c.dtype)


@dataclass
class OpenSum:
    """Products and biases that are not added up yet, and `others` that are arrays already."""

    products: list[tuple[Array, Array]] = field(default_factory=list)
    biases: list[Array] = field(default_factory=list)
    others: list[Array] = field(default_factory=list)
    close: Callable[[OpenSum], Array] = field(repr=False, kw_only=True)
    __array_ufunc__ = None

    def __add__(self, other: Any) -> OpenSum:
        one = other if isinstance(other, OpenSum) else OpenSum(others=[other], close=self.close)
        parts = (self.products + one.products, self.biases + one.biases, self.others + one.others)
        return OpenSum(*parts, close=self.close)

    def __rmul__(self, other: Array) -> Array:
        return np.asarray(other * self.close(self))

    def reshape(self, *shape: int) -> OpenSum:
        [(x, weight)] = self.products
        return OpenSum([(x.reshape(*shape[:-1], x.shape[-1]), weight)], close=self.close)

    def __getitem__(self, at: Any) -> OpenSum:
        [(x, weight)] = self.products
        return OpenSum([(x[at], weight)], close=self.close)


Gather = Callable[["Written", OpenSum], Array]


def in_parts(m: Written, s: OpenSum) -> Array:
    """(W x + W_b) + (R h + R_b), then what is left."""
    products = [m.multiplied(*one) for one in s.products]
    pairs = zip_longest(products, s.biases)
    parts = [reduce(add, [one for one in pair if one is not None]) for pair in pairs]
    return np.asarray(reduce(add, parts + s.others))


def bias_by_bias(m: Written, s: OpenSum) -> Array:
    """((W x + R h) + W_b) + R_b."""
    return np.asarray(reduce(add, [*(m.multiplied(*p) for p in s.products), *s.others, *s.biases]))


def in_one(first: bool) -> Gather:
    """One product of [x, h] with [W, R] and the biases, as rows of it, `first` or last."""

    def gather(m: Written, s: OpenSum) -> Array:
        ones = [(np.ones_like(s.products[0][0][..., :1]), m.operand(b)) for b in s.biases]
        pairs = [*ones, *s.products] if first else [*s.products, *ones]
        x = np.concatenate([one for one, _ in pairs], axis=-1)
        weight = np.concatenate([one for _, one in pairs], axis=-2)
        return np.asarray(reduce(add, [m.multiplied(x, weight), *s.others]))

    return gather


def input_first(m: Written, s: OpenSum) -> Array:
    """((W x + W_b) + R_b) + R h, the first made for all steps beforehand."""
    first, *others = [m.multiplied(*one) for one in s.products]
    return np.asarray(reduce(add, [first, *s.biases, *others, *s.others]))


@dataclass
class Written(Emulated):
    """An emulation in textbook forms.

    `sums`: the type that products accumulate in; `functions`: that activations are computed in; `gather`
    adds up a pre-activation's products and biases; None is W x + R h + (W_b + R_b).
    """

    sums: Any = None
    functions: Any = None
    gather: Gather | None = None
    sigmoid_form: str = "1/(1+exp(-a))"
    tanh_form: str = "tanh"
    blended: str = "(1-z)t+zh"
    tanh_error: float = 0.0
    sigmoid_error: float = 0.0

    def __post_init__(self) -> None:
        self.zero = self.compute(0)

    def multiplied(self, x: Array, weight: Array) -> Array:
        kind = self.sums or self.compute
        return self.multiply(x.astype(kind), weight.astype(kind)).astype(self.compute)

    def _closed(self, value: Any) -> Array:
        if not isinstance(value, OpenSum):
            return np.asarray(value)
        assert self.gather
        return self.gather(self, value)

    def bias(self, array: Array) -> Any:
        numbers = self.numbers(array)
        return OpenSum(biases=[numbers], close=self._closed) if self.gather else numbers

    def product(self, x: Any, weight: Array) -> Any:
        x = self.operand(x)
        if self.gather:
            return OpenSum([(x, weight)], close=self._closed)
        return self.multiplied(x, weight)

    def activation(self, function: Any, a: Any, clip: Any) -> Array:
        return super().activation(function, self._closed(a), clip)

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
        return self._off(TANHS[self.tanh_form](v), v, self.tanh_error)

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
