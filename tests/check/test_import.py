"""Imports: what was exported comes back, and others' cases are judged."""

from __future__ import annotations

import json
import unittest
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors
from printed import sentence_of
from shipped import core_cases

from grucible import verify
from grucible.cases.selection import selected
from grucible.check.runtimes.runtime import load_runtime
from grucible.gen.posed import answered_case
from grucible.vectors.block import canonical_json
from grucible.vectors.exchange.manifest import read_manifest
from grucible.vectors.hdf5 import CORE
from grucible.vectors.reader import open_vectors
from grucible.vectors.vector_set import load_vectors

from .conftest import Command
from .suites import gru, tensor

CELL = "openvino/gru_cell/core.h5"


def digests(path: Path) -> tuple[str, str]:
    vectors = open_vectors(path)
    vectors.verify_content()
    return vectors.content_sha256, vectors.tolerance_sha256


@pytest.mark.parametrize("relative", [CELL, "bnnsgraph/gru/plain.h5"])
def test_what_was_exported_comes_back_whole(
    relative: str, tmp_path: Path, command: Command
) -> None:
    """The questions alone: their answers are computed anew, to the same digests."""
    export_vectors(CORE / relative, tmp_path / "x", "npz", contents="questions")
    ended = command("import", tmp_path / "x", "-o", tmp_path / "back.h5")
    assert ended.status == 0
    assert digests(tmp_path / "back.h5") == digests(CORE / relative)
    assert not (tmp_path / "back.outputs.h5").exists()
    [line] = ended.out.splitlines()
    assert line.startswith(digests(CORE / relative)[0][:16])


@pytest.mark.parametrize(
    ("layout", "select"),
    [
        ("raw", "onnx.GRU-14/core/bfloat16/*lbr1*"),
        ("npz", "openvino.GRUSequence-5/core/bfloat16/*lbr-*"),
        ("onnx", "onnx.GRU-14/core/bfloat16/*lbr*"),
        ("openvino", "openvino.GRUCell-3/core/*16/lbr-*"),
        ("webnn", "onnx.GRU-14/core/float16/*"),
        ("webnn", "webnn.gru/core/float16/*rzn*"),
        ("webnn", "torch.GRUCell/core/float16/*"),
        ("onnx", "keras.GRU/core/float16/*"),
        ("openvino", "torch.GRU/core/bfloat16/*"),
    ],
)
def test_each_format_comes_back(layout: Any, select: str, tmp_path: Path, command: Command) -> None:
    """All it could say, as `gen` of just these ids would make it; and its answers are found right."""
    pytest.importorskip({"onnx": "onnx", "openvino": "openvino"}.get(layout, "numpy"))
    export_vectors(None, tmp_path / "x", layout, select=[select])
    assert command("import", tmp_path / "x", "-o", tmp_path / "back.h5").status == 0
    ids = [case.id for case in load_vectors(tmp_path / "back.h5")]
    options = [word for one in ids for word in ("--select", one.replace("[", "[[]"))]
    assert command("gen", "-o", tmp_path / "gen", "--jobs", "1", *options).status == 0
    [made] = (tmp_path / "gen").rglob("*.h5")
    assert digests(tmp_path / "back.h5") == digests(made)
    outputs = tmp_path / "back.outputs.h5"
    ended = command("check", tmp_path / "back.h5", "--outputs", outputs)
    assert ended.out.startswith(f"conforms: {len(ids)} of {len(ids)} cases passed")


def test_what_is_nonportable_comes_back_so(tmp_path: Path, command: Command) -> None:
    select = ["--select", "bnnsgraph.gru/special/float16/*"]
    assert command("gen", "-o", tmp_path / "v", "--jobs", "1", *select).status == 0
    [made] = (tmp_path / "v").rglob("*.h5")
    export_vectors(made, tmp_path / "x", "raw")
    assert command("import", tmp_path / "x", "-o", tmp_path / "back.h5").status == 0
    assert digests(tmp_path / "back.h5") == digests(made)


def test_several_themes_become_several_files(tmp_path: Path, command: Command) -> None:
    select = ["openvino.*/core/float32/forward*-B*"]
    select += [f"openvino.GRUSequence-5/{theme}/float64/*" for theme in ("core", "core_with_zero")]
    export_vectors(None, tmp_path / "x", "raw", select=select)
    said = command("import", tmp_path / "x", "-o", tmp_path / "one.h5").said_in_one_line()
    assert "the cases are of 2 operators and themes; name a directory" in said
    assert command("import", tmp_path / "x", "-o", tmp_path / "back").status == 0
    names = {path.name for path in (tmp_path / "back/openvino.GRUSequence-5").iterdir()}
    assert names == {"core.h5", "core_with_zero.h5"}
    ended = command("check", tmp_path / "back", "--outputs", tmp_path / "back-outputs")
    assert (ended.status, ended.out.startswith("conforms")) == (0, True)


