"""The numbers of several classes of arithmetic at once, and what follows from them alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from .classes import ArithmeticClass
from .function_error import function_error, underflow_growth


class Units:
    """The numbers of each class, as columns: (classes, 1)."""

    def __init__(self, classes: Sequence[ArithmeticClass]) -> None:
        def each(field: str) -> Array:
            return np.array([[getattr(c, field)] for c in classes])

        self.classes = classes
        self.unit, self.tiny, self.stored = each("unit"), each("tiny"), each("stored")
        self.state, self.operand, self.kept = each("state"), each("operands"), each("elementwise")
        self.state_tiny, self.operand_tiny = each("state_tiny"), each("operand_tiny")
        self.element = np.maximum(self.kept, self.unit)
        self.underflows, self.stores = bool(self.operand_tiny.any()), bool(self.stored.any())
        self._functions: dict[Activation, Array] = {}
        self._sums: dict[int, tuple[Array, Array, Array]] = {}

    def function(self, one: Activation) -> Array:
        """(3, classes, 1) relative, absolute and growing error of a computed function."""
        if one not in self._functions:
            errors = np.array([function_error(one, c) for c in self.classes]).T[..., None]
            errors = errors * self.unit
            errors[2] += underflow_growth(one) * self.tiny
            self._functions[one] = errors
        return self._functions[one]

    def gamma(self, n: int) -> Array:
        """γ_n, the relative error of n roundings; infinite where n·unit ≥ ½."""
        used = n * self.unit
        return np.asarray(np.where(used < 0.5, used / (1.0 - used), np.inf))

    def sums(self, n: int) -> tuple[Array, Array, Array]:
        """The error of a sum of n products and biases, in any order, whose operands are cut before:
        relative to the sum of the absolute values of the products, relative to that of the biases,
        and absolute. What operands lose where they underflow comes to it."""
        if n not in self._sums:
            gamma, cut = self.gamma(n), 2.0 * self.operand + self.operand**2
            absolute = n * (self.tiny + self.operand_tiny**2)
            self._sums[n] = gamma + cut, gamma + self.operand, absolute
        return self._sums[n]
