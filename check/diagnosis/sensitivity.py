"""How much of an error in a quantity of a step is left in the state after it, to first order.

With t the candidate, and f' and g' derivatives by the argument: of an error in t it is 1 - z, in z it is
h - t, in r it is (1 - z)·g'·(h·Rhᵀ + Rbh) where the reset gate follows the product, and (1 - z)·g'·Rh·h where
it precedes it; in an argument it is that of the function's value, times f' or g'.

Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 2002, section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.layout import GruInputs
from ...gen.gru import GATES, as_meant
from .steps import Steps

RANGES = np.array(
    [*2.0 ** np.arange(-10, -1), *np.arange(0.5, 2.0, 0.25), *np.arange(2.0, 6.5, 0.5)]
)
"""Between these sizes of its argument a function's errors are taken to be equally large."""

Quantity = tuple[str, str]
"""What may be off, and a part of it: a function, in a range of its argument; `products` and `biases`, of a
gate; `z` and `r`; the `state`, or by as much `any state`; the `blend`."""


def squares_of(steps: Steps) -> dict[Quantity, Array]:
    """For each quantity the square of what is left in the states (n, direction, rows, hidden) of right steps,
    if it is off by 1; of the state, the blend, products and biases, if it is off by its own size."""
    return dict(_Sensitivity(steps).squares())


@dataclass(frozen=True)
class _Sensitivity:
    """That of right steps. All arrays hold squares: those of errors without any relation add up."""

    steps: Steps

    def squares(self) -> Iterator[tuple[Quantity, Array]]:
        """What each quantity leaves."""
        q = self._quantities
        yield from self._of_functions()
        for gate, left in (("z", self._z), ("r", self._r)):
            yield (gate, "alike everywhere"), left(np.ones_like(q[gate]))
            yield (gate, "by its own size"), left(q[gate] ** 2)
        yield ("state", ""), self.steps.right**2
        yield ("any state", ""), np.ones_like(q["z"])
        h = self._inputs.h0
        yield ("blend", "ht"), q["t"] ** 2
        yield ("blend", "zt Ht-1"), (q["z"] * h) ** 2
        yield ("blend", "zt (Ht-1 - ht)"), (q["z"] * (h - q["t"])) ** 2
        yield from self._of_products()

    def _of_functions(self) -> Iterator[tuple[Quantity, Array]]:
        s, q = self.steps.stack.semantics, self._quantities
        ranges = {gate: np.digitize(np.abs(q[f"a_{gate}"]), RANGES) for gate in GATES}
        for name in sorted(self.steps.functions):
            as_f, as_g = (_asked_for(name, each) for each in (s.f, s.g))
            for number in range(len(RANGES) + 1):
                here = {gate: (ranges[gate] == number).astype(np.float64) for gate in GATES}
                found = as_g * self._t(here["h"])
                if as_f.any():
                    found = found + as_f * (self._z(here["z"]) + self._r(here["r"]))
                if found.any():
                    yield (name, str(number)), found

    def _of_products(self) -> Iterator[tuple[Quantity, Array]]:
        """Sums of squares of the products that a gate adds up, and the squares of its biases."""
        inputs, q = self._inputs, self._quantities
        after = self.steps.stack.semantics.reset_after
        x, h = (array.astype(np.float64) for array in (inputs.x[:, :, 0], inputs.h0))
        for gate in GATES:
            taken = q["r"] * h if gate == "h" and not after else h
            outer = q["r"] ** 2 if gate == "h" and after else 1.0
            w, r = (part[gate].astype(np.float64) ** 2 for part in (inputs.w, inputs.r))
            of_input = x[:, None] ** 2 @ w.swapaxes(-1, -2)
            of_state = taken**2 @ r.swapaxes(-1, -2) * outer
            biases = np.zeros_like(h)
            for part in (gate, f"w{gate}", f"r{gate}"):
                if part in inputs.b:
                    bias = inputs.b[part].astype(np.float64)[:, :, None] ** 2
                    biases = biases + bias * (outer if part == "rh" else 1.0)
            yield ("products", f"W{gate}"), self._of_argument(gate, of_input)
            yield ("products", f"R{gate}"), self._of_argument(gate, of_state)
            yield ("biases", gate), self._of_argument(gate, biases)

    @cached_property
    def _quantities(self) -> dict[str, Array]:
        return dict(self.steps.quantities)

    @cached_property
    def _inputs(self) -> GruInputs:
        return as_meant(self.steps.stack.semantics, self.steps.inputs)

    def _t(self, squares: Array) -> Array:
        """What is left of errors of the candidate whose squares these are."""
        return np.asarray((1.0 - self._quantities["z"]) ** 2 * squares)

    def _z(self, squares: Array) -> Array:
        """The same of z."""
        return np.asarray((self._inputs.h0 - self._quantities["t"]) ** 2 * squares)

    def _r(self, squares: Array) -> Array:
        """The same of r."""
        u = self._quantities["u"] ** 2 * squares
        if not self.steps.stack.semantics.reset_after:
            u = u @ (self._inputs.r["h"].astype(np.float64) ** 2).swapaxes(-1, -2)
        return self._t(self._slopes["h"] * u)

    def _of_argument(self, gate: str, squares: Array) -> Array:
        """The same of the argument of the function of a gate, or of the candidate."""
        left = {"z": self._z, "r": self._r, "h": self._t}[gate]
        return left(self._slopes[gate] * squares)

    @cached_property
    def _slopes(self) -> dict[str, Array]:
        """The squares of the derivatives of each gate's function; 0 where its argument is clipped."""
        s, q = self.steps.stack.semantics, self._quantities
        return {
            gate: np.stack(
                [
                    _slopes(functions, q[f"a_{gate}"][:, d], s.clip) ** 2
                    for d, functions in enumerate(s.g if gate == "h" else s.f)
                ],
                axis=1,
            )
            for gate in GATES
        }


def _asked_for(name: str, functions: Sequence[Sequence[Activation]]) -> Array:
    """(n, direction, 1, 1) which cases ask for a function, of the functions of each direction."""
    found = [[one.name == name for one in each] for each in functions]
    return np.array(found, np.float64).T[:, :, None, None]


def _slopes(functions: Sequence[Activation], a: Array, clip: Array) -> Array:
    """The derivatives of each case's function (n, rows, hidden)."""
    found = np.empty_like(a)
    for row, one in enumerate(functions):
        found[row], _ = FUNCTIONS[one.name].slopes(a[row], one.alpha, one.beta)
    return np.where(np.abs(a) <= clip, found, 0.0)
