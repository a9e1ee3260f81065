"""IREE as a runtime of ONNX GRU: its importer reads the model of a case, its compiler makes code of it.

Every case is a program of its own, which takes about a second to compile.
"""

from __future__ import annotations

import warnings
from typing import Any

import onnx
from iree import runtime as iree_runtime
from iree.compiler import ir, tools, version
from iree.compiler.extras import onnx_importer

from ...vectors.exchange.onnx_model import ModelFile
from .onnx_file import ONNXFileRuntime

_ARGUMENTS = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]
"""Code for any CPU of this kind; and float64 stays float64, which it would not by default."""


def run_file(content: bytes, feeds: dict[str, Any]) -> list[Any]:
    """Give what IREE makes of the file of a model whose graph is called `gru`."""
    context = iree_runtime.SystemContext(config=iree_runtime.Config("local-sync"))
    module = iree_runtime.VmModule.copy_buffer(context.instance, compiled_file(content))
    context.add_vm_module(module)
    outputs = context.modules.module["gru"](*feeds.values())
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    return [one.to_host().copy() for one in several]


def compiled_file(content: bytes) -> bytes:
    """Compile the file of a model whose graph is called `gru` to an IREE program."""
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


def _run(file: ModelFile) -> list[Any]:
    try:
        return run_file(file.content, file.feeds)
    except tools.CompilerToolError as error:  # the first error alone
        lines = str(error).splitlines()
        first = next((line for line in lines if "error:" in line), str(error))
        raise RuntimeError(first) from None


compiled = ONNXFileRuntime(
    "iree",
    f"{version.VERSION} CPU",
    "GRU compiled by IREE for the CPU, a second a case; W, R, B are initializers",
    _run,
)
