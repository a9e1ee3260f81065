"""What every kind of model has: its inputs, its GRU layers, and what a run shows of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.operators.signature import Operator
from ...cases.question import Question, QuestionError, pose

MOST_RUNS = 100
"""Maximum judged runs of a layer inside a loop; the first ones."""
BATCH, STEPS = 2, 8
"""The sizes of free dimensions for which none is given."""
_TIMES = ("time", "seq", "len", "step", "frame")
"""Parts of the names of dimensions that count steps."""


class Port(NamedTuple):
    """An input of a model; a free dimension of its shape is a name, or None."""

    name: str
    dtype: np.dtype[Any] | None
    shape: Sequence[int | str | None] | None


class Tap(NamedTuple):
    """A tensor of a layer: its name among the values of a run, with one leading axis for each loop."""

    name: str
    loops: int = 0


class Layer(NamedTuple):
    """A GRU in a model: its name there, the operator with the attributes given, and its tensors."""

    name: str
    operator: Operator
    given: Mapping[str, Any]
    inputs: Mapping[str, Tap]
    outputs: Mapping[str, Tap]

    def runs(self, values: Mapping[str, Array]) -> list[tuple[int, ...]]:
        """Find the places of the layer's runs in `values`: one of (), or those of all loops' rounds."""
        deepest = max([*self.inputs.values(), *self.outputs.values()], key=lambda tap: tap.loops)
        seen = values.get(deepest.name, np.zeros(()))
        return [*product(*map(range, seen.shape[: deepest.loops]))]

    def question(
        self, values: Mapping[str, Array], run: tuple[int, ...]
    ) -> tuple[Question, Arrays]:
        """Make the question that a run asked, and return the outputs that it gave.

        Raises QuestionError where the values make no question of the operator.
        """

        def see(taps: Mapping[str, Tap]) -> Arrays:
            for one in taps.values():
                if one.name not in values:
                    raise QuestionError(f"the runtime gave no {one.name!r}")
                if not values[one.name].size:
                    raise QuestionError("it did not run")
            return {
                name: np.ascontiguousarray(values[tap.name][run[: tap.loops]])
                for name, tap in taps.items()
            }

        inputs, outputs = see(self.inputs), see(self.outputs)
        return pose(self.operator, self.given, inputs, outputs=[*outputs]), outputs


class Network(Protocol):
    """An opened model, and the runtime that runs it.

    `unseen` says, by name, why layers that were found cannot be seen.
    """

    version: str
    ports: Sequence[Port]
    layers: Sequence[Layer]
    unseen: dict[str, str]

    def run(self, feeds: Arrays) -> Arrays:
        """Run the model as it is; return its outputs by name."""

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run the model with its layers visible; return its outputs and all that is seen, by name.

        Layers that prove to be invisible move from `layers` to `unseen`.
        """


def check_feeds(ports: Sequence[Port], given: Arrays) -> Arrays:
    """Return the given inputs in the model's order. Raises GrucibleError where they do not fit."""
    names = [port.name for port in ports]
    listed = ", ".join(names) or "no inputs"
    for what, wrong in (("has no", set(names) - {*given}), ("has", {*given} - set(names))):
        if wrong:
            raise GrucibleError(f"{what} {sorted(wrong)[0]!r}; the model takes {listed}")
    sizes: dict[str, int] = {}
    for port in ports:
        array = given[port.name]
        if port.dtype is not None and array.dtype != port.dtype:
            found, wanted = dtype_name(array.dtype), dtype_name(port.dtype)
            raise GrucibleError(f"{port.name} is {found}; the model takes {wanted}")
        wanted = array.shape if port.shape is None else tuple(port.shape)
        known = [sizes.setdefault(w, n) if isinstance(w, str) else w
                 for w, n in zip(wanted, array.shape, strict=False)]  # fmt: skip
        fits = [w in (None, n) for w, n in zip(known, array.shape, strict=False)]
        if len(wanted) != array.ndim or not all(fits):
            shown = ", ".join(str(axis or "?") for axis in wanted)
            raise GrucibleError(f"{port.name} has shape {array.shape}; the model takes ({shown})")
    return {name: given[name] for name in names}


def draw_feeds(ports: Sequence[Port], sizes: Mapping[str, int]) -> tuple[Arrays, str]:
    """Draw inputs, and say how. Floats are normal, booleans true, integers from 1 to the number of steps.

    Integers are valid as lengths and as ids; in a vector they fall. Raises GrucibleError for a size that
    names no free dimension, and for an input without a shape.
    """
    found: dict[str, int] = {}
    for port in ports:
        if port.shape is None:
            raise GrucibleError(f"input {port.name} has no shape; give --inputs FILE.npz")
        for at, axis in enumerate(port.shape):
            if not isinstance(axis, int):
                name = axis or f"{port.name}.{at}"
                found.setdefault(name, sizes.get(name, _usual(name, at)))
    for name in sizes:
        if name not in found:
            raise GrucibleError(
                f"no free dimension is {name!r}; free are {', '.join(found) or 'none'}"
            )
    steps = min((n for name, n in found.items() if n > BATCH), default=STEPS)
    drawn = {port.name: _draw(port, found, steps) for port in ports}
    shapes = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in drawn.items())
    usual = ", ".join(f"{name}={n}" for name, n in found.items())
    return drawn, f"inputs are drawn: {shapes}" + (f"; --size {usual}" if usual else "")


def _usual(name: str, at: int) -> int:
    if "batch" in name.lower():
        return BATCH
    return STEPS if at or any(part in name.lower() for part in _TIMES) else BATCH


def _draw(port: Port, sizes: Mapping[str, int], steps: int) -> Array:
    """Draw one input; its name alone seeds the numbers."""
    assert port.shape is not None
    shape = tuple(
        axis if isinstance(axis, int) else sizes[axis or f"{port.name}.{at}"]
        for at, axis in enumerate(port.shape)
    )
    chance = np.random.default_rng(zlib.crc32(port.name.encode()))
    kind = dtype_name(port.dtype) if port.dtype is not None else "float32"
    if kind in FLOAT_TYPES:
        return chance.standard_normal(shape).astype(FLOAT_TYPES[kind].numpy)
    if kind == "bool":
        return np.ones(shape, bool)
    if port.dtype is None or port.dtype.kind not in "iu":
        raise GrucibleError(
            f"input {port.name} is {kind}, which is not drawn; give --inputs FILE.npz"
        )
    numbers = chance.integers(1, steps, shape, endpoint=True).astype(port.dtype)
    if numbers.ndim == 1:
        numbers = np.sort(numbers)[::-1].copy()
    if numbers.ndim < 2 and numbers.size:
        numbers[(0,) * numbers.ndim] = steps
    return numbers


def name_apart(name: str, taken: Mapping[str, object] | set[str]) -> str:
    """Return the name, with a number where it is taken."""
    return next(one for one in _numbered(name) if one not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1
