"""Texts in lines that the terminal shows whole."""

from __future__ import annotations

import re
import shutil
import textwrap

from ...cases.console import escape

_LINE_ENDS = re.compile(r"[\t\r\n]")
USUAL, NARROWEST, WIDEST = 80, 40, 160
"""Columns: where there is no terminal, and within which the terminal's are used."""


def width() -> int:
    """How many columns a line may have: those of the terminal, or of COLUMNS, where that is set."""
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((USUAL, 24)).columns))


def wrapped(text: str, indent: int, more: int | None = None, *, cut: bool = True) -> list[str]:
    """Lines of at most `width`, the first indented by `indent`, the others by `more`.

    Without `cut` no word is cut, be it longer: a path stays whole. What a terminal would obey is written out.
    """
    rest = indent if more is None else more
    shown = escape(_LINE_ENDS.sub(" ", text))
    return textwrap.wrap(
        shown, width(), initial_indent=" " * indent, subsequent_indent=" " * rest,
        drop_whitespace=True, break_long_words=cut, break_on_hyphens=cut,
    )  # fmt: skip


def head_and_tail(text: str, length: int) -> str:
    """A text in one line: of a long one its head, and its tail, where errors have their cause."""
    head = (length - 3) // 3
    return text if len(text) <= length else f"{text[:head]} … {text[3 + head - length :]}"


def clipped(text: str, length: int) -> str:
    """A text in one line: of a long one its head."""
    return text if len(text) <= length else text[: length - 1] + "…"


def of_case(case_id: str, indent: int) -> str:
    """The id of a case in a line of its own: shortened in the middle where the line is too short."""
    return " " * indent + head_and_tail(case_id, width() - indent)
