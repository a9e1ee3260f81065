"""ONNX Runtime, onnx.reference and OpenVINO on the core vectors of every owner."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from shipped import core_cases

from grucible import Case, Unsupported, verify
from grucible.cases.operators.readings import STORED
from grucible.check.expecting import load_expectations
from grucible.check.judging.case_result import CaseResult

from . import bnns_page

KNOWN = Path(__file__).parents[2] / "check" / "known"
CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"
OPENVINO = {
    "parameters": (
        "openvino.*/core*/float32/*",
        f"{CELL}/core/float64/*",
        f"{SEQUENCE}/core_with_zero/float64/*",
    ),
    "constant": (
        f"{SEQUENCE}/core*/float16/*",
        *(f"{CELL}/core/{dtype}/*" for dtype in ("bfloat16", "float32", "float64")),
    ),
}
"""What each is asked here; with parameters it is asked everything by README's first command, in .ci/run."""


def finding(case: Case) -> str:
    """What comes of a case on OpenVINO 2026.4.1, which computes float64 in float32, from what the case is."""
    if case.operator == CELL and "B" not in case.inputs:
        return "error"
    if case.operator == SEQUENCE and "activations" not in case.given:
        return "error"
    return "failed" if case.dtype == "float64" else "passed"


@pytest.mark.parametrize("name", OPENVINO)
def test_every_failure_of_openvino_is_known(name: str) -> None:
    adapters = pytest.importorskip("grucible.check.runtimes.openvino")
    known = load_expectations(KNOWN / "openvino.yaml")
    asked, select = getattr(adapters, name), OPENVINO[name]
    report = verify(runtime=asked, select=select, expectations=known, diagnosis=False)
    assert (report.exit_status, report.verdict) == (0, "does not conform")
    cases = {case.id: case for case in core_cases()}
    assert {r.id: r.verdict for r in report.results} == {
        r.id: finding(cases[r.id]) for r in report.results
    }
    assert set(report.counts) == {"passed", "failed", "error"}
    off = [r.worst_abs for r in report.results if r.verdict == "failed"]
    assert 1e-9 < max(off) < 1e-4  # of single precision, and not of structure


def cannot_be_asked(result: CaseResult) -> bool:
    """Say whether a question of another operator asks for what ONNX's GRU has not, such as padding before the steps."""
    return result.operator != "onnx.GRU-14" and result.message.startswith("onnx.GRU-14 has ")


def test_every_failure_of_onnx_runtime_is_known_and_nothing_else_is_unsupported() -> None:
    adapters = pytest.importorskip("grucible.check.runtimes.onnx_files")
    pytest.importorskip("onnxruntime")
    expected = load_expectations(KNOWN / "onnxruntime.yaml")
    report = verify(runtime=adapters.onnxruntime, expectations=expected, select=("*/core*/*",))
    assert report.unexpected == []
    assert report.counts["failed"] > 0
    assert report.counts["passed"] > 350
    refused = [r for r in report.results if r.verdict == "unsupported"]
    assert {r.message for r in refused if not cannot_be_asked(r)} == {
        "layout 1: ONNX Runtime has no batchwise recurrent operators",
        "ONNX Runtime's GRU has no float64",
        "ONNX Runtime's GRU has no bfloat16",
    }
    assert not any(r.operator.startswith("torch.") for r in refused if cannot_be_asked(r))
    found = {f.names: f.explains for f in report.diagnosis.findings}
    assert set(found) == {("thresholded-relu-default-zero",), ("softplus-overflows",)}
    assert report.diagnosis.unexplained == 0


def test_weights_as_initializers_and_opset_7_give_the_same() -> None:
    adapters = pytest.importorskip("grucible.check.runtimes.onnx_files")
    pytest.importorskip("onnxruntime")
    errors: Counter[str] = Counter()
    for question in (case.question for case in core_cases()):
        if not question.id.startswith("onnx.GRU-14/core/float32/"):
            continue
        try:
            outputs = adapters.onnxruntime(question)
        except Exception as error:
            errors[type(error).__name__] += 1
            continue
        for other in (adapters.onnxruntime_constant, adapters.onnxruntime_opset7):
            if other is adapters.onnxruntime_opset7 and "layout" in question.given:
                with pytest.raises(Unsupported, match="no layout before opset 14"):
                    other(question)
                continue
            again = other(question)
            assert set(again) == set(question.outputs)
            for name, array in outputs.items():
                np.testing.assert_allclose(again[name], array, rtol=0, atol=1e-6)
    assert set(errors) == {"Unsupported", "Fail"}  # hidden_size left out


def test_openvino_runs_what_it_can_ask_of_the_others() -> None:
    adapters = pytest.importorskip("grucible.check.runtimes.openvino")
    report = verify(
        runtime=adapters.parameters, select=("onnx.*/core/float32/*", "bnnsgraph.*/core/float32/*")
    )
    assert report.verdict == "conforms where supported"
    assert report.counts["passed"] > 100
    passed = Counter(r.id.partition("/")[0] for r in report.results if r.verdict == "passed")
    assert min(passed["onnx.GRU-14"], passed["bnnsgraph.gru"]) > 25
    messages = {r.message for r in report.results if r.verdict == "unsupported"}
    assert f"{SEQUENCE} has no activations softplus" in messages
    assert all(message.startswith(f"{SEQUENCE} has no ") for message in messages)


def test_onnx_reference_asks_what_openvino_asks() -> None:
    adapters = pytest.importorskip("grucible.check.runtimes.onnx_files")
    # of what it does not ignore: default activations, no clip, every row whole
    select = (
        "bnnsgraph.*/float32/*-sigmoid-tanh-*",
        "openvino.GRUCell-3/core/float32/*sigmoid_tanh*",
    )
    report = verify(runtime=adapters.onnx_reference, select=select)
    failed = {r.id for r in report.results if r.verdict != "passed"}
    assert all("clip" in one for one in failed)
    assert report.counts["passed"] >= 10


@pytest.mark.parametrize("name", ["run", "run_before"])
def test_a_runtime_written_from_apple_s_page_alone(name: str) -> None:
    report = verify(runtime=getattr(bnns_page, name), select=("bnnsgraph.*",))
    assert report.verdict == "conforms"
    followed = {ledger: set(counts) for ledger, counts in report.readings_followed.items()}
    before = name == "run_before"
    assert followed == {
        "reset-false": {("reset-false.before",) if before else STORED},
        "reverse-order": {("reverse-order.time",) if before else STORED},
        "bias-sum": {STORED},
        "input-bias-unused": {STORED},
        "hard-sigmoid": {STORED},
        "scaled-tanh": {STORED},
    }
