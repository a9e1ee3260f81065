"""The runtimes that read a file with the model of one ONNX GRU.

Each has a function that loads the file's `content`, and returns a function from inputs by name to a list of
the outputs `names`. The first imports its package itself, because scripts (`check/scripts`) copy its text.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cases.operators.onnx import GRU
from ...vectors.exchange.node import one_node
from .posed import (
    EXACT,
    MODELS_WITH_CONSTANTS,
    ONNX_FILES,
    OWN_KERNEL,
    Constants,
    decline,
    infer_openvino,
    openvino_core,
    run_as,
)

if TYPE_CHECKING:
    from ...cases.dtypes import Arrays
    from ...cases.question import Question
    from ...vectors.exchange.node import NodeType

_CACHED_MODELS = 64
_TIME = re.compile(r"\[\d\d:\d\d:\d\d\]")
"""The start of the lines in which MNN's converter logs its work."""


def load_onnxruntime(content: bytes, names: Sequence[str]) -> Any:
    """Load a model in ONNX Runtime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; ONNX Runtime would print them too
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(list(names), feeds)


def load_onnx(content: bytes, names: Sequence[str]) -> Any:
    """Load a model in onnx.reference.ReferenceEvaluator, which is written in numpy."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(content)

    def run(feeds: dict[str, Any]) -> list[Any]:
        with np.errstate(over="ignore"):
            return list(evaluator.run(list(names), feeds))

    return run


def load_opencv(content: bytes, names: Sequence[str]) -> Any:
    """Load a model in OpenCV's dnn module.

    The model names Y and Y_h both: where a node has no Y_h, OpenCV gives Y_h as Y, in its own shape.
    """
    import cv2

    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # it prints what it raises

    def run(feeds: dict[str, Any]) -> list[Any]:
        net = cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
        for name, array in feeds.items():
            net.setInput(array, name)
        return list(net.forward(names))

    return run


def load_openvino(content: bytes, _: Sequence[str]) -> Any:
    """Load a model by OpenVINO's importer of ONNX files, for its CPU plugin (some 20 ms)."""
    return infer_openvino(openvino_core().read_model(content, b""), EXACT)


def load_tract(content: bytes, _: Sequence[str]) -> Any:
    """Load a model in tract, which reads only files."""
    import tract

    os.environ.setdefault("RUST_LIB_BACKTRACE", "0")  # a stack takes a refusal longer than a run
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gru.onnx"
        path.write_bytes(content)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return lambda feeds: [one.to_numpy() for one in runnable.run(list(feeds.values()))]


def load_iree(content: bytes, _: Sequence[str]) -> Any:
    """Load a model in IREE: its importer reads it, its compiler makes code of it, in about a second.

    The code is for any CPU of this kind; float64 stays float64, which it would not by default.
    """
    import onnx
    from iree import runtime
    from iree.compiler import ir, tools
    from iree.compiler.extras import onnx_importer

    arguments = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]
    info = onnx_importer.ModelInfo(
        onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
    )
    module = info.create_module(context=ir.Context()).operation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an input that is left out has no type, it says
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    try:
        compiled = tools.compile_str(
            str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=arguments
        )
    except tools.CompilerToolError as error:  # its first error is enough
        lines = str(error).splitlines()
        raise RuntimeError(next((s for s in lines if "error:" in s), str(error))) from None

    def run(feeds: dict[str, Any]) -> list[Any]:
        context = runtime.SystemContext(config=runtime.Config("local-sync"))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, compiled))
        outputs = context.modules.module["gru"](*feeds.values())
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        return [one.to_host().copy() for one in several]

    return run


def load_mnn(content: bytes, names: Sequence[str], options: Sequence[str] = ()) -> Any:
    """Load a model in MNN, whose converter makes a file of its own; it gives nothing where it cannot.

    The converter writes a GRU as a loop of small operators; with OWN_KERNEL it keeps it as one. It is called
    in this process: the command `mnnconvert` installs a logging package and reports to a server.
    """
    import _tools
    import MNN

    def constant(array: Any) -> Any:
        kind = MNN.expr.int if array.dtype == np.int32 else MNN.expr.float
        return MNN.expr.const(array, list(array.shape), MNN.expr.NCHW, kind)

    def run(feeds: dict[str, Any]) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            read, made = Path(folder) / "gru.onnx", Path(folder) / "gru.mnn"
            read.write_bytes(content)
            words = ["mnnconvert", "-f", "ONNX", "--modelFile", str(read), "--MNNModel", str(made)]
            _tools.mnnconvert([*words, "--bizCode", "gru", *options])
            if not made.exists():
                return []
            net = MNN.nn.load_module_from_file(str(made), list(feeds), list(names))
        return [np.array(one.read()) for one in net.forward([*map(constant, feeds.values())])]

    return run


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """Keep from standard output what C code prints, and put it into the list at the end."""
    found: list[str] = []
    flush = ctypes.CDLL(None).fflush
    flush(None)
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield found
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines = file.read().decode(errors="replace").splitlines()
            found.append(" ".join(line for line in lines if not _TIME.match(line)))


