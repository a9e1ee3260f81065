"""`grucible check`, `run`, `show`, `score` and `runtimes`."""

from __future__ import annotations

from .commands.checking import check_command
from .commands.running import run_command
from .commands.showing import runtimes_command, score_command, show_command

__all__ = ["check_command", "run_command", "runtimes_command", "score_command", "show_command"]
