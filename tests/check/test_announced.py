"""What a program announces counts: that it must not run beside itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Command

PROGRAM = """\
import os, sys
open("@PIDS@", "a").write(f"{os.getpid()}\\n")
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
    o.write(b"unsupported x\\nend\\n"); o.flush()
"""


@pytest.mark.parametrize(("hello", "most"), [("parallel no\\n", 1), ("parallel yes\\n", 2)])
def test_parallel_no_means_no(hello: str, most: int, tmp_path: Path, command: Command) -> None:
    file, pids = tmp_path / "program.py", tmp_path / "pids"
    file.write_text(PROGRAM.replace("@HELLO@", hello).replace("@PIDS@", str(pids)))
    runtime = f"exec: {sys.executable} {file}"
    command("check", "--runtime", runtime, "--no-diagnose", "--select", "*/core*/float32/*")
    assert len(set(pids.read_text().split())) == most
