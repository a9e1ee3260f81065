"""A progress bar over cases, with their rate and the time left, on stderr where that is a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .terminal import nobody_reads, put, say

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


class Progress:
    """How far a command is, drawn as a bar; without one, nothing is drawn."""

    def __init__(self, bar: ProgressBar[int] | None = None, what: str = "") -> None:
        self._bar, self._what = bar, what
        self._done, self._start = 0, time.monotonic()

    def advance(self, cases: int) -> None:
        """So many cases more are done."""
        self._done += cases
        if self._bar:
            rate = self._done / max(time.monotonic() - self._start, 1e-3)
            self._bar.label = f"{self._what}, {rate:.3g} cases/s"
            with _drawn():
                self._bar.update(cases)

    def say(self, line: str) -> None:
        """Print a line to standard output; the bar goes on below it."""
        if self._bar:
            put("\r\033[K", err=True)
        say(line)


@contextlib.contextmanager
def progress_over(what: str, cases: int) -> Iterator[Progress]:
    """The progress of doing `what` to so many cases; silent where stderr is no terminal."""
    if not cases or not sys.stderr.isatty():
        yield Progress()
        return
    bar = click.progressbar(length=cases, label=what, show_pos=True, file=sys.stderr)
    with _drawn():
        bar.render_progress()
    try:
        yield Progress(bar, what)
    finally:
        with _drawn():
            bar.render_finish()


@contextlib.contextmanager
def _drawn() -> Iterator[None]:
    """What a terminal does not take, one that has gone away for instance, is drawn for nobody."""
    try:
        yield
    except OSError:
        nobody_reads(sys.stderr)
