"""What every kind of model has: its inputs, its GRU layers, and what a run shows of them."""

from __future__ import annotations

import math
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import chain, count, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...cases.console import format_error
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.operators.signature import Operator
from ...cases.question import Question, QuestionError, pose
from ...vectors.case import difference
from ..runtimes.runtime import Runtime

MOST_RUNS, MOST_BYTES = 100, 64 << 20
"""Maximum judged runs of a layer inside a loop, and bytes of all runs; the first ones are judged."""
BATCH, STEPS = 2, 8
"""The sizes of free dimensions for which none is given."""
SAME = 2.0**-6
"""Maximum deviation, relative to an output's largest value, that other kernels' roundings explain."""
_RECURRENT = ("LSTM", "RNN", "DynamicQuantizeLSTM", "AttnLSTM", "Loop", "Scan", "TensorIterator")
"""The beginnings of the names of nodes that may be what a GRU became."""
_TIMES = ("time", "seq", "len", "step", "frame")
"""Parts of the names of dimensions that count steps."""
IN_IF_IN_LOOP = "in an If in a loop, and a loop stacks only values of one shape"
"""Why a layer is not seen: what stands for its values where the other branch runs has another shape."""

MODEL_ARGUMENTS = ("path", "inputs")
"""What a user's function that runs a model takes."""


class Port(NamedTuple):
    """An input of a model; a free dimension of its shape is a name, or None. It may be left out."""

    name: str
    dtype: np.dtype[Any] | None
    shape: Sequence[int | str | None] | None
    required: bool = True


class Tap(NamedTuple):
    """A tensor of a layer: its name among the values of a run, with one leading axis for each loop."""

    name: str
    loops: int = 0


