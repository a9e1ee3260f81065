"""`grucible model` on OpenVINO's IR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
ov: Any = pytest.importorskip("openvino")

from grucible.vectors.vector_set import load_vectors  # noqa: E402

from .conftest import Command  # noqa: E402
from .test_model import MADE, at, bad, wrong_layers  # noqa: E402


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The networks, as OpenVINO's converter writes them."""
    folder, found = tmp_path_factory.mktemp("ir"), {}
    for name, make in MADE.items():
        found[name] = folder / f"{name}.xml"
        model = ov.Core().read_model(make(folder / f"{name}.onnx"))
        ov.save_model(model, found[name], compress_to_fp16=False)
    return found


@pytest.mark.parametrize("runtime", ["openvino", at("ir")])
@pytest.mark.parametrize(("name", "layers", "cases"), [("enhancer", 3, 3), ("decoder", 2, 16)])
def test_layers_of_an_ir_are_judged(
    name: str, layers: int, cases: int, runtime: str, models: dict[str, Path], command: Command
) -> None:
    """Also those in a Loop, whose rounds OpenVINO joins."""
    ended = command("model", models[name], "--runtime", runtime, "--json")
    assert (ended.status, ended.report["verdict"]) == (0, "conforms")
    assert len(set(ended.report["model"]["layers"].values())) == layers
    assert ended.report["summary"]["passed"] == cases
    assert "--module" not in str(ended.report["model"]["notes"])  # an IR takes none
    assert all(case["id"].startswith("openvino.GRUSequence-5/") for case in ended.report["cases"])


def test_lengths_are_seen(models: dict[str, Path], tmp_path: Path, command: Command) -> None:
    """OpenVINO 2026.4 ignores them where a dimension is free, and the diagnosis says so."""
    out = tmp_path / "kept.h5"
    ended = command("model", models["tagger"], "--runtime", "openvino", "--save", out)
    [case] = load_vectors(out)
    assert case.question.attributes["direction"] == "bidirectional"
    lengths, steps = case.inputs["sequence_lengths"], case.inputs["X"].shape[1]
    assert lengths.max() == steps > lengths.min()
    if ended.status:
        assert "sequence_lengths ignored" in " ".join(ended.out.split())


def test_a_cell_in_a_tensor_iterator_is_judged_at_each_step(
    tmp_path: Path, command: Command
) -> None:
    """As older converters write a sequence."""
    ops, chance, steps = ov.opset8, np.random.default_rng(0), 5
    x, h0 = (ops.parameter(shape, np.float32) for shape in ([2, steps, 3], [2, 4]))
    now, before = (ops.parameter(shape, np.float32) for shape in ([2, 1, 3], [2, 4]))
    weights = [ops.constant(chance.random(n, np.float32)) for n in ((12, 3), (12, 4), (12,))]
    axis = ops.constant(np.array([1]))
    cell = ops.gru_cell(ops.squeeze(now, axis), before, *weights, 4)
    cell.set_friendly_name("cell")
    state, row = ops.result(cell), ops.result(ops.unsqueeze(cell, axis))
    loop = ops.tensor_iterator()
    loop.set_body(ov.Model([state, row], [now, before], "step"))
    loop.set_sliced_input(now, x.output(0), 0, 1, 1, -1, 1)
    loop.set_merged_input(before, h0.output(0), state.output(0))
    rows = loop.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1)
    ov.save_model(ov.Model([ops.result(rows)], [x, h0], "net"), tmp_path / "net.xml")
    out = tmp_path / "kept.h5"
    ended = command("model", tmp_path / "net.xml", "--runtime", "openvino", "--save", out)
    assert ended.out.startswith(f"conforms: {steps} of {steps} cases passed")
    cases = {case.id.rpartition("/")[2]: case for case in load_vectors(out)}
    assert cases.keys() == {f"cell-run{number}" for number in range(1, steps + 1)}
    first, second = cases["cell-run1"], cases["cell-run2"]
    near = first.answer.outputs["Ho"] - second.inputs["initial_hidden_state"]
    assert np.abs(near).max() < 1e-6


def test_a_mistake_is_found_in_its_layer(models: dict[str, Path], command: Command) -> None:
    ended = command("model", models["enhancer"], "--runtime", at("second_swapped"), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "does not conform")
    layers = list(ended.report["model"]["layers"].values())
    assert len(layers) == 3
    assert wrong_layers(ended.report) == {sorted(layers, key=lambda n: int(n.split("_")[1]))[1]}


@pytest.mark.parametrize("is_long", [True, False])
def test_an_if_runs_one_of_its_bodies(
    is_long: bool, models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    sound = np.ones((2, 3, 10), np.float32)
    np.savez(tmp_path / "in.npz", sound=sound, is_long=np.array(is_long))
    ask = ("--runtime", "openvino", "--inputs", tmp_path / "in.npz", "--json")
    report = command("model", models["spotter"], *ask).report
    assert report["summary"]["passed"] == 1 + is_long
    assert report["verdict"] == ("conforms" if is_long else "incomplete")
    assert list(report["model"]["unjudged"].values()) == ["it did not run"] * (not is_long)


def test_files_that_cannot_be_judged_get_one_line(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    bad(command("model", models["enhancer"], "--runtime", "onnxruntime"), "runs on openvino")
    alone = tmp_path / "alone.xml"
    alone.write_bytes(models["enhancer"].read_bytes())
    bad(command("model", alone, "--runtime", "openvino"), "alone.bin")
    alone.write_text("<net>")
    bad(command("model", alone, "--runtime", "openvino"), "no OpenVINO model")
    ops = ov.opset13
    x = ops.parameter([2, 3], float, name="x")
    ov.save_model(ov.Model([ops.relu(x)], [x], "relu"), tmp_path / "relu.xml")
    bad(command("model", tmp_path / "relu.xml", "--runtime", "openvino"), "holds no GRU")
