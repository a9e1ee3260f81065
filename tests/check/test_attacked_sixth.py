"""What a sixth attack found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import Question, verify
from grucible.cases.dtypes import Array
from grucible.cases.operators.known import OPERATORS
from grucible.cases.pose import pose
from grucible.check.diagnosis import failing, search
from grucible.gen.making.recomputing import differing
from grucible.gen.tolerances.classes import CLASSES
from grucible.gen.variants import work
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.vectors.block import Block
from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.hdf5.attributes import write_text_attribute
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command
from .diagnosing import core_blocks, names, report_on, variants_run

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = "openvino.GRUCell-3"
HUGE = {"batch_size": 1, "input_size": 800, "hidden_size": 800}
"""Sizes of a case that is admitted, and that takes minutes to be computed under every misreading."""


def cell_file(path: Path, sizes: Mapping[str, int], cases: int = 1) -> Path:
    """A vector file of GRUCell-3 cases, small for what they ask: compressed numbers that repeat."""
    batch, given, hidden = sizes.values()

    def numbers(*shape: int) -> Any:
        return np.resize((np.arange(7) - 3) / 8, (cases, *shape)).astype("f4")

    inputs = {
        "X": numbers(batch, given),
        "initial_hidden_state": numbers(batch, hidden),
        "W": numbers(3 * hidden, given),
        "R": numbers(3 * hidden, hidden),
        "B": numbers(3 * hidden),
    }
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for name, text in {"format": "grucible vectors", "operator": CELL, "theme": "huge",
                           "generator": "x"}.items():  # fmt: skip
            write_text_attribute(file, name, text)
        file.attrs["format_version"], file.attrs["seed"] = 2, 0
        file["spec"] = np.frombuffer(b"x", np.uint8)
        block = file.create_group("float32/b")
        for name, length in sizes.items():
            block.attrs[name] = length
        write_text_attribute(block, "tier", "required")
        block["id"] = np.array([f"{CELL}/huge/float32/{case}".encode() for case in range(cases)])
        block["attributes"] = np.array([json.dumps({"hidden_size": hidden}).encode()] * cases)
        held = {f"inputs/{name}": array for name, array in inputs.items()}
        held["outputs/Ho"] = numbers(batch, hidden)
        for one in CLASSES["float32"]:
            held[f"tolerance/{one.name}/Ho"] = np.full_like(held["outputs/Ho"], 1e-6)
        for name, array in held.items():
            block.create_dataset(name, data=array, compression="gzip", compression_opts=1)
        write_digests(file)
    return path


@pytest.fixture
def zeros(tmp_path: Path) -> str:
    """A runtime that gives zeros."""
    code = "{name: np.zeros(t.shape, t.dtype) for name, t in q.outputs.items()}"
    (tmp_path / "zeros.py").write_text(f"import numpy as np\ndef run(q):\n    return {code}\n")
    return f"{tmp_path / 'zeros.py'}:run"


def test_a_case_too_large_to_be_explained_is_said_to_be(
    tmp_path: Path, zeros: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("it is computed under variants")

    for module in ("score", "reports.show", "diagnosis.contradictions"):
        monkeypatch.setattr(f"grucible.check.{module}.catches", computed)
    monkeypatch.setattr("grucible.check.diagnosis.failing.variant_outputs", computed)
    huge = cell_file(tmp_path / "huge.h5", HUGE)
    ended = command("check", huge, "--runtime", zeros)
    assert (ended.status, ended.err) == (1, "")
    assert "1  unexplained" in ended.out
    assert "1 of them too large to be explained, or not looked at" in ended.out
    report = command("check", huge, "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"], report["hints"]) == (1, 1, [])
    shown = command("show", huge, "*")
    assert (shown.status, "which misreadings it catches is not computed" in shown.out) == (0, True)
    assert "expected outputs" in shown.out
    whole = command("show", huge, "*", "--full")
    assert "1920000 numbers are too many to be printed whole" in whole.out
    scored = command("score", huge)
    assert scored.status == 1
    assert f"1 case too large to be computed under misreadings: {CELL}, float32" in scored.out


def test_failing_cases_that_are_too_many_to_be_kept_are_counted(
    tmp_path: Path, zeros: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of most work are left out; what they did is still told of every one."""
    monkeypatch.setattr(failing, "MOST_BYTES", 50_000)
    small = {"batch_size": 1, "input_size": 2, "hidden_size": 2}
    (tmp_path / "v").mkdir()
    cell_file(tmp_path / "v/small.h5", small, 5)
    large = cell_file(tmp_path / "v/large.h5", {**small, "hidden_size": 60}, 2)
    with h5py.File(large, "r+") as file:
        write_text_attribute(file, "theme", "large")
        ids = [text.replace(b"huge", b"large") for text in file["float32/b/id"][:]]
        del file["float32/b/id"]
        file["float32/b/id"] = np.array(ids)
        write_digests(file)
    report = command("check", tmp_path / "v", "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"]) == (2, 2)
    monkeypatch.setattr(failing, "MOST_BYTES", 256 << 20)
    report = command("check", tmp_path / "v", "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"]) == (0, 0)


