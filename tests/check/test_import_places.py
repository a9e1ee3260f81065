"""Where an import reads and where it writes: in every folder, in the one at hand, and over nothing of others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors

from grucible import load_vectors

from .conftest import Command
from .made import CELL
from .suites import ONE, suites


def test_links_to_folders_are_followed_once(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnx")
    for source, options in suites(tmp_path).items():
        folder = tmp_path / source
        shutil.copytree(folder / "deep", tmp_path / f"{source}-linked")
        for link in ("again", "linked"):
            (folder / link).symlink_to(tmp_path / f"{source}-linked")
        made = tmp_path / f"{source}.h5"
        ended = command("import", folder, "--from", source, *options, "-o", made)
        assert (ended.status, len(list(load_vectors(made)))) == (0, 2), (source, ended)


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


def _npz(folder: Path, *left_out: str) -> Path:
    """A folder of one .npz file with a question of GRUCell-3 and an output that is expected."""
    folder.mkdir(exist_ok=True)
    shapes = {
        "X": (1, 1),
        "initial_hidden_state": (1, 1),
        "W": (3, 1),
        "R": (3, 1),
        "B": (3,),
        "Ho": (1, 1),
    }
    arrays: Any = {n: np.full(s, 0.5, "f4") for n, s in shapes.items() if n not in left_out}
    np.savez(folder / "a.npz", **arrays)
    return folder


def test_vectors_and_outputs_do_not_replace_each_other(tmp_path: Path, command: Command) -> None:
    npz = ["--from", "npz", "--operator", CELL, "--attributes", '{"hidden_size": 1}']
    first = ["import", _npz(tmp_path / "n1"), *npz, "-o"]
    for _ in range(2):
        assert command(*first, tmp_path / "foo.h5").status == 0
    outputs = tmp_path / "foo.outputs.h5"
    before = outputs.read_bytes()
    said = command(*first, outputs).said_in_one_line()
    assert "not written by grucible; name another place, or --force" in said
    shutil.copy(tmp_path / "foo.h5", tmp_path / "bar.outputs.h5")
    said = command(*first, tmp_path / "bar.h5").said_in_one_line()
    assert "bar.outputs.h5: is there already" in said
    assert outputs.read_bytes() == before
    assert command(*first, outputs, "--force").status == 0


@pytest.mark.parametrize(("name", "beside"), [
    ("v.h5", "v.outputs.h5"),
    ("v", "v-outputs/openvino.GRUCell-3/n.h5"),
])  # fmt: skip
def test_outputs_of_an_earlier_import_are_not_taken_for_these(
    name: str, beside: str, tmp_path: Path, command: Command
) -> None:
    _npz(tmp_path / "n")
    options = ["--operator", CELL, "--attributes", '{"hidden_size": 1}', "-o", tmp_path / name]
    words = ["import", tmp_path / "n", "--from", "npz", *options]
    assert command(*words).status == 0
    _npz(tmp_path / "n", "Ho")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.h5")}
    assert command(*words).said_in_one_line() == (
        f"grucible: {tmp_path / beside}: holds outputs of an earlier import, and these cases expect none; "
        "remove it, or name another place with -o\n"
    )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.h5")} == before
    (tmp_path / beside).unlink()
    assert command(*words).status == 0
