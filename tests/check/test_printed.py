"""Texts of files and runtimes, as a terminal, a shell and a page get them: none is obeyed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from grucible.cases.console import format_command

from .conftest import HERE, Command
from .made import IMPORT_ANSWER, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
PLAIN = "openvino.GRUCell-3/plain/float32/lbr"
MADE = "openvino.GRUCell-3/made/float32"
CLEARS = "\x1b[2J\x1b[1;1H\x1b[32mconforms: 9 of 9\x1b[0m\r\x9b2J\u202e\u2028\x07"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "cell.h5"
    write_vectors(path, make_block(["a", "b"]))
    return path


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


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


def other_runtime(folder: Path) -> str:
    """A runtime of the user's that is wrong."""
    file = folder / "wrong.py"
    file.write_text(
        f"{IMPORT_ANSWER}def run(q):\n    return {{k: a + 1 for k, a in answer(q).items()}}\n"
    )
    return f"{file}:run"


def test_a_command_line_for_a_shell() -> None:
    assert format_command("show", ["v.h5", "a/b"]) == "grucible show v.h5 a/b"
    line = format_command("trace", [Path("v 1.h5"), "a"], ["--runtime", "exec: ./my gru"])
    assert line == "grucible trace 'v 1.h5' a --runtime 'exec: ./my gru'"


def words(text: str, command: str) -> list[str]:
    """What a shell makes of the command of grucible's in a text, from there to the end of its line."""
    _, begin, rest = text.partition(f"grucible {command}")
    return shlex.split((begin + rest).partition("\n")[0])


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", ["$(touch PWNED)", "`touch PWNED`; 'x", "a b"])
def test_a_command_that_shows_a_case_holds_its_id_as_one_word(
    name: str, tmp_path: Path, command: Command
) -> None:
    vectors, summary = tmp_path / "my $(vectors).h5", tmp_path / "summary.md"
    write_vectors(vectors, make_block([name]))
    asked = ["--runtime", other_runtime(tmp_path)]
    ended = command("check", vectors, *asked, "--report", f"github={summary}")
    traced = ["grucible", "trace", str(vectors), f"{MADE}/{name}", *asked]
    assert words(ended.out, "trace") == traced
    assert words(summary.read_text(), "trace") == traced
