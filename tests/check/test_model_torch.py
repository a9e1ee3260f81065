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
from grucible.check.runtimes.torch import make_file  # noqa: E402
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


def exported(function: str, inputs: Path) -> Any:
    """A module's file for these inputs."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    module = getattr(modules, function)().eval()
    return onnx.load_from_string(make_file(module, dict(np.load(inputs)), {}, legacy=True))


def grus(model: Any) -> list[Any]:
    return [one for one in model.graph.node if one.op_type == "GRU"]


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    x = np.random.default_rng(0).standard_normal((4, 2, 6)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    return tmp_path / "x.npz"


@pytest.mark.parametrize(("node", "call"), [(0, "gru-run1"), (1, "other"), (2, "gru-run2")])
def test_each_call_is_judged_by_what_it_got_and_gave(
    node: int, call: str, steps: Path, tmp_path: Path, command: Command
) -> None:
    """Of two calls of a layer, a runtime or the file may have one wrong."""
    model, out = exported("again", steps), tmp_path / "again.onnx"
    ask = ("--module", made("again"), "--inputs", steps, "--json")
    out.write_bytes(model.SerializeToString())
    wrong = onnx_at(f"reset_of_{grus(model)[node].name}")
    by_runtime = command("model", out, "--runtime", wrong, *ask).report
    _without_reset_after(grus(model)[node], None)
    out.write_bytes(model.SerializeToString())
    by_file = command("model", out, "--runtime", "onnxruntime", *ask).report
    for found in (by_runtime, by_file):
        failed = [case["id"] for case in found["cases"] if case["verdict"] != "passed"]
        assert [one.rpartition("/")[2] for one in failed] == [call]
    assert [one["names"] for one in by_runtime["diagnosis"]] == [["lbr-ignored"]]
    [found] = by_file["diagnosis"]
    assert "the file's linear_before_reset is 0" in found["about"]
    assert found["where"] == f"in layer {call.partition('-')[0]}"


def _reorder(model: Any) -> None:
    """Put the right twin before the left one, as an optimizer may."""
    nodes, known, found = [*model.graph.node], {"", "x"}, []
    known |= {one.name for one in model.graph.initializer}
    while nodes:
        one = next(one for one in reversed(nodes) if known.issuperset(one.input))
        nodes.remove(one)
        found.append(one)
        known |= {*one.output}
    del model.graph.node[:]
    model.graph.node.extend(found)


def _exchange(model: Any) -> None:
    left, right, _ = grus(model)
    left.input[1:4], right.input[1:4] = [*right.input[1:4]], [*left.input[1:4]]


def _with_x_of_left(model: Any) -> None:
    left, right, _ = grus(model)
    right.input[0] = left.input[0]


def _with_state(model: Any) -> None:
    _give(model, grus(model)[1], 5, np.ones((1, 2, 5), np.float32))


def _with_small_state(model: Any) -> None:
    _give(model, grus(model)[1], 5, np.full((1, 2, 5), 0.01, np.float32))


def _with_equal_lengths(model: Any) -> None:
    _give(model, grus(model)[0], 4, np.full(3, STEPS, np.int32))


def _give(model: Any, node: Any, at: int, array: Any) -> None:
    import onnx

    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "ours"))
    node.input[at] = "ours"


def _without_lengths(model: Any) -> None:
    grus(model)[0].input[4] = ""


def _without_last_output(model: Any) -> None:
    del model.graph.output[-1]


def test_wrong_layers_are_in_the_models_order(
    steps: Path, tmp_path: Path, command: Command
) -> None:
    """The first is to be looked at first, also in a later look at the layers alone."""
    model, out, report = exported("enhancer", steps), tmp_path / "wrong.onnx", tmp_path / "it.json"
    for node in grus(model):
        _without_reset_after(node, None)
    out.write_bytes(model.SerializeToString())
    ask = ("--runtime", "onnxruntime", "--module", made("enhancer"), "--inputs", steps)
    ended = command(
        "model", out, *ask, "--save", tmp_path / "kept.h5", "--report", f"json={report}"
    )
    text = " ".join(ended.out.split())
    assert "layers grus.0, grus.1, grus.2 are wrong" in text
    assert re.findall(r"in layer (grus\.\d)", text)[:3] == ["grus.0", "grus.1", "grus.2"]
    assert re.search(r"start with: .*/grus.0 --against ", text)
    assert "the questions with the module's attributes and weights and their exact answers" in text
    again = ("check", "--runtime", "onnxruntime", "--last-failed", report)
    bad(command(*again), "is of a model", "check FILE.h5 --last-failed")
    right = command(*again, tmp_path / "kept.h5")
    assert right.out.startswith("incomplete: 3 of 3 cases that failed pass now")


@pytest.mark.parametrize(
    ("function", "change", "verdict", "layers", "says"),
    [
        ("twins", lambda _: None, "conforms", set(), "and get what the module's get"),
        ("twins", _reorder, "conforms", set(), "and get what the module's get"),
        ("twins", _exchange, "does not conform", {"left", "right"}, "weights are not the module's"),
        ("twins", _with_x_of_left, "incomplete", {"right"}, "the file's X, 'x', is not what"),
        ("twins", _with_state, "does not conform", {"right"}, "initial_h is one that the module does"),
        ("twins", _with_small_state, "does not conform", {"right"}, "initial_h is one that the module"),
        ("twins", _without_last_output, "incomplete", set(), "output 2 is missing"),
        ("packed", lambda _: None, "conforms", set(), "and get what the module's get"),
        ("packed", _with_equal_lengths, "incomplete", {"gru"}, "the file's sequence_lens, 'ours', is"),
        ("packed", _without_lengths, "does not conform", {"gru"}, "sequence_lens is missing"),
    ],
)  # fmt: skip
def test_what_the_files_grus_get_is_compared(
    function: str,
    change: Callable[[Any], None],
    verdict: str,
    layers: set[str],
    says: str,
    steps: Path,
    inputs: Path,
    tmp_path: Path,
    command: Command,
) -> None:
    """Each call has its node in whatever order they are; packed rows are sorted in the file."""
    if function == "packed":
        given = np.load(inputs)
        np.savez(steps, input=given["x"], lengths=given["lengths"])
    model, out = exported(function, steps), tmp_path / "changed.onnx"
    change(model)
    out.write_bytes(model.SerializeToString())
    ask = ("--runtime", "onnxruntime", "--module", made(function), "--inputs", steps)
    found = command("model", out, *ask, "--json").report
    assert found["verdict"] == verdict
    model, findings = found["model"], found["diagnosis"]
    unjudged = {one.removeprefix("layer ") for one in model["unjudged"]} - {"the whole model"}
    assert wrong_layers(found) | unjudged == layers
    lines = [*model["notes"], *model["unjudged"].values(), *(one["about"] for one in findings)]
    assert sum(says in line for line in lines) == max(1, len(layers)), lines


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


def _without_b(node: Any, _: Any) -> None:
    node.input[3] = ""


def _with_clip(node: Any, _: Any) -> None:
    from onnx import helper

    node.attribute.append(helper.make_attribute("clip", 0.2))


@pytest.mark.parametrize(
    ("function", "broken", "verdict", "says"),
    [
        ("enhancer", _kept, "conforms", ["the file's GRUs have the module's attributes and weights"]),
        ("enhancer", _with_gates_of_torch, "does not conform", ["Wz is the module's Wr", "Rbr is"]),
        ("enhancer", _without_rb, "does not conform", ["the file's Rbz, Rbr, Rbh are 0"]),
        ("both_ways", _kept, "conforms", [" differs from the module's by "]),
        ("both_ways", _with_directions(1, 0), "does not conform", ["the file's weights are the module's with forward and reverse exchanged"]),
        ("both_ways", _with_directions(1, 1), "does not conform", ["the file's weights are the module's of the reverse direction, in both"]),
        ("both_ways", _with_gates_of_torch_and_directions_exchanged, "does not conform", ["the file's Wz is the module's Wr with forward and reverse exchanged"]),
        ("both_ways", _without_rb, "does not conform", ["the file's Rbz, Rbr, Rbh are 0"]),
        ("enhancer", _without_reset_after, "does not conform", ["linear_before_reset is 0"]),
        ("enhancer", _without_b, "does not conform", ["the file's Wbz, Wbr, Wbh, Rbz, Rbr, Rbh are missing"]),
        ("enhancer", _with_clip, "does not conform", ["the file's clip is 0.2, the module's inf"]),
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
    other = command("model", out, *ask, made("packed"))
    bad(other, "takes input, lengths, h_0; the file takes ", "was it exported of this?")
    assert "--inputs" not in other.err
    bad(command("model", made("enhancer"), *ask, made("enhancer")), "--module is for the ONNX file")
