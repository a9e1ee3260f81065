"""The arithmetic of spreads: how large the errors of one step usually are, as standard deviations.

It is one more arithmetic of `gen.gru.step`. Every rounding is taken as a random number of its own, uniform in
half a unit in the last place: variances add, and factors are squared. What has no mean of zero, or is not
known to be independent, adds up as standard deviations do at worst. TOLERANCES.md, "Noise", derives it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...cases.dtypes import Array, FloatType
from ...cases.operators.activations import Activation
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ..gru import DirectionWeights, gru, step
from ..stacks import Float64
from .classes import ArithmeticClass, Units
from .error_arithmetic import Curves, Weight
from .error_values import IDENTITY, DotProduct, Linear, Sum, wide

SIGMOID, TANH = (1.5, 0.5), (2.0, 0.0)
"""The (relative, absolute) errors of textbook forms, whose roundings are random, in units of a class."""
SPREAD_MANTISSAS = 0.61
"""Maximum of E(half a unit in the last place)² / E(unit·value)², for values whose density falls from 0."""
CURVED = 3.0**0.25
"""The reach, in standard deviations, at which d² is the root mean square of squared errors."""
FORGOTTEN = Linear()
"""What has become of the state before a step, where nobody asks."""


def rounding(values: Array, unit: float, tiny: float) -> Array:
    """Compute the variance of rounding each value to nearest; underflow may lose all of `tiny`."""
    _, exponent = np.frexp(values * (1.0 + 2.0 * unit))  # perhaps rounded up to a power of two
    half = np.where(values == 0.0, 0.0, np.ldexp(unit, exponent - 1))
    return np.asarray(np.maximum(half**2 / 3.0, tiny**2) * (unit > 0.0))


@dataclass(frozen=True, slots=True)
class Random:
    """A value with the variances and standard deviations of its parts of errors.

    `own` is the variance of roundings that no other unit has, `common` of those that a product with a weight
    shares out. `local` is the standard deviation that the unit's own state before the step brings, `carried`
    bounds that of everything else. `linear` is what becomes of errors of the state before, where it is asked
    for.
    """

    one: ArithmeticClass
    value: Array
    own: Any = 0.0
    common: Any = 0.0
    local: Any = 0.0
    carried: Any = 0.0
    linear: Linear = FORGOTTEN

    __array_ufunc__ = None

    def __mul__(self, other: Random | RandomSum) -> Random:
        q = other.rounded()
        a, b = np.abs(self.value), np.abs(q.value)
        return Random(
            self.one,
            self.value * q.value,
            b**2 * self.own + a**2 * q.own + element(self.one, a * b),
            b**2 * self.common + a**2 * q.common,
            b * self.local + a * q.local,
            b * self.carried + a * q.carried,
            self.linear.scaled(q.value) + q.linear.scaled(self.value),
        )

    def rounded(self) -> Random:
        """Return the value itself, which is rounded already."""
        return self

    @property
    def shared(self) -> Array:
        """The variance of what other units may have, too."""
        return np.asarray(self.common + self.carried**2)


def element(one: ArithmeticClass, values: Array) -> Array:
    """Compute the variance of rounding gates, products and the blend."""
    return rounding(values, max(one.elementwise, one.unit), one.tiny)


@dataclass(frozen=True, slots=True)
class RandomSum(Sum):
    """Products of matrices and biases, added up in any order in the class `units`, and one more value.

    Of a product, `magnitude` is the sum of squared terms, `source` what is `common`.
    """

    def rounded(self) -> Random:
        """Round the sum, as it is stored; derived in TOLERANCES.md."""
        one, products = self.units, self.products
        total = np.abs(self.value - sum(last.value for last in self.addends))
        parts = [*(product.size for product in products), *self.biases]
        largest = (sum(parts) + total) / 2.0  # the largest sum of some of the parts
        own = len(self.biases) * largest**2
        for product in products:
            n, p, squares = product.terms, product.size, product.magnitude
            own = own + squares + (n + 1) * ((largest - p / 2.0) ** 2 + p**2 / 12.0 + squares / 6.0)
        own = own * (SPREAD_MANTISSAS * one.unit**2 / 3.0)
        if one.stored:
            stores = max(0, len(parts) - 2) * SPREAD_MANTISSAS * (one.stored * largest) ** 2 / 3.0
            each = [product.size for product in products] + [total] * (len(parts) > 1)
            own += sum((rounding(value, one.stored, one.tiny) for value in each), stores)
        common = sum(product.source for product in products)
        carried = sum(product.carried for product in products)
        linear = Linear(sum((product.linear.terms for product in products), ()))
        for last in self.addends:
            own = own + last.own + element(one, self.value)
            common, carried = common + last.common, carried + last.carried + last.local
            linear = linear + last.linear
        return Random(one, self.value, own, common, 0.0, carried, linear)


class RandomArithmetic:
    """Arithmetic on stacked cases in one class: numbers are float64 arrays, all else is random."""

    zero: Any = 0.0

    def __init__(self, one: ArithmeticClass) -> None:
        self.one, self.exact = one, Float64()
        self._functions = Units([replace(one, elementwise=0.0, sigmoid=SIGMOID, tanh=TANH)])
        self._curves: dict[tuple[Activation, ...], Curves] = {}

    def numbers(self, array: Array) -> Array:
        """Take the array as float64, exactly."""
        return self.exact.numbers(array)

    def bias(self, array: Array) -> RandomSum:
        """Make a sum that has only a bias."""
        value = self.exact.numbers(array)
        return RandomSum(self.one, value, biases=(np.abs(value),))

    def weight(self, matrix: Array) -> Weight:
        """Prepare a weight for products, with its squares for sums."""
        transposed = np.ascontiguousarray(self.exact.weight(matrix))
        return Weight(transposed, transposed[:, None], np.abs(transposed), transposed**2)

    def product(self, x: Any, weight: Weight) -> RandomSum:
        """x·matrixᵀ, of numbers or of something random."""
        common: Any = 0.0
        carried: Any = 0.0
        linear = FORGOTTEN
        if isinstance(x, Random):
            every = np.zeros_like(x.value)
            common = (every + x.own + x.common) @ weight.sums
            carried = np.sqrt((every + x.local) ** 2 @ weight.sums)
            carried += (every + x.carried) @ weight.size
            x, linear = x.value, x.linear.through(weight.of_rows)
        value = x @ weight.matrix
        squares = x**2 @ weight.sums
        one = DotProduct(x.shape[-1], np.abs(value), squares, squares, linear, carried, common)
        return RandomSum(self.one, value, (one,))

    def activation(self, function: Any, a: RandomSum | Random, clip: Any) -> Random:
        """Apply the activation to a pre-activation, clipped first; both are one per stacked case."""
        a = a.rounded()
        if function not in self._curves:
            self._curves[function] = Curves(function, clip, self._functions)
        curves = self._curves[function]
        inside = curves.inside(a.value)
        value = self.exact.unclipped(function, inside)
        slope, half_second = curves.slopes(a.value, inside)
        reach = CURVED * np.sqrt(a.own + a.shared)
        bent = curves.remainder(a.value, inside, wide(reach), half_second)[..., 0, :]
        lost = curves.rounding(np.abs(a.value), wide(0.0 * reach), wide(np.abs(value)))[..., 0, :]
        own = lost**2 / 3.0 + rounding(value, self.one.elementwise, self.one.tiny)
        steep = np.abs(slope)
        common, carried = steep**2 * a.common, steep * a.carried + bent
        linear = a.linear.scaled(slope)
        return Random(self.one, value, steep**2 * a.own + own, common, 0.0, carried, linear)

    def blend(self, z: Random, t: Random, h: Random) -> Random:
        """(1 - z)·t + z·h in the form that rounds most, before its sum is rounded."""
        keep, gap, r = 1.0 - z.value, h.value - t.value, partial(element, self.one)
        x, k, g = np.abs(z.value), np.abs(keep), np.abs(gap)
        forms = (
            r(k) * t.value**2 + r(k * t.value) + r(x * h.value),
            r(x * t.value) + r(k * t.value) + r(x * h.value),  # (t - z·t) + z·h
            r(g) * x**2 + r(x * g),
            r(k) * g**2 + r(g) * k**2 + r(k * g),
        )
        return Random(
            self.one,
            self.exact.blend(z.value, t.value, h.value),
            k**2 * t.own + g**2 * z.own + np.maximum.reduce(forms),
            k**2 * t.common + g**2 * z.common,
            0.0,
            k * t.carried + g * z.carried + x * h.local,
            t.linear.scaled(keep) + z.linear.scaled(gap) + h.linear.scaled(z.value),
        )


class Spread(NamedTuple):
    """States, and the spread of their errors; arrays are (n, direction, rows, hidden).

    `variance` is of the whole error, `shared` of its part that units of a row may have in common.
    """

    values: Array
    variance: Array
    shared: Array


def step_spread(
    semantics: StackedSemantics,
    inputs: GruInputs,
    one: ArithmeticClass,
    handed_out: FloatType,
    first: Array,
) -> Spread:
    """Evaluate one step of stacked cases in float64, and the spread of its errors in a class.

    The state before it, h0, was rounded to the type `handed_out`, except where `first` (n, direction, rows).
    """
    arithmetic, found = RandomArithmetic(one), np.empty((2, *inputs.h0.shape))
    unit, least = 2.0**-handed_out.precision, 2.0**handed_out.least_exponent

    def advance(d: DirectionWeights, _: int, rows: Array, wx: Any, old: Array) -> Array:
        before = np.where(first[:, d.index, rows, None], 0.0, np.sqrt(rounding(old, unit, least)))
        state = step(arithmetic, semantics, d, wx, Random(one, old, local=before)).state
        parts = np.stack([state.own + state.shared + _handing_out(state, handed_out), state.shared])
        found[:, :, d.index, rows] = parts
        return np.asarray(state.value)

    every = np.ones_like(inputs.lengths)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        y, _ = gru(arithmetic, semantics, replace(inputs, lengths=every), advance=advance)
    return Spread(y[..., 0, :], *found)


def last_spread(
    semantics: StackedSemantics, inputs: GruInputs, one: ArithmeticClass, handed_out: FloatType
) -> Spread:
    """Evaluate all steps of stacked cases in float64, and the spread of the last state's errors in a class.

    Covariances go through the Jacobian of each step, so `shared` is what all but the last step brings.
    """
    arithmetic, shape = RandomArithmetic(one), inputs.h0.shape
    covariance, shared = np.zeros((*shape, shape[-1])), np.zeros(shape)

    def advance(d: DirectionWeights, number: int, rows: Array, wx: Any, old: Array) -> Array:
        state = step(arithmetic, semantics, d, wx, Random(one, old, linear=IDENTITY)).state
        jacobian, at = state.linear.matrix(), (slice(None), d.index, rows)
        alive = (number < inputs.lengths)[:, rows, None]
        after = jacobian.swapaxes(-1, -2) @ covariance[at] @ jacobian
        diagonal = np.einsum("...ii->...i", after)
        shared[at] = np.where(alive, diagonal + state.shared, shared[at])
        diagonal[...] += state.own + state.shared + _handing_out(state, handed_out)
        covariance[at] = np.where(alive[..., None], after, covariance[at])
        return np.asarray(state.value)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        _, ho = gru(arithmetic, semantics, inputs, advance=advance)
    return Spread(ho, np.einsum("...ii->...i", covariance), shared)


def _handing_out(state: Random, kind: FloatType) -> Array:
    """Compute the variance of rounding a state once, to the coarser of its class and its type."""
    one = state.one
    unit = max(2.0**-kind.precision, one.unit, one.elementwise, one.state)
    return rounding(state.value, unit, max(2.0**kind.least_exponent, one.state_tiny))
