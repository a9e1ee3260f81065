"""How each named runtime is asked in a script: the lines that its module in `check/runtimes` asks it with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...vectors.exchange.onnx_node import OneNode, one_node
from ...vectors.exchange.openvino_node import node_type
from ..observed.isolated import EXEC
from ..runtimes.posed import EXACT, ONNX_FILES, OPENVINO, OWN_KERNEL, openvino_operator
from .asked_case import AskedCase
from .body import Body
from .numbers import literal
from .onnx_lines import model_lines as onnx_model_lines
from .openvino_lines import model_lines as openvino_model_lines
from .other_bodies import folder_body, function_body, program_body
from .verbatim import Verbatim

_CONTENT = "model.SerializeToString()"


class _Runs(NamedTuple):
    """How the model of a file is run: its module and functions, and the lines behind the model's."""

    needs: str
    module: str
    functions: tuple[str, ...]
    version: str
    lines: tuple[str, ...]
    imports: tuple[str, ...] = ()
    own_bfloat16: bool = False


_ORT = _Runs(
    "onnxruntime and onnx",
    "onnxruntime.py",
    ("session_of",),
    'f"onnxruntime {ort.__version__}"',
    (f"outputs = session_of({_CONTENT}).run(names, feeds)",),
    ("import onnxruntime as ort",),
)
_FRONTEND = _Runs(
    "openvino and onnx",
    "openvino.py",
    ("request_of", "infer"),
    'f"openvino {ov.get_version()}"',
    (
        "core = ov.Core()",
        f'read = core.read_model({_CONTENT}, b"")',
        "request = request_of(core, read, {properties})",
        "outputs = infer(request, list(feeds.values()))",
    ),
    ("import openvino as ov",),
)
_MNN = _Runs(
    "MNN and onnx",
    "mnn.py",
    ("run_file",),
    'f"MNN {MNN.version()}"',
    (
        f"outputs = run_file({_CONTENT}, feeds, names, {{options}})",
        "ctypes.CDLL(None).fflush(None)  # so that what MNN prints stands before the verdict",
    ),
    ("import ctypes",),
)
_RUNS = {
    "onnxruntime": _ORT,
    "onnxruntime-constant": _ORT,
    "onnxruntime-opset7": _ORT,
    "onnx-reference": _Runs(
        "onnx",
        "onnx_reference.py",
        ("evaluated",),
        'f"onnx {onnx.__version__}"',
        ("outputs = evaluated(ReferenceEvaluator(model), names, feeds)",),
        ("import onnx", "from onnx.reference import ReferenceEvaluator"),
        own_bfloat16=True,
    ),
    "opencv": _Runs(
        "opencv-python-headless and onnx",
        "opencv.py",
        ("run_file",),
        'f"OpenCV {cv2.__version__}"',
        (f"outputs = run_file({_CONTENT}, feeds, names)",),
    ),
    "openvino-onnx": _FRONTEND,
    "openvino-onnx-dynamic": _FRONTEND,
    "iree": _Runs(
        "iree-base-compiler, iree-base-runtime and onnx",
        "iree.py",
        ("run_file",),
        'f"IREE {version.VERSION}"',
        (f"outputs = run_file({_CONTENT}, feeds)",),
        ("from iree.compiler import version",),
        own_bfloat16=True,
    ),
    "mnn": _MNN,
    "mnn-kernel": _MNN,
    "tract": _Runs(
        "tract and onnx",
        "tract.py",
        ("run_file",),
        'f"tract {tract.version()}"',
        (f"outputs = run_file({_CONTENT}, feeds)",),
        ("import tract",),
    ),
}


def body_of(asked: AskedCase, name: str, verbatim: Verbatim) -> Body:
    """The lines that ask this of the runtime called `name`; RuntimeNotUsable where that is no name of one."""
    if name == "onnx":
        return folder_body(asked, verbatim)
    if name in _RUNS:
        return _onnx_body(asked, name, verbatim)
    if name in OPENVINO:
        return _openvino_body(asked, name, verbatim)
    if name.startswith(EXEC):
        return program_body(asked, name, verbatim)
    return function_body(asked, name, verbatim)


def _onnx_body(asked: AskedCase, name: str, verbatim: Verbatim) -> Body:
    runs, node = _RUNS[name], one_node(asked.question, ONNX_FILES[name])
    verbatim.uses(*runs.imports)
    definitions = verbatim.definitions(f"check/runtimes/{runs.module}", *runs.functions)
    put = {"properties": EXACT, "options": OWN_KERNEL if name == "mnn-kernel" else []}
    lines = [
        *onnx_model_lines(node, verbatim),
        f"names = {literal(list(node.asked.asked))}",
        f"feeds = {_feeds(node)}",
        *(_filled(line, put) for line in runs.lines),
        "return named(names, outputs)",
    ]
    return Body(runs.needs, tuple(lines), runs.version, tuple(definitions), runs.own_bfloat16)


def _feeds(node: OneNode) -> str:
    """What is fed: all inputs, or those that are not in the model."""
    if not node.constants:
        return "inputs"
    return f"{{name: inputs[name] for name in {literal(list(node.feeds))}}}"


def _filled(line: str, values: Mapping[str, object]) -> str:
    for name, value in values.items():
        line = line.replace(f"{{{name}}}", literal(value))
    return line


def _openvino_body(asked: AskedCase, name: str, verbatim: Verbatim) -> Body:
    posing, node = OPENVINO[name], node_type(asked.question)
    operator = openvino_operator(asked.question)
    weights = {t.name for t in operator.inputs if t.role in ("w", "r", "b")}
    constants = frozenset(weights if posing.constant_weights else ())
    node = node.dynamic() if posing.dynamic else node
    definitions = verbatim.definitions("check/runtimes/openvino.py", "request_of", "infer")
    if constants:
        definitions += verbatim.definitions("vectors/exchange/openvino_model.py", "filled")
    fed = [port for port, _, _ in node.ports if port not in constants]
    whole = "inputs.values()" if not constants else f"inputs[name] for name in {literal(fed)}"
    lines = [
        *openvino_model_lines(node, constants, verbatim),
        f"request = request_of(ov.Core(), model, {literal(posing.properties)})",
        f"outputs = infer(request, {f'[{whole}]' if constants else f'list({whole})'})",
        f"return named({literal([t.name for t in operator.outputs])}, outputs)",
    ]
    version = 'f"openvino {ov.get_version()}"'
    return Body("openvino", tuple(lines), version, tuple(definitions))
