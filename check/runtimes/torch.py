"""PyTorch's nn.GRU and nn.GRUCell, and what its exporters make of them, as runtimes.

A question becomes a module that computes it. `torch` calls the module; the others export it, and run what
was exported. Scripts (`check/scripts`) copy the functions whose names begin with `make_` or `run_`; so each
imports torch itself.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import multiprocessing
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES
from ...cases.operators import OPERATORS
from ...cases.operators.layout import of_each_direction
from ...cases.operators.torch import OPERATORS as MODULES
from ...cases.question import sizes_of
from .onnx_files import load_onnxruntime
from .posed import EXACT, TORCH, decline, infer_openvino, run_as

if TYPE_CHECKING:
    from ...cases.dtypes import Array, Arrays
    from ...cases.question import Question

FED = ("input", "lengths", "h_0", "hidden")
"""The inputs that are no parameters, in the order in which a module takes them."""
_MORE = {"N": 2, "L": 3}
"""How many more rows and steps than asked a dynamic runtime exports at."""


def make_module(attributes: Any, arrays: Any, packed: bool) -> Any:
    """Make an nn.GRU, or an nn.GRUCell, with these parameters.

    A `packed` module packs its input by lengths, and pads its output.
    """
    import torch

    parameters = {name: make_tensor(array) for name, array in arrays.items()}
    kind = torch.nn.GRU if "weight_ih_l0" in arrays else torch.nn.GRUCell
    bias = any(name.startswith("bias") for name in arrays)
    gru: Any = kind(**attributes, bias=bias, dtype=next(iter(parameters.values())).dtype)
    gru.load_state_dict(parameters)

    class Packed(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.gru = gru

        def forward(self, input: Any, lengths: Any, h_0: Any = None) -> Any:
            rnn, first = torch.nn.utils.rnn, gru.batch_first
            rows = rnn.pack_padded_sequence(input, lengths, first, enforce_sorted=False)
            output, h_n = self.gru(rows, h_0)
            time = input.shape[1 if first else 0]
            return rnn.pad_packed_sequence(output, first, total_length=time)[0], h_n

    return (Packed() if packed else gru).eval()


def make_tensor(array: Any) -> Any:
    """Make a tensor of an array; bfloat16 by its bits."""
    import torch

    if array.dtype == "bfloat16":
        return torch.from_numpy(array.view("i2").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def make_file(module: Any, examples: Any, dynamic: Any, legacy: bool) -> bytes:
    """Export a module as an ONNX file; `dynamic` names the open axes of each input, by place."""
    import io
    import warnings

    import torch

    names = list(examples)
    tensors = tuple(make_tensor(array) for array in examples.values())
    content: Any = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if legacy:
            options: Any = {"input_names": names, "dynamic_axes": dynamic, "dynamo": False}
            torch.onnx.export(module, tensors, content, **options)
        else:
            words = {word for axes in dynamic.values() for word in axes.values()}
            size = {word: torch.export.Dim(word) for word in words}
            opened = [{at: size[word] for at, word in dynamic[one].items()} for one in dynamic]
            shapes = tuple(opened) or None
            program: Any = torch.onnx.export(
                module, tensors, input_names=names, dynamic_shapes=shapes, verbose=False
            )
            program.save(content)
    found: bytes = content.getvalue()
    return found


def run_file(content: bytes, feeds: Any) -> Any:
    """Run an ONNX file in ONNX Runtime; inputs that the file does not have are not given."""
    import onnx

    graph = onnx.load_from_string(content).graph
    run = load_onnxruntime(content, [one.name for one in graph.output])
    return run({one.name: feeds[one.name] for one in graph.input})


def run_openvino(module: Any, examples: Any, feeds: Any) -> Any:
    """Convert a module by OpenVINO's PyTorch frontend from a trace of `examples`, and run it."""
    import openvino as ov

    tensors = tuple(make_tensor(array) for array in examples.values())
    model = ov.convert_model(module, example_input=tensors)
    return infer_openvino(model, EXACT)(feeds)


def run_module(module: Any, feeds: Any) -> Any:
    """Call a module."""
    import torch

    with torch.no_grad():
        outputs = module(*map(make_tensor, feeds.values()))
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    bits = [one.view(torch.int16) if one.dtype == torch.bfloat16 else one for one in several]
    return [one.numpy() for one in bits]


