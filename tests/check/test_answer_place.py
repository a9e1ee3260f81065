"""Where `answer` writes: it replaces an answer, and nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from .conftest import Command
from .suites import OF_CELL, SHAPES


@pytest.fixture
def asked(tmp_path: Path) -> list[str | Path]:
    """The words of `answer` up to the place of what it writes."""
    inputs = {name: np.full(shape, 0.5, "f4") for name, shape in SHAPES.items()}
    np.savez(tmp_path / "in.npz", **inputs)  # type: ignore[arg-type]
    return ["answer", tmp_path / "in.npz", *OF_CELL, "-o"]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["outputs/notes.txt"],
        ["outputs/Ho.npy", "thesis.txt"],
        ["tolerance/mine/Ho.npy"],
        ["readings/"],
    ],
)
def test_somebody_s_archive_is_not_replaced(
    names: list[str], asked: list[str | Path], tmp_path: Path, command: Command
) -> None:
    place = tmp_path / "results.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for name in names:
            archive.writestr(name, "mine")
    before = place.read_bytes()
    assert "holds something else" in command(*asked, place).said_in_one_line()
    assert place.read_bytes() == before


def test_a_file_that_ends_like_an_answer_is_not_replaced(
    asked: list[str | Path], tmp_path: Path, command: Command
) -> None:
    place = tmp_path / "a.npz"
    assert command(*asked, place).status == 0
    assert command(*asked, place).status == 0
    place.write_bytes(mine := b"a photograph" + place.read_bytes())
    assert "holds something else" in command(*asked, place).said_in_one_line()
    assert place.read_bytes() == mine
