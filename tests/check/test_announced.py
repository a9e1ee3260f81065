"""What a program announces counts, before it ends and whatever it is: no licence, one process, a shape."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grucible.vectors.hdf5 import CORE

from .conftest import Command

CELL = CORE / "openvino/gru_cell/core.h5"
FLOAT32 = "openvino.GRUCell-3/core/float32/*"


SHAPES = ["0x999999999999999999x999999999999999999", "0x" + "x".join(["99999999999"] * 7)]
PROGRAM = """\
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def header():
    lines = []
    for line in i:
        line = line.decode().rstrip("\\n")
        if line == "end":
            return lines
        lines.append(line)
    sys.exit(0)
o.write(b"grucible 1\\nname t\\n@HELLO@end\\n"); o.flush()
header()
while True:
    i.read(sum(int(line.split()[-1]) for line in header() if line.startswith("input ")))
    o.write(b"@ANSWER@end\\n"); o.flush()
"""


def program(tmp_path: Path, answer: str, hello: str = "") -> str:
    text = PROGRAM.replace("@HELLO@", hello).replace("@ANSWER@", answer)
    (tmp_path / "program.py").write_text(text)
    return f"exec: {sys.executable} {tmp_path / 'program.py'}"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_no_array_has_is_one_case_s_finding(
    shape: str, tmp_path: Path, command: Command
) -> None:
    runtime = program(tmp_path, f"ok\\noutput Ho float32 {shape} 0\\n")
    select = ["--select", f"{FLOAT32}relu_relu*"]
    ended = command("check", CELL, "--runtime", runtime, *select, "--json")
    assert (ended.status, ended.err) == (1, "")
    messages = [case["message"] for case in ended.report["cases"]]
    assert all("the runtime broke the protocol" in message for message in messages)


@pytest.mark.parametrize(("hello", "most"), [("parallel no\\n", 1), ("parallel yes\\n", 2)])
def test_parallel_no_means_no(hello: str, most: int, tmp_path: Path, command: Command) -> None:
    runtime = program(tmp_path, "unsupported x\\n", hello)
    noted = tmp_path / "pids"
    source = tmp_path / "program.py"
    note = f"import os, time; open({str(noted)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    source.write_text(note + source.read_text())
    command("check", "--runtime", runtime, "--no-diagnose", "--select", "*/core*/float32/*")
    assert len(set(noted.read_text().split())) == most
