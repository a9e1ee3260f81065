"""OpenVINO models in IR: finding GRUSequence and GRUCell, also in bodies, and making them visible.

A body of a TensorIterator, Loop or If takes all its values by parameters. What a GRU in it takes and gives
leaves a loop stacked over its rounds; it leaves an If as one more output, of both bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openvino as ov
from openvino.opset13 import constant, result, unsqueeze

from ...cases.console import format_error
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.openvino import OPERATORS
from ..runtimes.posed import OPENVINO, infer_openvino, openvino_core
from ..runtimes.runtime import load_runtime
from .network import (
    IN_IF_IN_LOOP,
    MODEL_ARGUMENTS,
    Layer,
    Network,
    Port,
    Tap,
    name_apart,
    run_saved,
)

_KINDS = {one.name.partition(".")[2].rpartition("-")[0]: one for one in OPERATORS}
_LOOPS = ("TensorIterator", "Loop")


class _Holder(NamedTuple):
    """A node with a body, and the graph that it is in.

    The `branch` is None for a loop; for an If, it says whether the body is the first.
    """

    node: Any
    graph: Any
    branch: bool | None


class _Found(NamedTuple):
    """A node, the model or body that it is in, and the nodes around it, the innermost first."""

    node: Any
    graph: Any
    around: tuple[_Holder, ...]


def _found(graph: Any, around: tuple[_Holder, ...] = ()) -> Iterator[_Found]:
    """Yield the nodes of a graph and of the bodies in it."""
    for node in graph.get_ordered_ops():
        kind = node.get_type_name()
        yield _Found(node, graph, around)
        if kind in _LOOPS:
            yield from _found(node.get_function(), (_Holder(node, graph, None), *around))
        if kind == "If":
            for branch, body in ((True, node.get_then_body()), (False, node.get_else_body())):
                yield from _found(body, (_Holder(node, graph, branch), *around))


class OpenVinoNetwork(Network):
    """An OpenVINO model on OpenVINO's CPU plugin, as check's `openvino` runtimes, or on a function."""

    def __init__(self, file: str, runtime: str) -> None:
        self._function = load_runtime(runtime, MODEL_ARGUMENTS) if ":" in runtime else None
        if not self._function and runtime not in OPENVINO:
            raise GrucibleError(
                f"{file}: an OpenVINO model runs on openvino or a package.module:function, not on {runtime}"
            )
        super().__init__(file, runtime)
        version = f"{ov.get_version().partition('-')[0]} CPU"
        self.version = self._function.version if self._function else version
        self._model = _read(file)
        self.ports = [_port(one) for one in self._model.inputs]
        nodes = self._see("")
        if not self.layers and not self.unseen:
            raise self.has_no_gru(Counter(one.node.get_type_name() for one in nodes))

    def _see(self, why: str) -> list[_Found]:
        """Make all layers visible, or for a reason those outside bodies alone; return all nodes."""
        self._visible = _read(self.file)
        self._names = [_name(one) for one in self._visible.outputs]
        self.layers, self.unseen = [], {}
        nodes = [*_found(self._visible)]
        for one in nodes:
            kind = one.node.get_type_name()
            if kind in _KINDS:
                self._add(one, why if one.around else "")
            elif "GRU" in kind:
                self.unseen[one.node.get_friendly_name()] = f"a {kind} is not known"
        return nodes

    def narrow(self, why: str) -> bool:
        """Hide the layers in bodies, for a reason; say whether there were any."""
        before = len(self.layers)
        self._see(why)
        return len(self.layers) < before

    def _add(self, found: _Found, why: str) -> None:
        node, operator = found.node, _KINDS[found.node.get_type_name()]
        taken = {one.name for one in self.layers} | {*self.unseen}
        name = name_apart(node.get_friendly_name(), taken)
        loops = [holder.branch is None for holder in found.around]
        if False in loops and any(loops[loops.index(False) :]):
            why = IN_IF_IN_LOOP
        if why:
            self.unseen[name] = why
            return
        given = {
            n: value
            for n, value in node.get_attributes().items()
            if value not in ([], 0.0) or value is False
        }
        inputs = {
            tensor.name: self._tap(found, f"{name}/{tensor.name}", node.input_value(at))
            for at, tensor in enumerate(operator.inputs)
            if at < node.get_input_size()
        }
        outputs = {
            tensor.name: self._tap(found, f"{name}/{tensor.name}", node.output(at))
            for at, tensor in enumerate(operator.outputs)
        }
        conditions = []
        for at, (holder, graph, branch) in enumerate(found.around):
            if branch is not None:
                outside = _Found(holder, graph, found.around[at + 1 :])
                tap = self._tap(outside, f"{name}/condition {at}", holder.input_value(0))
                conditions.append((tap, branch))
        self.layers.append(Layer(name, operator, given, inputs, outputs, conditions))

    def _tap(self, found: _Found, name: str, value: Any) -> Tap:
        """Make a value visible as an output of the model, stacked over the rounds of all loops."""
        graph = found.graph
        for holder in found.around:
            value, graph = _leave(holder, graph, value), holder.graph
        made = result(value)
        made.output(0).get_tensor().add_names({name})
        graph.add_results([made])
        self._names.append(name)
        return Tap(name, sum(one.branch is None for one in found.around))

    def run(self, feeds: Arrays) -> Arrays:
        """Run the model as it is; return its outputs by name."""
        return self._outputs(self._model, feeds)

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run the model with its layers visible; return its outputs and all that is seen, by name."""
        return self._outputs(self._visible, feeds)

    def _outputs(self, model: Any, feeds: Arrays) -> Arrays:
        try:
            if self._function:
                name, save = Path(self.file).name, partial(ov.serialize, model)
                return self._renamed(model, run_saved(self._function, name, save, feeds))
            found = infer_openvino(model, OPENVINO[self.runtime].properties)(feeds)
        except Exception as error:
            raise self.refused(error) from None
        return dict(zip(self._names, found, strict=False))

    def _renamed(self, model: Any, found: Arrays) -> Arrays:
        """Give outputs the names of this object; each may come under any of its names in the model."""
        names = [
            (one, port.get_names()) for one, port in zip(self._names, model.outputs, strict=False)
        ]
        return {one: found[name] for one, several in names for name in several if name in found}


