"""`grucible model` on modules of PyTorch, seen by hooks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

from grucible.check.model.network import MOST_RUNS  # noqa: E402
from grucible.vectors.vector_set import load_vectors  # noqa: E402

from . import modules  # noqa: E402
from .conftest import Command, Ended  # noqa: E402
from .test_model import at as onnx_at  # noqa: E402
from .test_model import bad, wrong_layers  # noqa: E402

STEPS = 6


def made(function: str) -> str:
    return f"{modules.__file__}:{function}"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    chance = np.random.default_rng(0)
    x = chance.standard_normal((3, STEPS, 4)).astype(np.float32)
    np.savez(tmp_path / "in.npz", x=x, lengths=np.array([2, STEPS, 4]))
    return tmp_path / "in.npz"


def inputs_of_x(inputs: Path) -> Path:
    out = inputs.with_name("x.npz")
    np.savez(out, x=np.load(inputs)["x"])
    return out


def judge(command: Command, function: str, inputs: Path, *more: str | Path) -> Ended:
    return command("model", made(function), "--runtime", "torch", "--inputs", inputs, *more)


def test_each_layer_and_each_call_is_judged(inputs: Path, tmp_path: Path, command: Command) -> None:
    ended = judge(command, "tagger", inputs, "--save", tmp_path / "kept", "--json")
    assert (ended.status, ended.report["verdict"]) == (0, "conforms")
    layers = ended.report["model"]["layers"]
    calls = {name: [*layers.values()].count(name) for name in layers.values()}
    assert calls == {"encoder.0": 1, "encoder.1": 1, "cell": STEPS, "top": 1}
    cases = {case.id.rpartition("/")[2]: case for case in load_vectors(tmp_path / "kept")}
    first = cases["encoder.0"]
    assert first.inputs["lengths"].tolist() == [2, STEPS, 4]
    assert np.array_equal(first.inputs["input"][1], np.load(inputs)["x"][1])
    assert "hidden" not in cases["cell-run1"].inputs
    assert cases["top"].inputs["h_0"].min() == 1.0
    assert "bias_ih" not in cases["top"].inputs


def test_what_is_changed_afterwards_is_seen_as_it_was(
    inputs: Path, tmp_path: Path, command: Command
) -> None:
    """A cell that is called often is judged in its first calls; the verdict is then incomplete."""
    x = np.resize(np.load(inputs)["x"], (2, MOST_RUNS + 3, 4))
    np.savez(tmp_path / "alone.npz", x=x)
    found = judge(command, "tagger", tmp_path / "alone.npz", "--json").report
    assert (found["verdict"], found["summary"]["passed"]) == ("incomplete", MOST_RUNS + 3)
    why = f"runs {MOST_RUNS + 1} to {MOST_RUNS + 3} were not compared"
    assert found["model"]["unjudged"] == {"layer cell": why}


def test_a_wrong_layer_is_named(inputs: Path, command: Command) -> None:
    ended = judge(command, "wrong_top", inputs)
    assert ended.status == 1
    assert ended.out.startswith("does not conform: layer top is wrong, 8 of 9 cases passed")
    report = judge(command, "wrong_top", inputs, "--json").report
    assert wrong_layers(report) == {"top"}


def test_a_run_that_decides_nothing_is_not_called_right(inputs: Path, command: Command) -> None:
    ended = judge(command, "twice", inputs_of_x(inputs), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    [(layer, why)] = ended.report["model"]["unjudged"].items()
    assert layer == "layer gru"
    assert why == "1 of 2 runs decides nothing (NaN, infinity, or numbers near overflow)"


@pytest.mark.parametrize(
    ("function", "layer", "says"),
    [
        ("outside_by_forward", "torch.gru", "1 call that no layer made"),
        ("outside_by_torch", "torch.gru", "1 call that no layer made"),
        ("outside_by_ops", "torch.gru", "1 call that no layer made"),
        ("quantized", "other", "this GRU is no nn.GRU"),
        ("scripted", "other.deep", "this GRU is no nn.GRU"),
    ],
)
def test_a_gru_that_no_hook_sees_is_named(
    function: str, layer: str, says: str, inputs: Path, command: Command
) -> None:
    ended = judge(command, function, inputs_of_x(inputs), "--json")
    assert (ended.status, ended.report["verdict"]) == (1, "incomplete")
    assert ended.report["summary"]["passed"] == 1
    [(named, why)] = ended.report["model"]["unjudged"].items()
    assert named == f"layer {layer}"
    assert says in why


def test_layers_that_are_not_their_gru_are_not_called_right(inputs: Path, command: Command) -> None:
    report = judge(command, "wrong_encoder", inputs, "--json").report
    assert report["verdict"] == "incomplete"
    assert list(report["model"]["unjudged"]) == ["layer encoder"]


def test_what_cannot_be_judged_gets_one_line(
    inputs: Path, tmp_path: Path, command: Command
) -> None:
    bad(judge(command, "dense", inputs), "holds no GRU", "1 LSTM")
    bad(judge(command, "no_gru", inputs), "no nn.GRU", "grucible new python --operator torch.GRU")
    bad(judge(command, "no_module", inputs), "gave a str", "torch.nn.Module")
    bad(judge(command, "nothing", inputs), "nothing")
    for program in ("script", "trace", "export", "compile_"):
        bad(judge(command, program, inputs), "no GRU can be seen; give the nn.Module")
    bad(command("model", made("tagger"), "--runtime", "torch"), "x has no shape", "--inputs")
    bad(
        command("model", made("tagger"), "--runtime", "openvino", "--inputs", inputs),
        "does not run on openvino; give --runtime torch",
    )
    np.savez(tmp_path / "wrong.npz", x=np.zeros((3, 6, 5), np.float32))
    bad(judge(command, "tagger", tmp_path / "wrong.npz"), "torch does not run it")


def test_an_exported_module_is_judged_as_a_file(tmp_path: Path, command: Command) -> None:
    """As PyTorch's exporter of traces writes it, with a mistake in the second of three layers."""
    pytest.importorskip("onnxruntime")
    out = tmp_path / "enhancer.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            modules.enhancer().eval(), (torch.zeros(4, 2, 6),), out, dynamo=False,
            input_names=["x"], dynamic_axes={"x": {0: "time", 1: "batch"}},
        )  # fmt: skip
    right = command("model", out, "--runtime", "onnxruntime", "--size", "time=7", "--json")
    assert (right.status, right.report["verdict"]) == (0, "conforms")
    layers = list(dict.fromkeys(right.report["model"]["layers"].values()))
    assert layers == [f"/grus.{number}/GRU" for number in range(3)]
    wrong = command("model", out, "--runtime", onnx_at(f"reset_of_{layers[1]}"), "--json")
    assert wrong_layers(wrong.report) == {layers[1]}
    [finding] = wrong.report["diagnosis"]
    assert finding["names"] == ["lbr-ignored"]


