"""What is imported is what stands there: nothing is passed over, and nothing is taken for something else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors

from .conftest import Command
from .suites import SHAPES, forged, gru

CELL = "openvino.GRUCell-3"


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """A folder with the inputs of a cell."""
    (tmp_path / "cell").mkdir()
    arrays: dict[str, Any] = {name: np.full(shape, 0.5, "f4") for name, shape in SHAPES.items()}
    np.savez(tmp_path / "cell/a.npz", **arrays)
    return tmp_path / "cell"


@pytest.mark.parametrize(("said", "says"), [
    ('"attributes": {"hidden_size": 4, "clip": 0.5, "clip": 1.0}', "a key stands there twice: 'clip'"),
    ('"attributes": {"hidden_size": 4}, "attributes": {"hidden_size": 4, "clip": 1.0}',
     "a key stands there twice: 'attributes'"),
    ('"attributes": {"hidden_size": 4}, "clip": 0.5',
     "expected an object with operator and attributes alone"),
    ('"attributes": {"hidden_size": 4, "clip": 1e400}', "1e400 is beyond float64"),
])  # fmt: skip
def test_the_json_beside_an_npz_file(said: str, says: str, cell: Path, command: Command) -> None:
    (cell / "a.json").write_text(f'{{"operator": "{CELL}", {said}}}')
    ended = command("import", cell, "--from", "npz", "-o", cell / "v.h5")
    assert f"{cell / 'a.json'}: {says}" in ended.said_in_one_line()


def test_an_export_whose_clip_is_no_number_of_json(tmp_path: Path, command: Command) -> None:
    def endless(manifest: Any) -> None:
        manifest["cases"][0]["attributes"]["clip"] = math.inf

    folder = forged(tmp_path / "x", endless)
    assert "Infinity" in (folder / "manifest.json").read_text()
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert "manifest.json: is not JSON (Infinity is no number of JSON)" in said


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"tier": "required"', '"tier": "nonportable", "tier": "required"', "twice: 'tier'"),
    ('"clip": 0.5', '"clip": 1e400', "1e400 is beyond float64"),
])  # fmt: skip
def test_a_manifest_that_says_two_things(
    old: str, new: str, says: str, tmp_path: Path, command: Command
) -> None:
    folder = forged(tmp_path / "x", lambda _: None)
    manifest, sums = folder / "manifest.json", folder / "SHA256SUMS"
    before = manifest.read_text()
    assert old in before
    manifest.write_text(before.replace(old, new))
    was, now = (sha256(text.encode()).hexdigest() for text in (before, manifest.read_text()))
    sums.write_text(sums.read_text().replace(was, now))
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert f"{manifest}: is not JSON (" in said
    assert says in said


EXPECTED = {"data": 0.5, "descriptor": {"shape": [1, 3, 4], "dataType": "float32"}}
CELL_GIVEN: list[dict[str, Any]] = [
    {"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"hiddenSize": 4}]  # fmt: skip
TWICE: list[dict[str, Any]] = [*CELL_GIVEN, {"steps": 2}, {"steps": 3}]
BOTH = {"outputs": ["o", "p"]}


@pytest.mark.parametrize(("test", "says"), [
    (gru({}, {}, 99), "steps is '99'; its input has 2"),
    (gru({}, {}, -1), "steps is '-1'; its input has 2"),
    (gru({}, {}, "2"), "steps is '2'; its input has 2"),
    (gru({}, {}, None), "steps is 'None'; its input has 2"),
    (gru(BOTH, {"returnSequence": False}), "names 2 outputs; expected 1"),
    (gru({}, {"returnSequence": True}), "names 1 outputs; expected 2"),
    (gru({"outputs": ["o", "p", "q"]}, {"returnSequence": True}), "names 3 outputs; expected 2"),
    (gru({"outputs": ["o", "o"]}, {"returnSequence": True}), "names an output twice"),
    (gru({}, {"resetAfter": "no"}), "options.resetAfter: Input should be a valid boolean"),
    (gru({}, {"resetafter": False}), "options.resetafter: Extra inputs are not permitted"),
    (gru({}, {}, expectedOutputs={"y": EXPECTED}), "expects 'y', which is no output of its gru"),
    (gru({"arguments": TWICE}, {}), "gives an argument twice"),
    (gru({"arguments": [*CELL_GIVEN, {"hiddenState": "h"}]}, {}),
     "gives hiddenState, which gru does not take"),
    (gru({"name": "gruCell"}, {}), "gives steps, which gruCell does not take"),
    (gru({"name": "gruCell", "arguments": CELL_GIVEN}, {}),
     "gives no hiddenState, which gruCell needs"),
    (gru({"arguments": CELL_GIVEN}, {}), "gives no steps, which gru needs"),
])  # fmt: skip
def test_a_test_of_webnn_that_says_something_else(
    test: Any, says: str, tmp_path: Path, command: Command
) -> None:
    good = [gru({}, {}), gru({"outputs": "o"}, {}, expectedOutputs={"o": EXPECTED}),
            gru(BOTH, {"returnSequence": True}),
            gru({"name": "gruCell", "arguments": [*CELL_GIVEN, {"hiddenState": "h"}]}, {})]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps([*good, test]))
    ended = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert ended.status == 0, ended.err
    [left] = [line for line in ended.out.splitlines() if line.startswith("left out: ")]
    assert left.startswith("left out: 1: ")
    assert says in left
    assert "  4 cases" in ended.out


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"hiddenSize": 4', '"hiddenSize": 4, "hiddenSize": 5', "a key stands there twice: 'hiddenSize'"),
    ('"data": 0.5', '"data": 1e400', "1e400 is beyond float64"),
    ('"data": 0.5', '"data": Infinity', "t.json: is not JSON (Infinity is no number of JSON)"),
    ('"data": 0.5', '"data": [NaN]', "t.json: is not JSON (NaN is no number of JSON)"),
    ('"data": 0.5', '"data": true', "graph.inputs.x.data"),
    ('"data": 0.5', '"data": ["0.5"]', "graph.inputs.x.data"),
    ('"data": 0.5', '"data": ' + "[" * 100_000, "is not JSON"),
])  # fmt: skip
def test_a_file_of_webnn_that_says_something_else(
    old: str, new: str, says: str, tmp_path: Path, command: Command
) -> None:
    text = json.dumps([gru({}, {})])
    assert old in text
    (tmp_path / "t.json").write_text(text.replace(old, new, 1))
    ended = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert says in ended.said_in_one_line()


def _sequence(model: Any) -> None:
    port = model.graph.input[0].type
    element = type(port).FromString(port.SerializeToString())
    port.sequence_type.elem_type.CopyFrom(element)


def _opset_99(model: Any) -> None:
    model.opset_import[0].version = 99


def _other_shape(model: Any) -> None:
    """Of an output of the GRU that is not the graph's."""
    model.graph.output[0].name = model.graph.node[0].output[0] = "unasked"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 77
    model.graph.value_info.append(model.graph.output.pop(0))


def _undeclared(model: Any) -> None:
    model.graph.input[0].ClearField("type")


@pytest.mark.parametrize(("change", "says"), [
    (_sequence, "declares 'X' as no tensor"),
    (_opset_99, r"is of opset 99; onnx \S+ knows them up to \d+"),
    (_undeclared, "is refused by onnx.checker"),
    (_other_shape, "is refused by onnx.checker: .*Inferred shape and existing shape differ"),
])  # fmt: skip
def test_an_onnx_model_of_other_types_or_of_a_later_opset(
    change: Callable[[Any], None], says: str, tmp_path: Path, command: Command
) -> None:
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "exported"
    export_vectors(None, folder, "onnx", select=["onnx.GRU-14/plain/float32/default"])
    [path] = folder.rglob("model.onnx")
    model = onnx.load_model_from_string(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    if change is _other_shape:
        (path.parent / "test_data_set_0/output_1.pb").rename(
            path.parent / "test_data_set_0/output_0.pb"
        )
    ended = command("import", "--from", "onnx", folder, "-o", tmp_path / "v.h5")
    refused = f"there is no case to import; 1 left out: {says}"
    assert re.search(refused, ended.said_in_one_line())
