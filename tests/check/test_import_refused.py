"""What is imported is what stands there: nothing passed over, nothing taken for something else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors, forge

from .conftest import Command
from .suites import ONE, SHAPES, gru, tensor

CELL = "openvino.GRUCell-3"
NOBODY = "there is no case to import; 1 left out: "


def test_a_manifest_takes_no_case_out_of_the_verdict(tmp_path: Path, command: Command) -> None:
    export_vectors(None, tmp_path / "x", "raw", select=[ONE])
    forge(tmp_path / "x", lambda manifest: manifest["cases"][0].update(tier="nonportable"))
    printed = command("import", tmp_path / "x", "-o", tmp_path / "v.h5").said_in_one_line()
    assert f"{ONE}: is marked as nonportable, and it holds nothing that is" in printed
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.parametrize(("beside", "says"), [
    ('"attributes": {"hidden_size": 4, "clip": 0.5, "clip": 1.0}', "a key stands there twice: 'clip'"),
    ('"attributes": {"hidden_size": 4}, "clip": 0.5',
     "it has other keys; expected an object with operator and attributes alone"),
])  # fmt: skip
def test_the_json_beside_an_npz_file(
    beside: str, says: str, tmp_path: Path, command: Command
) -> None:
    arrays: dict[str, Any] = {name: np.full(shape, 0.5, "f4") for name, shape in SHAPES.items()}
    np.savez(tmp_path / "a.npz", **arrays)
    (tmp_path / "a.json").write_text(f'{{"operator": "{CELL}", {beside}}}')
    ended = command("import", tmp_path, "--from", "npz", "-o", tmp_path / "v.h5")
    assert f"{tmp_path / 'a.json'}: {says}" in ended.said_in_one_line()


def of_x(x: dict[str, Any]) -> Any:
    """A test whose input is another tensor."""
    test = gru({}, {})
    test["graph"]["inputs"]["x"] = x
    return test


GIVEN: list[dict[str, Any]] = [
    {"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"hiddenSize": 4}]  # fmt: skip
IN_CELL = {"name": "gruCell", "arguments": [*GIVEN, {"hiddenState": "h"}]}
BOTH = {"outputs": ["o", "p"]}
WRONG = [
    (gru({}, {}, 99), "expected (99, 3, 2): (steps, batchSize, inputSize)"),
    (gru({}, {}, "2"), "steps is '2'; expected an integer"),
    (gru(BOTH, {"returnSequence": False}), "is no test of one gru"),
    (gru({}, {"returnSequence": True}), "is no test of one gru"),
    (gru({"outputs": ["o", "o"]}, {"returnSequence": True}), "expects other outputs than ['o', 'o']"),
    (gru({}, {"resetAfter": "no"}), "resetAfter is 'no'; expected true or false"),
    (gru({}, {"resetafter": False}), "webnn.gru has no attribute 'resetafter'"),
    (gru({}, {}, expectedOutputs={"y": tensor([1, 3, 4])}), "expects other outputs than ['o']"),
    (gru({"arguments": [*GIVEN, {"steps": 2}, {"steps": 3}]}, {}), "gives an argument twice"),
    (gru({"arguments": [*GIVEN, {"steps": 2}, {"hiddenState": "h"}]}, {}),
     "webnn.gru has no attribute 'hiddenState'"),
    (gru({"name": "gruCell", "arguments": [*IN_CELL["arguments"], {"steps": 1}]}, {}),
     "webnn.gruCell has no attribute 'steps'"),
    (gru({"name": "gruCell", "arguments": GIVEN}, {}), "input hiddenState is missing"),
    (gru({"arguments": GIVEN}, {}), "attribute steps is missing"),
    (gru({"name": "lstm"}, {}), "is no gru or gruCell of WebNN"),
    (of_x(tensor([2, 3, 2], [1.0])), "cannot reshape"),
    (of_x(tensor([16_000_000] * 3)), "is no test of one gru"),
    (of_x(tensor([2_000_000, 400, 1])), "cannot be read|input has shape|is 2000000"),
    (of_x(tensor([2, 3, 2], dtype="\x1b[31m")), "has other data than numbers of float16 or float32"),
    (of_x(tensor([2, 3, 2], ["0.5"] * 12)), "has other data than numbers of float16 or float32"),
    (of_x(tensor([2, 3, 2], True)), "has other data than numbers of float16 or float32"),
    (of_x(tensor([2, 3])), "input has 2 axes; expected 3"),
    ([], "is no test of one gru"),
]  # fmt: skip


def test_tests_of_webnn_that_say_something_else(tmp_path: Path, command: Command) -> None:
    good = [gru({}, {}), gru({"outputs": "o"}, {}, expectedOutputs={"o": tensor([1, 3, 4])}),
            gru(BOTH, {"returnSequence": True})]  # fmt: skip
    for test, says in WRONG:
        (tmp_path / "t.json").write_text(json.dumps([*good, test]))
        made = [tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5"]
        ended = command("import", *made)
        assert (ended.status, ended.err) == (0, "")
        [left] = [line for line in ended.out.splitlines() if line.startswith("left out: ")]
        assert re.match(f"left out: 1: .*({says if '|' in says else re.escape(says)})", left), left
        assert "  3 cases" in ended.out
    (tmp_path / "t.json").write_text(json.dumps(gru(IN_CELL, {})))
    ended = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "cell.h5")
    assert (ended.status, "  1 case" in ended.out) == (0, True)


@pytest.mark.parametrize(("old", "new"), [
    ('"hiddenSize": 4', '"hiddenSize": 4, "hiddenSize": 5'), ('"data": 0.5', '"data": [NaN]'),
    ('"data": 0.5', '"data": ' + "[" * 100_000),
])  # fmt: skip
def test_a_file_that_is_no_strict_json(
    old: str, new: str, tmp_path: Path, command: Command
) -> None:
    text = json.dumps([gru({}, {})])
    assert old in text
    (tmp_path / "t.json").write_text(text.replace(old, new, 1))
    ended = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert "t.json: is not JSON (" in ended.said_in_one_line()


def other_domain(model: Any, _: Path) -> None:
    model.graph.node[0].domain = "com.example"


def opset(version: int) -> Callable[[Any, Path], None]:
    def change(model: Any, _: Path) -> None:
        model.opset_import[0].version = version

    return change


def unknown_port(model: Any, _: Path) -> None:
    model.graph.node[0].input[3] = "sparse"


def external(model: Any, _: Path) -> None:
    import onnx

    made = onnx.helper.make_tensor("B", onnx.TensorProto.FLOAT, [1, 36], b"\0" * 144, raw=True)
    made.ClearField("raw_data")
    made.data_location = onnx.TensorProto.EXTERNAL
    made.external_data.add(key="location", value="B.bin")
    model.graph.initializer.append(made)


def twice(model: Any, _: Path) -> None:
    model.graph.output.append(model.graph.output[0])


def more(_: Any, data: Path) -> None:
    shutil.copy(data / "output_0.pb", data / "output_2.pb")


def not_numbered(_: Any, data: Path) -> None:
    (data / "output_0.pb").rename(data / "output_7.pb")


def redefined(model: Any, _: Path) -> None:
    model.functions.add(name="GRU", domain="")


def other_dtype(model: Any, _: Path) -> None:
    model.graph.output[0].type.tensor_type.elem_type = 10  # float16


def undeclared(model: Any, _: Path) -> None:
    model.graph.input[0].ClearField("type")


def unasked(model: Any, data: Path) -> None:
    """Another shape, of an output of the GRU that is not the graph's."""
    model.graph.output[0].name = model.graph.node[0].output[0] = "unasked"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 77
    model.graph.value_info.append(model.graph.output.pop(0))
    (data / "output_1.pb").rename(data / "output_0.pb")


