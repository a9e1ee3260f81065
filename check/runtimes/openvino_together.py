"""Nodes of several cases in one OpenVINO model: a fraction of the time that a model for each would take.

Of the 25 ms that compiling a model of one node takes, some 20 go to the passes of the compiler, however
many nodes there are. The nodes share nothing, and what they give is the same, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import openvino as ov

from ...vectors.exchange.node import NodeType
from ...vectors.exchange.openvino_model import fill, node

MOST_NODES = 8
"""More in a model save little more, and each inference runs them all."""
MOST_NUMBERS = 4096
"""A node with more numbers to its inputs has a model of its own: to run it for others would cost more than
its compilation."""


class Compiled(NamedTuple):
    """What a node is compiled for: its type, and the names and bytes of its Constants."""

    type: NodeType
    constants: tuple[tuple[str, bytes], ...]

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The Constants."""
        ports = {name: (dtype, shape) for name, dtype, shape in self.type.ports}
        return {
            name: np.frombuffer(content, ports[name][0]).reshape(ports[name][1])
            for name, content in self.constants
        }

    @property
    def small(self) -> bool:
        """Whether it may be run for others."""
        return sum(math.prod(shape) for _, _, shape in self.type.ports) <= MOST_NUMBERS


class Part(NamedTuple):
    """One node of a compiled model: an inference request of it, the number of the node's first input, and
    where its outputs stand."""

    request: Any
    first: int
    outputs: slice

    def inferred(self, arrays: Sequence[npt.NDArray[Any]]) -> list[Any]:
        """The tensors of the node's outputs for these inputs."""
        for index, array in enumerate(arrays, self.first):
            fill(self.request.get_input_tensor(index), array)
        try:
            self.request.infer()
        except RuntimeError:
            _fill(self.request)  # what one node refuses is not for the others
            raise
        tensors: list[Any] = self.request.output_tensors[self.outputs]
        return tensors


def compiled_together(
    wanted: Sequence[Compiled], compiled: Callable[[Any], Any]
) -> dict[Compiled, Part]:
    """The nodes that can be compiled with others; those that cannot are left out, and told of when they are
    asked alone. `compiled` makes an inference request of a model."""
    small = [one for one in wanted if one.small]
    found: dict[Compiled, Part] = {}
    for start in range(0, len(small), MOST_NODES):
        found |= dict(_parts(small[start : start + MOST_NODES], compiled))
    return found


def _parts(
    wanted: Sequence[Compiled], compiled: Callable[[Any], Any]
) -> Iterator[tuple[Compiled, Part]]:
    """The nodes in one model, or, where that is refused, each half in one."""
    if len(wanted) < 2:
        return
    parameters: list[Any] = []
    results: list[Any] = []
    places: list[tuple[int, slice]] = []
    try:
        for one in wanted:
            made, inputs = node(one.type, one.arrays)
            ended = len(results) + len(made.outputs())
            places.append((len(parameters), slice(len(results), ended)))
            parameters += inputs
            results += made.outputs()
        request = compiled(ov.Model(results, parameters))
    except RuntimeError:
        middle = len(wanted) // 2
        yield from _parts(wanted[:middle], compiled)
        yield from _parts(wanted[middle:], compiled)
        return
    _fill(request)
    for one, place in zip(wanted, places, strict=True):
        yield one, Part(request, *place)


def _fill(request: Any) -> None:
    """Give every input numbers that a node may be run with: zeros, and lengths of 1."""
    for tensor in request.input_tensors:
        lengths = tensor.get_element_type() in (ov.Type.i32, ov.Type.i64)
        tensor.data[...] = 1 if lengths else 0
