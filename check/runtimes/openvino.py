"""OpenVINO's CPU plugin as a runtime of GRUCell-3 and GRUSequence-5, and of what can be asked as one.

A case becomes a model of one node (vectors.exchange.openvino_model), which is compiled and run. Most of the
time that takes is the same for a model of many nodes: nodes that are asked next are compiled as one model,
as those of real models are (`openvino_together.py`).

Models are static in shape, or dynamic in batch and time. They are compiled with
INFERENCE_PRECISION_HINT f32 (the default is bfloat16 on CPUs that have it) and NUM_STREAMS 0, which
runs a model in the calling thread: results are the same bits, a compiled model holds no threads of
its own, and a process that has run cases can fork.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
import openvino as ov

from ...cases.operators.openvino import OPERATORS
from ...cases.question import INVALID, Question
from ...vectors.exchange.node import NodeType, node_type
from ...vectors.exchange.openvino_model import fill, model, node
from .posed import OPENVINO, OpenVINOPosing, openvino_operator, question_as, run_as
from .runtime import Unsupported

_OPERATORS = {operator.name: operator for operator in OPERATORS}
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_CACHED_MODELS = 32
"""Maximum models that are kept, of 1.1 MB each; cases that share a model follow one another."""
_COUNTED = re.compile(r"\b([A-Z]\w*)_\d+\b")
"""A node's name in a message, `Split_1234`: the number counts all nodes the process ever made."""


MOST_NODES = 8
"""Maximum nodes of a model; more save little more, and each inference runs them all."""
MOST_NUMBERS = 4096
"""Maximum numbers in the inputs of such a node; to run more for others costs more than to compile it."""


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
    """One node of a compiled model: its inference request, its first input, and where its outputs stand."""

    request: Any
    first: int
    outputs: slice

    def inferred(self, arrays: Sequence[npt.NDArray[Any]]) -> list[Any]:
        """Run the node; give the tensors of its outputs for these inputs."""
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
    """Compile small nodes in one model, as far as that can be; the others are asked alone.

    Of the 25 ms that compiling a model of one node takes, some 20 go to the passes of the compiler, however
    many nodes there are. The nodes share nothing, and what they give is the same, bit for bit. `compiled`
    makes an inference request of a model; where it refuses one, each half of the nodes is tried.
    """
    wanted = [one for one in wanted if one.small]
    if len(wanted) < 2:
        return {}
    parameters: list[Any] = []
    results: list[Any] = []
    places: list[tuple[int, slice]] = []
    try:
        if len(wanted) > MOST_NODES:
            raise RuntimeError
        for one in wanted:
            made, inputs = node(one.type, one.arrays)
            ended = len(results) + len(made.outputs())
            places.append((len(parameters), slice(len(results), ended)))
            parameters += inputs
            results += made.outputs()
        request = compiled(ov.Model(results, parameters))
    except RuntimeError:
        middle = len(wanted) // 2
        halves = wanted[:middle], wanted[middle:]
        return {k: v for half in halves for k, v in compiled_together(half, compiled).items()}
    _fill(request)
    return {one: Part(request, *place) for one, place in zip(wanted, places, strict=True)}


def _fill(request: Any) -> None:
    """Fill every input with numbers that a node may be run with: zeros, and lengths of 1."""
    for tensor in request.input_tensors:
        lengths = tensor.get_element_type() in (ov.Type.i32, ov.Type.i64)
        tensor.data[...] = 1 if lengths else 0


