"""The runtimes of ONNX files on plain questions: right, refused, and wrong as check/known says.

The questions are made here, float32, one feature at a time. Left out, for time: the core vectors by
check/known/*.yaml (`grucible check --runtime NAME --expect check/known/NAME.yaml`: some 10 s for OpenVINO
where it is dynamic, OpenCV, tract or MNN, a minute for OpenVINO's importer, a quarter of an hour for
IREE); and of IREE, which takes a second to compile a model, all but six questions.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import Question, Unsupported, load_vectors, verify
from grucible.cases.specs.expand import expand_all
from grucible.cases.specs.spec_file import find_specs
from grucible.check.runtimes import posed
from grucible.gen.files import make_files, plan_files

PLAIN = """
operator: onnx.GRU-14
about: one feature at a time
dtypes: [float32]
sizes: {batch_size: 2, seq_length: 3, input_size: 5, hidden_size: 6}
fixed: {direction: forward}
cases:
  - list:
      - {sequence_lens: absent}
      - {sequence_lens: absent, linear_before_reset: 1}
      - {sequence_lens: absent, B: absent}
      - {sequence_lens: absent, initial_h: absent}
      - {sequence_lens: absent, Y: absent}
      - {sequence_lens: absent, Y_h: absent}
      - {sequence_lens: absent, layout: 1}
      - {sequence_lens: absent, clip: 0.5}
      - {sequence_lens: absent, clip: 0.5, linear_before_reset: 1}
      - {sequence_lens: absent, activations: [Sigmoid, Relu]}
      - {sequence_lens: absent, activations: [Sigmoid, Softsign]}
      - {sequence_lens: absent, activations: [Sigmoid, Elu]}
      - {sequence_lens: ragged}
      - {sequence_lens: ragged, linear_before_reset: 1}
"""
TURNED = """
operator: onnx.GRU-14
about: the other directions
dtypes: [float32]
sizes: {batch_size: 2, seq_length: 2, input_size: 5, hidden_size: 6}
fixed: {sequence_lens: absent}
cases:
  - list:
      - {direction: reverse}
      - {direction: bidirectional}
      - {direction: bidirectional, activations: [Sigmoid, Relu, Sigmoid, Tanh]}
      - {direction: bidirectional, layout: 1, initial_h: absent}
"""
SIZES = """
operator: openvino.GRUSequence-5
about: several sizes of one model
dtypes: [float32]
sizes: {batch_size: 2, seq_length: 3, input_size: 5, hidden_size: 6}
fixed: {direction: forward, activations: [sigmoid, tanh]}
cases:
  - list:
      - {sequence_lengths: full}
      - {sequence_lengths: ragged}
      - {batch_size: 1, seq_length: 2}
      - {clip: 0.5, sequence_lengths: ragged}
