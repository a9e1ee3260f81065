"""`.npz` files that are imported or answered: what is none is refused, and what is expected counts."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed import sentence_of

from grucible import load_vectors
from grucible.vectors.hdf5 import CORE

from .conftest import Command
from .suites import OF_CELL, ONE

CELL = CORE / "openvino/gru_cell/core.h5"
CELL_OPTIONS = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":6}']


def test_inputs_that_are_no_file(command: Command) -> None:
    said = command("answer", "/dev/zero", *OF_CELL).said_in_one_line()
    assert said == "grucible: /dev/zero: is no regular file; expected an .npz file\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """The inputs of a cell."""
    [case] = [case for case in load_vectors(CELL) if case.id == ONE]
    np.savez(tmp_path / "good.npz", **dict[str, Any](case.inputs))
    return tmp_path / "good.npz"


def test_an_answer_replaces_answers_alone(good: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "thesis.txt").write_text("my thesis")
    with zipfile.ZipFile(tmp_path / "thesis.docx", "w") as archive:
        archive.writestr("word/document.xml", "my thesis")
    before = good.read_bytes()
    for name in ("thesis.txt", "thesis.docx", "good.npz"):
        said = command("answer", good, *CELL_OPTIONS, "-o", tmp_path / name).said_in_one_line()
        assert "is there already, and not written by grucible" in said
    assert good.read_bytes() == before
    assert (tmp_path / "thesis.txt").read_text() == "my thesis"
    for _ in range(2):
        assert command("answer", good, *CELL_OPTIONS, "-o", tmp_path / "a.npz").status == 0


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
    assert not list(out.rglob("*.h5"))


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "b.npz")
    out = tmp_path / "v.h5"
    for arguments in (
        ["import", "--from", "npz", tmp_path, *CELL_OPTIONS, "-o", out],
        ["answer", tmp_path / "b.npz", *CELL_OPTIONS],
    ):
        said = command(*arguments).said_in_one_line()
        assert "b.npz: is no regular file" in said or "b.npz: no such file" in said


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


def test_a_folder_whose_name_is_no_text(good: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "d\udcff"
    folder.mkdir()
    shutil.copy(good, folder / "a.npz")
    ended = command("import", "--from", "npz", folder, *CELL_OPTIONS, "-o", tmp_path / "v.h5")
    assert (ended.status, ended.err) == (0, "")