def other_inputs(question: Question, names: list[str]) -> Arrays:
    """Make inputs of more rows and steps, zeros and full lengths, at which a dynamic runtime exports."""
    operator = OPERATORS[question.operator]
    sizes = {symbol: n + _MORE.get(symbol, 0) for symbol, n in sizes_of(question).items()}
    found: Arrays = {}
    for tensor in (one for name in names for one in operator.inputs if one.name == name):
        shape = operator.shape(tensor, question.attributes, sizes)
        value = sizes["L"] if tensor.role == "lengths" else 0
        found[tensor.name] = np.full(shape, value, question.inputs[tensor.name].dtype)
    return found


def open_axes(question: Question, names: list[str]) -> dict[str, dict[int, str]]:
    """Name the open axes of each input, in order of `names`: batch and steps."""
    found = {one.name: one for one in OPERATORS[question.operator].inputs}
    axes = {name: enumerate(found[name].form(question.attributes).axes) for name in names}
    return {name: {at: axis for at, axis in axes[name] if axis in _MORE} for name in names}


class TorchRuntime:
    """One of `posed.TORCH`, called `name`.

    Each export has a process of its own: what an exporter makes may depend on what it made before.
    """

    parallel = True

    def __init__(self, name: str) -> None:
        self._name, self._posing = name, TORCH[name]
        # else its exporters warn in every case
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        versions = [f"{one} {importlib.metadata.version(one)}" for one in self._posing.packages]
        self.version = " ".join([importlib.import_module("torch").__version__, *versions])
        # torch, when it is imported, sets levels
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        self.__doc__ = self._posing.about

    def __call__(self, question: Question) -> Arrays:
        """Return the outputs for `question`, in torch's or the chain's own dtypes.

        Raises Unsupported for what neither operator of PyTorch can ask, and for a dtype that the chain does
        not offer. What PyTorch, its exporter or the runtime behind it raises is raised.
        """
        return run_as(MODULES, self._run, question)

    def _run(self, question: Question) -> Arrays:
        decline(self._name, question)
        outputs = (
            _run_apart(self._outputs, question)
            if self._posing.exporter
            else self._outputs(question)
        )
        kind = FLOAT_TYPES[question.dtype].numpy
        bits = [one.view(kind) if one.dtype == np.int16 else one for one in outputs]
        return dict(zip(question.outputs, bits, strict=True))

    def _outputs(self, question: Question) -> list[Array]:
        operator, posing = OPERATORS[question.operator], self._posing
        parameters = {n: a for n, a in question.inputs.items() if n not in FED}
        feeds = {name: question.inputs[name] for name in FED if name in question.inputs}
        arrays = of_each_direction(operator, question.attributes, parameters)
        module = make_module(question.attributes, arrays, "lengths" in feeds)
        if not posing.exporter:
            return list(run_module(module, feeds))
        examples = other_inputs(question, [*feeds]) if posing.dynamic else feeds
        if posing.exporter == "openvino":
            return list(run_openvino(module, examples, feeds))
        legacy = posing.exporter == "onnx-legacy"
        opened = open_axes(question, [*feeds]) if posing.dynamic else {}
        return list(run_file(make_file(module, examples, opened, legacy), feeds))


def _run_apart(run: Any, question: Question) -> list[Array]:
    """Run in a forked process; raise what it raises."""
    ours, theirs = multiprocessing.Pipe()

    def answer() -> None:
        try:
            theirs.send(run(question))
        except BaseException as error:
            theirs.send(RuntimeError(f"{type(error).__name__}: {error}"))

    forking: Any = multiprocessing.get_context("fork")  # Windows has none
    process = forking.Process(target=answer)
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        raise RuntimeError("the process of the exporter died") from None
    finally:
        process.join()
    if isinstance(found, Exception):
        raise found
    return list(found)


_made = cache(TorchRuntime)


def __getattr__(name: str) -> TorchRuntime:
    """Make the runtime that an entry point names, with `_` for `-`."""
    if (called := name.rstrip("_").replace("_", "-")) not in TORCH:  # torch_ is no module's name
        raise AttributeError(name)
    return _made(called)