"""


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain")
    specs = []
    for name, text in (("plain", PLAIN), ("turned", TURNED), ("sizes", SIZES)):
        specs.append(root / f"{name}.yaml")
        specs[-1].write_text(text)
    expanded = expand_all(find_specs(tuple(specs)), (), ())
    plans = plan_files(expanded, root / "out", seed=0, dtypes=(), select=())
    assert all(file.made for file in make_files(plans, 1, lambda _: None))
    return root / "out"


def adapters(name: str, module: str) -> Any:
    """A module of check/runtimes, where the package it asks is installed."""
    pytest.importorskip(module, reason=f"{module} is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    return importlib.import_module(f"grucible.check.runtimes.{name}")


def runtime(name: str, module: str) -> Any:
    """A runtime of `onnx_files`, where the package it asks is installed."""
    return getattr(adapters("onnx_files", module), name)


def verdicts(vectors: Path, runtime: Any, *cases: str) -> dict[str, str]:
    select = [f"onnx.*/{case}" for case in cases]
    report = verify(vectors, runtime=runtime, select=select, diagnosis=False)
    return {result.id.rpartition("/")[2]: result.verdict for result in report.results}


def diagnosed(vectors: Path, runtime: Any, case: str) -> list[tuple[str, ...]]:
    """What the diagnosis of one case, judged by itself, finds it to be."""
    report = verify(vectors, runtime=runtime, select=(f"*/{case}",))
    assert [result.verdict for result in report.results] == ["failed"]
    return [tuple(sorted(finding.names)) for finding in report.diagnosis.findings]


def question(vectors: Path, case: str) -> Question:
    [found] = [c.question for c in load_vectors(vectors) if c.id.endswith(f"/{case}")]
    return found


def asked_with(question: Question, **attributes: Any) -> Question:
    """The question with other attributes, or without those that are None."""
    given = {n: v for n, v in (dict(question.given) | attributes).items() if v is not None}
    return dataclasses.replace(question, given=given)


OUTPUTS = ("noact-noY-nosequence_lens", "noact-noY_h-nosequence_lens")
INPUTS = ("noact-noB-nosequence_lens", "noact-noinitial_h-nosequence_lens")
BASE, AFTER, BOTH = "noact-nosequence_lens", "lbr1-noact-nosequence_lens", "bidirectional-noact"
LAYOUT = "layout1-noact-nosequence_lens"


def test_openvino_s_importer(vectors: Path) -> None:
    frontend = runtime("openvino_onnx", "openvino")
    right = (BASE, AFTER, BOTH, *INPUTS, *OUTPUTS, "reverse-noact", "*clip0.5*", "*noact-ragged")
    assert set(verdicts(vectors, frontend, *right).values()) == {"passed"}
    assert set(verdicts(vectors, frontend, "*Elu*", LAYOUT).values()) == {"error"}
    both = "bidirectional-Sigmoid_Relu_Sigmoid_Tanh"
    assert diagnosed(vectors, frontend, both) == [("activations-of-first-direction",)]


def test_opencv(vectors: Path) -> None:
    dnn = runtime("opencv", "cv2")
    right = verdicts(vectors, dnn, BASE, AFTER, BOTH, *INPUTS, *OUTPUTS)
    assert set(right.values()) == {"passed"}
    assert set(verdicts(vectors, dnn, "*Relu*", LAYOUT).values()) == {"error"}
    assert diagnosed(vectors, dnn, "reverse-noact") == [("reverse-ignored",)]
    assert diagnosed(vectors, dnn, "noact-clip0.5-nosequence_lens") == [("clip-ignored",)]
    assert diagnosed(vectors, dnn, "noact-ragged") == [("lengths-ignored",)]


def test_tract(vectors: Path) -> None:
    runnable = runtime("tract", "tract")
    right = verdicts(vectors, runnable, BASE, AFTER, BOTH, LAYOUT, *INPUTS, *OUTPUTS)
    assert set(right.values()) == {"passed"}
    with pytest.raises(Exception, match="seq_len"):
        runnable(question(vectors, "plain/float32/noact-ragged"))
    assert diagnosed(vectors, runnable, "reverse-noact") == [("reverse-ignored",)]
    assert diagnosed(vectors, runnable, "noact-clip0.5-nosequence_lens") == [("clip-ignored",)]
    ignored = diagnosed(vectors, runnable, "Sigmoid_Relu-nosequence_lens")
    assert ignored == [("activations-ignored",)]


def test_mnn_s_loop(vectors: Path) -> None:
    loop = runtime("mnn", "MNN")
    assert verdicts(vectors, loop, AFTER) == {AFTER: "passed"}
    assert diagnosed(vectors, loop, BASE) == [("Rbh-outside", "lbr-assumed")]
    assert diagnosed(vectors, loop, "lbr1-noact-ragged") == [("lengths-ignored",)]
    assert diagnosed(vectors, loop, "lbr1-noact-clip0.5-nosequence_lens") == [("clip-ignored",)]
    with pytest.raises(
        RuntimeError, match=r"MNN gave 0 outputs, not 2; it printed: .*Reshape error"
    ):
        loop(question(vectors, BOTH))


def test_mnn_s_own_kernel(vectors: Path) -> None:
    kernel = runtime("mnn_kernel", "MNN")
    assert set(verdicts(vectors, kernel, BASE, AFTER, *INPUTS).values()) == {"passed"}
    assert diagnosed(vectors, kernel, "reverse-noact") == [("reverse-ignored",)]
    assert diagnosed(vectors, kernel, "noact-clip0.5-nosequence_lens") == [("clip-ignored",)]
    with pytest.raises(RuntimeError, match="Don't support sequence_lens input"):
        kernel(question(vectors, "plain/float32/noact-ragged"))
    report = verify(vectors, runtime=kernel, select=(f"*/{BOTH}",), diagnosis=False)
    assert report.results[0].where.startswith("Y_h[1, ")  # the second direction's


def test_mnn_s_printing_is_kept_from_standard_output(
    vectors: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loop = runtime("mnn", "MNN")
    capfd.readouterr()
    loop(question(vectors, AFTER))
    os.write(1, b"and is whole again\n")
    assert capfd.readouterr().out == "and is whole again\n"


def test_iree(vectors: Path) -> None:
    compiled = runtime("iree", "iree.compiler")
    assert verdicts(vectors, compiled, BASE) == {BASE: "passed"}
    with pytest.raises(RuntimeError, match="failed to legalize"):
        compiled(question(vectors, "reverse-noact"))
    assert diagnosed(vectors, compiled, "noact-ragged") == [("lengths-ignored",)]
    assert diagnosed(vectors, compiled, "Sigmoid_Elu-nosequence_lens") == [("elu-as-relu",)]
    softsign = question(vectors, "Sigmoid_Softsign-nosequence_lens")
    relu = compiled(asked_with(softsign, activations=["Sigmoid", "Relu"]))
    for name, array in compiled(softsign).items():
        np.testing.assert_array_equal(array, relu[name])


def test_dynamic_models_of_openvino(vectors: Path) -> None:
    openvino = adapters("openvino", "openvino")
    sizes = ("*/sizes/*",)
    made = openvino.OpenVINO(posed.OPENVINO["openvino-dynamic-parameters"])
    report = verify(vectors, runtime=made, select=sizes)
    assert report.counts["passed"] == len(report.results) == 4
    assert made._kept_request.cache_info().currsize == 2  # one has a clip
    report = verify(vectors, runtime=openvino.dynamic, select=sizes)
    failed = [result.id for result in report.results if result.verdict == "failed"]
    assert failed == ["openvino.GRUSequence-5/sizes/float32/ragged"]
    assert diagnosed(vectors, openvino.dynamic, "sizes/float32/ragged") == [("lengths-ignored",)]


@pytest.mark.parametrize(
    ("name", "module", "dtype"),
    [("opencv", "cv2", "bfloat16"), ("tract", "tract", "bfloat16"), ("mnn", "MNN", "float64")],
)
def test_a_dtype_that_has_no_arrays_is_declared(
    vectors: Path, name: str, module: str, dtype: str
) -> None:
    asked = dataclasses.replace(question(vectors, BASE), dtype=dtype)
    with pytest.raises(Unsupported, match=dtype):
        runtime(name, module)(asked)
