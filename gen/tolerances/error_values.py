"""Values with bounds of their errors, as one step of a GRU computes them.

Let ε be the error of the state before the step, a row vector with |ε| ≤ e. A quantity v is computed as
v̂ = v + ε·L + ρ. L is its signed linear part; `source` bounds |ρ|, and `total` bounds |v̂ - v|. Values
have the shape (n, rows, m); bounds have one more axis, (n, rows, classes, m).

A sum is rounded as a whole, for any number of products and biases in any order. So it stays a `Sum`
until an operation other than addition uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from .classes import Units

Bound = Any
"""A bound (n, rows, classes, m), or NONE."""

NONE = 0.0
"""The bound of no error."""

Term = tuple[Array | None, Array | None]


def wide(values: Array) -> Array:
    """Add an axis for the classes."""
    return values[..., None, :]


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear map of ε, (n, rows, hidden, m): the sum of its terms M·diag(c), each (c, M).

    A missing c stands for ones, a missing M for the identity. One M may serve all rows, (n, 1, hidden, m).
    """

    terms: tuple[Term, ...] = ()

    def scaled(self, c: Array) -> Linear:
        """Multiply the map by c, element by element."""
        return Linear(tuple((c if old is None else old * c, m) for old, m in self.terms))

    def __add__(self, other: Linear) -> Linear:
        return Linear(self.terms + other.terms)

    def through(self, weight: Array) -> Linear:
        """Multiply the map by a weight (n, 1, hidden, m)."""
        if not self.terms:
            return self
        if self is IDENTITY:
            return Linear(((None, weight),))
        return Linear(((None, self.matrix() @ weight),))

    def matrix(self, out: Array | None = None) -> Array:
        """Write the map as matrices, to `out` if it is given."""
        shape = np.broadcast_shapes(
            *(m.shape for _, m in self.terms if m is not None),
            *((*c.shape[:2], c.shape[-1], c.shape[-1]) for c, m in self.terms if c is not None),
        )
        total = np.empty(shape) if out is None else out
        part = total
        for c, m in self.terms:
            if m is not None:
                np.multiply(m, 1.0 if c is None else wide(c), out=part)
                if part is total:
                    part = np.empty(shape)
                else:
                    total += part
        if part is total:
            total[...] = 0.0
        for c, m in self.terms:
            if m is None:
                np.einsum("...ii->...i", total)[...] += 1.0 if c is None else c
        return total


IDENTITY = Linear(((None, None),))


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value that has been rounded, or is the state before the step; `size` is its absolute value.

    Where `share` (classes, 1) is given, total and source are share·size + least.
    """

    units: Units
    value: Array
    size: Array
    linear: Linear
    source: Bound
    total: Bound
    share: Array | None = None
    least: Bound = NONE

    __array_ufunc__ = None

    def __mul__(self, other: Bounded | Sum) -> Bounded:
        q, units = other.rounded(), self.units
        value, x, y = self.value * q.value, wide(self.size), wide(q.size)
        size = np.abs(value)
        cross = self.total * q.total
        total = x * q.total + y * self.total + cross
        rounding = units.element * (wide(size) + total) + units.tiny
        source = y * self.source + cross + rounding
        return Bounded(
            units,
            value,
            size,
            self.linear.scaled(q.value) + q.linear.scaled(self.value),
            source if q.source is NONE else source + x * q.source,
            total + rounding,
        )

    def rounded(self) -> Bounded:
        """Return the value itself, which is rounded already."""
        return self


@dataclass(frozen=True, slots=True)
class DotProduct:
    """What a product of x with a weight W adds to a sum.

    For each element: `terms` is the number of products, `magnitude` the sum of their absolute values,
    `operands` the sum of their operands' absolute values, `size` is |x·W|. Bounds: `carried` is |W|·total
    of x, `source` is |W|·source of x, `spread` the sum of the totals of x.
    """

    terms: int
    size: Array
    magnitude: Array
    operands: Array
    linear: Linear = Linear()
    carried: Bound = NONE
    source: Bound = NONE
    spread: Bound = NONE

    def each(self, change: Callable[[Array], Array]) -> DotProduct:
        """Change the arrays of a product of numbers without errors."""
        return DotProduct(
            self.terms, change(self.size), change(self.magnitude), change(self.operands)
        )


@dataclass(frozen=True, slots=True)
class Sum:
    """Products of matrices and absolute values of biases, added up in any order.

    At most one rounded value is added at the end.
    """

    units: Any
    value: Array
    products: tuple[DotProduct, ...] = ()
    biases: tuple[Array, ...] = ()
    addends: tuple[Any, ...] = ()

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Sum:
        if not isinstance(other, Sum):
            other = replace(self, value=other.value, products=(), biases=(), addends=(other,))
        return type(self)(  # `replace` would take as long as the sum itself
            self.units,
            self.value + other.value,
            self.products + other.products,
            self.biases + other.biases,
            self.addends + other.addends,
        )

    def __getitem__(self, index: Any) -> Sum:
        """Take some elements of a sum of products without errors."""
        return self._each(lambda values: values[index])

    def reshape(self, *shape: int) -> Sum:
        """Take a sum of products without errors in another shape."""
        return self._each(lambda values: values.reshape(shape))

    def _each(self, change: Callable[[Array], Array]) -> Sum:
        products = tuple(product.each(change) for product in self.products)
        return replace(self, value=change(self.value), products=products)

    def rounded(self) -> Any:
        """Round the sum, as it is stored."""
        size = np.abs(self.value)
        carried = _sum(product.carried for product in self.products)
        rounding = self._rounding(size, carried)
        source = _sum([rounding, *(product.source for product in self.products)])
        total = _sum([rounding, carried])
        linear = Linear(sum((one.linear.terms for one in self.products), ()))
        if self.addends:
            [last] = self.addends
            source, total = source + last.source, total + last.total
            rounding = self.units.element * (wide(size) + total)
            source, total, linear = source + rounding, total + rounding, linear + last.linear
        return Bounded(self.units, self.value, size, linear, source, total)

    def _rounding(self, result: Array, carried: Bound) -> Array:
        """Bound the rounding of the sum without its addend; derived in TOLERANCES.md, "One step"."""
        units, products = self.units, self.products
        terms = sum(product.terms for product in products)
        of_products, of_biases, absolute = units.sums(terms + 4 - len(products))
        bias = wide(sum(self.biases[1:], self.biases[0])) if self.biases else 0.0
        magnitude = _sum([wide(_sum([one.magnitude for one in products])), carried])
        rounding = np.asarray(of_products * magnitude + (of_biases * bias + absolute))
        if units.underflows is not False:
            operands = wide(_sum([one.operands for one in products]))
            operands = _sum([operands + len(self.biases), *(one.spread for one in products)])
            rounding += _only(units.underflows, units.operand_tiny * operands)
        if units.stores is not False:
            parts = wide(_sum([one.size for one in products]))
            if len(products) > 1:
                stored = 3.0 * (parts + bias) + 2.0 * carried + wide(result)
            else:
                stored = parts + (parts + bias if self.addends else wide(result))
            rounding += _only(units.stores, units.stored * (stored + 2.0 * carried + rounding))
        return rounding


def _sum(bounds: Iterable[Bound]) -> Bound:
    """Add up the bounds that are not NONE."""
    given = [bound for bound in bounds if bound is not NONE]
    return sum(given[1:], given[0]) if given else NONE


def _only(cases: Array | bool, bound: Array) -> Array:
    """Take a bound of the marked cases; of others it would be 0, times what may be infinite."""
    return bound if cases is True else np.where(cases, bound, 0.0)
