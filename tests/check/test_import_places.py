"""Where imports and answers read, where they write, and that files lie in vain."""

from __future__ import annotations

import os
import re
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors

from .conftest import Command
from .made import CELL
from .suites import ONE, SHAPES

ASKED = ["--operator", CELL, "--attributes", '{"hidden_size": 4}']
NPZ = ["--from", "npz", *ASKED]


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    """A folder of one .npz file with a question of GRUCell-3 and an output that is expected."""
    folder = tmp_path / "n"
    folder.mkdir()
    write_npz(folder / "a.npz", Ho=(2, 4))
    return folder


def write_npz(path: Path, **more: tuple[int, ...]) -> None:
    arrays: Any = {name: np.full(shape, 0.5, "f4") for name, shape in {**SHAPES, **more}.items()}
    np.savez(path, **arrays)


def test_into_the_directory_at_hand(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_vectors(None, tmp_path / "x", "raw", select=[ONE])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert command("import", "../x", "-o", ".").status == 0
    for name in ("here", "here-outputs"):
        assert (tmp_path / name / "openvino.GRUCell-3/core.h5").exists()


def test_vectors_and_outputs_do_not_replace_each_other(
    npz: Path, tmp_path: Path, command: Command
) -> None:
    first = ["import", npz, *NPZ, "-o"]
    for _ in range(2):
        assert command(*first, tmp_path / "foo.h5").status == 0
    outputs = tmp_path / "foo.outputs.h5"
    before = outputs.read_bytes()
    said = command(*first, outputs).said_in_one_line()
    assert "holds something else; name another place, or --force" in said
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
    name: str, beside: str, npz: Path, tmp_path: Path, command: Command
) -> None:
    words = ["import", npz, *NPZ, "-o", tmp_path / name]
    assert command(*words).status == 0
    write_npz(npz / "a.npz")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.h5")}
    said = command(*words).said_in_one_line()
    assert f"{tmp_path / beside}: holds outputs of an earlier import, and these cases" in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.h5")} == before
    (tmp_path / beside).unlink()
    assert command(*words).status == 0


def test_an_answer_replaces_answers_alone(tmp_path: Path, command: Command) -> None:
    good = tmp_path / "good.npz"
    write_npz(good)
    (tmp_path / "thesis.txt").write_text("my thesis")
    with zipfile.ZipFile(tmp_path / "thesis.docx", "w") as made:
        made.writestr("word/document.xml", "my thesis")
    before = good.read_bytes()
    for name in ("thesis.txt", "thesis.docx", "good.npz"):
        said = command("answer", good, *ASKED, "-o", tmp_path / name).said_in_one_line()
        assert "is there already, and holds something else" in said
    assert good.read_bytes() == before
    assert (tmp_path / "thesis.txt").read_text() == "my thesis"
    for _ in range(2):
        assert command("answer", good, *ASKED, "-o", tmp_path / "a.npz").status == 0


def test_nothing_is_imported_as_the_theme_of_invalid_questions(
    npz: Path, tmp_path: Path, command: Command
) -> None:
    folder, out = npz.rename(tmp_path / "invalid"), tmp_path / "out"
    said = command("import", folder, *NPZ, "-o", out).said_in_one_line()
    assert "openvino.GRUCell-3/invalid: the theme is 'invalid', that of questions without" in said
    assert not list(tmp_path.rglob("*.h5"))


def test_what_is_no_regular_file_is_not_waited_for(
    npz: Path, tmp_path: Path, command: Command
) -> None:
    os.mkfifo(npz / "b.npz")
    for arguments in (
        ["import", npz, *NPZ, "-o", tmp_path / "v.h5"],
        ["answer", npz / "b.npz", *ASKED],
        ["answer", "/dev/zero", *ASKED],
    ):
        assert "is no regular file; expected" in command(*arguments).said_in_one_line()


def npy(shape: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64


def archive(path: Path, *arrays: bytes) -> bytes:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as made:
        warnings.simplefilter("ignore")  # of two arrays of one name
        for array in arrays:
            made.writestr("X.npy", array)
    return path.read_bytes()


def test_an_archive_that_lies_about_itself(tmp_path: Path, command: Command) -> None:
    """Shapes of arrays, two of one name, encryption, and a compression that nobody has."""
    bad = tmp_path / "bad.npz"
    whole = archive(bad, npy("(4, 4)"))
    shapes = [f"({10**40},)", "(1000000000000,)", "(" + "-" * 6000 + "1,)", "(4, 4, 'x')", "(-1,)"]
    files = [b"PK\3\4rubbish", *(archive(bad, npy(shape)) for shape in shapes)]
    files.append(archive(bad, npy("(4, 4)"), npy("(4, 4)")))
    for place, value in ((6, b"\1"), (8, b"\x63")):
        changed = whole
        for mark, at in ((rb"(PK\x03\x04", place), (rb"(PK\x01\x02", place + 2)):
            pattern = mark + b".{%d})." % (at - 4)
            changed = re.sub(pattern, lambda m, value=value: m[1] + value, changed, flags=re.DOTALL)
        files.append(changed)
    for content in files:
        bad.write_bytes(content)
        assert command("answer", bad, *ASKED).said_in_one_line().startswith(f"grucible: {bad}: ")
