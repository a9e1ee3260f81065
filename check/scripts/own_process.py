"""In scripts that call a function: the call is made in a process of its own, for the function may end it.

That process writes its verdict to a file, whose name it has in its environment, when it ends, after all that
the function left to be done then. So no exit status is taken for a verdict, and one alone is printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def asked_apart(mark: str, seconds: float) -> Any:
    """The exit status, after the verdict of this script was printed: it is run once more, with a file for the
    verdict as `mark` in its environment, and is to end within so many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "verdict")
        command = [sys.executable, *sys.orig_argv[1:]]
        environment = {**os.environ, mark: str(file)}
        try:
            ended = subprocess.run(command, env=environment, timeout=seconds, check=False)
            what = f"ended (exit status {ended.returncode}) before there was a verdict"
        except subprocess.TimeoutExpired:
            what = f"did not end in {seconds:g} s, and was stopped; does a thread go on?"
        try:
            said, status = json.loads(file.read_text("ascii"))
        except (OSError, ValueError):
            said, status = f"refused: the process {what}", 1
    print(said)
    return status


def hand_over(place: str, found: Sequence[object], process: int) -> None:
    """Write what was found by this process, and not by one that it forked."""
    if os.getpid() == process:
        Path(place).write_text(json.dumps(found), "ascii")
