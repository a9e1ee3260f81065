"""IREE as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes a model of one GRU node, which IREE's importer reads and its compiler makes code of.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import onnx
from iree import runtime as iree_runtime
from iree.compiler import ir, tools, version
from iree.compiler.extras import onnx_importer

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model_file
from .converted import run_as
from .posed import ONNX_FILES

if TYPE_CHECKING:
    from ...cases.question import Question

_ARGUMENTS = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]
"""Code for any CPU of this kind; and float64 stays float64, which it would not by default."""


class IREE:
    """ONNX GRU compiled by IREE for the CPU; W, R, B are initializers.

    Every case is a program of its own, which takes about a second to compile.
    """

    version = f"{version.VERSION} CPU"
    parallel = True

    def __init__(self) -> None:
        self.__doc__ = "GRU compiled by IREE for the CPU, a second a case; W, R, B are initializers"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs IREE gives for `question`, in the dtypes that it gives them.

        Raises Unsupported for what ONNX GRU cannot ask; what IREE refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        file = model_file(question, ONNX_FILES["iree"])
        try:
            outputs = run_file(file.content, file.feeds)
        except tools.CompilerToolError as error:
            raise RuntimeError(_said(str(error))) from None
        return file.only(outputs, question)


def run_file(content: bytes, feeds: dict[str, Any]) -> list[Any]:
    """What IREE gives for the file of a model whose graph is called `gru`."""
    context = iree_runtime.SystemContext(config=iree_runtime.Config("local-sync"))
    module = iree_runtime.VmModule.copy_buffer(context.instance, compiled_file(content))
    context.add_vm_module(module)
    outputs = context.modules.module["gru"](*feeds.values())
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    return [one.to_host().copy() for one in several]


def compiled_file(content: bytes) -> bytes:
    """The program that IREE makes of the file of a model whose graph is called `gru`."""
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=ir.Context()).operation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an input that is left out has no type, it says
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    made: bytes = tools.compile_str(
        str(module), target_backends=["llvm-cpu"], input_type="onnx", extra_args=_ARGUMENTS
    )
    return made


def _said(text: str) -> str:
    """The first error of a compiler's output."""
    return next((line for line in text.splitlines() if "error:" in line), text)


compiled = IREE()