def test_a_search_that_would_take_too_long_is_done_for_the_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks = [b for b in core_blocks("openvino.GRUSequence-5", "float32") if len(b) > 2][:6]
    wrong = variants_run("W-gate-order-rzh")
    whole = report_on(blocks, wrong).diagnosis
    assert (whole.unexplained, whole.not_tried) == (0, 0)
    each = sorted(work.work(b.question(0)) for b in blocks)
    monkeypatch.setattr(search, "SEARCHING", 500 * each[0])
    assert ("W-gate-order-rzh",) in names(report_on(blocks, wrong))
    monkeypatch.setattr(search, "EXPLAINING", 0)
    found = report_on(blocks, wrong).diagnosis
    assert found.findings == []
    assert found.not_tried == found.unexplained == whole.failed
    monkeypatch.setattr(search, "SEARCHING", 0)
    assert report_on(blocks, wrong).diagnosis.not_tried == whole.failed


@pytest.mark.parametrize("sizes", [(2, 8, 32, 512, 1), (8, 17, 33, 128, 2)])
def test_the_largest_that_are_shipped_are_explained(sizes: tuple[int, ...]) -> None:
    batch, time, given, hidden, directions = sizes
    operator = OPERATORS["openvino.GRUSequence-5"]
    attributes = {"hidden_size": hidden, "direction": "forward"}
    if directions == 2:
        attributes["direction"] = "bidirectional"
    symbols = dict(zip(operator.sizes, (batch, time, given, hidden, directions), strict=True))
    asked = operator.with_defaults(attributes)
    shapes = {t.name: operator.shape(t, asked, symbols) for t in operator.inputs}
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    tensors["sequence_lengths"] = np.full(batch, time, np.int32)
    question = pose(operator, attributes, tensors)
    assert not work.too_large(question)
    assert 2 * len(CATALOGUE) * work.work(question) < search.SEARCHING


def _moved(operator: str) -> Iterator[Block]:
    """Required float16 cases of which one input is subnormal, marked as nonportable."""
    for block in core_blocks(operator, "float16"):
        if block.tier == "required":
            x = block.inputs["X"].copy()
            x.reshape(len(block), -1)[:, 0] = 2.0**-20
            yield replace(block, tier="nonportable", inputs=block.inputs | {"X": x})


@pytest.mark.parametrize("operator", [CELL, "openvino.GRUSequence-5"])
def test_a_subnormal_input_alone_makes_no_case_nonportable(operator: str) -> None:
    """The case must hang on it: else whoever doctors a file takes such cases out of the verdict."""
    blocks = list(_moved(operator))
    assert blocks
    for block in blocks:
        found = differing(block)
        assert set(found.values()) == {"is marked as nonportable, and it holds nothing that is"}
        assert len(found) == len(block)


def test_a_case_that_hangs_on_subnormals_or_a_zero_s_sign_is_nonportable() -> None:
    block = next(_moved(CELL))
    small = {"X", "initial_hidden_state", "B"}
    least = np.float16(2.0**-20)
    inputs = {n: np.copysign(least, a) if n in small else a for n, a in block.inputs.items()}
    assert "marked as" not in str(differing(replace(block, inputs=inputs)))
    zeros = {n: a * np.float16(0) for n, a in block.inputs.items()}  # with the signs of the numbers
    assert "marked as" not in str(differing(replace(block, inputs=zeros)))


@pytest.mark.parametrize(("dtype", "far", "half"), [("f8", -1e4, 2.0**-53), ("f4", -1e5, 2.0**-24)])
def test_an_answer_that_cannot_be_rounded_is_no_answer(
    dtype: str, far: float, half: float, tmp_path: Path, command: Command
) -> None:
    """It lies between two numbers, nearer to neither than any precision tells."""
    numbers = {"X": [[1]], "initial_hidden_state": [[5]], "W": [[far], [0], [1]],
               "R": [[0], [0], [0]], "B": [0, 0, half]}  # fmt: skip
    (tmp_path / "ties").mkdir()
    tie = tmp_path / "ties/tie.npz"
    arrays: Any = {n: np.array(a, dtype) for n, a in numbers.items()}
    np.savez(tie, **arrays)
    asked = ["--operator", CELL, "--attributes",
             '{"hidden_size": 1, "activations": ["sigmoid", "relu"]}']  # fmt: skip
    why = "an output could not be rounded at the highest precision"
    assert why in command("answer", tie, *asked).said_in_one_line()
    out = tmp_path / "out.h5"
    imported = command("import", tie.parent, "--from", "npz", "-o", out, *asked)
    assert why in imported.said_in_one_line()


