"""tract as a runtime of ONNX GRU, and of what can be asked as one.

A case becomes the file of a model of one GRU node. sequence_lens is an initializer as the weights
are: tract knows no other.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import tract

from ...cases.operators.onnx import GRU
from ...vectors.exchange.onnx_model import model_file
from .converted import run_as
from .posed import ONNX_FILES, decline

if TYPE_CHECKING:
    from ...cases.question import Question

os.environ.setdefault("RUST_LIB_BACKTRACE", "0")  # a stack takes a refusal longer than a run


class Tract:
    """ONNX GRU on tract's CPU runtime; W, R, B and sequence_lens are initializers."""

    version = str(tract.version())
    parallel = True

    def __init__(self) -> None:
        self.__doc__ = "GRU on tract; W, R, B and sequence_lens are initializers"

    def __call__(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        """The outputs tract gives for `question`, in the dtypes that it gives them.

        Raises Unsupported for bfloat16, which tract's tensors do not have, and for what ONNX GRU cannot
        ask; what tract refuses is its own exception.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> dict[str, npt.NDArray[Any]]:
        decline("tract", question)
        file = model_file(question, ONNX_FILES["tract"])
        return file.only(run_file(file.content, file.feeds), question)


def run_file(content: bytes, feeds: dict[str, Any]) -> list[Any]:
    """What tract gives for the file of a model; it reads files alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gru.onnx"
        path.write_bytes(content)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [tensor.to_numpy() for tensor in runnable.run(list(feeds.values()))]


runnable = Tract()
