"""ONNX models: finding GRU nodes, also in subgraphs, and making what they take and give visible.

A value inside a subgraph leaves it as one more output: a scan output of a Loop or Scan, which stacks the
rounds, or an output of both branches of an If, which means nothing where the other branch ran.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import onnx.inliner
from onnx import helper, numpy_helper

from ...cases.console import format_error
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.onnx import GRU
from ...cases.question import QuestionError
from ..importing.readers import ONNX_DOMAINS, check_opset, gru_node
from ..runtimes.onnx_files import loader_of
from ..runtimes.runtime import guess, load_runtime
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

_NAMES = ("onnxruntime", "onnx-reference", "openvino-onnx", "opencv", "tract", "mnn", "mnn-kernel")
RUNTIMES = {name: name for name in _NAMES} | {"openvino": "openvino-onnx"}
"""The runtimes that run a whole ONNX model, and the runtime whose loader each takes."""
_STACKING = ("Loop", "Scan")
_WIDE = 128
"""The hidden size from which a layer's Y is made visible: its last state alone may decide nothing."""


class _Scope(NamedTuple):
    """A graph, the node that has it as a subgraph, and the scope of that node; a model's has neither."""

    graph: Any
    holder: Any = None
    parent: _Scope | None = None

    def defines(self, name: str) -> bool:
        graph = self.graph
        named = (*graph.input, *graph.initializer)
        return any(one.name == name for one in named) or any(name in n.output for n in graph.node)


def _scopes(scope: _Scope) -> Iterator[_Scope]:
    """Yield a scope and those of all subgraphs below it."""
    yield scope
    for node in scope.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _scopes(_Scope(attribute.g, node, scope))


def _holders(scope: _Scope) -> Iterator[str]:
    """Yield the kinds of the nodes around a scope, the innermost first."""
    while scope.parent:
        yield scope.holder.op_type
        scope = scope.parent


class OnnxNetwork(Network):
    """An ONNX model on a runtime of `RUNTIMES`, or on a function from a path and inputs to outputs."""

    def __init__(self, file: str, runtime: str) -> None:
        super().__init__(file, runtime)
        self._run, self.version = _runner(runtime, Path(file).name)
        self._model = _load(Path(file))
        given = {one.name for one in self._model.graph.initializer}
        self.ports = [_port(one) for one in self._model.graph.input if one.name not in given]
        self.outputs = [one.name for one in self._model.graph.output]
        self._visible = _Visible(self._model, inside=True)
        self.layers, self.unseen = self._visible.layers, self._visible.unseen
        if not self.layers and not self.unseen:
            scopes = _scopes(_Scope(self._model.graph))
            raise self.has_no_gru(Counter(n.op_type for one in scopes for n in one.graph.node))
        try:
            check_opset(self._model)
        except QuestionError as why:
            raise GrucibleError(f"{file}: {why}; convert it: onnx.version_converter") from None

    def run(self, feeds: Arrays) -> Arrays:
        """Run the model as it is; return its outputs by name."""
        return self._outputs(self._model, feeds)

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run the model with its layers visible; return its outputs and all that is seen, by name."""
        found = self._outputs(self._visible.model, feeds)
        constants = {one.name: numpy_helper.to_array(one) for one in self._model.graph.initializer}
        return found | feeds | constants  # a runtime changes neither

    def narrow(self, why: str) -> bool:
        """Hide the layers in subgraphs, for a reason; say whether there were any."""
        inside = self._visible.inside & {one.name for one in self.layers}
        if inside:
            self.unseen |= dict.fromkeys(inside, why)
            self._visible = _Visible(self._model, inside=False)
            self.layers = self._visible.layers
        return bool(inside)

    def _outputs(self, model: Any, feeds: Arrays) -> Arrays:
        try:
            return self._run(model, [one.name for one in model.graph.output], feeds)
        except Exception as error:  # runtimes raise many types
            raise self.refused(error) from None


_Run = Callable[[Any, Sequence[str], Arrays], Arrays]


def _runner(runtime: str, file: str) -> tuple[_Run, str]:
    """Return a function that runs a model, and the runtime's version."""
    if ":" in runtime:
        function = load_runtime(runtime, MODEL_ARGUMENTS)

        def call(model: Any, _: Sequence[str], feeds: Arrays) -> Arrays:
            return run_saved(function, file, lambda path: onnx.save(model, path), feeds)

        return call, function.version
    if runtime not in RUNTIMES:
        expected = ", ".join(RUNTIMES)
        raise GrucibleError(
            f"runtime {runtime} runs no ONNX model{guess(runtime, RUNTIMES)}; expected one of {expected}, "
            "or package.module:function"
        )
    load_runtime(runtime)  # says how to install it, where it is not
    load, version = loader_of(RUNTIMES[runtime])

    def run(model: Any, names: Sequence[str], feeds: Arrays) -> Arrays:
        outputs = load(model.SerializeToString(), names)(feeds)
        return dict(zip(names, outputs, strict=True))

    return run, version


