"""Stacks of cases that can be evaluated at once, in the shared layout.

Also the arithmetic of float64 over stacks, which can record how large intermediates become.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.activations import FUNCTIONS, Activation
from ..cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ..cases.operators.readings import ReadingNames, as_read
from ..cases.operators.semantics import (
    AGREED,
    WORDS,
    StackedSemantics,
    semantics,
    stack,
    take,
    words_of,
)
from ..cases.operators.signature import Operator
from .gru import as_meant


@dataclass(frozen=True)
class Stack:
    """Some cases that share a block and what `AGREED` names.

    `rows` are their places in the block; `inputs` are in the shared layout (cases.operators.layout).
    """

    operator: Operator
    attributes: Mapping[str, Any]
    rows: Array
    semantics: StackedSemantics
    inputs: GruInputs

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def alike(self) -> tuple[Any, ...]:
        """What stacks agree on that can be joined: shapes, parts of biases, and AGREED."""
        given, meant = self.inputs, self.semantics
        agreed = tuple(getattr(meant, name) for name in AGREED)
        return (*given.x.shape[1:], given.h0.shape[1], given.h0.shape[-1], *sorted(given.b), agreed)

    def only(self, places: Array) -> Stack:
        """Take some of the cases."""
        if len(places) == len(self):
            return self
        return replace(
            self,
            rows=self.rows[places],
            semantics=take(self.semantics, places),
            inputs=self.inputs.rows(places),
        )

    def as_read(self, reading: ReadingNames) -> Stack:
        """Change the semantics to what readings say, and split the biases as they say."""
        meant = as_read(reading, self.semantics)
        inputs = as_meant(meant, self.inputs)
        return replace(self, semantics=replace(meant, biases="apart"), inputs=inputs)

    def parts(self, most: int) -> Iterator[Stack]:
        """Split the stack into stacks of at most `most` cases."""
        places = np.arange(len(self))
        return (self.only(places[at : at + most]) for at in range(0, len(self), most))

    def handed_out(self, shared: Mapping[str, Array], absent: Container[str] = ()) -> Arrays:
        """Convert arrays by role into the operator's outputs, except those `absent`.

        y is (…, direction, batch, time, hidden), ho (…, direction, batch, hidden).
        """
        return operator_outputs(self.operator, self.attributes, shared, absent)


def stacks(
    operator: Operator, given: Sequence[Mapping[str, Any]], inputs: Mapping[str, Array]
) -> Iterator[Stack]:
    """Split the cases of a block into stacks; `given` has the attributes of each, `inputs` all inputs."""
    attributes = [operator.with_defaults(one) for one in given]
    meant = [semantics(operator, one) for one in attributes]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for row, one in enumerate(meant):
        alike.setdefault(tuple(getattr(one, name) for name in AGREED), []).append(row)
    for key in sorted(alike):
        rows = np.array(alike[key])
        first = attributes[rows[0]]
        yield Stack(
            operator,
            first,
            rows,
            stack([meant[row] for row in rows]),
            gru_inputs(operator, first, {name: array[rows] for name, array in inputs.items()}),
        )


def join(several: Sequence[Stack]) -> Stack:
    """Join stacks that are `alike`, of any operators and layouts; `rows` then count through all of them."""
    if len(several) == 1:
        return replace(several[0], rows=np.arange(len(several[0])))
    return replace(
        several[0],
        rows=np.arange(sum(map(len, several))),
        semantics=join_semantics([one.semantics for one in several]),
        inputs=join_inputs([one.inputs for one in several]),
    )


def join_semantics(several: Sequence[StackedSemantics]) -> StackedSemantics:
    """Join the semantics of stacks; they agree on AGREED."""

    def each(name: str) -> Any:
        return tuple(
            tuple(chain(*of)) for of in zip(*(getattr(one, name) for one in several), strict=True)
        )

    known = {id(one): words_of(one) for one in several}
    words: dict[str, Any] = {
        name: np.concatenate([known[id(one)][name] for one in several]) for name in WORDS
    }
    return replace(
        several[0], f=each("f"), g=each("g"), directions=each("directions"),
        clip=np.concatenate([one.clip for one in several]),
        **words,
    )  # fmt: skip


def join_inputs(several: Sequence[GruInputs]) -> GruInputs:
    """Join the inputs of stacks; floating-point ones in float64, exactly."""

    def joined(arrays: Sequence[Array]) -> Array:
        integers = arrays[0].dtype.kind in "iu"
        kind = np.int64 if integers else np.float64
        return np.concatenate(arrays, dtype=kind, casting="unsafe")

    found: dict[str, Any] = {}
    for name in (field.name for field in fields(GruInputs)):
        each = [getattr(one, name) for one in several]
        if isinstance(each[0], dict):
            found[name] = {part: joined([parts[part] for parts in each]) for part in each[0]}
        else:
            found[name] = joined(each)
    return GruInputs(**found)


@lru_cache(maxsize=256)
def rows_by_function(functions: tuple[Activation, ...]) -> dict[Activation, Array | slice]:
    """Find the rows of stacked cases that have each function; consecutive rows become a slice."""
    rows: dict[Activation, list[int]] = {}
    for row, one in enumerate(functions):
        rows.setdefault(one, []).append(row)
    return {
        one: slice(at[0], at[-1] + 1) if at[-1] - at[0] + 1 == len(at) else np.array(at)
        for one, at in rows.items()
    }


class Float64:
    """Arithmetic on float64 arrays with any number of leading (stacked) axes."""

    zero: Any = 0.0

    def numbers(self, array: Array) -> Array:
        """Take the array as float64, exactly."""
        return array.astype(np.float64)

    def bias(self, array: Array) -> Array:
        """Take the bias as float64, exactly."""
        return self.numbers(array)

    def weight(self, matrix: Array) -> Array:
        """Transpose the last two axes, as float64."""
        return matrix.astype(np.float64).swapaxes(-1, -2)

    def product(self, x: Array, weight: Array) -> Array:
        """x·matrixᵀ."""
        result: Array = x @ weight
        return result

    def activation(self, function: Any, a: Array, clip: Any) -> Array:
        """Apply the activation to `a`, clipped first; `function` may have an entry per stacked case."""
        return self.unclipped(function, np.clip(a, -clip, clip))

    def unclipped(self, function: Any, a: Array) -> Array:
        """Apply the activation to `a` as it is."""
        groups = {function: ...} if isinstance(function, Activation) else rows_by_function(function)
        if len(groups) == 1:
            return self._of(next(iter(groups)), a)
        result = np.empty_like(a)
        for one, rows in groups.items():
            result[rows] = self._of(one, a[rows])
        return result

    def _of(self, one: Activation, a: Array) -> Array:
        return np.asarray(FUNCTIONS[one.name].value(self, a, one.alpha, one.beta))

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """(1 - z)·t + z·h."""
        return np.asarray((1.0 - z) * t + z * h)

    def affine(self, v: Array, a: float, b: float) -> Array:
        """a·v + b."""
        return np.asarray(a * v + b)

    def at_least(self, v: Array, low: float) -> Array:
        """max(v, low)."""
        return np.asarray(np.maximum(v, low))

    def at_most(self, v: Array, high: float) -> Array:
        """min(v, high)."""
        return np.asarray(np.minimum(v, high))

    def above(self, v: Array, a: float) -> Array:
        """v where v > a, else 0."""
        return np.where(v > a, v, 0.0)

    def sigmoid(self, v: Array) -> Array:
        """1/(1 + e^-v)."""
        return np.asarray(0.5 * np.tanh(0.5 * v) + 0.5)

    def tanh(self, v: Array) -> Array:
        """Tanh v."""
        return np.asarray(np.tanh(v))

    def expm1(self, v: Array) -> Array:
        """e^v - 1."""
        return np.asarray(np.expm1(v))

    def softplus(self, v: Array) -> Array:
        """log(1 + e^v)."""
        return np.asarray(np.logaddexp(0.0, v))

    def softsign(self, v: Array) -> Array:
        """v/(1 + |v|)."""
        return np.asarray(v / (1.0 + np.abs(v)))


class Peaks(Float64):
    """Float64 that records, for each of n stacked cases, how large an intermediate may become.

    `peak` counts the sums of absolute values in products (so that no partial sum in any order is
    larger), pre-activations, activations with their parameters, and the parts of the blend;
    `largest` counts pre-activations alone.
    """

    def __init__(self, cases: int) -> None:
        self.peak, self.largest = np.zeros(cases), np.zeros(cases)
        self._alive: Array | None = None

    @contextlib.contextmanager
    def only(self, alive: Array) -> Iterator[None]:
        """Record only rows (n, rows) that are not over, which others in a stack may outlast."""
        self._alive = None if alive.all() else alive[..., None]
        yield
        self._alive = None

    def _see(self, array: Any) -> Array:
        sizes = np.abs(array)
        if self._alive is not None:
            sizes = np.where(self._alive, sizes, 0.0)
        largest: Array = sizes.reshape(len(self.peak), -1).max(axis=1)
        np.maximum(self.peak, largest, out=self.peak)
        return largest

    def product(self, x: Array, weight: Array) -> Array:
        """x·matrixᵀ; record |x|·|matrix|ᵀ."""
        self._see(np.abs(x) @ np.abs(weight))
        return super().product(x, weight)

    def activation(self, function: Any, a: Array, clip: Any) -> Array:
        """Evaluate the activation; record `a` and the result."""
        result = super().activation(function, a, clip)
        np.maximum(self.largest, self._see(a), out=self.largest)
        self._see(result)
        for one, rows in rows_by_function(function).items():
            largest = max(abs(one.alpha), abs(one.beta))  # and what they are multiplied with
            within = np.minimum(np.abs(a[rows]), clip[rows])
            if self._alive is not None:
                within = np.where(self._alive[rows], within, 0.0)
            within = within.reshape(len(within), -1).max(axis=1)
            self.peak[rows] = np.maximum(self.peak[rows], largest * np.maximum(within, 1.0))
        return result

    def blend(self, z: Array, t: Array, h: Array) -> Array:
        """Evaluate the blend; record |1 - z|·|t| + |z|·(|t| + |h|), which no form of the blend exceeds."""
        self._see(np.abs(1.0 - z) * np.abs(t) + np.abs(z) * (np.abs(t) + np.abs(h)))
        return super().blend(z, t, h)
