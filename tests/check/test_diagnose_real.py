"""Diagnosis of real runtimes that are known to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grucible import Question, Unsupported, verify


def test_onnx_reference_ignores_activations_clip_and_sequence_lens() -> None:
    onnx_reference = pytest.importorskip("grucible.check.runtimes.onnx_reference")
    select = ("openvino.*/core/float32/*", "onnx.*/core/float32/*")
    report = verify(runtime=onnx_reference.reference, select=select)
    assert report.verdict == "does not conform"
    diagnosis = report.diagnosis
    named = {part for finding in diagnosis.findings for part in finding.names}
    assert {"activations-ignored", "clip-ignored", "lengths-ignored"} <= named
    [whole] = [f for f in diagnosis.findings if f.explains == diagnosis.failed]
    assert set(whole.names) == {
        "activations-ignored",
        "clip-ignored",
        "lengths-ignored",
    }
    assert diagnosis.unexplained == 0


def test_openvino_with_its_default_precision_computes_in_bfloat16() -> None:
    openvino = pytest.importorskip("grucible.check.runtimes.openvino")
    if not openvino.default.computes_bfloat16:
        pytest.skip("this CPU has no bfloat16, so OpenVINO's default is float32")
    report = verify(runtime=openvino.default, select=("*GRUSequence-5/core/float32/*",))
    assert report.grades["float32"].observed.startswith("bfloat16")
    [finding] = report.diagnosis.findings
    assert finding.kind == "arithmetic"
    assert finding.names[0].startswith("bfloat16")


def test_openvino_with_a_dynamic_batch_ignores_sequence_lengths() -> None:
    ov = pytest.importorskip("openvino")
    from openvino import opset5
    from openvino.op import Constant, Parameter

    core = ov.Core()

    def run(question: Question) -> dict[str, Any]:
        if set(question.given) - {"hidden_size", "direction", "activations", "linear_before_reset"}:
            raise Unsupported("this shows where all is default")
        if question.attributes["activations"] != ["sigmoid", "tanh"]:
            raise Unsupported("this shows where all is default")
        fed = [question.inputs[n] for n in ("X", "initial_hidden_state", "sequence_lengths")]
        parameters = [
            Parameter(ov.Type(array.dtype), ov.PartialShape([-1, *array.shape[1:]]))
            for array in fed
        ]
        node = opset5.gru_sequence(
            *parameters,
            *(Constant(question.inputs[name]) for name in ("W", "R", "B")),
            hidden_size=question.attributes["hidden_size"],
            direction=question.attributes["direction"],
            linear_before_reset=bool(question.attributes["linear_before_reset"]),
        )
        model = ov.Model(node.outputs(), parameters, "dynamic")
        properties = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 0}
        y, ho = core.compile_model(model, "CPU", properties)(fed).values()
        return {"Y": np.array(y), "Ho": np.array(ho)}

    report = verify(runtime=run, select=("*GRUSequence-5/core*/float32/*",))
    assert report.counts["failed"] > 0
    assert report.counts["error"] == 0, [r.message for r in report.results if r.verdict == "error"]
    [finding] = report.diagnosis.findings
    assert ("lengths-ignored",) in (finding.names, *finding.alternatives)
