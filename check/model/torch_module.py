"""PyTorch modules: each call of an nn.GRU or nn.GRUCell in them, seen by hooks.

The operator torch.GRU has one layer. So a GRU of several layers is run again, layer by layer. It is judged if
that gives the bits of its own outputs.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.utils import rnn
from torch.overrides import TorchFunctionMode

from ...cases.console import format_error
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.operators.layout import of_both_directions
from ...cases.operators.signature import Operator
from ...cases.operators.torch import GRU, GRU_CELL
from ..reports.text import plural
from ..runtimes.runtime import load_runtime
from ..runtimes.torch import make_tensor
from .network import MOST_RUNS, Layer, Network, Port, Tap

_GRUS = (torch.nn.GRU, torch.nn.GRUCell)


class _Call(NamedTuple):
    """A call of a GRU: what it was given, as a dict of its arguments, and what it gave."""

    name: str
    module: Any
    arguments: Mapping[str, Any]
    output: Any


class _CallsAlone(TorchFunctionMode):
    """Counts the calls of torch.gru and the like outside a layer's call, which no hook sees."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.calls = 0, Counter[str]()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the name is PyTorch's
        name = getattr(func, "__name__", "").partition(".")[0]  # torch.ops has gru.input
        if name in ("gru", "gru_cell") and not self.inside:
            self.calls[name] += 1
        return func(*args, **(kwargs or {}))


class TorchNetwork(Network):
    """The module that a function of the user's makes, in evaluation mode, on the CPU."""

    none = "no nn.GRU or nn.GRUCell; judge a GRU of your own with: grucible new python --operator torch.GRU"

    def __init__(self, file: str, runtime: str) -> None:
        if runtime != "torch":
            raise GrucibleError(
                f"{file}: a module does not run on {runtime}; give --runtime torch, or torch-onnx or "
                "torch-onnx-legacy, which export it"
            )
        super().__init__(file, runtime)
        make: Any = load_runtime(file, ()).run
        try:
            self.module, self.version = make(), torch.__version__
        except Exception as error:  # a user's function raises anything
            raise GrucibleError(f"{file}: makes no module: {format_error(error)}") from None
        if not isinstance(self.module, torch.nn.Module):
            raise GrucibleError(
                f"{file}: gave a {type(self.module).__name__}; expected a torch.nn.Module"
            )
        if _is_program(self.module):
            raise GrucibleError(
                f"{file}: gave a scripted, traced, exported or compiled module, in which no GRU can be seen; "
                "give the nn.Module that it was made of"
            )
        self.module.eval()
        self._grus = {
            n or "module": m for n, m in self.module.named_modules() if isinstance(m, _GRUS)
        }
        self.unseen |= {
            name: f"this {_kind(module)} is no nn.GRU, nn.GRUCell or subclass"
            for name, module in self.module.named_modules()
            if "GRU" in _kind(module) and not _holds_gru(module)
        }
        if not self._grus and not self.unseen:
            raise self.has_no_gru(Counter(type(one).__name__ for one in self.module.modules()))
        takes = inspect.signature(self.module.forward).parameters.values()
        self.ports = [Port(one.name, None, None, one.default is one.empty) for one in takes]
        self._values: Arrays = {}

    def cast(self, array: Array) -> Array:
        """Convert an array of floats to the dtype of the module's parameters."""
        kinds = [one.dtype for one in self.module.parameters() if one.is_floating_point()]
        kind = FLOAT_TYPES[str(kinds[0]).removeprefix("torch.")].numpy
        return array.astype(kind) if dtype_name(array.dtype) in FLOAT_TYPES else array

    def run(self, feeds: Arrays) -> Arrays:
        """Call the module; return its outputs by number, `output` where there is one."""
        try:
            with torch.no_grad():
                outputs = self.module(**{name: make_tensor(array) for name, array in feeds.items()})
        except Exception as error:  # a user's module raises anything
            raise self.refused(error) from None
        return dict(_named(outputs, "output"))

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Call the module with hooks; return its outputs and all that its GRUs were given and gave."""
        self._calls: Counter[str] = Counter()

        alone = _CallsAlone()

        def enter(*_: Any) -> None:
            alone.inside += 1

        def see(name: str) -> Any:
            def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
                given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
                self._add(_Call(name, module, given, output))  # at once: tensors may change
                alone.inside -= 1

            return hook

        hooks = [m.register_forward_pre_hook(enter) for m in self._grus.values()]
        hooks += [m.register_forward_hook(see(n), with_kwargs=True) for n, m in self._grus.items()]
        with alone:
            outputs = self.run(feeds)
        for one in hooks:
            one.remove()
        for called, times in alone.calls.items():
            self.unseen[f"torch.{called}"] = f"{plural(times, 'call')} that no layer made"
        never = self._grus.keys() - self._calls.keys()
        self.unseen |= dict.fromkeys(never, "it did not run")
        return self._values | outputs

    def _add(self, call: _Call) -> None:
        """Keep what a call was given and gave."""
        self._calls[call.name] += 1
        if self._calls[call.name] > MOST_RUNS:
            several = getattr(call.module, "num_layers", 1)
            names = [f"{call.name}.{layer}" for layer in range(several)]
            self.more.update(names if several > 1 else [call.name])
            return
        layers = [call]
        if getattr(call.module, "num_layers", 1) > 1:
            layers = [*_layer_by_layer(call)]
            again, states = layers[-1].output[0], torch.cat([one.output[1] for one in layers])
            own, state = call.output
            if not (_same(_data(again), _data(own)) and _same(states, state)):
                self.unseen[call.name] = "its layers one by one give other outputs than all at once"
                return
        for one in layers:
            cell = isinstance(one.module, torch.nn.GRUCell)
            given, inputs, outputs = (_cell if cell else _sequence)(one)
            place = f"{one.name}/{len(self.layers)}"
            values = {f"{place}/{name}": array for name, array in (inputs | outputs).items()}
            self._values |= values
            takes, gives = (
                {name: Tap(f"{place}/{name}") for name in some} for some in (inputs, outputs)
            )
            self.layers.append(Layer(one.name, GRU_CELL if cell else GRU, given, takes, gives))


def _is_program(module: Any) -> bool:
    """Say whether a module was made into a program, in which hooks see no parts."""
    graph = isinstance(module, torch.fx.GraphModule)
    exported = graph and not any(isinstance(one, _GRUS) for one in module.modules())
    return isinstance(module, torch.jit.ScriptModule) or hasattr(module, "_orig_mod") or exported


def _kind(module: Any) -> str:
    """Return the name of a module's type, also of one that is scripted."""
    return str(getattr(module, "original_name", type(module).__name__))


