"""What is printed: lines in which nothing can move the cursor, and that no closed pipe or terminal breaks."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import unicodedata
from typing import TextIO

import click

from .no_command import no_command

_MOVING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of Unicode that a terminal obeys or draws nothing for: controls and escape sequences, marks
that turn the direction of writing, halves of surrogates, separators of lines and paragraphs."""


SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable of a run of GitHub Actions that names the job summary."""
_ON_GITHUB = (SUMMARY, "GITHUB_ACTIONS")
"""Where one of these variables is set, what is printed is read for workflow commands."""


def escaped(text: str) -> str:
    r"""`text` with every character that a terminal would obey written out, such as \x1b or \u202e."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in _MOVING
        else character
        for character in text
    )


def say(line: str = "", *, err: bool = False) -> None:
    """Print a line, escaped, to standard output or, with `err`, to standard error. In a run of GitHub Actions
    it is no workflow command."""
    shown = escaped(line)
    guarded = any(map(os.environ.get, _ON_GITHUB))
    put(f"{no_command(shown) if guarded else shown}\n", err=err)


def put(text: str, *, err: bool = False) -> None:
    """Print a text that a program reads, as it is. Where nobody reads any more, nothing is printed.

    Raises OSError where standard output cannot be written, on a full disk for one; for standard error
    nobody could be told.
    """
    try:
        click.echo(text, nl=False, err=err)
    except OSError as error:
        stream = sys.stderr if err else sys.stdout
        if not (err or _has_gone(stream, error)):
            raise OSError(error.errno, error.strerror, "standard output") from None
        nobody_reads(stream)


def _has_gone(stream: TextIO, error: OSError) -> bool:
    """Whether an error of writing says that the other end of a pipe or of a terminal is closed."""
    if error.errno != errno.EIO:  # which a disk gives, too
        return isinstance(error, BrokenPipeError)
    return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)


def nobody_reads(stream: TextIO) -> None:
    """Let what is written to a standard stream from now on, and what it still holds, go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def stand_in() -> None:
    """Let the three standard streams be there, and print whatever they cannot encode in another way.

    A stream that is closed is the null device: otherwise the next file that is opened takes its number,
    and what a library writes to standard error goes into that file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the least number that is free
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
