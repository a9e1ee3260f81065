"""`.npz` files that are imported or answered: what is none is refused, and what is expected counts."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import load_vectors
from grucible.vectors.hdf5 import CORE

from .conftest import Command
from .suites import ONE

CELL = CORE / "openvino/gru_cell/core.h5"
CELL_OPTIONS = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":6}']


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
    for arguments in (
        ["import", "--from", "npz", tmp_path, *CELL_OPTIONS, "-o", tmp_path / "v.h5"],
        ["answer", tmp_path / "b.npz", *CELL_OPTIONS],
        ["answer", "/dev/zero", *CELL_OPTIONS],
    ):
        assert ": is no regular file; expected" in command(*arguments).said_in_one_line()


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


SHAPES = [f"({10**40},)", "(1000000000000,)", "(" + "-" * 6000 + "1,)", "(4, 4, 'x')", "(-1,)"]


def test_an_archive_that_lies_about_itself(tmp_path: Path, command: Command) -> None:
    """Shapes of arrays, two of one name, encryption, and a compression that nobody has."""
    bad = tmp_path / "bad.npz"
    whole = archive(bad, npy("(4, 4)"))
    files = [archive(bad, npy(shape)) for shape in SHAPES]
    files.append(archive(bad, npy("(4, 4)"), npy("(4, 4)")))
    for place, value in ((6, b"\1"), (8, b"\x63")):
        changed = whole
        for mark, at in ((rb"(PK\x03\x04", place), (rb"(PK\x01\x02", place + 2)):
            pattern = mark + b".{%d})." % (at - 4)
            changed = re.sub(pattern, lambda m, value=value: m[1] + value, changed, flags=re.DOTALL)
        files.append(changed)
    for content in files:
        bad.write_bytes(content)
        said = command("answer", bad, *CELL_OPTIONS).said_in_one_line()
        assert "bad.npz: is no .npz file that can be read (" in said
