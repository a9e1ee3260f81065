"""An error of grucible's own, in words: what, where, and how to report it."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

from .others_words import error_sentence

_ROOT = Path(__file__).parents[2]


def own_error(error: Exception) -> str:
    """What an unforeseen exception says, and how to report it. With GRUCIBLE_TRACEBACK=1 its traceback is
    printed, to standard error."""
    from ... import __version__

    if os.environ.get("GRUCIBLE_TRACEBACK") == "1":
        traceback.print_exception(error)
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
