"""Where an import reads and where it writes: every folder, the one at hand, and beside no other file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grucible import load_vectors
from grucible.vectors.exchange.export import export_vectors

from .conftest import Command
from .suites import ONE, close, suites


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
