"""Texts in lines that a terminal of 80 columns shows whole."""

from __future__ import annotations

import textwrap

WIDTH = 80


def wrapped(text: str, indent: int, more: int | None = None, *, cut: bool = True) -> list[str]:
    """Lines of at most WIDTH, the first indented by `indent`, the others by `more`.

    Without `cut` no word is cut, be it longer: a path stays whole.
    """
    rest = indent if more is None else more
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * rest,
        drop_whitespace=True, break_long_words=cut, break_on_hyphens=cut,
    )  # fmt: skip


def head_and_tail(text: str, width: int) -> str:
    """A text in one line: of a long one its head, and its tail, where errors have their cause."""
    head = (width - 3) // 3
    return text if len(text) <= width else f"{text[:head]} … {text[3 + head - width :]}"


def clipped(text: str, width: int) -> str:
    """A text in one line: of a long one its head."""
    return text if len(text) <= width else text[: width - 1] + "…"
