"""An error that nobody foresaw, in words: lack of memory, the system's refusal, or one of grucible's own."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

from .memory import NO_MEMORY, lacks_memory
from .others_words import error_sentence

_ROOT = Path(__file__).parents[2]
OWN_ERROR = 70
"""The exit status of an error of grucible's own; EX_SOFTWARE of sysexits.h."""


def uncaught(error: Exception) -> tuple[str, int]:
    """What is said of an exception that ends the command, and the exit status."""
    if lacks_memory(error):
        return NO_MEMORY, 2
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}{where_nothing_is()}", 2
    return f"an error of its own, and no verdict: {own_error(error)}", OWN_ERROR


def where_nothing_is() -> str:
    """What to add to an error where the current directory is gone, with all that is relative to it."""
    try:
        Path.cwd()
    except OSError:
        return "; the current directory is gone: change to another"
    return ""


def own_error(error: Exception) -> str:
    """What an unforeseen exception says, and how to report it; that memory ran out is nothing to report. With
    GRUCIBLE_TRACEBACK=1 its traceback is printed, to standard error."""
    from ... import __version__

    if os.environ.get("GRUCIBLE_TRACEBACK") == "1":
        traceback.print_exception(error)
    if lacks_memory(error):
        return NO_MEMORY
    return (
        f"{error_sentence(error)} (at {_place(error)}). Please report it in grucible's issue tracker, with "
        f"the whole command and version {__version__}; GRUCIBLE_TRACEBACK=1 shows more"
    )


def _place(error: Exception) -> str:
    """The innermost file and line of grucible on an error's way; of a worker's error, the worker's."""
    cause = error.__cause__
    remote = type(cause).__name__ == "_RemoteTraceback"
    text = str(cause) if remote else "".join(traceback.format_tb(error.__traceback__))
    found = re.findall(rf'File "{re.escape(str(_ROOT))}/(.+?)", line (\d+)', text)
    return ":".join(found[-1]) if found else "no line of grucible"
