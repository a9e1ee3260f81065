"""What a program announces counts, before it ends and whatever it is: no licence, one process, a shape."""

from __future__ import annotations

import sys
from pathlib import Path

from .conftest import Command


def test_what_a_runtime_said_before_it_ended_is_read(tmp_path: Path, command: Command) -> None:
    """However long the judge takes to greet it."""
    code = "print('grucible 1\\nunusable no licence\\nend', flush=True)"
    (tmp_path / "says.py").write_text(f"import os\n{code}\nos.close(0)\n")
    runtime = f"exec: {sys.executable} {tmp_path / 'says.py'}"
    for _ in range(3):
        assert command("check", "--runtime", runtime).said_in_one_line() == "grucible: no licence\n"
