"""A file that another program has open is called that, and not damaged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import CORE, Command

CELL = CORE / "openvino/gru_cell/core.h5"
OPEN = "is open in another program; close it there, and try again"
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


def test_a_file_that_another_program_writes(held: Path, command: Command) -> None:
    for words in (("check", held, "--runtime", "no:such"), ("check", CELL, "--outputs", held)):
        status, _, err = command(*words)
        assert status == 2
        assert err.startswith(f"grucible: {held}: {OPEN}")
