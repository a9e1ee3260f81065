"""`grucible model`: each GRU of a whole model is judged by the exact answers to what it got there."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed import sentence_of

onnxruntime: Any = pytest.importorskip("onnxruntime")
onnx: Any = pytest.importorskip("onnx")

from grucible.cases.errors import GrucibleError  # noqa: E402
from grucible.cases.operators.onnx import GRU  # noqa: E402
from grucible.check.model.network import MOST_BYTES, MOST_RUNS, Layer, Tap  # noqa: E402
from grucible.check.model.onnx_graph import OnnxNetwork  # noqa: E402
from grucible.check.runtimes import onnx_files  # noqa: E402
from grucible.vectors.reader import open_vectors  # noqa: E402
from grucible.vectors.vector_set import load_vectors  # noqa: E402

from . import networks  # noqa: E402
from .conftest import Command, Ended, bad_usage  # noqa: E402

MADE: dict[str, Callable[[Path], Path]] = {
    "enhancer": networks.enhancer,
    "tagger": networks.tagger,
    "decoder": networks.decoder,
    "spotter": networks.spotter,
}
LAYERS = {
    "enhancer": {"gru1", "gru2", "gru3"},
    "tagger": {"both"},
    "decoder": {"low", "high"},
    "spotter": {"main", "more"},
}
ROUNDS = 8


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {name: make(folder / f"{name}.onnx") for name, make in MADE.items()}


def at(function: str) -> str:
    return f"{networks.__file__}:{function}"


def wrong_layers(report: dict[str, Any]) -> set[str]:
    layers = report["model"]["layers"]
    return {layers[case["id"]] for case in report["cases"] if case["verdict"] != "passed"}


@pytest.mark.parametrize("name", MADE)
def test_a_right_runtime_conforms_in_every_layer(
    name: str, models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models[name], "--runtime", "onnxruntime", "--json")
    assert (ended.status, ended.report["verdict"]) == (0, "conforms")
    model = ended.report["model"]
    assert set(model["layers"].values()) == LAYERS[name]
    assert model["unjudged"] == {}
    rounds = ROUNDS if name == "decoder" else 1
    assert len(model["layers"]) == rounds * len(LAYERS[name])
    assert ended.report["runtime"]["version"] in (f"{onnxruntime.__version__} CPU",)


@pytest.mark.parametrize(
    ("name", "mistake", "layer", "found"),
    [
        ("enhancer", "reset", "gru1", "lbr-ignored"),
        ("enhancer", "no_bias", "gru2", "bias-ignored"),
        ("enhancer", "reset", "gru3", "lbr-ignored"),
        ("tagger", "no_lengths", "both", "lengths-ignored"),
        ("decoder", "no_state", "low", "h0-ignored"),
        ("decoder", "reset", "high", "lbr-ignored"),
        ("spotter", "reset", "main", "lbr-assumed"),
        ("spotter", "no_bias", "more", "bias-ignored"),
    ],
)
def test_a_mistake_is_found_in_its_layer_and_in_no_other(
    name: str, mistake: str, layer: str, found: str, models: dict[str, Path], command: Command
) -> None:
    """The layers behind it get wrong inputs, and answer these rightly."""
    runtime = at(f"{mistake}_of_{layer}")
    ended = command("model", models[name], "--runtime", runtime, "--size", "batch=3", "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "does not conform")
    assert wrong_layers(ended.report) == {layer}
    [finding] = ended.report["diagnosis"]
    assert (finding["names"], finding["certain"]) == ([found], True)
    assert finding["explains"] == finding["of"]


def test_the_first_line_names_the_layer_and_the_mistake(
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
) -> None:
    """The last line has the commands that lead on from there, as a shell takes them."""
    monkeypatch.chdir(tmp_path)
    ended = command("model", models["enhancer"], "--runtime", at("reset_of_gru2"))
    first = sentence_of(ended.out)
    assert first.startswith(
        "does not conform: layer gru2 is wrong, 2 of 3 cases passed, 1 failed; "
    )
    assert "the reset gate applied before the product" in first
    keep, trace = ended.out.splitlines()[-1].removeprefix("start with: ").split("; ")
    assert command(*shlex.split(keep)[1:]).status == 1
    traced = command(*shlex.split(trace)[1:])
    assert (traced.status, " fails: " in traced.out) == (1, True)


def test_each_round_of_a_loop_is_a_question(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    """What a cell gave in a round is the state that it got in the next."""
    out = tmp_path / "kept.h5"
    assert (
        command("model", models["decoder"], "--runtime", "onnxruntime", "--save", out).status == 0
    )
    cases = {case.id.rpartition("/")[2]: case for case in load_vectors(out)}
    chance = {name: cases[f"{name}-run1"].inputs["initial_h"] for name in ("low", "high")}
    assert np.array_equal(chance["low"], chance["high"])
    for name in ("low", "high"):
        states = [cases[f"{name}-run{number}"] for number in range(1, ROUNDS + 1)]
        for one, following in pairwise(states):
            near = np.abs(one.answer.outputs["Y_h"] - following.inputs["initial_h"]).max()
            assert near < 1e-6
            assert np.abs(one.inputs["initial_h"] - following.inputs["initial_h"]).max() > 1e-3
    low = [cases[f"low-run{number}"].answer.outputs["Y_h"] for number in range(1, ROUNDS + 1)]
    high = [cases[f"high-run{number}"].inputs["X"] for number in range(1, ROUNDS + 1)]
    assert np.abs(np.array(low) - np.array(high)).max() < 1e-6


def test_kept_questions_are_asked_of_another_runtime(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "kept.h5"
    ended = command("model", models["spotter"], "--runtime", at("reset_of_main"), "--save", out)
    assert ended.status == 1
    [show] = [line for line in ended.out.splitlines() if line.startswith("start with: ")]
    traced = command(*show.split()[3:])
    assert (traced.status, " fails: " in traced.out) == (1, True)
    assert all(f"{one}: written, " in ended.out for one in (out, tmp_path / "kept.outputs.h5"))
    vectors = open_vectors(out)
    vectors.verify_content()
    assert command("check", out, "--runtime", "onnxruntime", "--jobs", "1").status == 0
    again = command("check", out, "--outputs", tmp_path / "kept.outputs.h5", "--json")
    told = command(
        "model", models["spotter"], "--runtime", at("reset_of_main"), "--quiet", "--save", out
    )
    assert len(told.out.splitlines()) <= 5
    assert [c["verdict"] for c in again.report["cases"]] == ["failed", "passed"]


def test_given_inputs_are_those_of_the_first_layer(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    spectrum = np.linspace(-3, 3, 5 * 1 * 6, dtype=np.float32).reshape(5, 1, 6)
    np.savez(tmp_path / "in.npz", spectrum=spectrum)
    given = ["--inputs", tmp_path / "in.npz", "--save", tmp_path / "kept.h5"]
    assert command("model", models["enhancer"], "--runtime", "onnxruntime", *given).status == 0
    first = next(case for case in load_vectors(tmp_path / "kept.h5") if case.id.endswith("gru1"))
    assert np.array_equal(first.inputs["X"], spectrum)


def test_a_layer_that_did_not_run_is_not_called_right(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    sound = np.ones((2, 3, 10), np.float32)
    np.savez(tmp_path / "short.npz", sound=sound, is_long=np.array(False))
    ended = command("model", models["spotter"], "--runtime", "onnxruntime", "--inputs",
                    tmp_path / "short.npz", "--json")  # fmt: skip
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert ended.report["model"]["unjudged"] == {"layer more": "it did not run"}


def test_a_layer_whose_numbers_decide_nothing_is_not_called_right(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    spectrum = np.zeros((4, 2, 6), np.float32)
    spectrum[0, 0, 0] = np.nan
    np.savez(tmp_path / "nan.npz", spectrum=spectrum)
    ended = command("model", models["enhancer"], "--runtime", "onnxruntime", "--inputs",
                    tmp_path / "nan.npz", "--json")  # fmt: skip
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert "layer gru1" in ended.report["model"]["unjudged"]


def test_the_first_rounds_of_a_long_loop_are_judged(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    state = np.zeros((1, 1, 4), np.float32)
    np.savez(tmp_path / "long.npz", steps=np.array(MOST_RUNS + 20), first=state, state=state)
    ended = command("model", models["decoder"], "--runtime", "onnxruntime", "--inputs",
                    tmp_path / "long.npz", "--json")  # fmt: skip
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert ended.report["summary"]["passed"] == 2 * MOST_RUNS
    why = f"runs {MOST_RUNS + 1} to {MOST_RUNS + 20} were not compared"
    layers = {f"layer {name}": why for name in LAYERS["decoder"]}
    assert ended.report["model"]["unjudged"] == layers


def test_a_gru_of_an_unknown_operator_is_named(tmp_path: Path, command: Command) -> None:
    model = networks.unknown(tmp_path / "unknown.onnx")
    report = command("model", model, "--runtime", at("run_unknown"), "--json").report
    assert (report["verdict"], report["summary"]["passed"]) == ("incomplete", 2)
    assert report["model"]["unjudged"] == {"layer gru2": "a FusedGRU of mine is not known"}


def test_an_option_for_one_value_is_given_once(models: dict[str, Path], command: Command) -> None:
    ask = ("model", models["enhancer"], "--runtime", at("reset_of_gru1"))
    bad(command(*ask, "--runtime", "onnxruntime"), "give one --runtime")
    given = models["enhancer"]  # any file
    bad(command(*ask, "--inputs", given, "--inputs", given), "give one --inputs")
    bad(command(*ask, "--size", "frames=9,batch=2"), "--size again")


def test_what_is_kept_may_lie_beside_other_vectors(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    for name in ("enhancer", "spotter"):
        ask = ("model", models[name], "--runtime", "onnxruntime", "--save", tmp_path / "kept")
        report = command(*ask, "--json").report
        assert {case["id"] for case in report["cases"]} == {*report["model"]["layers"]}
    assert len([*load_vectors(tmp_path / "kept")]) == 5


def test_places_and_names_are_refused_before_the_model_runs(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    """A runtime that does not exist would be the first error of a run."""
    taken = tmp_path / "taken.h5"
    taken.write_text("other")
    ask = ("--runtime", at("nothing"))
    bad(command("model", models["enhancer"], *ask, "--save", taken), "holds something else")
    bad(command("model", models["enhancer"], *ask, "--save", models["enhancer"]), "cannot be")
    named = tmp_path / "invalid.onnx"
    named.write_bytes(models["enhancer"].read_bytes())
    bad(command("model", named, *ask), "the theme is 'invalid'")


@pytest.mark.parametrize(("hidden", "seen"), [(128, {"Y", "Y_h"}), (8, {"Y_h"})])
def test_a_wide_layer_shows_its_steps(
    hidden: int, seen: set[str], tmp_path: Path, command: Command
) -> None:
    """Although the model uses its last state alone."""
    model = networks.last_state(tmp_path / "last.onnx", hidden)
    ended = command("model", model, "--runtime", "onnxruntime", "--save", tmp_path / "kept.h5")
    assert ended.out.startswith("conforms: 1 of 1 cases passed")
    [case] = load_vectors(tmp_path / "kept.h5")
    assert case.answer.outputs.keys() == seen


def test_runs_with_large_weights_are_few() -> None:
    weights = {"W": Tap("W")}
    layer = Layer("cell", GRU, {}, {"X": Tap("X", 1), **weights}, {"Y_h": Tap("Y_h", 1)})
    values = {
        "X": np.zeros((90, 1, 2)),
        "Y_h": np.zeros((90, 1, 2)),
        "W": np.zeros(MOST_BYTES // 80),
    }
    assert layer.most_runs(values, 1) == 9
    assert layer.most_runs(values, 3) == 3
    assert layer.most_runs(values, 30) == 1


def test_an_if_in_a_loop_is_not_called_right(tmp_path: Path, command: Command) -> None:
    """A loop stacks values of one shape; what stands for those of the other branch has another."""
    model = networks.nested(tmp_path / "nested.onnx")
    report = command("model", model, "--runtime", "onnxruntime", "--json").report
    assert (report["verdict"], report["summary"]["passed"]) == ("incomplete", 3)
    [(layer, why)] = report["model"]["unjudged"].items()
    assert layer == "layer deep"
    assert "in an If in a loop" in why


@pytest.mark.parametrize(
    ("runtime", "says"), [("closed", "too many outputs"), ("jumpy", "gives other outputs")]
)
def test_a_loop_that_does_not_bear_to_be_seen_is_not_judged(
    runtime: str, says: str, models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models["decoder"], "--runtime", at(runtime))
    bad(ended, "none of its GRUs can be judged", "layer low: with its values visible", says)


def test_other_outputs_without_visible_layers_are_not_called_right(
    models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models["enhancer"], "--runtime", at("fused"), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    [(what, why)] = ended.report["model"]["unjudged"].items()
    assert what == "the whole model"
    assert "mask differs from the plain run's by 0.09" in why  # 0.1 of 1.1


def test_layers_that_a_runtime_does_not_show_are_not_judged(
    models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models["enhancer"], "--runtime", at("silent"), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert set(ended.report["model"]["unjudged"]) == {"layer gru2", "layer gru3"}


def test_outputs_that_are_not_given_are_not_called_the_same(
    models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models["enhancer"], "--runtime", at("mute"), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert "the whole model" in ended.report["model"]["unjudged"]
    first = sentence_of(command("model", models["enhancer"], "--runtime", at("mute")).out)
    assert first.endswith("cases passed, the whole model gives other outputs")
    named = command("model", models["enhancer"], "--runtime", "onnxruntime", "--module", "net.py")
    bad_usage(named, r"--module net.py: expected \./FILE\.py:FUNCTION, a function that makes")


def test_values_of_other_types_are_not_called_right(
    models: dict[str, Path], command: Command
) -> None:
    ended = command("model", models["enhancer"], "--runtime", at("odd"), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert "layer gru3" in ended.report["model"]["unjudged"]


@pytest.mark.parametrize("runtime", ["openvino", "onnx-reference"])
def test_other_runtimes_run_models(runtime: str, models: dict[str, Path], command: Command) -> None:
    pytest.importorskip(runtime.partition("-")[0])
    ended = command("model", models["enhancer"], "--runtime", runtime)
    assert ended.out.startswith("conforms: 3 of 3 cases passed")


def changed(path: Path, out: Path, change: Callable[[Any], object]) -> Path:
    model = onnx.load(path)
    change(model)
    onnx.save(model, out)
    return out


def bad(ended: Ended, *words: str) -> None:
    said = ended.said_in_one_line()
    for word in words:
        assert word in said, said


def test_models_that_cannot_be_judged_get_one_line(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    enhancer, out = models["enhancer"], tmp_path / "bad.onnx"
    ask = ("--runtime", "onnxruntime")

    def lstm(model: Any) -> None:
        nodes = [onnx.helper.make_node("LSTM", ["spectrum", "W", "R"], ["mask"], hidden_size=2)]
        del model.graph.node[:]
        model.graph.node.extend(nodes)

    def outside(model: Any) -> None:
        tensor = model.graph.initializer[0]
        onnx.external_data_helper.set_external_data(tensor, "weights.bin")
        tensor.ClearField("raw_data")

    def old(model: Any) -> None:
        model.opset_import[0].version = 6

    def shapeless(model: Any) -> None:
        model.graph.input[0].type.tensor_type.ClearField("shape")

    bad(command("model", changed(enhancer, out, lstm), *ask), "holds no GRU", "1 LSTM")
    bad(
        command("model", changed(enhancer, out, outside), *ask),
        "weights in another file",
        "weights.bin",
    )
    bad(command("model", changed(enhancer, out, old), *ask), "opset 6", "from opset 7")
    bad(
        command("model", changed(enhancer, out, shapeless), *ask),
        "spectrum has no shape",
        "--inputs",
    )
    out.write_text("no model")
    bad(command("model", out, *ask), "is no ONNX model")
    bad(command("model", tmp_path / "none.onnx", *ask), "no such file")
    bad(command("model", tmp_path, *ask), "is no file")
    bad(command("model", enhancer, "--runtime", "torch"), "./file.py:function")
    bad(command("model", enhancer, "--runtime", "openvno"), "did you mean 'openvino'?")


def test_a_runtime_that_is_not_installed_says_how_it_is(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx_files._made.cache_clear()
    monkeypatch.setitem(sys.modules, "tract", None)
    with pytest.raises(GrucibleError, match=r"pip install 'grucible\[tract\]'$"):
        OnnxNetwork(str(models["enhancer"]), "tract")


def test_inputs_that_do_not_fit_get_one_line(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    enhancer, given = models["enhancer"], tmp_path / "in.npz"
    ask = ("--runtime", "onnxruntime")

    def asked(**arrays: Any) -> Ended:
        np.savez(given, **arrays)
        return command("model", enhancer, *ask, "--inputs", given)

    right = np.zeros((5, 1, 6), np.float32)
    bad(asked(sound=right), "has no 'spectrum'", "takes spectrum")
    bad(asked(spectrum=right, more=right), "has 'more'")
    bad(asked(spectrum=right.astype(float)), "spectrum is float64", "takes float32")
    bad(asked(spectrum=right[..., :4]), "(5, 1, 4)", "(frames, batch, 6)")
    bad(command("model", enhancer, *ask, "--size", "rows=4"), "'rows'", "frames, batch")
    bad(command("model", enhancer, *ask, "--size", "batch"), "expected NAME=N")
    bad(command("model", enhancer, "--runtime", "tensorrt"), "tensorrt runs no ONNX model")


def test_what_the_text_forbids_is_not_judged(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    words, lengths = np.ones((2, 8), np.int64), np.array([9, 3])
    np.savez(tmp_path / "in.npz", words=words, lengths=lengths)
    ask = ("--runtime", at("no_lengths_of_both"), "--inputs", tmp_path / "in.npz")
    bad(
        command("model", models["tagger"], *ask),
        "layer both: sequence_lens holds 9; expected 0 to 8",
    )


def test_reports_have_every_format(
    models: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    files = {form: tmp_path / f"report.{form}" for form in ("json", "junit", "html", "github")}
    options = [word for form, file in files.items() for word in ("--report", f"{form}={file}")]
    ended = command(
        "model", models["enhancer"], "--runtime", at("reset_of_gru2"), "--quiet", *options
    )
    assert ended.status == 1
    assert wrong_layers(json.loads(files["json"].read_text())) == {"gru2"}
    for form in ("junit", "html", "github"):
        assert "layer gru2 is wrong" in files[form].read_text() or form == "junit"
