"""Layouts: what is reshaped where it should be transposed, and which of two outputs is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grucible import Question
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.layout import gru_inputs, operator_outputs
from grucible.gen.float64 import Float64
from grucible.gen.gru import gru

from . import bnns_page
from .diagnosing import by_question, core_blocks, report_on

Array = npt.NDArray[Any]
Run = Callable[[Question], dict[str, Array]]


def right(question: Question) -> dict[str, Array]:
    """The outputs in float64, rounded to the dtype."""
    operator, attributes = OPERATORS[question.operator], question.attributes
    with np.errstate(over="ignore"):
        y, ho = gru(
            Float64(), question.semantics, gru_inputs(operator, attributes, question.inputs)
        )
        absent = {t.name for t in operator.outputs} - question.outputs.keys()
        found = operator_outputs(operator, attributes, {"y": y, "ho": ho}, absent)
        return {name: a.astype(question.outputs[name].dtype) for name, a in found.items()}


def _x_reshaped(question: Question) -> dict[str, Array]:
    x = question.inputs["X"]
    time_major = x.reshape(x.shape[1], x.shape[0], x.shape[2])
    return right(replace(question, inputs={**question.inputs, "X": time_major.swapaxes(0, 1)}))


def _y_reshaped(question: Question) -> dict[str, Array]:
    outputs = right(question)
    y = outputs["Y"]
    time_major = np.ascontiguousarray(y.transpose(1, 2, 0, 3))
    return outputs | {"Y": time_major.reshape(y.shape)}


def _first_state_reshaped(question: Question) -> dict[str, Array]:
    h = question.inputs["initial_h"]
    of_layout_0 = h.reshape(h.shape[1], h.shape[0], h.shape[2])
    changed = {**question.inputs, "initial_h": of_layout_0.transpose(1, 0, 2)}
    return right(replace(question, inputs=changed))


def _last_state_reshaped(question: Question) -> dict[str, Array]:
    outputs = right(question)
    h = outputs["Y_h"]
    return outputs | {"Y_h": np.ascontiguousarray(h.transpose(1, 0, 2)).reshape(h.shape)}


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (_x_reshaped, "X-bt-as-tb"),
        (_y_reshaped, "Y-tdb-as-btd"),
        (_first_state_reshaped, "h0-bd-as-db"),
        (_last_state_reshaped, "Ho-db-as-bd"),
    ],
)
def test_a_layout_that_is_reshaped_is_named(wrong: Run, name: str) -> None:
    """ONNX's layout 1 made of layout 0 in the operator's own axes."""

    def one(question: Question) -> dict[str, Array]:
        return (wrong if question.attributes["layout"] == 1 else right)(question)

    report = report_on(core_blocks("onnx.GRU-14", "float32"), by_question(one))
    assert [finding.names for finding in report.diagnosis.findings] == [(name,)]
    assert report.diagnosis.unexplained == 0


def test_of_two_outputs_that_are_the_last_state_the_wrong_one_is_named() -> None:
    def run_wrong(question: Question) -> dict[str, Array]:
        outputs = bnns_page.run(question)
        if not question.attributes["outputSequence"]:
            outputs["output"][0, 0] += np.float32(0.37)
        return outputs

    blocks = core_blocks("bnnsgraph.gru", "float32")
    diagnosis = report_on(blocks, by_question(run_wrong)).diagnosis
    assert diagnosis.unexplained > 0
    assert "only output is wrong" in diagnosis.hints
    assert "the first row of the batch is right" not in diagnosis.hints
