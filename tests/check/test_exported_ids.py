"""What `gen` and strangers call a case can be exported and imported; an export is there whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible.vectors.exchange import export
from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.exchange.manifest import read_manifest
from grucible.vectors.find import CORE, case_ids

from .conftest import Command
from .made import make_block, write_vectors
from .signed import signed_anew, with_y
from .suites import close

SPEC = """
operator: openvino.GRUCell-3
about: one case
dtypes: [float32]
sizes: {batch_size: 1, input_size: 1, hidden_size: 2}
cases:
  - list: [{}]
"""


@pytest.mark.rows(3)
@pytest.mark.parametrize("theme", ["my theme", "a,b", "(1)", "-", "ü", "a~b", "a."])
def test_whatever_theme_gen_takes_is_exported_and_imported(
    theme: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / f"{theme}.yaml").write_text(SPEC)
    assert command("gen", tmp_path / f"{theme}.yaml", "-o", tmp_path / "v").status == 0
    ids = list(case_ids(tmp_path / "v"))
    assert [one.split("/")[1] for one in ids] == [theme]
    assert command("export", tmp_path / "v", "--to", "raw", "-o", tmp_path / "x").status == 0
    assert [entry.id for entry in read_manifest(tmp_path / "x").cases] == ids
    assert command("import", tmp_path / "x", "-o", tmp_path / "again").status == 0
    assert list(case_ids(tmp_path / "again")) == ids


def test_ids_of_strangers_as_wide_as_the_reader_takes_them(
    tmp_path: Path, command: Command
) -> None:
    write_vectors(tmp_path / "v.h5", make_block(["é" * 30_000, "a//b  c", "?"]))
    assert command("export", tmp_path / "v.h5", "--to", "npz", "-o", tmp_path / "x").status == 0
    assert command("import", tmp_path / "x", "-o", tmp_path / "again.h5").status == 0
    assert sorted(case_ids(tmp_path / "again.h5")) == sorted(case_ids(tmp_path / "v.h5"))


@pytest.mark.parametrize("theme", ["..", ".hidden"])
def test_a_spec_whose_name_is_no_theme(theme: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / f"{theme}.yaml").write_text(SPEC)
    said = command("gen", tmp_path / f"{theme}.yaml", "-o", tmp_path / "v").said_in_one_line()
    assert f"the theme is {theme!r}; expected a name" in said
    assert said.endswith("with no dot first; rename the file\n")


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("at", ["replace_file", "write_sums", "_entry"])
def test_where_an_export_fails_nothing_of_it_is_left(
    at: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """A folder that was there, and empty, stays so; then the same command makes the export."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_vectors(tmp_path / "v.h5", make_block(["a", "b"]))
    out = tmp_path / "deep" / "x"
    if there:
        out.mkdir(parents=True)
    asked = ["export", tmp_path / "v.h5", "--to", "raw", "-o", out]
    with monkeypatch.context() as patched:
        patched.setattr(export, at, full)
        said = command(*asked).said_in_one_line()
    assert f"{out}: cannot be written (No space left on device)" in said
    assert (out.exists(), (tmp_path / "deep").exists()) == (there, there)
    assert not list(tmp_path.rglob("x/*"))
    assert command(*asked).status == 0


def test_two_exports_into_a_folder_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """The second one says so, and leaves what the first has made."""
    write_vectors(tmp_path / "v.h5", make_block(["a"]))
    out = tmp_path / "x"
    asked = ["export", tmp_path / "v.h5", "--to", "raw", "-o", out]
    assert command(*asked).status == 0
    monkeypatch.setattr(export, "check_place", lambda _: None)  # when it looked, it was empty
    assert f"{out}: cannot be written (File exists)" in command(*asked).said_in_one_line()
    assert read_manifest(out).cases


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


def test_an_export_blames_what_cannot_be_read(
    some_vectors: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(str(some_vectors / "deep"), monkeypatch)
    said = command("export", some_vectors, "--to", "npz", "-o", tmp_path / "x").said_in_one_line()
    assert said.startswith(
        f"grucible: {some_vectors / 'deep'}: Permission denied; make it readable"
    )
    assert not (tmp_path / "x").exists()


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
