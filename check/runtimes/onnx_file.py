"""The two ways to be a runtime of ONNX GRU: by the file of a model, or by a session that is kept.

A runtime is one of these classes with a version, a line about itself and a function that runs a model. The
model has one GRU node (`vectors.exchange.node`), posed as `posed.ONNX_FILES` says. Questions of other
operators are converted first, where ONNX GRU can ask the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cases.operators.onnx import GRU
from ...vectors.exchange.node import one_node
from ...vectors.exchange.onnx_model import ModelFile, model, model_file
from .posed import ONNX_FILES, decline, run_as

if TYPE_CHECKING:
    from ...cases.dtypes import Arrays
    from ...cases.question import Question
    from ...vectors.exchange.node import NodeType

_CACHED_SESSIONS = 64


class ONNXRuntimeBase:
    """A runtime of ONNX GRU, called `name`; what it refuses is its own exception."""

    parallel = True

    def __init__(self, name: str, version: str, about: str) -> None:
        self.name, self.version, self.__doc__ = name, version, about

    def __call__(self, question: Question) -> Arrays:
        """Give the runtime's outputs for `question`, in the dtypes that it gives them.

        Raises Unsupported for what ONNX GRU cannot ask, and for what the runtime does not offer.
        """
        return run_as(GRU, self._run, question)

    def _run(self, question: Question) -> Arrays:
        decline(self.name, question)
        with np.errstate(over="ignore"):
            return self._outputs(question)

    def _outputs(self, question: Question) -> Arrays:
        raise NotImplementedError


class ONNXFileRuntime(ONNXRuntimeBase):
    """A runtime that is given the file of a model; `run` returns the outputs that the file names."""

    def __init__(
        self, name: str, version: str, about: str, run: Callable[[ModelFile], Any]
    ) -> None:
        super().__init__(name, version, about)
        self._run_file = run

    def _outputs(self, question: Question) -> Arrays:
        file = model_file(question, ONNX_FILES[self.name])
        return file.only(self._run_file(file), question)


class ONNXSessionRuntime(ONNXRuntimeBase):
    """A runtime whose sessions are kept: `session` makes one of a model, which has `run(names, feeds)`.

    A model without constants serves every case that asks the same question of other numbers.
    """

    def __init__(self, name: str, version: str, about: str, session: Callable[[Any], Any]) -> None:
        super().__init__(name, version, about)
        self._session = session
        self._kept = lru_cache(maxsize=_CACHED_SESSIONS)(self._made)

    def _outputs(self, question: Question) -> Arrays:
        asked, opset, constants, feeds = one_node(question, ONNX_FILES[self.name])
        made = self._made(asked, opset, constants) if constants else self._kept(asked, opset)
        return dict(zip(asked.asked, made.run(list(asked.asked), feeds), strict=True))

    def _made(self, asked: NodeType, opset: int, constants: Arrays | None = None) -> Any:
        return self._session(model(asked, opset, constants))