def _leave(holder: _Holder, body: Any, value: Any) -> Any:
    """Lead a value out of a loop, stacked over its rounds, or out of an If, with a stand-in."""
    if holder.branch is None:
        stacked = unsqueeze(value, 0)
        body.add_results([result(stacked)])
        return holder.node.get_concatenated_slices(stacked.output(0), 0, 1, 1, -1, 0)
    zero = np.zeros([1] * len(value.get_partial_shape()), value.get_element_type().to_dtype())
    both = [result(value), result(constant(zero))]
    both = both if holder.branch else both[::-1]
    for one, gives in zip(
        (holder.node.get_then_body(), holder.node.get_else_body()), both, strict=True
    ):
        one.add_results([gives])
    return holder.node.set_output(*both)


def _read(file: str) -> Any:
    try:
        return openvino_core().read_model(file)
    except Exception as error:
        why = format_error(error)
        beside = Path(file).with_suffix(".bin")
        missing = "" if beside.is_file() else f"; its weights {beside.name} are not beside it"
        raise GrucibleError(f"{file}: is no OpenVINO model ({why}){missing}") from None


def _name(port: Any) -> str:
    names = sorted(port.get_names())
    return names[0] if names else str(port.get_node().get_friendly_name())


def _port(port: Any) -> Port:
    shape = port.get_partial_shape()
    axes: Sequence[int | None] | None = None
    if shape.rank.is_static:
        axes = [axis.get_length() if axis.is_static else None for axis in shape]
    return Port(_name(port), port.get_element_type().to_dtype(), axes)
