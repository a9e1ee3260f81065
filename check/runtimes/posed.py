"""How each named runtime is asked: which inputs become constants, and which questions are not asked.

Nothing here loads a runtime: `check/scripts` writes scripts for runtimes that are not installed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ...cases.conversion import NotExpressible, ask, nearest
from ...cases.question import INVALID
from ...vectors.exchange.node import LENGTHS, WEIGHTS, Posing
from .runtime import Unsupported

if TYPE_CHECKING:
    from ...cases.dtypes import Array, Arrays
    from ...cases.operators.signature import Operator
    from ...cases.question import Question

_INPUTS: frozenset[str] = frozenset()
ONNX_FILES = {
    "onnx": Posing(_INPUTS),  # for any runtime, as ONNX's own tests are
    "onnxruntime": Posing(_INPUTS, opset=14),
    "onnxruntime-constant": Posing(opset=14),
    "onnxruntime-opset7": Posing(_INPUTS, opset=7),  # before 14 there is no layout
    "onnx-reference": Posing(_INPUTS),
    "opencv": Posing(both_outputs=True),
    "openvino-onnx": Posing(),
    "openvino-onnx-dynamic": Posing(dynamic=True),
    "iree": Posing(),
    "mnn": Posing(),
    "mnn-kernel": Posing(),
    "tract": Posing(WEIGHTS | LENGTHS),  # it knows no sequence_lens but an initializer
}
"""The runtimes that get a model of one ONNX GRU, by name."""
OWN_KERNEL = ["--useOriginRNNImpl"]
"""The options of MNN's converter that `mnn-kernel` is asked with."""
EXACT: dict[str, str | int] = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0}
"""Properties of OpenVINO: no bfloat16 unless the model has it; the model runs in the calling thread."""


MODELS_WITH_CONSTANTS = 2
"""Maximum models with constants that are kept: weights are asked again with the batch and with half of it."""


class Constants(dict[str, "Array"]):
    """Inputs that are constants of a model; others of the same bits are equal."""

    @property
    def _bits(self) -> tuple[tuple[str, bytes], ...]:
        return tuple((name, array.tobytes()) for name, array in self.items())

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self._bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and self._bits == other._bits


@dataclass(frozen=True)
class OpenVINOPosing:
    """How OpenVINO is asked its own operators.

    With `constant_weights`, W, R and B are Constants, else Parameters. With `dynamic`, batch and number
    of steps are dynamic dimensions. With `own_precision` no INFERENCE_PRECISION_HINT is given.
    """

    constant_weights: bool = False
    dynamic: bool = False
    own_precision: bool = False

    @property
    def properties(self) -> dict[str, str | int]:
        """The properties with which a model is compiled."""
        return {"NUM_STREAMS": 0} if self.own_precision else EXACT


OPENVINO = {
    "openvino": OpenVINOPosing(),
    "openvino-constant": OpenVINOPosing(constant_weights=True),
    "openvino-dynamic": OpenVINOPosing(constant_weights=True, dynamic=True),
    "openvino-dynamic-parameters": OpenVINOPosing(dynamic=True),
    "openvino-default": OpenVINOPosing(own_precision=True),
}
"""The runtimes that get a model of one of OpenVINO's operators, by name."""