MODELS: list[tuple[Callable[[Any, Path], None], str]] = [
    (other_domain, "is not one GRU of ONNX, and nothing else"),
    (redefined, "is not one GRU of ONNX, and nothing else"),
    (opset(3), r"is of opset 3; GRU is known from opset 7 to \d+"),
    (opset(99), "is of opset 99"),
    (unknown_port, ".*cannot be read .lacks 'sparse'"),
    (external, ".*keeps its data in another file"),
    (twice, "gives outputs that are not the GRU's, or lists one twice"),
    (more, "has 3 outputs for 2 of the model"),
    (not_numbered, "has outputs that are not numbered from 0 on"),
    (other_dtype, "is refused by onnx.checker: .*Inferred elem type differs"),
    (undeclared, "is refused by onnx.checker"),
    (unasked, "is refused by onnx.checker: .*Inferred shape and existing shape differ"),
]


@pytest.mark.parametrize(("change", "says"), MODELS)
def test_an_onnx_test_that_is_not_what_it_seems(
    change: Callable[[Any, Path], None], says: str, tmp_path: Path, command: Command
) -> None:
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "x"
    select = "onnx.GRU-14/core/float32/nodir-noact-nohidden_size"
    export_vectors(None, folder, "onnx", select=[select])
    [path] = folder.rglob("model.onnx")
    model = onnx.load_model_from_string(path.read_bytes())
    change(model, path.parent / "test_data_set_0")
    path.write_bytes(model.SerializeToString())
    ended = command("import", "--from", "onnx", folder, "-o", tmp_path / "v.h5")
    assert re.search(NOBODY + says, ended.said_in_one_line())