def _load(file: Path) -> Any:
    """Load a model with the data that it keeps in other files, and without functions of its own."""
    try:
        model = onnx.load(str(file), load_external_data=False)
    except Exception as error:  # protobuf raises many types
        more = f"; a module is named {file}:FUNCTION" if str(file).endswith(".py") else ""
        raise GrucibleError(f"{file}: is no ONNX model ({format_error(error)}){more}") from None
    if not model.graph.node:
        raise GrucibleError(f"{file}: is no ONNX model with nodes")
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(file.parent))
    except Exception as error:
        raise GrucibleError(
            f"{file}: keeps weights in another file, which cannot be read ({format_error(error)}); put it "
            "beside the model"
        ) from None
    return onnx.inliner.inline_local_functions(model) if model.functions else model


def _port(value: Any) -> Port:
    tensor = value.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else None
    if not tensor.HasField("shape"):
        return Port(value.name, dtype, None)
    shape = [
        d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim
    ]
    return Port(value.name, dtype, shape)


class _Visible:
    """A copy of a model whose GRU nodes are visible; those `inside` subgraphs too, or else `unseen`."""

    def __init__(self, model: Any, *, inside: bool) -> None:
        self.model = copy.deepcopy(model)
        self.layers: list[Layer] = []
        self.unseen: dict[str, str] = {}
        self.inside: set[str] = set()
        self._taken = {
            name
            for s in _scopes(_Scope(self.model.graph))
            for n in s.graph.node
            for name in n.output
        }
        self._lifted: dict[tuple[int, str], str] = {}
        self._types = _element_types(model)
        names: set[str] = set()
        for scope in [*_scopes(_Scope(self.model.graph))]:
            for node in scope.graph.node:
                ours = node.op_type == "GRU" and node.domain in ONNX_DOMAINS
                if ours or "GRU" in node.op_type:
                    name = name_apart(node.name or next(filter(None, node.output), "GRU"), names)
                    names.add(name)
                if not ours and "GRU" in node.op_type:
                    self.unseen[name] = f"a {node.op_type} of {node.domain or 'ONNX'} is not known"
                elif ours:
                    if scope.parent:
                        self.inside.add(name)
                    if inside or not scope.parent:
                        self._add(name, node, scope)

    def _add(self, name: str, node: Any, scope: _Scope) -> None:
        try:
            kinds = [*_holders(scope)]
            if "If" in kinds and {*kinds[kinds.index("If") :]} & {*_STACKING}:
                raise QuestionError(IN_IF_IN_LOOP)
            given, takes, gives = gru_node(node)
            if "Y" not in gives and "Y_h" in gives and given.get("hidden_size", 0) >= _WIDE:
                node.output[0] = gives["Y"] = self._new_name(f"{gives['Y_h']}_steps")
                self._types[gives["Y"]] = self._types.get(gives["Y_h"], (1, 3))[0], 4
            inputs = {tensor: self._tap(scope, value) for tensor, value in takes.items()}
            outputs = {tensor: self._tap(scope, value) for tensor, value in gives.items()}
            conditions = [*self._conditions(scope)]
            self.layers.append(Layer(name, GRU, given, inputs, outputs, conditions))
        except QuestionError as why:
            self.unseen[name] = str(why)

    def _tap(self, scope: _Scope, name: str) -> Tap:
        """Make a value visible as an output of the model."""
        while scope.parent and not scope.defines(name):
            scope = scope.parent
        loops = 0
        while scope.parent:
            name, loops = self._lift(scope, name), loops + (scope.holder.op_type in _STACKING)
            scope = scope.parent
        graph = scope.graph
        if name not in {one.name for one in (*graph.output, *graph.input, *graph.initializer)}:
            graph.output.append(_typed(name, self._types))
        return Tap(name, loops)

    def _conditions(self, scope: _Scope) -> Iterator[tuple[Tap, bool]]:
        """Make the conditions visible under which a graph runs."""
        while scope.parent:
            for attribute in scope.holder.attribute if scope.holder.op_type == "If" else ():
                if attribute.g is scope.graph:
                    value = attribute.name == "then_branch"
                    yield self._tap(scope.parent, scope.holder.input[0]), value
            scope = scope.parent

    def _lift(self, scope: _Scope, name: str) -> str:
        """Lead a value out of a subgraph, and return its name outside."""
        key = id(scope.graph), name
        if key in self._lifted:
            return self._lifted[key]
        holder, kind = scope.holder, scope.holder.op_type
        if kind not in (*_STACKING, "If"):
            raise QuestionError(f"in a subgraph of {kind}, whose values cannot be made visible")
        inner, outer = (self._new_name(f"{name}_{word}") for word in ("inside", "seen"))
        _give(scope.graph, helper.make_node("Identity", [name], [inner]), inner)
        before = len(scope.graph.output) - 1 - (kind == "Loop")
        while len(holder.output) < before:  # ONNX Runtime dies of outputs without a name
            holder.output.append(self._new_name("unused"))
        holder.output.append(outer)
        for attribute in holder.attribute:
            if attribute.name in ("scan_output_axes", "scan_output_directions"):
                attribute.ints.append(0)
            elif (
                kind == "If"
                and attribute.g is not scope.graph
                and attribute.name.endswith("_branch")
            ):
                other = attribute.g
                if len(other.output) < len(scope.graph.output):
                    other_name = self._new_name(f"{name}_other")
                    _give(other, _stand_in(other_name, *self._types.get(name, (1, 3))), other_name)
        element, rank = self._types.get(name, (1, 3))
        self._types[outer] = element, rank + (kind in _STACKING)
        self._lifted[key] = outer
        return outer

    def _new_name(self, name: str) -> str:
        new = name_apart(name, self._taken)
        self._taken.add(new)
        return new


def _give(graph: Any, node: Any, name: str) -> None:
    """Add a node to a graph, and its output to the graph's."""
    graph.node.append(node)
    graph.output.append(onnx.ValueInfoProto(name=name))


def _typed(name: str, types: Mapping[str, tuple[int, int]]) -> Any:
    """Describe an output, with its type and axes where they are known; OpenCV takes no other."""
    if name not in types:
        return onnx.ValueInfoProto(name=name)
    kind, rank = types[name]
    return helper.make_tensor_value_info(name, kind, [None] * rank)


def _stand_in(name: str, kind: int, rank: int) -> Any:
    return helper.make_node(
        "Constant", [], [name], value=helper.make_tensor("", kind, [1] * rank, [0])
    )


def _element_types(model: Any) -> dict[str, tuple[int, int]]:
    """Find the element type and the number of axes of values, also in subgraphs, as far as they are known."""
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # the runtime may know more
        return {}
    found = {}
    for scope in _scopes(_Scope(model.graph)):
        graph = scope.graph
        for one in (*graph.input, *graph.output, *graph.value_info):
            tensor = one.type.tensor_type
            if tensor.elem_type:
                found[one.name] = tensor.elem_type, len(tensor.shape.dim)
    return found
