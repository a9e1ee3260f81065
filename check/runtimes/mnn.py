"""MNN as a runtime of ONNX GRU: its converter makes a model of MNN's of the file of a case.

The converter writes a GRU as a loop of small operators; for `mnn-kernel` it keeps it as one, for MNN's own
kernel. It is called in this process: MNN's command `mnnconvert` installs a logging package and reports to a
server. What MNN prints is kept from standard output, and reported where it gives no outputs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...vectors.exchange.onnx_model import ModelFile
from .onnx_file import ONNXFileRuntime
from .posed import OWN_KERNEL

_TIME = re.compile(r"\[\d\d:\d\d:\d\d\]")
"""The start of the lines in which MNN's converter says what it does."""


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """Keep what C code prints from standard output; at the end the list has it."""
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


with printed():
    import _tools as converter
    import MNN


def run_file(
    content: bytes, feeds: dict[str, Any], asked: Sequence[str], options: Sequence[str]
) -> list[Any]:
    """Give what MNN makes of the file of a model.

    Nothing where its converter writes no model, or the model does not run.
    """
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
    """Make `array`, float32 or int32, a variable of MNN's."""
    kind = MNN.expr.int if array.dtype == np.int32 else MNN.expr.float
    return MNN.expr.const(array, list(array.shape), MNN.expr.NCHW, kind)


def _runtime(name: str, made: str, options: Sequence[str]) -> ONNXFileRuntime:
    def run(file: ModelFile) -> list[Any]:
        with printed() as lines:
            outputs = run_file(file.content, file.feeds, file.asked, options)
        if len(outputs) != len(file.asked):
            raise RuntimeError(
                f"MNN gave {len(outputs)} outputs, not {len(file.asked)}; it printed: {lines[0]}"
            )
        return outputs

    about = f"GRU on MNN's CPU backend, by {made}; W, R, B are initializers"
    return ONNXFileRuntime(name, f"{MNN.version()} CPU", about, run)


loop = _runtime("mnn", "a loop that its converter makes", [])
kernel = _runtime("mnn-kernel", "its own kernel", OWN_KERNEL)