def test_drawn_tokens_that_a_model_does_not_have_get_a_remedy(
    tmp_path: Path, command: Command
) -> None:
    pytest.importorskip("onnxruntime")
    out, tokens = tmp_path / "tokens.onnx", torch.zeros(7, 2, dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(modules.embedded().eval(), (tokens,), out, dynamo=False)
    ended = command("model", out, "--runtime", "onnxruntime")
    bad(
        ended,
        "does not run it",
        "its inputs are drawn; give inputs that suit it: --inputs FILE.npz",
    )


def test_an_exporter_is_judged_by_what_the_module_asks(tmp_path: Path, command: Command) -> None:
    """A node that computes what it says is wrong, if the layer is another."""
    pytest.importorskip("onnxruntime")
    x = np.random.default_rng(0).standard_normal((7, 2, 6)).astype(np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    ask = ("--runtime", "torch-onnx-legacy", "--inputs", tmp_path / "in.npz")
    right = command("model", made("enhancer"), *ask, "--json").report
    assert (right["verdict"], right["summary"]["passed"]) == ("conforms", 3)
    wrong = command("model", made("misexported"), *ask, "--json").report
    assert wrong["verdict"] == "does not conform"
    assert wrong_layers(wrong) == {"grus.1"}
    assert "the whole model" in wrong["model"]["unjudged"]


def test_where_an_exporter_fails_the_older_one_is_named(
    inputs: Path, tmp_path: Path, command: Command
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    given = np.load(inputs)
    np.savez(tmp_path / "packed.npz", input=given["x"], lengths=given["lengths"])
    ask = ("model", made("packed"), "--inputs", tmp_path / "packed.npz")
    failed = command(*ask, "--runtime", "torch-onnx")
    bad(failed, "is not exported: ", "dynamo=False")
    [other] = re.findall("--runtime ([a-z-]+)", failed.err)
    assert command(*ask, "--runtime", other, "--json").report["verdict"] == "conforms"


def test_cells_are_not_exported_as_a_gru(inputs: Path, tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnxruntime")
    np.savez(tmp_path / "alone.npz", x=np.load(inputs)["x"])
    ask = ("--runtime", "torch-onnx-legacy", "--inputs", tmp_path / "alone.npz")
    found = command("model", made("tagger"), *ask, "--json").report
    assert (found["verdict"], found["summary"]["passed"]) == ("incomplete", 3)
    assert list(found["model"]["unjudged"]) == ["layer cell"]
    bad(
        command("model", made("tagger"), "--runtime", "torch-openvino", *ask[2:]),
        "torch-onnx-legacy",
    )


@pytest.fixture
def again(tmp_path: Path) -> Path:
    """A file of the module that calls a GRU twice."""
    pytest.importorskip("onnxruntime")
    out = tmp_path / "again.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(modules.again().eval(), (torch.zeros(4, 2, 6),), out, dynamo=False)
    return out


@pytest.mark.parametrize(("node", "call"), [(0, "gru-run1"), (1, "other"), (2, "gru-run2")])
def test_each_call_is_judged_by_what_it_got_and_gave(
    node: int, call: str, again: Path, command: Command
) -> None:
    """Of two calls of a layer, a runtime or the file may have one wrong."""
    import onnx

    model, ask = onnx.load(again), ("--module", made("again"), "--json")
    nodes = [one for one in model.graph.node if one.op_type == "GRU"]
    wrong = onnx_at(f"reset_of_{nodes[node].name}")
    by_runtime = command("model", again, "--runtime", wrong, *ask).report
    _without_reset_after(nodes[node], None)
    onnx.save(model, again)
    by_file = command("model", again, "--runtime", "onnxruntime", *ask).report
    for found in (by_runtime, by_file):
        failed = [case["id"] for case in found["cases"] if case["verdict"] != "passed"]
        assert [one.rpartition("/")[2] for one in failed] == [call]
    assert [one["names"] for one in by_runtime["diagnosis"]] == [["lbr-ignored"]]
    [found] = by_file["diagnosis"]
    assert "the file's linear_before_reset is 0" in found["about"]
    assert found["where"] == f"in layer {call.partition('-')[0]}"


def _kept(_: Any, __: Any) -> None:
    """Leave the node as it was exported."""


def _with_gates_of_torch(_: Any, change: Callable[[int, Any], None]) -> None:
    for at in (1, 2, 3):
        change(at, lambda a: a.reshape(1, -1, 3, 4, *a.shape[2:])[:, :, [1, 0, 2]].reshape(a.shape))


def _without_rb(_: Any, change: Callable[[int, Any], None]) -> None:
    change(3, lambda a: np.concatenate([a[:, :12], 0 * a[:, 12:]], 1))


def _with_another_bit(_: Any, change: Callable[[int, Any], None]) -> None:
    def nudge(a: Any) -> Any:
        a[0, 5, 0] = np.nextafter(a[0, 5, 0], np.float32(9))
        return a

    change(2, nudge)


def _with_directions(*order: int) -> Callable[[Any, Callable[[int, Any], None]], None]:
    def broken(_: Any, change: Callable[[int, Any], None]) -> None:
        for at in (1, 2, 3):
            change(at, lambda a: a[[*order]])

    return broken


def _with_gates_of_torch_and_directions_exchanged(
    _: Any, change: Callable[[int, Any], None]
) -> None:
    change(1, lambda a: a[::-1].reshape(2, 3, 4, -1)[:, [1, 0, 2]].reshape(a.shape))


def _without_reset_after(node: Any, _: Any) -> None:
    [one] = [a for a in node.attribute if a.name == "linear_before_reset"]
    one.i = 0


@pytest.mark.parametrize(
    ("function", "broken", "verdict", "says"),
    [
        ("enhancer", _kept, "conforms", ["the file's GRUs have the module's attributes and weights"]),
        ("enhancer", _with_gates_of_torch, "does not conform", ["Wz is the module's Wr", "Rbr is"]),
        ("enhancer", _without_rb, "does not conform", ["the file's Rbz, Rbr, Rbh are 0"]),
        ("both_ways", _kept, "conforms", ["output 1 differs from the module's by "]),
        ("both_ways", _with_directions(1, 0), "does not conform", ["the file's weights are the module's with forward and reverse exchanged"]),
        ("both_ways", _with_directions(1, 1), "does not conform", ["the file's weights are the module's of the reverse direction, in both"]),
        ("both_ways", _with_gates_of_torch_and_directions_exchanged, "does not conform", ["the file's Wz is the module's Wr with forward and reverse exchanged"]),
        ("both_ways", _without_rb, "does not conform", ["the file's Rbz, Rbr, Rbh are 0"]),
        ("enhancer", _without_reset_after, "does not conform", ["linear_before_reset is 0"]),
        ("enhancer", _with_another_bit, "incomplete", ["the file's Rr is not the module's"]),
        ("finer", _kept, "conforms", ["float64", "rounded to the file's float32", "have the module's"]),
        ("of_other_weights", _kept, "does not conform", ["the file's weights are not the module's (up to "]),
    ],
)  # fmt: skip
def test_a_file_is_compared_with_its_module(
    function: str, broken: Any, verdict: str, says: list[str], tmp_path: Path, command: Command
) -> None:
    """Each file is right for itself; broken is the second of three layers, of 4 units."""
    onnx: Any = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    out = tmp_path / "enhancer.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = modules.both_ways() if function == "both_ways" else modules.enhancer()
        torch.onnx.export(
            exported.eval(), (torch.zeros(4, 2, 6),), out, dynamo=False, input_names=["in"],
        )  # fmt: skip
    model = onnx.load(out)
    node = [one for one in model.graph.node if one.op_type == "GRU"][1]
    stored = {one.name: one for one in model.graph.initializer}

    def change(at: int, how: Callable[[Any], Any]) -> None:
        one = stored[node.input[at]]
        array = np.ascontiguousarray(how(onnx.numpy_helper.to_array(one).copy()))
        one.CopyFrom(onnx.numpy_helper.from_array(array, one.name))

    broken(node, change)
    onnx.save(model, out)
    ask = ("model", out, "--runtime", "onnxruntime", "--json")
    assert command(*ask).report["verdict"] == "conforms"
    ended = command(*ask, "--module", made(function))
    found = ended.report
    assert (found["verdict"], ended.status) == (verdict, int(verdict != "conforms"))
    model, findings = found["model"], found["diagnosis"]
    lines = [*model["notes"], *model["unjudged"].values(), *(one["about"] for one in findings)]
    assert all(any(one in line for line in lines) for one in says), lines
    if verdict == "does not conform":
        assert "grus.1" in wrong_layers(found)
        assert "in layer grus.1" in [one["where"] for one in findings]
        assert all(one["certain"] and "the file's" in one["about"] for one in findings)
    if verdict == "incomplete":
        assert list(found["model"]["unjudged"]) == ["layer grus.1"]


def test_a_module_that_is_not_the_files_gets_one_line(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnxruntime")
    out = tmp_path / "enhancer.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(modules.enhancer().eval(), (torch.zeros(4, 2, 6),), out, dynamo=False)
    ask = ("--runtime", "onnxruntime", "--module")
    bad(command("model", out, *ask, made("script")), "no GRU can be seen")
    bad(command("model", out, *ask, made("shorter")), "3 GRU nodes for 2 layers")
    bad(command("model", made("enhancer"), *ask, made("enhancer")), "--module is for the ONNX file")
