"""What files and runtimes say reaches a terminal as text; pipes and streams that are gone break nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from grucible.cases.console import escape
from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command
from .made import IMPORT_ANSWER, make_block, write_outputs, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CLEARS = "\x1b[2J\x1b[1;1H\x1b[32mconforms: 9 of 9\x1b[0m\r\x9b2J\u202e\u2028\x07"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "cell.h5"
    write_vectors(path, make_block(["a", "b"]))
    return path


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def test_what_moves_the_cursor_is_written_out() -> None:
    assert escape("rtol 1e-3 … ≤ é 日本") == "rtol 1e-3 … ≤ é 日本"
    assert escape("a\x1b[2Jb\nc\rd\te") == r"a\x1b[2Jb\nc\rd\te"
    assert escape("\x00\x7f\x9b\u202e\u2066\u2028\ufeff") == (
        r"\x00\x7f\x9b\u202e\u2066\u2028\ufeff"
    )
    assert escape("\udcff") == r"\udcff"


def test_a_runtime_that_speaks_to_the_terminal(vectors: Path, command: Command) -> None:
    """In an error, a reason, its version and what it prints."""
    module = vectors.parent / "speaks.py"
    module.write_text(
        f"{IMPORT_ANSWER}from grucible import Unsupported\n"
        "class Speaks:\n"
        f"    version = {CLEARS!r}\n"
        "    def __call__(self, question):\n"
        f"        print({CLEARS!r})\n"
        f"        raise (Unsupported if question.id.endswith('b') else ValueError)({CLEARS!r})\n"
        "run = Speaks()\n"
    )
    ended = command("check", vectors, "--runtime", f"{module}:run")
    assert ended.status == 1
    assert harmless(ended.out), ended.out
    assert harmless(ended.err), ended.err
    assert ended.out.startswith("does not conform")
    assert r"\x1b[2J" in ended.out
    assert r"\x1b[2J" in ended.err


def test_an_outputs_file_that_does(vectors: Path, command: Command) -> None:
    outputs = vectors.parent / "outputs.h5"
    write_outputs(outputs, vectors)
    with h5py.File(outputs, "a") as file:
        file.attrs["runtime"], file.attrs["runtime_version"] = CLEARS, CLEARS
        [block] = list(file["float32"].values())
        block["status"] = [b"error", b"unsupported"]
        block["message"] = [CLEARS.encode()] * 2
    ended = command("check", vectors, "--outputs", outputs)
    assert ended.status in (1, 2)
    assert harmless(ended.out + ended.err)


def test_a_vector_file_that_does(vectors: Path, command: Command) -> None:
    """An id of it is refused, and a name of its own is written out."""
    with h5py.File(vectors, "a") as file:
        [block] = list(file["float32"].values())
        ids = block["id"][:].astype("S200")
        ids[0] = ids[0][:-1] + CLEARS.encode()
        del block["id"]
        block["id"] = ids
    odd = vectors.rename(vectors.with_name(f"{CLEARS[:4]}.h5"))
    ended = command("check", odd, "--runtime", NUMPY)
    assert harmless(ended.said_in_one_line())
    assert "is not printable text" in ended.err


def test_expectations_that_do(vectors: Path, command: Command) -> None:
    told = vectors.parent / "expect.yaml"
    told.write_text('- {cases: "*", reason: "\\e[2J \\u202e conforms"}\n')
    ended = command("check", vectors, "--runtime", f"{HERE / 'takers.py'}:run", "--expect", told)
    assert harmless(ended.out + ended.err)


def grucible(arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """`grucible ARGUMENTS`, as a shell has it."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m grucible {arguments}"],
        capture_output=True, text=True, check=False, env={**os.environ, **more},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "pipe", "printed"),
    [
        (f"--runtime {NUMPY}", "head -1", "conforms"),
        (f"--runtime {NUMPY} --json", "true", ""),
    ],
)
def test_a_closed_pipe_does_not_change_the_status(
    arguments: str, pipe: str, printed: str, vectors: Path
) -> None:
    """As of a continuous integration under pipefail."""
    ended = grucible(f"check {vectors} {arguments} | {pipe}")
    assert (ended.returncode, ended.stdout.partition(":")[0]) == (0, printed)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_of_another_encoding(encoding: str, vectors: Path) -> None:
    wrong = f"check {vectors} --runtime {HERE / 'takers.py'}:run"
    ended = grucible(wrong, PYTHONIOENCODING=encoding)
    assert ended.returncode == 1
    assert ended.stdout.startswith("does not conform")
    assert "Traceback" not in ended.stderr


def test_a_standard_output_that_is_full_is_named(vectors: Path) -> None:
    ended = grucible(f"check {vectors} --runtime {HERE / 'numpy_gru.py'}:run >/dev/full")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("grucible: standard output: No space left")


def test_vectors_are_not_overwritten(vectors: Path, command: Command) -> None:
    before = vectors.read_bytes()
    select = ["--select", "openvino.GRUCell-3/core/float32/lbr-*"]
    for arguments in (
        ["check", vectors, "--runtime", NUMPY, "--report", f"json={vectors}"],
        ["gen", "-o", vectors.parent / "out", *select, "--digests", vectors],
        ["run", CORE / "openvino/gru_cell/core.h5", "--runtime", NUMPY, "-o", vectors, *select],
    ):
        ended = command(*arguments)
        assert ended.status == 2
        assert "name another place" in ended.err.splitlines()[-1]
    assert vectors.read_bytes() == before