def _load_mnn_quietly(content: bytes, names: Sequence[str], options: Sequence[str] = ()) -> Any:
    """Load a model in MNN; keep what MNN prints, and put it into an error's message."""

    def run(feeds: dict[str, Any]) -> list[Any]:
        with printed() as lines:
            outputs: list[Any] = load_mnn(content, names, options)(feeds)
        if len(outputs) != len(names):
            raise RuntimeError(
                f"MNN gave {len(outputs)} outputs, not {len(names)}; it printed: {lines[0]}"
            )
        return outputs

    return run


_KINDS: dict[str, tuple[str, Callable[..., Any], str, str]] = {
    "onnxruntime": ("ONNX Runtime's CPU provider", load_onnxruntime, "onnxruntime", "CPU"),
    "onnx-reference": ("onnx.reference.ReferenceEvaluator", load_onnx, "onnx", ""),
    "opencv": ("OpenCV's dnn module", load_opencv, "cv2", "dnn, CPU"),
    "openvino-onnx": (
        "OpenVINO's ONNX frontend and CPU plugin", load_openvino, "openvino", "ONNX frontend, CPU",
    ),
    "iree": (
        "IREE's CPU code, compiled for a second a case", load_iree, "iree.compiler.version", "CPU",
    ),
    "mnn": ("MNN's CPU backend, by a loop that its converter makes", _load_mnn_quietly, "MNN", "CPU"),
    "mnn-kernel": (
        "MNN's CPU backend, by its own kernel", partial(_load_mnn_quietly, options=OWN_KERNEL), "MNN", "CPU",
    ),
    "tract": ("tract", load_tract, "tract", ""),
}  # fmt: skip
_KINDS |= {
    "onnxruntime-constant": _KINDS["onnxruntime"],
    "onnxruntime-opset7": _KINDS["onnxruntime"],
    "openvino-onnx-dynamic": _KINDS["openvino-onnx"],
}
"""What each runtime is, how it loads a model, which module has its version, and what follows the version."""


def _version(module: str) -> str:
    """Import a runtime's package, and return the version that it names."""
    with printed() if module == "MNN" else contextlib.nullcontext():
        found = import_module(module)
        version = getattr(found, "__version__", None) or getattr(found, "VERSION", None)
        return str(version or found.version()).partition("-")[0]


def loader_of(name: str) -> tuple[Callable[..., Any], str]:
    """Import a runtime's package; return how it loads a model, and its version."""
    _, load, module, where = _KINDS[name]
    return load, f"{_version(module)} {where}".rstrip()


class ONNXFileRuntime:
    """A runtime of ONNX GRU, called `name`; it imports its package when it is created.

    The model has one GRU node, posed as `posed.ONNX_FILES` says. Questions of other operators are converted
    first, where ONNX GRU can ask the same. A model is kept, and serves every case that differs only in the
    numbers of its inputs; one with constants is kept while these are asked.
    """

    parallel = True

    def __init__(self, name: str) -> None:
        posing, about = ONNX_FILES[name], _KINDS[name][0]
        self.name, (self._load, self.version) = name, loader_of(name)
        self.__doc__ = (
            f"GRU on {about}; W, R, B are {'initializers' if posing.constants else 'inputs'}"
            f"{f', opset {posing.opset}' if posing.opset else ''}"
            f"{'; batch and time are symbols' if posing.dynamic else ''}"
        )
        self._kept = lru_cache(maxsize=_CACHED_MODELS)(self._loaded)
        self._with_constants = lru_cache(maxsize=MODELS_WITH_CONSTANTS)(self._loaded)

    def __call__(self, question: Question) -> Arrays:
        """Return the runtime's outputs for `question`, in the runtime's own dtypes.

        Raises Unsupported for what ONNX GRU cannot ask, and for what the runtime does not offer. Where the
        runtime refuses, its own exception is raised.
        """
        return run_as((GRU,), self._run, question)

    def _run(self, question: Question) -> Arrays:
        decline(self.name, question)
        asked, opset, constants, feeds = one_node(question, ONNX_FILES[self.name])
        kept = Constants(constants)
        run = self._with_constants(asked, opset, kept) if kept else self._kept(asked, opset)
        named = zip(asked.asked, run(feeds), strict=True)
        return {name: array for name, array in named if name in question.outputs}

    def _loaded(self, asked: NodeType, opset: int, constants: Constants | None = None) -> Any:
        from ...vectors.exchange.onnx_model import model

        made = model(asked, opset, constants)
        return self._load(made.SerializeToString(), asked.asked)


_made = cache(ONNXFileRuntime)


def __getattr__(name: str) -> ONNXFileRuntime:
    """Make the runtime that an entry point names, with `_` for `-`."""
    if (called := name.replace("_", "-")) not in _KINDS:
        raise AttributeError(name)
    return _made(called)
