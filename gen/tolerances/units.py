"""The numbers of several classes of arithmetic at once, and what follows from them alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from .classes import Arithmetic
from .function_error import function_error, underflow_growth


class Units:
    """The numbers of each class, as arrays along the last axis."""

    def __init__(self, classes: Sequence[Arithmetic]) -> None:
        def each(field: str) -> Array:
            return np.array([getattr(c, field) for c in classes])

        self.unit, self.tiny, self.stored = each("unit"), each("tiny"), each("stored")
        self.state, self.operand, self.kept = each("state"), each("operands"), each("elementwise")
        self.state_tiny, self.operand_tiny = each("state_tiny"), each("operand_tiny")
        self.element = np.maximum(self.kept, self.unit)
        self.classes = classes
        self._functions: dict[Activation, Array] = {}

    def function(self, one: Activation) -> Array:
        """(3, classes) relative, absolute and growing error of a computed function."""
        if one not in self._functions:
            errors = np.array([function_error(one, c) for c in self.classes]).T * self.unit
            errors[2] += underflow_growth(one) * self.tiny
            self._functions[one] = errors
        return self._functions[one]

    def gamma(self, n: int) -> Array:
        """γ_n, the relative error of n roundings; infinite where n·unit ≥ ½."""
        used = n * self.unit
        return np.asarray(np.where(used < 0.5, used / (1.0 - used), np.inf))

    def dot(self, n: int, products: Array, factors: Array, b: Array) -> Array:
        """The error of a sum of n products and biases.

        `products` and `b` are the sums of their absolute values, `factors` the sum of the absolute
        values of all factors of the products.
        """
        cut = 2.0 * self.operand + self.operand**2
        lost = self.operand_tiny * (factors + n * self.operand_tiny + (b > 0))
        sums = self.gamma(n) * (products + b) + n * self.tiny
        return np.asarray(sums + cut * products + self.operand * b + lost)
