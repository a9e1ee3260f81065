"""PyTorch and its exporters as runtimes; skipped where torch is not installed.

Left out, for time: the core vectors by check/known/torch-*.yaml. The default exporter takes seconds a case.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import verify
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.layout import of_each_direction
from grucible.check.importing.readers import read_npz_files
from grucible.check.runtimes.posed import TORCH

torch = pytest.importorskip("torch")
CASES = {case.id: case for case in core_cases() if case.operator.startswith("torch.")}
SOME = (
    "torch.GRUCell/plain/float32/nohidden",
    "torch.GRU/plain/float16/bidirectional-batch_first-ragged",
    "torch.GRU/plain/bfloat16/nobias",
    "torch.GRU/plain/float64/longest-last",
    "torch.GRU/plain/float32/noh_0",
)


def runtime(name: str) -> Any:
    module = importlib.import_module("grucible.check.runtimes.torch")
    return getattr(module, f"{name.replace('-', '_')}_")


def test_torch_is_right_also_where_others_ask_the_same() -> None:
    asked = [*SOME, "onnx.GRU-14/plain/float32/bidirectional-lbr1"]
    report = verify(runtime=runtime("torch"), select=asked)
    assert report.counts["passed"] == len(report.results) == len(asked)


@pytest.mark.parametrize("name", ["torch-onnx-legacy-dynamic", "torch-openvino-dynamic"])
def test_an_exported_module_is_right_at_other_sizes(name: str) -> None:
    pytest.importorskip("onnx" if "onnx" in name else "openvino")
    select = "torch.GRU/plain/float32/bidirectional"
    assert verify(runtime=runtime(name), select=select).counts["passed"] == 1


@pytest.mark.parametrize("name", ["torch-onnx-legacy", "torch-onnx"])
def test_an_exporter_s_warnings_do_not_hide_the_verdict(name: str) -> None:
    """In a process that has not imported torch: it reads its log level then."""
    pytest.importorskip("onnxruntime")
    case = {"torch-onnx-legacy": "ragged", "torch-onnx": "t1"}[name]  # the other takes no lengths
    asked = ["check", "--runtime", name, "--quiet", "--select", f"torch.GRU/plain/float32/{case}"]
    words = [sys.executable, "-m", "grucible", *asked]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("conforms: 1 of 1")
    assert not re.search(r"^\[?torch-", ended.stderr, re.MULTILINE), ended.stderr


def test_what_an_exporter_raises_is_raised_from_its_process() -> None:
    pytest.importorskip("openvino")
    with pytest.raises(RuntimeError, match="OpConversionFailure"):
        runtime("torch-openvino")(CASES["torch.GRU/plain/float32/ragged"].question)


@pytest.mark.parametrize("name", TORCH)
def test_the_version_names_every_package(name: str) -> None:
    for package in TORCH[name].packages:
        pytest.importorskip(package)
    version = runtime(name).version
    assert version.startswith(torch.__version__)
    assert all(f"{package} " in version for package in TORCH[name].packages)


def test_a_state_dict_is_imported_by_its_own_names(tmp_path: Path) -> None:
    gru = torch.nn.GRU(3, 4, bidirectional=True)
    x = torch.randn(2, 5, 3)
    with torch.no_grad():
        output, h_n = gru(x)
    arrays = {name: value.numpy() for name, value in gru.state_dict().items()}
    np.savez(tmp_path / "a.npz", input=x, output=output, h_n=h_n, **arrays)
    given = '{"input_size": 3, "hidden_size": 4, "bidirectional": true}'
    read = read_npz_files(str(tmp_path), "torch.GRU", given)
    assert not read["left_out"]
    [case] = read["cases"]
    operator = OPERATORS["torch.GRU"]
    apart = of_each_direction(operator, operator.with_defaults(json.loads(given)), case["inputs"])
    assert all(np.array_equal(apart[name], value) for name, value in arrays.items())