@pytest.mark.parametrize(("rtol", "atol"), [("nan", "0"), ("0", "nan"), ("inf", "0"), ("0", "inf")])
def test_a_score_by_no_number_is_refused(rtol: str, atol: str, command: Command) -> None:
    said = command("score", "--rtol", rtol, "--atol", atol).said_in_one_line()
    assert "expected a finite number, not negative" in said


def test_what_a_runtime_sets_in_numpy_ends_with_its_answer() -> None:
    """`verify` calls it in this process, where nothing of ours is to raise."""

    def run(question: Question) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            tiny = {n: np.nextafter(np.zeros(t.shape, t.dtype), t.dtype.type(1))
                    for n, t in question.outputs.items()}  # fmt: skip
        np.seterr(all="raise")
        return tiny

    select = ["openvino.GRUCell-3/plain/float32/*", "openvino.GRUSequence-5/plain/float64/*"]
    before = np.geterr()
    assert verify(runtime=run, select=select).verdict == "does not conform"
    assert np.geterr() == before
    with np.errstate(all="raise"):  # and so where the caller set it
        assert verify(runtime=run, select=select).verdict == "does not conform"


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


def _npz(folder: Path, batch: int = 1) -> Path:
    """A folder of one .npz file with a question of GRUCell-3 and an output that is expected."""
    folder.mkdir()
    inputs = {"X": (batch, 1), "initial_hidden_state": (batch, 1), "W": (3, 1), "R": (3, 1),
              "B": (3,), "Ho": (batch, 1)}  # fmt: skip
    arrays: Any = {n: np.full(s, 0.5, "f4") for n, s in inputs.items()}
    np.savez(folder / "a.npz", **arrays)
    return folder


def test_vectors_and_outputs_do_not_replace_each_other(tmp_path: Path, command: Command) -> None:
    npz = ["--from", "npz", "--operator", CELL, "--attributes", '{"hidden_size": 1}']
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "operator: openvino.GRUCell-3\nabout: one\ndtypes: [float32]\n"
        "sizes: {batch_size: 1, input_size: 1, hidden_size: 1}\ncases:\n  - list: [{}]\n"
    )

    def refused(*arguments: object) -> str:
        files = {path: path.read_bytes() for path in tmp_path.rglob("*.h5")}
        said = command(*arguments).said_in_one_line()
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.h5")} == files
        return said

    first = ["import", _npz(tmp_path / "n1"), *npz, "-o", tmp_path / "foo.h5"]
    assert command(*first).status == 0
    assert command(*first).status == 0  # of the same cases, again
    vectors, outputs = tmp_path / "foo.h5", tmp_path / "foo.outputs.h5"
    said = refused("import", tmp_path / "n1", *npz, "-o", outputs)
    assert "holds outputs; name another place for the vectors" in said
    other = ["import", _npz(tmp_path / "n2"), *npz, "-o"]
    said = refused(*other, vectors)
    assert "foo.h5: holds other vectors of openvino.GRUCell-3, theme n1, imported; name" in said
    outputs.rename(tmp_path / "spec.h5")
    assert "holds outputs" in refused("gen", spec, "-o", tmp_path)
    shutil.copy(vectors, tmp_path / "spec.h5")
    assert "theme n1, imported; name" in refused("gen", spec, "-o", tmp_path)
    shutil.copy(vectors, tmp_path / "bar.outputs.h5")
    said = refused(*other, tmp_path / "bar.h5")
    assert "bar.outputs.h5: is a vector file; name another place for the outputs" in said
    (tmp_path / "spec.h5").unlink()
    assert command("gen", spec, "-o", tmp_path).status == 0
    spec.write_text(spec.read_text().replace("[{}]", "[{clip: 0.5}]"))
    assert command("gen", spec, "-o", tmp_path).status == 0  # an earlier version of the same


def test_an_id_that_a_question_would_not_keep_is_refused(tmp_path: Path, command: Command) -> None:
    """The lines of a question end where their text ends."""
    path = cell_file(tmp_path / "v.h5", {"batch_size": 1, "input_size": 1, "hidden_size": 1})
    with h5py.File(path, "r+") as file:
        [case_id] = file["float32/b/id"][:]
        del file["float32/b/id"]
        file["float32/b/id"] = np.array([case_id + b" "])
        write_digests(file)
    said = command("check", path, "--runtime", NUMPY).said_in_one_line()
    assert f"'{CELL}/huge/float32/0 ' ends with a space" in said
