"""A progress bar with rate and time left, on stderr where that is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of cases just done; silent where stderr is no terminal."""
    if not total or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total, rate="")

        def advance(count: int) -> None:
            progress.advance(task, count)
            speed = progress.tasks[0].speed
            progress.update(task, rate=f"{speed:.0f} cases/s" if speed else "")

        yield advance
