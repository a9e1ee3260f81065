"""`grucible run`, and then `check`."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from shipped import core_cases

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.mark.parametrize("runtime", [NUMPY, WRONG])
@pytest.mark.parametrize("options", [[], ["--select", "*a*"]])
def test_run_then_check_is_check(
    runtime: str, options: list[str], some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    ran = command("run", some_vectors, "--runtime", runtime, "-o", out, *options)
    assert ran.status == 0
    assert ran.out.splitlines()[0].startswith(f"{out / 'cell.h5'}: ")
    stored = command("check", some_vectors, "--outputs", out, "--json", *options)
    direct = command("check", some_vectors, "--runtime", runtime, "--json", *options)
    assert stored == direct.asked_once()


def test_run_of_the_core_vectors(tmp_path: Path, command: Command) -> None:
    ran = command("run", "--runtime", NUMPY, "-o", tmp_path / "out")
    every = len(core_cases())
    assert len(ran.out.splitlines()) == len(
        {(c.operator, c.id.split("/")[1]) for c in core_cases()}
    )
    assert f"{tmp_path / 'out/openvino/gru_cell/core.h5'}: 248 ok\n" in ran.out
    assert f"{tmp_path / 'out/onnx/gru/core.h5'}: 376 unsupported\n" in ran.out
    ended = command("check", "--outputs", tmp_path / "out")
    assert ended.out.startswith(
        f"conforms where supported: 1461 of {every} cases passed, {every - 1461} unsupported\n"
    )


def test_outputs_of_cases_that_are_not_asked_again_are_not_lost(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    run = ("run", some_vectors, "--runtime", NUMPY, "-o", out)
    assert command(*run, "--select", "*good").status == 0
    before = {file: file.read_bytes() for file in out.rglob("*.h5")}
    assert command(*run, "--select", "*/a-good").said_in_one_line() == (
        f"grucible: {out / 'cell.h5'}: holds outputs of a case that are not selected now, such as "
        "openvino.GRUCell-3/made/float32/c-good; name another place for the outputs, or add --force\n"
    )
    said = command(*run, "--select", "*bad").said_in_one_line()
    assert "holds outputs of 2 cases that are not selected now, such as " in said
    assert before == {file: file.read_bytes() for file in out.rglob("*.h5")}
    assert command(*run).status == 0
    assert command("check", some_vectors, "--outputs", out).status == 0


@pytest.mark.parametrize("damage", ["truncated", "later"])
def test_outputs_that_cannot_be_read_are_not_lost(
    damage: str, some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out.h5"
    run = ("run", some_vectors / "cell.h5", "--runtime", NUMPY, "-o", out)
    assert command(*run).status == 0
    if damage == "later":
        with h5py.File(out, "r+") as file:
            file.attrs["format_version"] = 3
    else:
        out.write_bytes(out.read_bytes()[:-100])
    before = out.read_bytes()
    assert "name another place" in command(*run).said_in_one_line()
    assert out.read_bytes() == before
    assert command(*run, "--force").status == 0


def test_run_makes_an_outputs_file_as_described(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    command("run", some_vectors / "cell.h5", "--runtime", WRONG, "-o", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(some_vectors / "cell.h5") as expected:
        attributes = dict(out.attrs)
        assert attributes.pop("runtime_version") == b""
        told = {"format": b"grucible outputs", "format_version": 2, "runtime": WRONG.encode()}
        assert attributes == told
        for name, block in expected["float32"].items():
            made = out[f"float32/{name}"]
            assert made["id"][()].tolist() == block["id"][()].tolist()
            assert made["outputs/Ho"].shape == block["outputs/Ho"].shape
            assert made["outputs/Ho"].dtype == np.float32
            assert set(made["status"][()].tolist()) == {b"ok"}
        (block,) = out["bfloat16"].values()
        assert block["outputs/Ho"].attrs["dtype"] == b"bfloat16"


def test_run_fails_whole_files(some_vectors: Path, tmp_path: Path, command: Command) -> None:
    """A damaged second file leaves the first file's outputs and verdicts, whole, and none of its own."""
    raw = bytearray((some_vectors / "deep" / "seq.h5").read_bytes())
    with h5py.File(some_vectors / "deep" / "seq.h5") as file:
        (block,) = file["float32"].values()
        raw[block["inputs/X"].id.get_offset()] ^= 1
    (some_vectors / "deep" / "seq.h5").write_bytes(raw)
    ended = command("run", some_vectors, "--runtime", NUMPY, "-o", tmp_path / "out")
    assert ended.status == 2
    assert "does not match its content_sha256" in ended.err
    assert [p.name for p in (tmp_path / "out").rglob("*.h5*")] == ["cell.h5"]
    written = tmp_path / "report.json"
    ended = command("check", some_vectors, "--runtime", NUMPY, "--report", f"json={written}")
    assert (ended.status, ended.out) == (2, "")
    assert "does not match its content_sha256" in ended.err
    report = json.loads(written.read_text())
    judged = {one["id"].split("/")[0] for one in report["cases"]}
    assert (report["verdict"], judged) == ("incomplete", {"openvino.GRUCell-3"})