onnx = pytest.importorskip("onnx")
runner: Any = pytest.importorskip("onnx.backend.test.runner")
loader = pytest.importorskip("onnx.backend.test.loader")


class _Runner(runner.Runner):
    """onnx's own runner of backend tests, on the tests of a folder."""

    def __init__(self, backend: Any, folder: Path) -> None:
        self.backend, self._parent_module = backend, None
        self._test_kwargs: dict[str, Any] = {}
        self._include_patterns: set[Any] = set()
        self._exclude_patterns: set[Any] = set()
        self._xfail_patterns: set[Any] = set()
        self._test_items: Any = defaultdict(dict)
        for test in loader.load_model_tests(str(folder), "cases"):
            self._add_model_test(test, "Grucible")


ASKED = "onnx.GRU-14/core/float32/*"


def test_onnx_s_own_runner_runs_the_tests_unmodified(tmp_path: Path) -> None:
    """What `check` lets pass passes there too, and most of what fails here fails there."""
    backend = pytest.importorskip("onnxruntime.backend.backend").OnnxRuntimeBackend
    done = export_vectors(None, tmp_path, "onnx", select=[ASKED])
    found = unittest.TestResult()
    _Runner(backend, tmp_path).test_suite.run(found)
    names = {f"{test.name}_cpu" for test in (tmp_path / "cases").iterdir()}
    assert (found.testsRun - len(found.skipped), len(names)) == (done.cases, done.cases)
    problems = {test.id().rpartition(".")[2] for test, _ in (*found.errors, *found.failures)}
    report = verify(runtime=load_runtime("onnxruntime").run, select=[ASKED], diagnosis=False)
    entries = enumerate(read_manifest(tmp_path).cases, 1)
    numbers = {entry.id: f"test_{number:05}_" for number, entry in entries}
    passed = [numbers[c.id] for c in report.results if c.verdict == "passed" and c.id in numbers]
    assert len(passed) > 5
    assert not [p for p in problems if p.startswith(tuple(passed))]
    failed = done.cases - len(passed)
    assert 0.9 * failed <= len(problems) <= failed


def test_onnx_s_node_tests_are_judged(tmp_path: Path, command: Command) -> None:
    """Of the installed package: six are right, and they would not notice R transposed."""
    ended = command("import", "--from", "onnx", "-o", tmp_path / "onnx.h5")
    assert (ended.status, "  6 cases" in ended.out) == (0, True)
    judged = command("check", tmp_path / "onnx.h5", "--outputs", tmp_path / "onnx.outputs.h5")
    assert judged.out.startswith("conforms: 6 of 6 cases passed\nthe node tests of onnx ")
    scored = command("score", tmp_path / "onnx.h5")
    assert "0 cases: R-transposed, onnx.GRU-14, float32" in scored.out


def test_foreign_onnx_tests_by_their_models_alone(tmp_path: Path, command: Command) -> None:
    """Without the manifest: attributes are read from the model, tensors from the data set."""
    export_vectors(None, tmp_path / "x", "onnx", select=[ASKED])
    (tmp_path / "x/manifest.json").unlink()
    ended = command("import", tmp_path / "x", "--from", "onnx", "-o", tmp_path / "v.h5")
    assert ended.status == 0
    judged = command("check", tmp_path / "v.h5", "--outputs", tmp_path / "v.outputs.h5")
    assert judged.out.startswith("conforms: ")
    named = {c.id.rpartition("/")[2][:10]: c for c in load_vectors(tmp_path / "v.h5")}
    ours = [c for c in core_cases() if selected(c.id, [ASKED]) and c.tier == "required"]
    assert len(named) == len(ours)
    for number, case in enumerate(ours, 1):
        back = named[f"test_{number:05}"]
        assert back.question.semantics == case.question.semantics
        assert all((back.inputs[n] == a).all() for n, a in case.inputs.items())


