"""Classes of arithmetic: what is rounded, and to what unit.

A new class needs a record and a place in CHAINS. Vector files hold every class, so all are then made again.

A class is a rounding model. An implementation belongs to it if each operation rounds at most as the
record says. The order of summation is free, as are fused multiply-add and three forms of the blend.
`gen/TOLERANCES.md` derives the bounds, and says which parts of them are rigorous and which are fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation

F64, F32, F16, BF16 = 2.0**-53, 2.0**-24, 2.0**-11, 2.0**-8
TF32 = 2.0**-11
TINY_F64, TINY_F32, TINY_F16 = 2.0**-1022, 2.0**-126, 2.0**-24
"""What underflow may lose: float64, float32 and bfloat16 may flush to zero, float16 may not."""


@dataclass(frozen=True)
class ArithmeticClass:
    """A rounding model: maximum relative errors of rounding; 0 means that nothing is rounded.

    unit: of sums and dot products in a step. elementwise: of gates, `*` and blend (0: `unit`).
    stored: of dot products and bias sums that are stored before they are added up. state: of the state
    between steps. operands: of the operands of dot products, and of biases. tiny, state_tiny and
    operand_tiny: the most that a result, a state and an operand lose by underflow. sigmoid, tanh:
    (relative, absolute) error of the computed function, in units of `unit`, for its argument as given.

    Nothing is assumed to overflow: the type that is rounded to must hold every intermediate.
    """

    name: str
    about: str
    unit: float = F32
    tiny: float = TINY_F32
    elementwise: float = 0.0
    stored: float = 0.0
    state: float = 0.0
    operands: float = 0.0
    state_tiny: float = 0.0
    operand_tiny: float = 0.0
    sigmoid: tuple[float, float] = (4.0, 6.0)
    tanh: tuple[float, float] = (12.0, 0.0)


FLOAT64 = ArithmeticClass("float64", "every operation rounds to float64", F64, TINY_F64)
FLOAT32 = ArithmeticClass(
    "float32", "every operation rounds to float32; a float16 or bfloat16 output is rounded once"
)
FLOAT16_STATE = ArithmeticClass(
    "float16-state", "float32 inside a step, the state rounded to float16 at every step",
    state=F16, state_tiny=TINY_F16,
)  # fmt: skip
BFLOAT16_STATE = ArithmeticClass(
    "bfloat16-state", "float32 inside a step, the state rounded to bfloat16 at every step",
    state=BF16, state_tiny=TINY_F32,
)  # fmt: skip
FLOAT16_GEMM = ArithmeticClass(
    "float16-gemm", "float32 accumulation, every intermediate stored in float16",
    tiny=TINY_F16, elementwise=F16, stored=F16, state=F16, state_tiny=TINY_F16,
)  # fmt: skip
BFLOAT16_GEMM = ArithmeticClass(
    "bfloat16-gemm", "float32 accumulation, every intermediate stored in bfloat16",
    elementwise=BF16, stored=BF16, state=BF16, state_tiny=TINY_F32,
)  # fmt: skip
FLOAT16 = ArithmeticClass(
    "float16", "every operation rounds to float16",
    F16, TINY_F16, state=F16, state_tiny=TINY_F16, sigmoid=(6.0, 2.0), tanh=(4.0, 0.0),
)  # fmt: skip
TF32_PRODUCTS = ArithmeticClass(
    "tf32", "the operands of products cut to TF32 (10 bits), float32 otherwise",
    operands=2 * TF32, operand_tiny=TINY_F32,
)  # fmt: skip
BFLOAT16_OPERANDS = ArithmeticClass(
    "bfloat16-operands", "the operands of products cut to bfloat16, float32 otherwise",
    operands=2 * BF16, operand_tiny=TINY_F32,
)  # fmt: skip


def narrowed(arithmetic: ArithmeticClass, unit: float, tiny: float) -> ArithmeticClass:
    """Derive the class for an arithmetic that is narrower than the vectors.

    Inputs, weights and h0 are first rounded to `unit`, and may lose `tiny`.
    """
    return replace(
        arithmetic,
        operands=max(unit, arithmetic.operands),
        operand_tiny=max(tiny, arithmetic.operand_tiny),
        state=max(unit, arithmetic.state),
        state_tiny=max(tiny, arithmetic.state_tiny),
    )


CHAINS: dict[str, tuple[tuple[ArithmeticClass, ...], ...]] = {
    "float64": ((FLOAT64, narrowed(FLOAT32, F32, TINY_F32)),),
    "float32": (
        (FLOAT32, narrowed(FLOAT16_STATE, F16, TINY_F16), narrowed(BFLOAT16_GEMM, BF16, TINY_F32)),
        (FLOAT32, TF32_PRODUCTS, BFLOAT16_OPERANDS),
    ),
    "float16": ((FLOAT32, FLOAT16_STATE, FLOAT16_GEMM, FLOAT16),),
    "bfloat16": ((FLOAT32, BFLOAT16_STATE, BFLOAT16_GEMM),),
}
"""Chains of classes, best first, by dtype of the vectors.

