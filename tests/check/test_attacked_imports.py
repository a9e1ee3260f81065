"""What a fourth attack found: imports, answers, audits; and tiers that a file states."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from edited import edited
from printed import sentence_of

from grucible import load_vectors
from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.find import CORE
from grucible.vectors.hdf5.attributes import write_text_attribute
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
ONE = "openvino.GRUCell-3/core/float32/lbr0-relu_relu-alpha0.25_0.75-beta0.5_2-clip0.5"
CELL_OPTIONS = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":6}']


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """The inputs of a cell."""
    [case] = [case for case in load_vectors(CELL) if case.id == ONE]
    np.savez(tmp_path / "good.npz", **dict[str, Any](case.inputs))
    return tmp_path / "good.npz"


def forged(folder: Path, change: Callable[[Any], None], listed: str = "") -> Path:
    """An export of one case with another manifest, and the digests of it."""
    export_vectors(None, folder, "raw", select=[ONE])
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    names = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
        if name != "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("".join(lines) + listed)
    return folder


IDS = ["../precious/float32/x", "/tmp/evil/float32/y", "openvino.GRUCell-3/../float32/x",
       "openvino.GRUCell-3/./float32/x", "openvino.GRUCell-3/.hidden/float32/x", "x", "a/b/c"]  # fmt: skip


@pytest.mark.parametrize("case_id", IDS)
def test_an_id_leads_to_no_other_place(case_id: str, tmp_path: Path, command: Command) -> None:
    folder = forged(tmp_path / "x", lambda m: m["cases"][0].update(id=case_id))
    before = sorted(tmp_path.rglob("*"))
    said = command("import", folder, "-o", tmp_path / "sub").said_in_one_line()
    assert "expected openvino.GRUCell-3/THEME/float32/WHAT" in said
    assert sorted(tmp_path.rglob("*")) == before


def test_an_answer_replaces_answers_alone(good: Path, tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "thesis.txt").write_text("my thesis")
    with zipfile.ZipFile(tmp_path / "thesis.docx", "w") as archive:
        archive.writestr("word/document.xml", "my thesis")
    before = good.read_bytes()
    for name, says in (
        ("fifo", "is no regular file"),
        ("device", "is no regular file"),
        ("thesis.txt", "is there already, and holds something else"),
        ("thesis.docx", "is there already, and holds something else"),
        ("good.npz", "holds the inputs; name another place"),
    ):
        out = tmp_path / name
        said = command("answer", good, *CELL_OPTIONS, "-o", out).said_in_one_line()
        assert says in said
    assert good.read_bytes() == before
    assert (tmp_path / "thesis.txt").read_text() == "my thesis"
    for _ in range(2):
        assert command("answer", good, *CELL_OPTIONS, "-o", tmp_path / "a.npz").status == 0


@pytest.mark.parametrize("command_line", ["import", "run"])
def test_somebody_s_hdf5_file_is_not_replaced(
    command_line: str, tmp_path: Path, command: Command
) -> None:
    for name in ("weights.h5", "weights.outputs.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file["w"] = np.arange(5)
    if command_line == "run":
        arguments = ["run", CELL, "--runtime", NUMPY, "-o", tmp_path / "weights.h5"]
    else:
        export_vectors(None, tmp_path / "x", "raw", select=[ONE])
        arguments = ["import", tmp_path / "x", "-o", tmp_path / "weights.h5"]
    said = command(*arguments).said_in_one_line()
    assert "is there already, and holds no vectors or outputs; name another place" in said
    with h5py.File(tmp_path / "weights.h5") as file:
        assert file["w"][()].tolist() == [0, 1, 2, 3, 4]


def signed_anew(source: Path, copy: Path, change: Callable[[Any], None]) -> Path:
    shutil.copy(source, copy)
    with edited(copy) as file:
        for dtype in [d for d in file if d not in ("spec", "float32")]:
            del file[dtype]
        change(file)
        write_digests(file)
    return copy


def test_cases_of_nan_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    """NaN with tolerance 0 admits nothing but NaN, and says nothing of a GRU."""

    def nan(file: Any) -> None:
        for block in file["float32"].values():
            for name in ("inputs/X", "inputs/initial_hidden_state", "outputs/Ho"):
                block[name][...] = np.nan
            for limits in block["tolerance"].values():
                limits["Ho"][...] = 0

    path = signed_anew(CELL, tmp_path / "v.h5", nan)
    (tmp_path / "nan.py").write_text(
        "import numpy as np\ndef run(q):\n"
        "    return {n: np.full(t.shape, np.nan, t.dtype) for n, t in q.outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'nan.py'}:run"
    for more in ((), ("--recompute", "1")):
        said = command("check", path, "--runtime", runtime, *more).said_in_one_line()
        assert "expects NaN or an infinity, and its tier is required; expected finite" in said


def test_ambiguous_cases_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    def required(file: Any) -> None:
        for name in list(file["float32"]):
            if "-ambiguous" not in name:
                del file[f"float32/{name}"]
                continue
            new = f"float32/{name.replace('-ambiguous', '')}"
            file.move(f"float32/{name}", new)
            del file[new]["readings"]
            del file[new].attrs["tier"]
            write_text_attribute(file[new], "tier", "required")

    path = signed_anew(CORE / "onnx/gru/core.h5", tmp_path / "v.h5", required)
    said = command("check", path, "--runtime", "onnxruntime", "--recompute", "1").said_in_one_line()
    assert "is marked as required, and it is ambiguous" in said


def test_a_case_with_an_infinite_tolerance_does_not_decide(
    tmp_path: Path, command: Command
) -> None:
    def half(file: Any) -> None:
        for block in file["float32"].values():
            for limits in block["tolerance"].values():
                limits["Ho"][:, 0] = np.inf

    path = signed_anew(CELL, tmp_path / "v.h5", half)
    ended = command("check", path, "--runtime", NUMPY)
    assert (ended.status, "58 decide nothing" in ended.out) == (1, True)
    said = command("score", path, "--pairs", "--select", ONE).said_in_one_line()
    assert (
        f"{ONE}: a tolerance is infinite, which no rtol and atol admit; leave out --pairs" in said
    )


def with_y(file: Any) -> list[Any]:
    """The blocks of float32 that have Y."""
    return [block for block in file["float32"].values() if "Y" in block["outputs"]]


def test_an_export_without_a_pair_leaves_the_case_out(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnx")

    def some(file: Any) -> None:
        with_y(file)[0]["tolerance/float32/Y"][0] = np.inf
        del with_y(file)[-1]["tolerance/float32"]

    path = signed_anew(CORE / "onnx/gru/plain.h5", tmp_path / "v.h5", some)
    ended = command("export", path, "--to", "onnx", "-o", tmp_path / "x")
    assert ended.status == 0
    assert "left out: 1 of onnx.GRU-14: a tolerance is infinite, which no rtol" in ended.out
    assert "of onnx.GRU-14: the file has no tolerances of the class float32, which" in ended.out


def test_nothing_is_left_of_an_export_that_breaks_off(tmp_path: Path, command: Command) -> None:
    """The second block is what it should not be, when the cases of the first stand there."""

    def last(file: Any) -> None:
        with_y(file)[-1]["outputs/Y"][-1] = np.inf

    path = signed_anew(CORE / "onnx/gru/plain.h5", tmp_path / "v.h5", last)
    (tmp_path / "empty").mkdir()
    for out in ("new", "empty"):
        said = command("export", path, "--to", "raw", "-o", tmp_path / out).said_in_one_line()
        assert f"{path}: /float32/" in said
        assert "expects NaN or an infinity" in said
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["empty", "v.h5"]
    assert not any((tmp_path / "empty").iterdir())


def test_nothing_is_imported_as_the_theme_of_invalid_questions(
    good: Path, tmp_path: Path, command: Command
) -> None:
    folder, out = tmp_path / "invalid", tmp_path / "out"
    folder.mkdir()
    good.rename(folder / good.name)
    arguments = ("import", "--from", "npz", folder, *CELL_OPTIONS, "-o", out)
    assert command(*arguments).said_in_one_line() == (
        "grucible: openvino.GRUCell-3/invalid: the theme is 'invalid', that of questions without "
        "answers; expected another; rename the folder or file of the cases\n"
    )
    assert not out.exists()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "b.npz")
    out = tmp_path / "v.h5"
    for arguments in (
        ["import", "--from", "npz", tmp_path, *CELL_OPTIONS, "-o", out],
        ["answer", tmp_path / "b.npz", *CELL_OPTIONS],
    ):
        said = command(*arguments).said_in_one_line()
        assert "b.npz: is no regular file" in said or "b.npz: no such file" in said


def test_only_files_that_are_needed_are_digested(tmp_path: Path, command: Command) -> None:
    """Each once, and no more than an export can have."""
    folder = forged(tmp_path / "x", lambda _: None, "0" * 64 + "  huge\n")
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert command("import", folder, "-o", tmp_path / "v.h5").status == 0
    [binary] = folder.rglob("*.bin")
    os.truncate(binary, 5 << 30)
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert "with it the export has more than 4 GiB" in said


@pytest.mark.parametrize(("item", "count", "says"), [
    ("{}", 400_000, "cases.0.id: Field required"),
    ("{}", 4_100_000, "has more parts than any export"),
    ("1", 8_100_000, "has more parts than any export"),
    ("1", 100_000, "cases.0: Input should be"),
])  # fmt: skip
def test_a_manifest_of_very_many(
    item: str, count: int, says: str, tmp_path: Path, command: Command
) -> None:
    def many(manifest: Any) -> None:
        manifest["cases"] = [json.loads(item)] * count

    folder = forged(tmp_path / "x", many)
    assert says in command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()


def test_expectations_count_wherever_they_stand(
    good: Path, tmp_path: Path, command: Command
) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    shutil.copy(good, folder / "a.npz")
    with np.load(good) as arrays:
        np.savez(folder / "b.npz", **arrays, Ho=np.full((3, 6), 9, "f4"))
    made = command("import", "--from", "npz", folder, *CELL_OPTIONS, "-o", tmp_path / "v.h5")
    assert (made.status, "  2 cases" in made.out) == (0, True)
    judged = command("check", tmp_path / "v.h5", "--outputs", tmp_path / "v.outputs.h5")
    assert (judged.status, "1 failed" in sentence_of(judged.out)) == (1, True)


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


def npy(shape: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64


@pytest.mark.parametrize("shape", [f"({10**40},)", "(1000000000000,)", "(" + "-" * 6000 + "1,)",
                                   "(4, 4, 'x')", "(-1,)"])  # fmt: skip
def test_an_array_that_lies_about_itself(shape: str, tmp_path: Path, command: Command) -> None:
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("X.npy", npy(shape))
    said = command("answer", tmp_path / "bad.npz", *CELL_OPTIONS).said_in_one_line()
    assert "bad.npz: is no .npz file that can be read (" in said


def test_encrypted_compressed_otherwise_and_twice(
    good: Path, tmp_path: Path, command: Command
) -> None:
    raw = bytearray(good.read_bytes())
    for name, place, value in (("encrypted", 6, 1), ("method", 8, 99)):
        changed = bytearray(raw)
        at = 0
        while (at := changed.find(b"PK\x03\x04", at)) >= 0:
            changed[at + place] = value
            at += 4
        at = 0
        while (at := changed.find(b"PK\x01\x02", at)) >= 0:
            changed[at + place + 2] = value
            at += 4
        (tmp_path / f"{name}.npz").write_bytes(changed)
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("X.npy", npy("(4, 4)"))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("X.npy", npy("(4, 4)"))
    for name in ("encrypted", "method", "twice"):
        said = command("answer", tmp_path / f"{name}.npz", *CELL_OPTIONS).said_in_one_line()
        assert f"{name}.npz: is no .npz file that can be read (" in said


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


def test_into_the_directory_at_hand(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_vectors(None, tmp_path / "x", "raw", select=[ONE])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ended = command("import", "../x", "-o", ".")
    assert ended.status == 0
    assert (tmp_path / "here/openvino.GRUCell-3/core.h5").exists()
    assert (tmp_path / "here-outputs/openvino.GRUCell-3/core.h5").exists()
    assert (
        "name a directory that is not the root"
        in command("import", "../x", "-o", "/").said_in_one_line()
    )


@pytest.mark.parametrize("suite", ["", ".", "/"])
def test_no_suite(suite: str, command: Command) -> None:
    assert "expected FILE.h5, or FILE.h5:RTOL:ATOL" in command("audit", suite).said_in_one_line()


def test_a_folder_whose_name_is_no_text(good: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "d\udcff"
    folder.mkdir()
    shutil.copy(good, folder / "a.npz")
    ended = command("import", "--from", "npz", folder, *CELL_OPTIONS, "-o", tmp_path / "v.h5")
    assert (ended.status, ended.err) == (0, "")


def test_a_data_set_that_makes_no_case_takes_no_other_with_it(
    tmp_path: Path, command: Command
) -> None:
    pytest.importorskip("onnx")
    exported = tmp_path / "exported"
    select = ("--select", "onnx.GRU-14/plain/float32/default")
    assert command("export", "--to", "onnx", "-o", exported, *select).status == 0
    [test] = (exported / "cases").glob("test_*")
    for number in range(1, 11):
        shutil.copytree(test / "test_data_set_0", test / f"test_data_set_{number}")
    (test / "test_data_set_1" / "input_2.pb").unlink()
    made = tmp_path / "made.h5"
    ended = command("import", exported / "cases", "--from", "onnx", "-o", made)
    assert "1: has inputs that are not numbered from 0 on" in ended.out + ended.err
    ends = [case.id.rpartition("-")[2] for case in load_vectors(made)]
    assert sorted(ends, key=int) == ["0", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