def test_wrong_numbers_of_others_are_found(tmp_path: Path, command: Command) -> None:
    """Tests made by an implementation with the reset gate at the other place: named as that."""
    folder = tmp_path / "suite"
    folder.mkdir()
    for row, case in enumerate(load_vectors(CORE / "onnx/gru/core.h5", ASKED)):
        if case.tier == "required" and case.attributes["linear_before_reset"]:
            other = replace(case.question, given={**case.given, "linear_before_reset": 0})
            arrays: dict[str, Any] = {**case.inputs, **answered_case(other).answer.outputs}
            np.savez(folder / f"t{row}.npz", **arrays)
            given = canonical_json(case.given)
            beside = f'{{"operator": "{case.operator}", "attributes": {given}}}'
            (folder / f"t{row}.json").write_text(beside)
    assert command("import", folder, "--from", "npz", "-o", tmp_path / "v.h5").status == 0
    ended = command("check", tmp_path / "v.h5", "--outputs", tmp_path / "v.outputs.h5")
    assert ended.status == 1
    assert "the reset gate applied before the product although" in sentence_of(ended.out)


def test_npz_files_of_other_names_and_shapes(tmp_path: Path, command: Command) -> None:
    """Outputs of another shape, or none, are an error of the case; what makes no case is counted."""
    case = next(c for c in load_vectors(CORE / CELL) if c.dtype == "float32")
    folder, inputs = tmp_path / "suite", dict[str, Any](case.inputs)
    folder.mkdir()
    narrow = case.answer.outputs["Ho"][:, :-1]
    np.savez(folder / "narrow.npz", **inputs, Ho=narrow)
    np.savez(folder / "good.npz", **inputs, Ho=case.answer.outputs["Ho"])
    np.savez(folder / "odd.npz", **inputs, Z=np.zeros(3))
    np.savez(folder / "bare.npz", **inputs)
    del inputs["R"]
    np.savez(folder / "lacks.npz", **inputs)
    given = canonical_json(case.given)
    options = ["--from", "npz", "--operator", case.operator, "--attributes", given]
    ended = command("import", folder, *options, "-o", tmp_path / "v.h5")
    assert ended.status == 0
    assert "left out: 1: input R is missing; openvino.GRUCell-3 needs it" in ended.out
    assert "left out: 1: openvino.GRUCell-3 has no input 'Z'" in ended.out
    assert "  3 cases" in ended.out
    judged = command("check", tmp_path / "v.h5", "--outputs", tmp_path / "v.outputs.h5")
    assert (judged.status, f"Ho is float32 {narrow.shape}" in judged.out) == (1, True)
    assert "2 error" in judged.out