In a chain, no class has smaller tolerances than the class before it: a better runtime never fails it."""

CLASSES: dict[str, tuple[ArithmeticClass, ...]] = {
    dtype: tuple(dict.fromkeys(one for chain in chains for one in chain))
    for dtype, chains in CHAINS.items()
}
"""All classes of each dtype of the vectors, in the order of their chains."""


def function_error(function: Activation, one: ArithmeticClass) -> tuple[float, float, float]:
    """Bound the error of an activation computed from its given argument, in the class `one`.

    Returns (relative, absolute, growing) in units of `one.unit`. The error is at most
    relative·|f(v)| + absolute + growing·|v|.
    """
    return FUNCTIONS[function.name].rounding(abs(function.alpha), abs(function.beta), one)


def underflow_growth(function: Activation) -> float:
    """Weigh the loss from a parameter's underflow, for each unit of |v|."""
    return FUNCTIONS[function.name].underflow(abs(function.alpha), abs(function.beta))


def _mark(cases: Any) -> Array | bool:
    """Mark cases, (n, 1, 1, 1); with one word if they are all alike."""
    found: Array | bool = cases if cases.any() and not cases.all() else bool(cases.any())
    return found


class Units:
    """The numbers of each class, as columns (n, 1, classes, 1).

    `which` (n,) has the place of each case's classes among `several`; the last class is repeated where there
    are fewer than elsewhere. Without it, n is 1: all cases have the same classes.
    """

    def __init__(self, *several: Sequence[ArithmeticClass], which: Array | None = None) -> None:
        def each(field: str) -> Array:
            numbers = np.array([[getattr(c, field) for c in one] for one in self._several])
            return np.asarray(numbers[self._which][:, None, :, None])

        most = max(map(len, several))
        self._several = [[*one, *[one[-1]] * (most - len(one))] for one in several]
        self._which = np.zeros(1, int) if which is None else which
        self.unit, self.tiny, self.stored = each("unit"), each("tiny"), each("stored")
        self.state, self.operand, self.kept = each("state"), each("operands"), each("elementwise")
        self.state_tiny, self.operand_tiny = each("state_tiny"), each("operand_tiny")
        self.element = np.maximum(self.kept, self.unit)
        self.underflows, self.stores = (
            _mark(numbers.any(axis=2, keepdims=True))
            for numbers in (self.operand_tiny, self.stored)
        )
        self._functions: dict[tuple[int, Activation], Array] = {}
        self._sums: dict[int, tuple[Array, Array, Array]] = {}

    def functions(self, each: Sequence[Activation]) -> Array:
        """Bound relative, absolute and growing errors of n computed functions, (n, 3, 1, classes, 1)."""
        which = np.broadcast_to(self._which, len(each)).tolist()
        return np.array([self._function(*one) for one in zip(which, each, strict=True)])

    def _function(self, place: int, one: Activation) -> Array:
        if (place, one) not in self._functions:
            classes = self._several[place]
            errors = np.array([function_error(one, c) for c in classes]).T
            errors = errors * [c.unit for c in classes]
            errors[2] += [underflow_growth(one) * c.tiny for c in classes]
            self._functions[place, one] = errors[:, None, :, None]
        return self._functions[place, one]

    def gamma(self, n: int) -> Array:
        """Bound the relative error of n roundings (γ_n); infinite where n·unit ≥ ½."""
        used = n * self.unit
        return np.asarray(np.where(used < 0.5, used / (1.0 - used), np.inf))

    def sums(self, n: int) -> tuple[Array, Array, Array]:
        """Bound the error of a sum of n products and biases in any order, after their operands are cut.

        Three parts: relative to Σ|products|, relative to Σ|biases|, and absolute. The caller adds what
        operands lose by underflow.
        """
        if n not in self._sums:
            gamma, cut = self.gamma(n), 2.0 * self.operand + self.operand**2
            absolute = n * (self.tiny + self.operand_tiny**2)
            self._sums[n] = gamma + cut, gamma + self.operand, absolute
        return self._sums[n]


def units_of(dtypes: Array) -> Units:
    """Take the CLASSES of the dtype of each of n cases, by name."""
    names, which = np.unique(dtypes, return_inverse=True)
    return Units(*(CLASSES[str(one)] for one in names), which=which if len(names) > 1 else None)
