"""What is imported and says of itself what is not so is refused: ids, models, tensors, tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exporting import export_vectors

from .conftest import Command
from .suites import ONE, forged

IDS = ["../precious/float32/x", "/tmp/evil/float32/y", "openvino.GRUCell-3/../float32/x",
       "openvino.GRUCell-3/./float32/x", "openvino.GRUCell-3/.hidden/float32/x", "x", "a/b/c"]  # fmt: skip


@pytest.mark.parametrize("case_id", IDS)
def test_an_id_leads_to_no_other_place(case_id: str, tmp_path: Path, command: Command) -> None:
    folder = forged(tmp_path / "x", lambda m: m["cases"][0].update(id=case_id))
    before = [file for file in sorted(tmp_path.rglob("*")) if file.is_file()]
    said = command("import", folder, "-o", tmp_path / "sub").said_in_one_line()
    assert "expected openvino.GRUCell-3/THEME/float32/WHAT" in said
    assert [file for file in sorted(tmp_path.rglob("*")) if file.is_file()] == before


def other_domain(model: Any) -> None:
    model.graph.node[0].domain = "com.example"


def early_opset(model: Any) -> None:
    model.opset_import[0].version = 3


def unknown_port(model: Any) -> None:
    model.graph.node[0].input[3] = "sparse"


def external(model: Any) -> None:
    import onnx

    made = onnx.helper.make_tensor("B", onnx.TensorProto.FLOAT, [1, 36], b"\0" * 144, raw=True)
    made.ClearField("raw_data")
    made.data_location = onnx.TensorProto.EXTERNAL
    made.external_data.add(key="location", value="B.bin")
    model.graph.initializer.append(made)


@pytest.mark.parametrize(("change", "says"), [
    (other_domain, "is no GRU of ONNX's opset 7 or later"),
    (early_opset, "is no GRU of ONNX's opset 7 or later"),
    (unknown_port, "has an input that is neither fed nor an initializer"),
    (external, "keeps its data in another file"),
])  # fmt: skip
def test_an_onnx_model_that_says_something_else(
    change: Callable[[Any], None], says: str, tmp_path: Path, command: Command
) -> None:
    folder = tmp_path / "x"
    select = "onnx.GRU-14/core/float32/nodir-noact-nohidden_size"
    onnx = pytest.importorskip("onnx")
    export_vectors(None, folder, "onnx", select=[select])
    [path] = folder.rglob("model.onnx")
    model = onnx.load_model_from_string(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    said = command("import", "--from", "onnx", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert f"there is no case to import; 1 left out: {says}" in said


def tensor(shape: list[int], data: Any = 0.5, dtype: str = "float32") -> dict[str, Any]:
    return {"data": data, "descriptor": {"shape": shape, "dataType": dtype}}


GRU_INPUTS = {"x": tensor([2, 3, 2]), "w": tensor([1, 12, 2]), "r": tensor([1, 12, 4])}


@pytest.mark.parametrize("change", [
    {"x": tensor([2, 3, 2], [1.0])},
    {"x": tensor([2, 3, 2], [])},
    {"x": tensor([16_000_000] * 3)},
    {"x": tensor([2_000_000, 400, 1])},
    {"x": tensor([2, 3, 2], dtype="\x1b[31m")},
    {"x": tensor([2, 3])},
])  # fmt: skip
def test_webnn_tensors_that_lie(change: dict[str, Any], tmp_path: Path, command: Command) -> None:
    arguments = [
        {"input": "x"},
        {"weight": "w"},
        {"recurrentWeight": "r"},
        {"steps": 2},
        {"hiddenSize": 4},
    ]
    call = {"name": "gru", "arguments": arguments, "outputs": ["h"]}
    graph = {"inputs": GRU_INPUTS | change, "operators": [call], "expectedOutputs": {}}
    (tmp_path / "t.json").write_text(json.dumps([{"name": "t", "graph": graph}]))
    said = command(
        "import", "--from", "webnn", tmp_path / "t.json", "-o", tmp_path / "v.h5"
    ).said_in_one_line()
    assert "there is no case to import; 1 left out: " in said
    call["arguments"] = [{"input": ["a"]}, *arguments[1:]]
    (tmp_path / "t.json").write_text(json.dumps([{"name": "t", "graph": graph}]))
    said = command(
        "import", "--from", "webnn", tmp_path / "t.json", "-o", tmp_path / "v.h5"
    ).said_in_one_line()
    assert "1 left out: " in said


def _twice(model: Any, _: Path) -> None:
    model.graph.output.append(model.graph.output[0])


def _more(_: Any, data: Path) -> None:
    shutil.copy(data / "output_0.pb", data / "output_2.pb")


def _not_numbered(_: Any, data: Path) -> None:
    (data / "output_0.pb").rename(data / "output_7.pb")


def _redefined(model: Any, _: Path) -> None:
    model.functions.add(name="GRU", domain="")


def _other_dtype(model: Any, _: Path) -> None:
    model.graph.output[0].type.tensor_type.elem_type = 10  # float16


def _other_shape(model: Any, _: Path) -> None:
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 77


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_twice, "lists an output twice"),
        (_more, "has 3 outputs for 2 of the model"),
        (_not_numbered, "has outputs that are not numbered from 0 on"),
        (_redefined, "defines functions of its own"),
        (_other_dtype, "declares a tensor as float16 that is float32"),
        (_other_shape, "declares a tensor of another shape than it has"),
    ],
)
def test_an_onnx_test_that_is_not_what_it_seems_is_left_out(
    change: Callable[[Any, Path], None], says: str, tmp_path: Path, command: Command
) -> None:
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "exported"
    select = "onnx.GRU-14/core/float32/nodir-noact-nohidden_size"
    export_vectors(None, folder, "onnx", select=[select])
    [path] = folder.rglob("model.onnx")
    asked = ["import", "--from", "onnx", folder, "-o", tmp_path / "v.h5"]
    assert command(*asked).status == 0
    model = onnx.load_model_from_string(path.read_bytes())
    change(model, path.parent / "test_data_set_0")
    path.write_bytes(model.SerializeToString())
    said = command(*asked).said_in_one_line()
    assert f"there is no case to import; 1 left out: {says}" in said


def test_a_manifest_takes_no_case_out_of_the_verdict(tmp_path: Path, command: Command) -> None:
    folder = forged(tmp_path / "x", lambda m: m["cases"][0].update(tier="nonportable"))
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert said == (
        f"grucible: {ONE}: is marked as nonportable, and it holds nothing that is; export it from "
        "vectors in which it is required\n"
    )
    assert not (tmp_path / "v.h5").exists()
    assert not (tmp_path / "v.outputs.h5").exists()
