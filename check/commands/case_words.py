"""The arguments `[VECTORS] CASE` of commands about one case."""

from __future__ import annotations

from pathlib import Path

import click

CASE_WORDS = click.argument("words", metavar="[VECTORS] CASE", nargs=-1, required=True)


def vectors_and_case(words: tuple[str, ...]) -> tuple[Path | None, str]:
    """The vectors, None for the core ones, and the id or glob of the case.

    Raises click.UsageError for more words, and for an empty one.
    """
    if len(words) > 2:
        raise click.UsageError(f"unexpected {words[2]!r} after CASE")
    if not all(words):
        raise click.UsageError("an empty text is no case and no path; was a variable not set?")
    *before, case = words
    if before and Path(case).exists() and not Path(before[0]).exists():
        before, case = [case], before[0]  # the other way round, which can only mean this
    return (Path(before[0]) if before else None), case
