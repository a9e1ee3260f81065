"""MNN as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes the file of a model of one GRU node, which MNN's converter makes a model of MNN's.
The converter is called in this process, for MNN's command `mnnconvert` installs a logging package
and reports to a server. What MNN prints is kept from standard output, and told where it gives no outputs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model_file
from .converted import run_as
from .posed import ONNX_FILES, OWN_KERNEL, decline
from .printed import printed

if TYPE_CHECKING:
    from ...cases.question import Question

with printed():
    import _tools as converter
    import MNN


class MNNRuntime:
    """ONNX GRU on MNN's converter and CPU backend; W, R, B are initializers.

    The converter writes a GRU as a loop of small operators; for `mnn-kernel` it keeps it as one, for
    MNN's own kernel.
    """

    version = f"{MNN.version()} CPU"
    parallel = True

    def __init__(self, name: str) -> None:
        self._name = name
        own_kernel = name == "mnn-kernel"
        self._options = OWN_KERNEL if own_kernel else []
        made = "its own kernel" if own_kernel else "a loop that its converter makes"
        self.__doc__ = f"GRU on MNN's CPU backend, by {made}; W, R, B are initializers"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs MNN gives for `question`, in the dtypes that it gives them.

        Raises Unsupported for what ONNX GRU cannot ask and for dtypes but float32;
        RuntimeError where MNN gives no outputs: it prints why, and raises nothing.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        decline(self._name, question)
        file = model_file(question, ONNX_FILES[self._name])
        with printed() as told:
            outputs = run_file(file.content, file.feeds, file.asked, self._options)
        if len(outputs) != len(file.asked):
            raise RuntimeError(
                f"MNN gave {len(outputs)} outputs, not {len(file.asked)}; it printed: {told[0]}"
            )
        return file.only(outputs, question)


def run_file(
    content: bytes, feeds: dict[str, Any], asked: Sequence[str], options: Sequence[str]
) -> list[Any]:
    """What MNN gives for the file of a model; nothing where its converter writes no model, or the model
    does not run."""
    with tempfile.TemporaryDirectory() as folder:
        read, made = Path(folder) / "gru.onnx", Path(folder) / "gru.mnn"
        read.write_bytes(content)
        words = ["mnnconvert", "-f", "ONNX", "--modelFile", str(read), "--MNNModel", str(made)]
        converter.mnnconvert([*words, "--bizCode", "gru", *options])
        if not made.exists():
            return []
        net = MNN.nn.load_module_from_file(str(made), list(feeds), list(asked))
    return [np.array(one.read()) for one in net.forward([*map(variable, feeds.values())])]


def variable(array: npt.NDArray[Any]) -> Any:
    """`array`, float32 or int32, as a variable of MNN's."""
    kind = MNN.expr.int if array.dtype == np.int32 else MNN.expr.float
    return MNN.expr.const(array, list(array.shape), MNN.expr.NCHW, kind)


loop = MNNRuntime("mnn")
kernel = MNNRuntime("mnn-kernel")