def _holds_gru(module: Any) -> bool:
    """Say whether hooks see a module's calls, or a part of it is a GRU by its name."""
    parts = [*module.modules()][1:]
    return isinstance(module, _GRUS) or any("GRU" in _kind(one) for one in parts)


def _layer_by_layer(call: _Call) -> Iterator[_Call]:
    """Run the layers of a GRU one after another, each as a GRU of one layer."""
    whole, x = call.module, call.arguments["input"]
    hx, directions = call.arguments.get("hx"), 1 + whole.bidirectional
    for layer in range(whole.num_layers):
        size = whole.input_size if layer == 0 else directions * whole.hidden_size
        one = torch.nn.GRU(size, whole.hidden_size, 1, whole.bias, whole.batch_first, 0.0,
                           whole.bidirectional, dtype=whole.weight_ih_l0.dtype).eval()  # fmt: skip
        for name, parameter in one.named_parameters():
            parameter.copy_(getattr(whole, name.replace("_l0", f"_l{layer}")))
        state = None if hx is None else hx[layer * directions : (layer + 1) * directions]
        output = one(x, state)
        yield _Call(f"{call.name}.{layer}", one, {"input": x, "hx": state}, output)
        x = output[0]


def _sequence(call: _Call) -> tuple[dict[str, Any], Arrays, Arrays]:
    """Return attributes, inputs and outputs of a call of an nn.GRU of one layer."""
    module, x, state = call.module, call.arguments["input"], call.arguments.get("hx")
    given = {
        "input_size": module.input_size,
        "hidden_size": module.hidden_size,
        "batch_first": bool(module.batch_first),
        "bidirectional": bool(module.bidirectional),
    }
    output, last = call.output
    inputs: Arrays = {}
    if isinstance(x, rnn.PackedSequence):
        x, lengths = rnn.pad_packed_sequence(x, module.batch_first)
        output, _ = rnn.pad_packed_sequence(output, module.batch_first)
        inputs["lengths"] = lengths.numpy()
    elif x.dim() == 2:  # no batch
        at = 0 if module.batch_first else 1
        x, output, last = x.unsqueeze(at), output.unsqueeze(at), last.unsqueeze(1)
        state = None if state is None else state.unsqueeze(1)
    inputs["input"] = _array(x)
    if state is not None:
        inputs["h_0"] = _array(state)
    inputs |= _weights(GRU, module)
    outputs = {"output": _array(output), "h_n": _array(last)}
    return given, of_both_directions(GRU, GRU.with_defaults(given), inputs), outputs


def _cell(call: _Call) -> tuple[dict[str, Any], Arrays, Arrays]:
    """Return attributes, inputs and outputs of a call of an nn.GRUCell."""
    module, x, state = call.module, call.arguments["input"], call.arguments.get("hx")
    given = {"input_size": module.input_size, "hidden_size": module.hidden_size}
    rows = {"input": x} if state is None else {"input": x, "hidden": state}
    inputs = {name: np.atleast_2d(_array(one)) for name, one in rows.items()}
    inputs |= _weights(GRU_CELL, module)
    return given, inputs, {"output": np.atleast_2d(_array(call.output))}


def _weights(operator: Operator, module: Any) -> Arrays:
    """Return a module's weights and biases by their names there; they may be computed from others."""
    names = [
        name for one in operator.inputs if one.role in "wrb" for name in one.names or [one.name]
    ]
    found = {name: getattr(module, name, None) for name in names}
    return {name: _array(one) for name, one in found.items() if one is not None}


def _array(tensor: Any) -> Array:
    """Copy a tensor into an array; bfloat16 by its bits."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return np.array(tensor.view(torch.int16).numpy()).view(FLOAT_TYPES["bfloat16"].numpy)
    return np.array(tensor.numpy())


def _named(outputs: Any, name: str) -> Iterator[tuple[str, Array]]:
    """Yield the tensors of a module's outputs, with names made of their places."""
    if isinstance(outputs, torch.Tensor):
        yield name, _array(outputs)
    elif isinstance(outputs, rnn.PackedSequence):
        yield name, _array(outputs.data)
    elif isinstance(outputs, Mapping):
        for key, one in outputs.items():
            yield from _named(one, f"{name}.{key}")
    elif isinstance(outputs, (list, tuple)):
        for number, one in enumerate(outputs):
            yield from _named(one, f"{name}.{number}")


def _data(output: Any) -> Any:
    return output.data if isinstance(output, rnn.PackedSequence) else output


def _same(one: Any, other: Any) -> bool:
    return bool(torch.equal(one, other))