class Layer(NamedTuple):
    """A GRU in a model: its name there, the operator with the attributes given, and its tensors.

    It runs where each of its `conditions` has the value that stands beside it. `differs` says how it is not
    that of the module which was exported.
    """

    name: str
    operator: Operator
    given: Mapping[str, Any]
    inputs: Mapping[str, Tap]
    outputs: Mapping[str, Tap]
    conditions: Sequence[tuple[Tap, bool]] = ()
    differs: str = ""

    def runs(self, values: Mapping[str, Array]) -> list[tuple[int, ...]]:
        """Find the places of the layer's runs in `values`: one of (), or those of all loops' rounds."""
        deepest = max([*self.inputs.values(), *self.outputs.values()], key=lambda tap: tap.loops)
        seen = values.get(deepest.name, np.zeros(()))
        runs = product(*map(range, seen.shape[: deepest.loops]))
        known = [(tap, value) for tap, value in self.conditions if tap.name in values]
        return [
            run
            for run in runs
            if all(bool(values[tap.name][run[: tap.loops]]) == value for tap, value in known)
        ]

    def most_runs(self, values: Mapping[str, Array], layers: int) -> int:
        """Say how many runs are judged: each repeats the weights, and the `layers` share MOST_BYTES."""
        taps = [
            tap for tap in (*self.inputs.values(), *self.outputs.values()) if tap.name in values
        ]
        shapes = [values[tap.name].shape[tap.loops :] for tap in taps]
        size = sum(
            values[tap.name].itemsize * math.prod(shape)
            for tap, shape in zip(taps, shapes, strict=True)
        )
        return min(MOST_RUNS, max(1, MOST_BYTES // layers // max(1, size)))

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
            return {
                name: np.ascontiguousarray(values[tap.name][run[: tap.loops]])
                for name, tap in taps.items()
            }

        inputs, outputs = see(self.inputs), see(self.outputs)
        return pose(self.operator, self.given, inputs, outputs=[*outputs]), outputs


class Network(ABC):
    """An opened model, and the runtime that runs it.

    `unseen` says, by name, why layers that were found cannot be seen; `more` counts further runs of a layer
    that are not among `layers`; `apart` names the first layer that gets what the module does not give,
    and says what; `notes` are lines for the report. `seen` says where `run_visibly` finds its outputs, and
    `plain` whose those of `run` are. `none` says what a model without any recurrent layer has.
    """

    seen, plain = "with its values visible", "the plain run's"
    none = "no recurrent node; did an exporter write each step by itself?"

    def __init__(self, file: str, runtime: str) -> None:
        self.file, self.runtime, self.version = file, runtime, ""
        self.ports: list[Port] = []
        self.layers: list[Layer] = []
        self.unseen: dict[str, str] = {}
        self.more: Counter[str] = Counter()
        self.apart: dict[str, str] = {}
        self.notes: list[str] = []

    @abstractmethod
    def run(self, feeds: Arrays) -> Arrays:
        """Run the model as it is; return its outputs by name."""

    @abstractmethod
    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run the model with its layers visible; return its outputs and all that is seen, by name.

        Then `layers` has those that were seen, and `unseen` the others.
        """

    def narrow(self, why: str) -> bool:  # noqa: ARG002 - where there are no bodies
        """Hide the layers in bodies, such as a loop's, for a reason; say whether there were any."""
        return False

    def refused(self, error: Exception) -> GrucibleError:
        """Make the error that the runtime does not run the model."""
        return GrucibleError(f"{self.file}: {self.runtime} does not run it: {format_error(error)}")

    def has_no_gru(self, kinds: Mapping[str, int]) -> GrucibleError:
        """Make the error that there is no GRU; name the recurrent nodes among nodes of some `kinds`."""
        others = [f"{n} {kind}" for kind, n in kinds.items() if kind.startswith(_RECURRENT)]
        has = ", ".join(others) or self.none
        return GrucibleError(f"{self.file}: holds no GRU; it has {has}")


def check_feeds(ports: Sequence[Port], given: Arrays) -> Arrays:
    """Return the given inputs in the model's order. Raises GrucibleError where they do not fit."""
    names, needed = [port.name for port in ports], {port.name for port in ports if port.required}
    listed = ", ".join(names) or "no inputs"
    for what, wrong in (("has no", needed - {*given}), ("has", {*given} - set(names))):
        if wrong:
            raise GrucibleError(f"{what} {sorted(wrong)[0]!r}; the model takes {listed}")
    sizes: dict[str, int] = {}
    for port in (one for one in ports if one.name in given):
        array = given[port.name]
        if port.dtype is not None and array.dtype != port.dtype:
            kinds = dtype_name(array.dtype), dtype_name(port.dtype)
            raise GrucibleError(f"{port.name} is {kinds[0]}; the model takes {kinds[1]}")
        wanted = array.shape if port.shape is None else tuple(port.shape)
        known = [sizes.setdefault(w, n) if isinstance(w, str) else w
                 for w, n in zip(wanted, array.shape, strict=False)]  # fmt: skip
        fits = [w in (None, n) for w, n in zip(known, array.shape, strict=False)]
        if len(wanted) != array.ndim or not all(fits):
            shown = ", ".join(str(axis or "?") for axis in wanted)
            raise GrucibleError(f"{port.name} has shape {array.shape}; the model takes ({shown})")
    return {name: given[name] for name in names if name in given}


def draw_feeds(ports: Sequence[Port], sizes: Mapping[str, int]) -> tuple[Arrays, str]:
    """Draw inputs, and say how. Floats are normal, booleans true, integers from 1 to the number of steps.

    Integers are valid as lengths and as ids; in a vector they fall. Raises GrucibleError for a size that
    names no free dimension, and for an input without a shape.
    """
    found: dict[str, int] = {}
    for port in ports:
        if port.shape is None:
            named = ", ".join(f"{one.name}=…" for one in ports if one.required)
            raise GrucibleError(
                f"input {port.name} has no shape to draw it by; save inputs of yours with "
                f"numpy.savez('in.npz', {named}), and give --inputs in.npz"
            )
        for at, axis in enumerate(port.shape):
            if not isinstance(axis, int):
                name = axis or f"{port.name}.{at}"
                found.setdefault(name, sizes.get(name, _usual(axis or "", at)))
    for name in sizes:
        if name not in found:
            raise GrucibleError(
                f"no free dimension is {name!r}; free are {', '.join(found) or 'none'}"
            )
    steps = min((n for name, n in found.items() if n > BATCH), default=STEPS)
    drawn = {port.name: _draw(port, found, steps) for port in ports}
    shapes = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in drawn.items())
    usual = "".join(f" --size {name}={n}" for name, n in found.items())
    return drawn, f"inputs are drawn: {shapes}" + (f";{usual}" if usual else "")


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


def run_saved(function: Runtime, name: str, save: Callable[[str], object], feeds: Arrays) -> Arrays:
    """Save a model to a file of this name, and call the user's function on it and on inputs."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, name))
        save(path)
        found: Any = function.run(path, dict(feeds))  # type: ignore[call-arg, arg-type]
        return {str(one): np.array(array) for one, array in found.items()}


def name_apart(name: str, taken: Container[str]) -> str:
    """Return the name, with a number where it is taken."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(one for one in names if one not in taken)


def distance(array: Array, other: Array) -> float:
    """Return the largest difference of two arrays, as a part of the first one's largest finite number."""
    if array.shape != other.shape:
        return np.inf
    numbers, others = array.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
        return float(difference(numbers, others).max(initial=0.0)) / (largest or 1.0)
