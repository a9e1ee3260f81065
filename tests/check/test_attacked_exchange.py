"""What a further attack found: of what is imported and exported, and of the places of what is written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.vectors.exchange.export import export_vectors

from .conftest import HERE, Command
from .made import make_block, write_outputs, write_vectors
from .test_strict_imports import SHAPES, gru

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
OF_CELL = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":4}']


def suites(folder: Path) -> dict[str, list[str]]:
    """A folder with a test for each format, each in a folder of its own; the options that import them."""
    for name in ("npz", "webnn"):
        (folder / name / "deep").mkdir(parents=True)
    arrays: dict[str, Any] = {name: np.full(shape, 0.5, "f4") for name, shape in SHAPES.items()}
    np.savez(folder / "npz/deep/a.npz", **arrays)
    (folder / "webnn/deep/a.json").write_text(json.dumps(gru({}, {})))
    export_vectors(None, folder / "x", "onnx", select=["onnx.GRU-14/plain/float32/default"])
    [test] = (folder / "x/cases").iterdir()
    shutil.copytree(test, folder / "onnx/deep")
    return {"npz": OF_CELL, "webnn": [], "onnx": []}


def close(folder: str, patched: pytest.MonkeyPatch) -> None:
    """Let a folder be none that this user may read, even where the tests may read all."""
    scan = os.scandir

    def refuses(place: Any) -> object:
        if place == folder:
            raise PermissionError(13, "Permission denied", place)
        return scan(place)

    patched.setattr(os, "scandir", refuses)


def test_an_import_passes_over_no_folder(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to one is followed, once; one that cannot be read is named."""
    pytest.importorskip("onnx")
    formats = suites(tmp_path)
    for source, options in formats.items():
        folder, closed = tmp_path / source, str(tmp_path / source / "deep")
        shutil.copytree(closed, tmp_path / f"{source}-linked")
        for link in ("again", "linked"):
            (folder / link).symlink_to(tmp_path / f"{source}-linked")
        made = folder / "v.h5"
        ended = command("import", folder, "--from", source, *options, "-o", made)
        assert (ended.status, len(list(load_vectors(made)))) == (0, 2), (source, ended)

        with monkeypatch.context() as patched:
            close(closed, patched)
            ended = command("import", folder, "--from", source, *options, "-o", made)
        assert ended.said_in_one_line() == (
            f"grucible: {closed}: Permission denied; make it readable, or name another place\n"
        )


def test_what_cannot_be_read_takes_no_other_test_with_it(tmp_path: Path, command: Command) -> None:
    onnx = pytest.importorskip("onnx")
    suites(tmp_path)
    sets = [tmp_path / f"onnx/deep/test_data_set_{number}" for number in range(3)]
    for copy in sets[1:]:
        shutil.copytree(sets[0], copy)
    tensor = onnx.TensorProto.FromString((sets[1] / "input_0.pb").read_bytes())
    tensor.data_type = 999
    (sets[1] / "input_0.pb").write_bytes(tensor.SerializeToString())
    (sets[2] / "output_0.pb").write_bytes(b"no tensor")
    null = gru({}, {})
    null["graph"]["inputs"]["w"]["data"] = [0.5, None]
    tests = [gru({}, {}), null, gru({}, {}), 7]
    (tmp_path / "webnn/deep/a.json").write_text(json.dumps(tests))
    for source, cases, reasons in (
        ("onnx", 1, [f"deep/{one.name}: holds what cannot be read (" for one in sets[1:]]),
        ("webnn", 2, ["graph.inputs.w.data", "Input should be a valid dictionary"]),
    ):
        made = tmp_path / f"{source}.h5"
        ended = command("import", tmp_path / source, "--from", source, "-o", made)
        assert (ended.status, len(list(load_vectors(made)))) == (0, cases), ended
        left = [line for line in ended.out.splitlines() if line.startswith("left out: 1: ")]
        for line, reason in zip(left, reasons, strict=True):
            assert reason in line


def test_a_file_of_very_many_tests(tmp_path: Path, command: Command) -> None:
    (tmp_path / "t.json").write_text(json.dumps([[]] * 10_001))
    said = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert "t.json: has 10,001 tests; expected at most 10,000" in said.said_in_one_line()


@pytest.mark.parametrize("place", ["new.h5", "taken"])
def test_the_outputs_of_a_directory_stand_in_one(
    place: str, some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "taken").write_text("mine\n")
    out = tmp_path / place
    ended = command("run", some_vectors, "--runtime", NUMPY, "-o", out)
    assert ended.said_in_one_line() == (
        f"grucible: {out}: is the place of one file; name a directory, for each vector file gives one of "
        "outputs\n"
    )
    assert not (tmp_path / "new.h5").exists()


