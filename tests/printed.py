"""What commands print, as tests read it."""

from __future__ import annotations

from itertools import takewhile


def sentence_of(text: str) -> str:
    """The sentence that a report begins with, in one line: what goes on is indented by four."""
    first, *others = text.splitlines()
    more = takewhile(lambda line: line.startswith("    "), others)
    return " ".join([first, *(line.strip() for line in more)])
