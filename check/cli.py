"""`check`, `compare`, `run`, `profile`, `ask`, `audit`, `show`, `trace`, `shrink`, `score` and `runtimes`."""

from __future__ import annotations

from .commands.asking import ask_command, profile_command, run_command, runtimes_command
from .commands.checking import check_command
from .commands.comparing import compare_command
from .commands.one_case import show_command, shrink_command, trace_command
from .commands.scoring import audit_command, score_command

__all__ = [
    "ask_command",
    "audit_command",
    "check_command",
    "compare_command",
    "profile_command",
    "run_command",
    "runtimes_command",
    "score_command",
    "show_command",
    "shrink_command",
    "trace_command",
]
