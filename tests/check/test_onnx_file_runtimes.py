"""The runtimes of ONNX files on plain questions: right, refused, and wrong as check/known says.

Left out, for time: the core vectors by check/known/*.yaml (`grucible check --runtime NAME --expect
check/known/NAME.yaml`: some 10 s for OpenVINO where it is dynamic, OpenCV, tract or MNN, a minute for
OpenVINO's importer, a quarter of an hour for IREE).
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import Question, Unsupported, verify
from grucible.check.runtimes import posed

PACKAGES = {
    "openvino_onnx": "openvino",
    "opencv": "cv2",
    "tract": "tract",
    "mnn": "MNN",
    "mnn_kernel": "MNN",
    "iree": "iree.compiler",
}
RIGHT = {
    "openvino_onnx": (
        "default", "lbr1", "bidirectional", "noB", "noinitial_h", "noY", "noY_h", "reverse", "clip0.5",
        "lbr1-clip0.5", "ragged",
    ),
    "opencv": ("default", "lbr1", "bidirectional", "noB", "noinitial_h", "noY", "noY_h"),
    "tract": ("default", "lbr1", "bidirectional", "layout1", "noB", "noinitial_h", "noY", "noY_h"),
    "mnn": ("lbr1",),
    "mnn_kernel": ("default", "lbr1", "noB", "noinitial_h"),
    "iree": ("default",),
}  # fmt: skip
REFUSED: dict[str, dict[str, str]] = {
    "openvino_onnx": {"Sigmoid_Elu": "", "layout1": ""},
    "opencv": {"Sigmoid_Relu": "", "layout1": ""},
    "tract": {"ragged": "seq_len"},
    "mnn": {"bidirectional": r"MNN gave 0 outputs, not 2; it printed: .*Reshape error"},
    "mnn_kernel": {"ragged": "Don't support sequence_lens input"},
    "iree": {"reverse": "failed to legalize"},
}
"""By case, a part of the message."""
WRONG: dict[str, dict[str, tuple[str, ...]]] = {
    "openvino_onnx": {"bidirectional-Sigmoid_Tanh_Tanh_Relu": ("activations-ignored",)},
    "opencv": {
        "reverse": ("reverse-ignored",),
        "clip0.5": ("clip-ignored",),
        "ragged": ("lengths-ignored",),
    },
    "tract": {
        "reverse": ("reverse-ignored",),
        "clip0.5": ("clip-ignored",),
        "Sigmoid_Relu": ("activations-ignored",),
    },
    "mnn": {
        "default": ("Rbh-outside", "lbr-assumed"),
        "lbr1-clip0.5": ("clip-ignored",),
    },
    "mnn_kernel": {"reverse": ("reverse-ignored",), "clip0.5": ("clip-ignored",)},
    "iree": {"ragged": ("lengths-ignored",), "Sigmoid_Elu": ("elu-as-relu",)},
}
"""By case, what the diagnosis of that case alone finds."""


def runtime(name: str) -> Any:
    """A runtime of `onnx_files`, where the package it asks is installed."""
    pytest.importorskip(PACKAGES[name])
    return getattr(pytest.importorskip("grucible.check.runtimes.onnx_files"), name)


def plain(case: str, dtype: str = "float32") -> str:
    return f"onnx.GRU-14/plain/{dtype}/{case}"


def question(case: str) -> Question:
    [found] = [c.question for c in core_cases() if c.id == plain(case)]
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_wrong_and_refused(name: str) -> None:
    asked = runtime(name)
    report = verify(runtime=asked, select=[plain(case) for case in RIGHT[name]])
    assert report.counts == {"passed": len(RIGHT[name])}
    for case, says in REFUSED[name].items():
        with pytest.raises(Exception, match=says) as refused:
            asked(question(case))
        assert not isinstance(refused.value, Unsupported)
    for case, names in WRONG[name].items():
        report = verify(runtime=asked, select=plain(case))
        assert report.counts == {"failed": 1}, case
        assert [f.names for f in report.diagnosis.findings] == [names], case


def test_mnn_s_own_kernel_forgets_the_second_direction() -> None:
    report = verify(runtime=runtime("mnn_kernel"), select=plain("bidirectional"), diagnosis=False)
    assert report.results[0].where.startswith("Y_h[1, ")


def test_mnn_s_printing_is_kept_from_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    loop = runtime("mnn")
    capfd.readouterr()
    loop(question("lbr1"))
    os.write(1, b"and is whole again\n")
    assert capfd.readouterr().out == "and is whole again\n"


def test_iree_takes_softsign_for_relu() -> None:
    compiled = runtime("iree")
    softsign = question("Sigmoid_Softsign")
    given = dict(softsign.given) | {"activations": ["Sigmoid", "Relu"]}
    relu = compiled(dataclasses.replace(softsign, given=given))
    for name, array in compiled(softsign).items():
        np.testing.assert_array_equal(array, relu[name])


def test_dynamic_models_of_openvino() -> None:
    openvino = pytest.importorskip("grucible.check.runtimes.openvino")
    cases = ("default", "n1", "n2-t9-ones", "ragged")
    sizes = [f"openvino.GRUSequence-5/plain/float32/{case}" for case in cases]
    made = openvino.OpenVINO(posed.OPENVINO["openvino-dynamic-parameters"])
    report = verify(runtime=made, select=sizes)
    assert report.counts == {"passed": len(sizes)}, [r.message for r in report.results]
    assert made._kept.cache_info().currsize < len(sizes)
    report = verify(runtime=openvino.dynamic, select=sizes)
    assert {r.id for r in report.results if r.verdict == "failed"} == {*sizes[-2:]}
    assert [f.names for f in report.diagnosis.findings] == [("lengths-ignored",)]


@pytest.mark.parametrize(
    ("name", "dtype"), [("opencv", "bfloat16"), ("tract", "bfloat16"), ("mnn", "float64")]
)
def test_a_dtype_that_has_no_arrays_is_declared(name: str, dtype: str) -> None:
    with pytest.raises(Unsupported, match=dtype):
        runtime(name)(dataclasses.replace(question("default"), dtype=dtype))