def test_inputs_that_are_no_file_or_cannot_be_read(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    suites(tmp_path)
    inputs = tmp_path / "npz/deep/a.npz"
    said = command("answer", "/dev/zero", *OF_CELL).said_in_one_line()
    assert said == "grucible: /dev/zero: is no regular file; expected an .npz file\n"
    whole = Path.open

    def refuses(path: Path, *given: Any) -> Any:
        if path == inputs:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *given)

    monkeypatch.setattr(Path, "open", refuses)
    says = f"{inputs}: cannot be read (Permission denied); make it readable, or name another place"
    for words in (
        ["answer", inputs],
        ["import", tmp_path / "npz", "--from", "npz", "-o", tmp_path / "v.h5"],
    ):
        assert command(*words, *OF_CELL).said_in_one_line() == f"grucible: {says}\n"


def test_a_case_is_not_imported_beside_itself(tmp_path: Path, command: Command) -> None:
    case_id = "openvino.GRUCell-3/core/float32/noact"
    words = ["import", tmp_path / "x", "-o", tmp_path / "v"]
    export_vectors(None, tmp_path / "x", "raw", select=[case_id])
    for _ in range(2):
        assert command(*words).status == 0
    (tmp_path / "v/made").mkdir()
    there = tmp_path / "v/made/core.h5"
    (tmp_path / "v/openvino.GRUCell-3/core.h5").rename(there)
    said = command(*words).said_in_one_line()
    assert said.startswith(
        f"grucible: {there}: holds {case_id} already, and a case stands in one file;"
    )
    assert list(tmp_path.glob("v/*/*.h5")) == [there]


KILLED = """
import os, signal, sys
from pathlib import Path
from grucible.vectors.exchange import export
def killed(*given):
    export.npz(*given)
    os.kill(os.getpid(), signal.SIGKILL)
export.raw = killed
export.export_vectors(None, Path(sys.argv[1]), "raw", select=[sys.argv[2]])
"""


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path: Path, command: Command) -> None:
    case_id, out = "openvino.GRUCell-3/core/float32/noact", tmp_path / "x"
    ended = subprocess.run([sys.executable, "-c", KILLED, out, case_id], check=False)
    [left] = out.iterdir()
    assert (ended.returncode, len(list(left.glob("cases/*.npz")))) == (-signal.SIGKILL, 1)
    words = ["export", "--to", "npz", "-o", out, "--select", case_id]
    assert command(*words).status == 0
    assert sorted(one.name for one in out.iterdir()) == ["SHA256SUMS", "cases", "manifest.json"]
    alive = tmp_path / "y" / left.name.replace(left.name.split(".")[-2], str(os.getppid()))
    alive.mkdir(parents=True)
    words[words.index(out)] = tmp_path / "y"
    assert "is there already; name a folder that is new, or" in command(*words).said_in_one_line()
    assert alive.exists()


def test_an_export_that_is_interrupted_at_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def interrupted(place: Path, to: Path) -> Path:
        if place.name == "manifest.json":
            raise KeyboardInterrupt
        return rename(place, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_vectors(
            None, tmp_path / "x", "raw", select=["openvino.GRUCell-3/core/float32/noact"]
        )
    assert not (tmp_path / "x").exists()


def test_the_id_of_a_case_is_found_whatever_is_in_it(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a & [b].yaml").write_text(
        "operator: openvino.GRUCell-3\nabout: odd\ndtypes: [float32]\n"
        "sizes: {batch_size: 1, input_size: 2, hidden_size: 2}\ncases:\n  - list: [{clip: 0.5}]\n"
    )
    out, case_id = tmp_path / "out", "openvino.GRUCell-3/a & [b]/float32/noact-clip0.5"
    assert command("gen", tmp_path, "-o", out, "--jobs", "1").status == 0
    assert command("show", out, case_id).out.startswith(f"{case_id}\n")
    assert command("trace", out, case_id).status == 0
    for more in ((), ("--dtype", "float32")):
        listed = command("cases", tmp_path, "--list", "--select", case_id, *more)
        assert listed.out == f"{case_id}\n"


@pytest.mark.parametrize("holds", ["outputs", "vectors"])
def test_what_a_later_grucible_wrote_is_not_replaced(
    holds: str, tmp_path: Path, command: Command
) -> None:
    write_vectors(tmp_path / "v.h5", make_block(["a"]))
    later = tmp_path / "later.h5"
    if holds == "outputs":
        write_outputs(later, tmp_path / "v.h5")
        words: list[Any] = ["run", tmp_path / "v.h5", "--runtime", NUMPY, "-o", later]
    else:
        words = ["import", tmp_path / "suite", "--from", "npz", *OF_CELL, "-o", later]
        suites(tmp_path)
        (tmp_path / "npz").rename(tmp_path / "suite")
        assert command(*words).status == 0
    with h5py.File(later, "r+") as file:
        file.attrs.modify("format_version", 3)
    before = later.read_bytes()
    said = command(*words).said_in_one_line()
    assert said.startswith(
        f"grucible: {later}: is there already, and a later grucible wrote it (format_version 3; this one writes 2)"
    )
    assert later.read_bytes() == before


def test_an_export_blames_what_cannot_be_read(
    some_vectors: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(str(some_vectors / "deep"), monkeypatch)
    said = command("export", some_vectors, "--to", "npz", "-o", tmp_path / "x").said_in_one_line()
    assert said.startswith(
        f"grucible: {some_vectors / 'deep'}: Permission denied; make it readable"
    )
    assert not (tmp_path / "x").exists()