class OpenVINO:
    """GRUCell-3 and GRUSequence-5 on OpenVINO's CPU plugin: float16, float32, float64, bfloat16.

    With `posing.constant_weights`, as in real models, every case compiles a model of its own (some 20 ms).
    Otherwise a compiled model serves every case that asks the same question of other numbers. With
    `posing.dynamic`, a model also serves all batches, numbers of steps and lengths.

    One object is for one thread at a time: a kept model has one inference request.
    """

    parallel = True

    def __init__(self, posing: OpenVINOPosing) -> None:
        self._posing = posing
        self.__doc__ = (
            "GRUCell-3 and GRUSequence-5 on OpenVINO's CPU plugin; "
            f"W, R, B are {'Constants' if posing.constant_weights else 'Parameters'}"
            f"{'; batch and time are dynamic' if posing.dynamic else ''}"
            f"{'; precision as OpenVINO chooses' if posing.own_precision else ''}"
        )
        self._kept_request = lru_cache(maxsize=_CACHED_MODELS)(self._request)
        self._together: dict[Compiled, Part] = {}

    @cached_property
    def _core(self) -> Any:
        return ov.Core()

    @property
    def version(self) -> str:
        """OpenVINO's version and the device, such as `2026.4.1 CPU, Intel(R) Xeon(R) Processor`."""
        processor = self._core.get_property("CPU", "FULL_DEVICE_NAME")
        return f"{ov.get_version().partition('-')[0]} CPU, {processor}"

    @property
    def computes_bfloat16(self) -> bool:
        """Whether this CPU computes float32 models in bfloat16 where no precision is asked for."""
        return "BF16" in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """Give the outputs of OpenVINO for `question`: `Ho`, or `Y` and `Ho`, shaped as specified.

        Their dtype is the type that OpenVINO gives the output; bfloat16 is an `ml_dtypes` array. A
        question of another owner's operator is asked as a GRUSequence-5; raises Unsupported where that cannot
        be. What OpenVINO refuses is its own RuntimeError.
        """
        return run_as(openvino_operator(question), self._run, question)

    def prepare_for(self, questions: Sequence[Question]) -> None:
        """Compile together what is asked next, unless its shapes are dynamic."""
        if self._posing.dynamic:
            return
        wanted: dict[Compiled, None] = {}
        for question in questions:
            if question.theme == INVALID:  # who refuses it is asked alone
                continue
            with suppress(Unsupported):
                asked, _ = self._posed(question_as(openvino_operator(question), question))
                wanted[asked] = None
        before = self._together
        self._together = {asked: before[asked] for asked in wanted if asked in before}
        new = [asked for asked in wanted if asked not in before]
        self._together |= compiled_together(new, self._compiled)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        asked, inputs = self._posed(question)
        if part := self._together.get(asked):
            outputs = [copied(tensor) for tensor in part.inferred(inputs)]
        else:
            outputs = infer(self._kept_request(asked), inputs)
        names = [tensor.name for tensor in _OPERATORS[question.operator].outputs]
        return dict(zip(names, map(typed, outputs), strict=True))

    def _posed(self, question: Question) -> tuple[Compiled, list[Any]]:
        """Find what a model is compiled for to run `question`, and what is fed to it."""
        operator = _OPERATORS[question.operator]
        inputs = {
            t.name: question.inputs[t.name] for t in operator.inputs if t.name in question.inputs
        }
        asked = node_type(question)
        if self._posing.dynamic:
            asked = asked.dynamic()
        constants: tuple[tuple[str, bytes], ...] = ()
        if self._posing.constant_weights:
            weights = [t.name for t in operator.inputs if t.role in ("w", "r", "b")]
            constants = tuple(
                (name, inputs.pop(name).tobytes()) for name in weights if name in inputs
            )
        return Compiled(asked, constants), list(inputs.values())

    def _request(self, asked: Compiled) -> Any:
        try:
            return self._compiled(model(asked.type, asked.arrays))
        except RuntimeError as error:
            raise RuntimeError(_COUNTED.sub(r"\1", str(error))) from None

    def _compiled(self, made: Any) -> Any:
        """Make an inference request of the model `made`."""
        return request_of(self._core, made, self._posing.properties)


def request_of(core: Any, made: Any, properties: dict[str, str | int]) -> Any:
    """Make a request to infer the model `made`, compiled for the CPU."""
    return core.compile_model(made, "CPU", properties).create_infer_request()


def infer(request: Any, arrays: list[Any]) -> list[Any]:
    """Infer the outputs for these inputs, in their order; of bfloat16 the bits, as uint16."""
    for index, array in enumerate(arrays):
        tensor = request.get_input_tensor(index)
        if tuple(tensor.shape) != array.shape:
            tensor.shape = array.shape  # of a dynamic model
        fill(tensor, array)
    request.infer()
    return [copied(tensor) for tensor in request.output_tensors]


def copied(tensor: Any) -> Any:
    """Copy `tensor`, whose memory belongs to its request."""
    bits = tensor.get_element_type() == ov.Type.bf16
    return (tensor.data.view(np.uint16) if bits else tensor.data).copy()


def typed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give an output the numbers that its bits mean."""
    return array.view(_BFLOAT16) if array.dtype == np.uint16 else array


parameters = OpenVINO(OPENVINO["openvino"])
constant = OpenVINO(OPENVINO["openvino-constant"])
dynamic = OpenVINO(OPENVINO["openvino-dynamic"])
dynamic_parameters = OpenVINO(OPENVINO["openvino-dynamic-parameters"])
default = OpenVINO(OPENVINO["openvino-default"])