def test_webnn_gate_order_and_defaults(tmp_path: Path, command: Command) -> None:
    """Against a GRU written here from WebNN's text: resetAfter is true unless said otherwise."""
    shapes = {
        "x": (2, 3, 2),
        "w": (1, 12, 2),
        "r": (1, 12, 4),
        "b": (1, 12),
        "c": (1, 12),
        "h": (1, 3, 4),
    }
    options = {"bias": "b", "recurrentBias": "c", "initialHiddenState": "h", "layout": "rzn",
               "returnSequence": True}  # fmt: skip
    random = np.random.default_rng(7)
    x, w, r, b, c, h = arrays = [
        random.uniform(-1, 1, shape).astype("f4").astype("f8") for shape in shapes.values()
    ]
    state, states = h[0], []
    for step in x:
        ar, az, an = np.split(step @ w[0].T + b[0], 3, -1)
        ur, uz, un = np.split(state @ r[0].T + c[0], 3, -1)
        reset, update = 1 / (1 + np.exp(-(ar + ur))), 1 / (1 + np.exp(-(az + uz)))
        state = update * state + (1 - update) * np.tanh(an + reset * un)
        states.append(state)
    test = gru({"outputs": ["h", "y"]}, options)
    test["name"] = "gru rzn, 'both'"
    for key, named in (
        ("inputs", zip(shapes, arrays, strict=True)),
        ("expectedOutputs", {"h": state[None], "y": np.array(states)[:, None]}.items()),
    ):
        test["graph"][key] = {name: tensor(a.shape, a.ravel().tolist()) for name, a in named}
    (tmp_path / "gru.json").write_text(json.dumps({"tests": [test]}))
    made = command("import", tmp_path / "gru.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert made.status == 0
    [case] = load_vectors(tmp_path / "v.h5")
    assert case.id == "webnn.gru/gru/float32/gru-rzn-both"
    assert case.attributes["resetAfter"] is True
    assert "resetAfter" not in case.given
    judged = command("check", tmp_path / "v.h5", "--outputs", tmp_path / "v.outputs.h5")
    assert judged.out.startswith("conforms: 1 of 1 cases passed")


def test_bad_places_in_one_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text('{"name": "x"}')
    (tmp_path / "else.npz").write_bytes(b"PK\x03\x04rubbish")
    for words, says in (
        ("", "expected DIR"),
        ("none", "does not exist"),
        ("empty", "it is no export of grucible"),
        ("empty --from onnx", "holds no model.onnx"),
        ("empty --from npz", "holds no .npz file"),
        ("empty --from webnn", "holds no JSON file"),
        ("other.json --from webnn", "of WebNN (lacks 'graph')"),
        ("other.json --from npz", "expected an object with operator"),
        ("else.npz --from npz", "of which operator?"),
        ("else.npz --from npz --operator GRU", "operator is 'GRU'"),
        ("else.npz --from npz --operator onnx.GRU-14", "cannot be read ("),
        ("empty --operator onnx.GRU-14", "go with --from npz"),
    ):
        place, *options = words.split() or [""]
        arguments = [tmp_path / place, *options] if place else []
        said = command("import", *arguments, "-o", tmp_path / "v.h5").said_in_one_line()
        assert says in said
    assert not list(tmp_path.glob("*.h5"))


def test_answer_of_one_s_own_numbers(tmp_path: Path, command: Command) -> None:
    """The same as the stored answers of a case whose inputs are given."""
    case = next(c for c in load_vectors(CORE / "bnnsgraph/gru/core.h5") if len(c.answers) == 2)
    np.savez(tmp_path / "in.npz", **dict[str, Any](case.inputs))
    given = canonical_json(case.given)
    ended = command("answer", tmp_path / "in.npz", "--operator", case.operator,
                    "--attributes", given, "-o", tmp_path / "out.npz")  # fmt: skip
    assert ended.status == 0
    assert f"{case.operator}, {case.dtype}, tier ambiguous" in ended.out
    with np.load(tmp_path / "out.npz") as arrays:
        for names, answer in case.answers.items():
            above = f"readings/{names[0]}/" if names else ""
            for output, array in answer.outputs.items():
                assert (arrays[f"{above}outputs/{output}"] == array).all()
            for name, limits in answer.tolerances.items():
                for output, limit in limits.items():
                    assert (arrays[f"{above}tolerance/{name}/{output}"] == limit).all()
    bad = command("answer", tmp_path / "in.npz", "--operator", case.operator, "--attributes", "{}")
    assert "--attributes {}: attribute" in bad.said_in_one_line()


def test_openvino_s_one_for_true_is_answered_as_true(tmp_path: Path, command: Command) -> None:
    """linear_before_reset="1", as the specification's example writes it (ledger: lbr-bool)."""
    found = load_vectors(CORE / CELL, "*/float32/*lbr*")
    case = next(c for c in found if c.attributes["linear_before_reset"] and "B" in c.inputs)
    np.savez(tmp_path / "in.npz", **dict[str, Any](case.inputs))
    asked = ("answer", tmp_path / "in.npz", "--operator", case.operator, "--attributes")
    one, two = (canonical_json({**case.given, "linear_before_reset": n}) for n in (1, 2))
    assert command(*asked, one, "-o", tmp_path / "out.npz").status == 0
    with np.load(tmp_path / "out.npz") as arrays:
        assert (arrays["outputs/Ho"] == case.answer.outputs["Ho"]).all()
    said = command(*asked, two).said_in_one_line()
    assert "linear_before_reset is 2; expected true or false" in said


def test_openvino_s_models_are_read_back_and_run(tmp_path: Path) -> None:
    """By OpenVINO alone, fed by name, on the numbers beside them; bounds from the export too."""
    ov = pytest.importorskip("openvino")
    export_vectors(None, tmp_path, "openvino", select=["openvino.*/core/float32/*lbr-*"])
    entries = read_manifest(tmp_path).cases
    core, ran = ov.Core(), 0
    for entry in entries[::2]:
        folder = tmp_path / entry.tensors["inputs/X"].file
        model = core.read_model(folder.parent / "model.xml")
        try:
            compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        except RuntimeError:
            continue  # what OpenVINO's own plugin refuses
        with np.load(folder) as arrays:
            feed = {n.removeprefix("inputs/"): arrays[n] for n in arrays if n.startswith("inputs/")}
            given = compiled(feed)
            for name in entry.outputs:
                off = np.abs(given[name].astype("f8") - arrays[f"outputs/{name}"])
                assert (off <= arrays[f"tolerance/float32/{name}"]).all(), entry.id
        ran += 1
    assert ran > 15
