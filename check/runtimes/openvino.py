"""OpenVINO's CPU plugin as a runtime of GRUCell-3 and GRUSequence-5, and of what can be asked as one.

A case becomes a model of one node (vectors.exchange.openvino_model), which is compiled and run. Models are
static in shape, or dynamic in batch and time. They are compiled with `posed.EXACT`: in
float32 (the default is bfloat16 on CPUs that have it), and without streams. So a model runs in the calling
thread, results are the same bits each time, and a process that has run cases can fork.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import openvino as ov

from ...cases.dtypes import Arrays
from ...cases.operators.openvino import OPERATORS
from ...cases.question import Question
from ...vectors.exchange.node import NodeType, node_type
from ...vectors.exchange.openvino_model import model
from .posed import (
    MODELS_WITH_CONSTANTS,
    OPENVINO,
    Constants,
    OpenVINOPosing,
    infer_openvino,
    openvino_core,
    run_as,
)

_OPERATORS = {operator.name: operator for operator in OPERATORS}
_CACHED_MODELS = 32
"""Maximum models that are kept; each takes 1.1 MB, and cases that share a model follow one another."""
_COUNTED = re.compile(r"\b([A-Z]\w*)_\d+\b")
"""A node's name in a message, `Split_1234`: the number counts all nodes the process ever made."""


class OpenVINO:
    """GRUCell-3 and GRUSequence-5 on OpenVINO's CPU plugin: float16, float32, float64, bfloat16.

    With `posing.constant_weights`, as in real models, every case compiles a model of its own (some 20 ms),
    which is kept while its weights are asked. Otherwise a compiled model serves every case that differs only
    in the numbers of its inputs. With `posing.dynamic`, a model also serves all batches, numbers of steps and
    lengths.

    Only one thread at a time may use an object: a kept model has one inference request.
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
        self._kept = lru_cache(maxsize=_CACHED_MODELS)(self._compiled)
        self._with_constants = lru_cache(maxsize=MODELS_WITH_CONSTANTS)(self._compiled)

    @property
    def version(self) -> str:
        """OpenVINO's version and the device, such as `2026.4.1 CPU, Intel(R) Xeon(R) Processor`."""
        processor = openvino_core().get_property("CPU", "FULL_DEVICE_NAME")
        return f"{ov.get_version().partition('-')[0]} CPU, {processor}"

    def __call__(self, question: Question) -> Arrays:
        """Give the outputs of OpenVINO for `question`: `Ho`, or `Y` and `Ho`, shaped as specified.

        Outputs keep OpenVINO's dtypes; bfloat16 is an `ml_dtypes` array. A question of another owner's
        operator is asked as a GRUSequence-5. Raises Unsupported where that is not possible. Where OpenVINO
        refuses, it raises its own RuntimeError.
        """
        return run_as(OPERATORS, self._run, question)

    def _run(self, question: Question) -> Arrays:
        operator, asked = _OPERATORS[question.operator], node_type(question)
        if self._posing.dynamic:
            asked = asked.dynamic()
        inputs = {name: question.inputs[name] for name in asked.inputs}
        constants = Constants()
        if self._posing.constant_weights:
            weights = [t.name for t in operator.inputs if t.role in ("w", "r", "b")]
            constants |= {name: inputs.pop(name) for name in weights if name in inputs}
        run = self._with_constants(asked, constants) if constants else self._kept(asked)
        return dict(zip([t.name for t in operator.outputs], run(inputs), strict=True))

    def _compiled(self, asked: NodeType, constants: Constants | None = None) -> Any:
        try:
            return infer_openvino(model(asked, constants or {}), self._posing.properties)
        except RuntimeError as error:
            raise RuntimeError(_COUNTED.sub(r"\1", str(error))) from None


parameters = OpenVINO(OPENVINO["openvino"])
constant = OpenVINO(OPENVINO["openvino-constant"])
dynamic = OpenVINO(OPENVINO["openvino-dynamic"])
dynamic_parameters = OpenVINO(OPENVINO["openvino-dynamic-parameters"])
default = OpenVINO(OPENVINO["openvino-default"])
