"""The commands of this room: what they take, and what they print."""

from .asking import ask_command, profile_command, run_command, runtimes_command
from .checking import check_command
from .one_case import show_command, shrink_command, trace_command
from .scoring import audit_command, compare_command, score_command

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