@dataclass(frozen=True)
class TorchPosing:
    """How PyTorch is asked: the module itself, or the result of an `exporter`.

    With `dynamic`, batch and steps are open, and the module is exported at other sizes than are asked.
    """

    exporter: str = ""
    dynamic: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of the chain besides torch."""
        if self.exporter.startswith("onnx"):
            return ("onnxscript", "onnx", "onnxruntime")[self.exporter == "onnx-legacy" :]
        return ("openvino",) if self.exporter else ()

    @property
    def about(self) -> str:
        """What the chain is, in a line."""
        chain = {
            "": "nn.GRU and nn.GRUCell of PyTorch",
            "onnx": "PyTorch's ONNX exporter, then ONNX Runtime",
            "onnx-legacy": "PyTorch's ONNX exporter of traces, then ONNX Runtime",
            "openvino": "OpenVINO's PyTorch frontend and CPU plugin",
        }[self.exporter]
        return chain + "; exported at other sizes than are run" * self.dynamic


TORCH = {"torch": TorchPosing()} | {
    f"torch-{exporter}{'-dynamic' * dynamic}": TorchPosing(exporter, dynamic)
    for exporter in ("onnx", "onnx-legacy", "openvino")
    for dynamic in (False, True)
}
"""The runtimes that get a module of PyTorch's, by name."""


@cache
def openvino_core() -> Any:
    """Return OpenVINO's core; a single core loads each plugin only once."""
    import openvino

    return openvino.Core()


def infer_openvino(model: Any, properties: Mapping[str, str | int]) -> Any:
    """Compile a model for OpenVINO's CPU plugin; return a function from inputs, in order, to outputs."""
    request = openvino_core().compile_model(model, "CPU", dict(properties)).create_infer_request()

    def run(feeds: dict[str, Any]) -> list[Any]:
        for index, array in enumerate(feeds.values()):
            tensor = request.get_input_tensor(index)
            if tuple(tensor.shape) != array.shape:
                tensor.shape = array.shape  # the model is dynamic
            tensor.data.view(array.dtype)[...] = array
        request.infer()
        found = [tensor.data.copy() for tensor in request.output_tensors]
        bits = next(iter(feeds.values())).dtype  # bfloat16 comes as float16 of the same bits
        return [one.view(bits) if bits.name == "bfloat16" else one for one in found]

    return run


_DTYPES = {
    "opencv": ({"bfloat16"}, "OpenCV has no {} arrays in Python"),
    "tract": ({"bfloat16"}, "tract has no {} tensors"),
    "mnn": (
        {"float16", "float64", "bfloat16"},
        "MNN takes and gives float32 in Python, not {}",
    ),
    "onnxruntime": ({"float64", "bfloat16"}, "ONNX Runtime's GRU has no {}"),
}
"""The dtypes that a runtime does not offer, and how to say so, by the first word of its name."""


def decline(name: str, question: Question) -> None:
    """Raise Unsupported, with the reason, where the runtime of this name is not asked `question`.

    Either the runtime says that it does not offer the question, or there is no way to ask it.
    """
    chain = TORCH[name].packages if name in TORCH else ()
    family = [name.partition("-")[0], *chain][-1]  # what runs the file that was made
    if name in ONNX_FILES and family == "onnxruntime":
        if question.attributes["layout"] == 1:
            raise Unsupported("layout 1: ONNX Runtime has no batchwise recurrent operators")
        opset = ONNX_FILES[name].opset or 0
        if opset < 14 and "layout" in question.given:
            raise Unsupported(f"GRU has no layout before opset 14, and the model is of {opset}")
    dtypes, reason = _DTYPES.get(family, (set(), ""))
    if question.dtype in dtypes:
        raise Unsupported(reason.format(question.dtype))


def run_as(
    operators: Collection[Operator],
    run: Callable[[Question], Mapping[str, Array]],
    question: Question,
) -> Arrays:
    """Run `question` by `run`, which answers questions of `operators`, and convert the outputs back.

    Raises Unsupported where the nearest of these cannot ask the same. This includes every question that must
    be refused: our conversion, not the runtime, would refuse or accept it.
    """
    operator = nearest(question.operator, operators)
    if question.operator == operator.name:
        return dict(run(question))
    if question.theme == INVALID:
        raise Unsupported(
            f"{question.operator} is asked as {operator.name}, but only in valid questions"
        )
    try:
        asked = ask(question, operator)
    except NotExpressible as reason:
        raise Unsupported(str(reason)) from None
    return asked.answer(run(asked.question))
