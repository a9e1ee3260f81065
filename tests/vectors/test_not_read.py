"""A file that cannot be read, for another program has it open or for want of permission: it is said to be so,
and nothing is put in its place."""

from __future__ import annotations

import builtins
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from .conftest import CORE, Command

CELL = CORE / "openvino/gru_cell/core.h5"
CASE = "openvino.GRUCell-3/core/float32/noact"
OPEN = "is open in another program; close it there, and try again"
DENIED = "cannot be read (Permission denied); "
HOLDER = """
import h5py, sys
with h5py.File(sys.argv[1], "r+"):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Vectors that another program writes."""
    path = tmp_path / "held.h5"
    path.write_bytes(CELL.read_bytes())
    words = [sys.executable, "-c", HOLDER, str(path)]

    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"open\n"
        yield path
        program.communicate()


@pytest.fixture
def forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Vectors that this user may not read, even where the tests may read all."""
    path = tmp_path / "forbidden.h5"
    path.write_bytes(CELL.read_bytes())

    def refusing(function: Any) -> Any:
        def opened(name: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            if name == path or name == str(path):
                raise PermissionError(13, "Permission denied")
            return function(name, mode, *more, **options)

        return opened

    for place, name in ((io, "open"), (builtins, "open")):
        monkeypatch.setattr(place, name, refusing(getattr(place, name)))
    monkeypatch.setattr(h5py, "File", refusing(h5py.File))
    return path


@pytest.fixture
def export(tmp_path: Path, command: Command) -> Path:
    """An export of one case, to be imported."""
    out = tmp_path / "export"
    assert command("export", "--to", "npz", "-o", out, "--select", CASE)[0] == 0
    return out


@pytest.mark.parametrize("what", ["held", "forbidden"])
def test_it_stays(
    what: str, export: Path, command: Command, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(what)
    says = f"grucible: {path}: {OPEN if what == 'held' else DENIED}"
    for words in (
        ("import", export, "-o", path),
        ("shrink", CASE, "--runtime", "no:such", "-o", path),
        ("run", CELL, "--runtime", "no:such", "-o", path),
    ):
        status, _, said = command(*words)
        assert status == 2
        assert said.startswith(says), said


@pytest.mark.parametrize("what", ["held", "forbidden"])
def test_it_is_not_called_something_else(
    what: str, command: Command, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(what)
    says = f"grucible: {path}: {OPEN if what == 'held' else DENIED}"
    for words in (("check", path, "--runtime", "no:such"), ("check", CELL, "--outputs", path)):
        status, _, said = command(*words)
        assert status == 2
        assert said.startswith(says), said


def test_a_mark_of_a_writer_that_was_killed(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "left.h5"
    left = f"import h5py, os; f = h5py.File({str(path)!r}, 'w', libver='latest'); f.flush(); os._exit(0)"
    subprocess.run([sys.executable, "-c", left], check=True)
    status, _, said = command("show", path, "*")
    assert status == 2
    assert f"{path}: is marked as open for writing; " in said


def test_a_report_does_not_replace_what_cannot_be_read(forbidden: Path, command: Command) -> None:
    status, _, said = command("check", "--runtime", "no:such", "--report", f"json={forbidden}")
    assert status == 2
    assert f"{forbidden}: is there already, and {DENIED}" in said


def test_vectors_in_a_directory_that_cannot_be_entered(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be there."""
    path, stat = tmp_path / "closed/vectors.h5", Path.stat

    def refused(self: Path, **how: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return stat(self, **how)

    monkeypatch.setattr(Path, "stat", refused)
    status, _, said = command("score", path)
    says = f"grucible: {path}: {DENIED}make it readable, or name another place\n"
    assert (status, said) == (2, says)
