"""Exports: what another program reads in them, without anything of grucible's."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import ml_dtypes
import numpy as np
import pytest
from exporting import export_vectors, forge
from shipped import core_cases

from grucible.cases.selection import selected
from grucible.vectors.block import arrays_by_path
from grucible.vectors.exchange.export import open_export
from grucible.vectors.exchange.manifest import SCHEMA, ExportError, Manifest, read_manifest

from .conftest import Command

SELECT = ["bnnsgraph.gru/core/float16/*n2-t2*", "openvino.GRUCell-3/core/bfloat16/lbr-*"]


def stored_array(folder: Path, path: str, place: dict[str, Any]) -> np.ndarray:
    """A tensor of an export, read as FORMAT.md and the manifest describe it."""
    dtype = np.dtype(ml_dtypes.bfloat16 if place["dtype"] == "bfloat16" else place["dtype"])
    if place["file"].endswith(".npz"):
        with np.load(folder / place["file"], allow_pickle=False) as arrays:
            array = arrays[path]
        return array.view(dtype) if place["dtype"] == "bfloat16" else array
    assert place["offset"] % 64 == 0  # it can be mapped
    data = (folder / place["file"]).read_bytes()[place["offset"] :]
    count = int(np.prod(place["shape"])) * dtype.itemsize
    return np.frombuffer(data[:count], dtype).reshape(place["shape"])


@pytest.mark.parametrize("layout", ["raw", "npz"])
def test_every_number_stands_where_the_manifest_says(layout: Any, tmp_path: Path) -> None:
    export_vectors(None, tmp_path / "x", layout, select=SELECT)
    manifest = json.loads((tmp_path / "x/manifest.json").read_text())
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    entries = {entry["id"]: entry for entry in manifest["cases"]}
    cases = [c for c in core_cases() if c.id in entries]
    assert len(entries) == len(cases) > 5
    assert {c.tier for c in cases} == {"required", "ambiguous"}
    for case in cases:
        places, ours = entries[case.id]["tensors"], arrays_by_path(case.inputs, case.stored)
        assert places.keys() == ours.keys()
        for path, place in places.items():
            array, wanted = stored_array(tmp_path / "x", path, place), ours[path]
            assert (array.tobytes(), array.dtype) == (wanted.tobytes(), wanted.dtype)
            assert array.shape == wanted.shape
        outputs = {n: o["shape"] for n, o in entries[case.id]["outputs"].items()}
        assert outputs == {n: list(o.shape) for n, o in case.question.outputs.items()}


def test_sha256sum_alone_verifies_it(tmp_path: Path, command: Command) -> None:
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("sha256sum is not installed")
    status, out, _ = command("export", "--to", "raw", "-o", tmp_path / "x", "--select", SELECT[0])
    assert status == 0
    sums = tmp_path / "x/SHA256SUMS"
    check = [tool, "-c", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path / "x", check=False).returncode == 0
    listed = {line.partition("  ")[2] for line in sums.read_text().splitlines()}
    files = {p.relative_to(tmp_path / "x").as_posix() for p in (tmp_path / "x").rglob("*.*")}
    assert listed == files
    root = hashlib.sha256(sums.read_bytes()).hexdigest()
    assert out.splitlines()[-1] == f"{root}  {sums}"
    command("export", "--to", "raw", "-o", tmp_path / "again", "--select", SELECT[0])
    assert (tmp_path / "again/SHA256SUMS").read_bytes() == sums.read_bytes()


def test_questions_hold_no_answer_and_answers_no_question(tmp_path: Path, command: Command) -> None:
    """Not in any file: the bytes of no expected output are there."""
    for option, absent in (("--questions", "outputs"), ("--answers", "inputs")):
        out = tmp_path / option
        assert command("export", "--to", "raw", "-o", out, "--select", SELECT[0], option)[0] == 0
        data = b"".join(p.read_bytes() for p in out.rglob("*.bin"))
        entries = {e.id: e for e in read_manifest(out).cases}
        for case in core_cases():
            if case.id in entries:
                arrays = case.answer.outputs if absent == "outputs" else case.inputs
                assert not any(array.any() and array.tobytes() in data for array in arrays.values())
                assert entries[case.id].outputs.keys() == case.answer.outputs.keys()
                assert not any(absent in path for path in entries[case.id].tensors)
    said = command("import", tmp_path / "--answers", "-o", tmp_path / "v.h5")
    assert (said[0], "holds answers alone" in said[2]) == (2, True)
    said = command("export", "--to", "raw", "-o", tmp_path / "z", "--questions", "--answers")
    assert (said[0], "--questions does not go with --answers" in said[2]) == (2, True)


def test_what_a_format_cannot_say_is_counted_and_named(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnx")
    select = ["*/core/float32/*lbr*", "keras.GRU/core/float32/*leaky_relu*"]
    options = [word for one in select for word in ("--select", one)]
    status, out, _ = command("export", "--to", "onnx", "-o", tmp_path / "x", *options)
    assert status == 0
    assert "of keras.GRU: onnx.GRU-14 has no g leaky-relu(0.2)" in out
    left, wrote = out.splitlines()[:-2], out.splitlines()[-2]
    counted = sum(int(line.split()[2]) for line in left) + int(wrote.split()[1])
    assert counted == sum(selected(c.id, select) for c in core_cases())
    select = ["--select", "bnnsgraph.gru/core/float32/*scaledTanh*"]
    said = command("export", "--to", "openvino", "-o", tmp_path / "y", *select)
    assert (said[0], "openvino can say none of the" in said[2]) == (2, True)
    assert not list((tmp_path / "y").rglob("*.*"))


def test_webnn_left_out(tmp_path: Path) -> None:
    """Of the plain cases each lacks one thing alone."""
    select = ["onnx.GRU-14/core/*", "onnx.GRU-14/plain/float32/*"]
    done = export_vectors(None, tmp_path / "x", "webnn", select=select)
    core = [c for c in core_cases() if selected(c.id, select)]
    assert done.cases + done.left_out.total() == len(core)
    entries = {entry.id for entry in read_manifest(tmp_path / "x").cases}
    said = [c for c in core if c.id in entries]
    assert len(said) == done.cases > 10
    for case in said:
        assert np.isinf(case.attributes["clip"])
        assert set(case.attributes["activations"]) <= {"Relu", "Sigmoid", "Tanh"}
        lengths = case.inputs.get("sequence_lens")
        assert lengths is None or (lengths == case.inputs["X"].shape[0]).all()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, command: Command) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    status, _, err = command("export", "--to", "raw", "-o", tmp_path, "--select", SELECT[0])
    assert (status, "is there already; name a folder that is new" in err) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    _, _, err = command("export", "--to", "raw", "-o", tmp_path / "x", "--select", "no")
    assert "no case is selected" in err


def test_the_published_schema_is_that_of_the_model() -> None:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema = json.dumps(draft | Manifest.model_json_schema(), indent=1) + "\n"
    assert SCHEMA.read_text(encoding="utf-8") == schema


def changed(entry: Any, path: str, value: Any) -> None:
    *above, last = path.split(".")
    for key in above:
        entry = entry[int(key) if isinstance(entry, list) else key]
    entry[last] = value


X, THEME = "cases.0.tensors.inputs/x", "expected bnnsgraph.gru/THEME"
BAD = [
    (f"{X}.file", "../secret.bin", "names no file"),
    (f"{X}.file", "/etc/passwd", "names no file"),
    (f"{X}.offset", 1 << 40, "cannot be read"),
    (f"{X}.shape", [1 << 20, 1 << 20], "cannot be read"),
    (f"{X}.shape", [2, 5, 2], "initialHiddenStates has shape (2, 3); expected (5, 3)"),
    (f"{X}.dtype", "int8", "dtype"),
    ("cases.0.id", "bnnsgraph.gru/a\x1b[2Jb/float16/x", THEME),
    ("cases.0.id", "bnnsgraph.gru/../float16/x", THEME),
    ("cases.0.id", "../x/float16/x", THEME),
    ("cases.0.operator", "GRU", "operator"),
    ("cases.0.tier", "invalid", "tier"),
    ("cases.0.attributes", {"clip": 1}, "has no attribute 'clip'"),
    ("cases.0.attributes", {"hidden_size": [[1]]}, "hidden_size"),
    ("cases.0.more", 1, "more"),
    ("cases.0.outputs", {}, "outputs"),
    ("cases.0.dtype", "float32", f"{THEME}/float32"),
    ("format_version", 2, "format_version"),
]


def test_a_manifest_that_lies_is_refused_in_one_line(tmp_path: Path) -> None:
    export_vectors(None, tmp_path / "x", "raw", select=SELECT[:1])
    for number, (path, value, says) in enumerate(BAD):
        out = Path(shutil.copytree(tmp_path / "x", tmp_path / str(number)))
        forge(out, lambda manifest, path=path, value=value: changed(manifest, path, value))
        with pytest.raises(ExportError) as error:
            next(open_export(out).cases())
        assert says in str(error.value)
        assert str(error.value).isprintable()


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"tier": "required"', '"tier": "nonportable", "tier": "required"', "twice: 'tier'"),
    ('"clip": 0.5', '"clip": 1e400', "1e400 is beyond float64"),
])  # fmt: skip
def test_a_manifest_that_says_two_things(old: str, new: str, says: str, tmp_path: Path) -> None:
    out = tmp_path / "x"
    export_vectors(None, out, "raw", select=["openvino.GRUCell-3/core/bfloat16/lbr-*clip*"])
    forge(out, lambda _: None)  # as json writes it
    manifest = out / "manifest.json"
    before = manifest.read_text()
    assert old in before
    manifest.write_text(before.replace(old, new, 1))
    sums, was = out / "SHA256SUMS", hashlib.sha256(before.encode()).hexdigest()
    now = hashlib.sha256(manifest.read_bytes()).hexdigest()
    sums.write_text(sums.read_text().replace(was, now))
    with pytest.raises(ExportError, match=f"{manifest}: is not JSON .*{says}"):
        open_export(out)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    for name in ("manifest.json", "cases/00001_float16_*.npz"):
        out = tmp_path / name[:8]
        export_vectors(None, out, "npz", select=SELECT[:1])
        [file] = out.glob(name)
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        with pytest.raises(ExportError, match=f"{file.name}: was changed"):
            open_export(out)
    (out / "SHA256SUMS").unlink()
    with pytest.raises(ExportError, match="was not finished"):
        open_export(out)
