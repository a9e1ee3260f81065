"""Texts as people read them: lines of the terminal's width, groups of like messages, arrays, Markdown."""

from __future__ import annotations

import html
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from ...cases.console import escape, escape_commands
from ...cases.dtypes import Array, dtype_name

NARROWEST, WIDEST = 40, 160
"""The least and the most columns that are used of a terminal."""
SHOWN = 10
"""Maximum items of a list in a report, or one more: no less room names it than counts it."""
MOST_WHOLE = 1 << 20
"""Maximum numbers of an array that is printed whole; the text of more is some 10 MB."""
ALONE = "; if check failed it, it demanded more, or the answer depends on what was asked before"
"""What it means that a case passes when it is asked alone."""
_LINE_ENDS = re.compile(r"[\t\r\n]")
_SPECIAL = re.compile(r"([\\`*{}\[\]#|!~>]|(?<![^\W_])_|_(?![^\W_]))")
"""Characters that Markdown does not show as they are; it shows an underscore between two letters."""
_PARTS = re.compile(r"[^\s`|]+|[\s`|]+")
_LINKED = re.compile(r"://|www\.|@|#\d|GH-\d", re.IGNORECASE)
"""The parts of a word from which GitHub makes a link, or a message to somebody."""

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


def width() -> int:
    """Return the columns of a line: those of the terminal, or COLUMNS; elsewhere there is no limit."""
    columns = shutil.get_terminal_size((0, 24)).columns
    return min(WIDEST, max(NARROWEST, columns)) if columns else sys.maxsize


def wrap(text: str, indent: int, more: int | None = None) -> list[str]:
    """Return lines of at most `width`, the first indented by `indent`, the others by `more`.

    No word is cut, such as an id or a path. Control characters are written out.
    """
    rest = indent if more is None else more
    return textwrap.wrap(
        escape(_LINE_ENDS.sub(" ", text)), width(), initial_indent=" " * indent,
        subsequent_indent=" " * rest, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def fit(text: str, columns: int) -> str:
    """Return a text in these columns; a longer text keeps its head and its tail, which has the cause."""
    head = (columns - 3) // 3
    return text if len(text) <= columns else f"{text[:head]} … {text[3 + head - columns :]}"


def list_some(groups: Sequence[Iterable[str]], what: str, *, indent: int = 2) -> Iterator[str]:
    """Yield the lines of the first SHOWN groups, and how many more there are of what they are."""
    shown = SHOWN if len(groups) > SHOWN + 1 else len(groups)
    for lines in groups[:shown]:
        yield from lines
    if len(groups) > shown:
        yield f"{' ' * indent}… and {len(groups) - shown} more {what}"


def group(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items by key; keys are in the order of their first items."""
    found: dict[_Key, list[_Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def plural(count: int, word: str) -> str:
    """Return a count with its noun: `1 case`, `2 cases`."""
    return f"{count} {word}{'s' * (count != 1)}"


def array_lines(array: Array, columns: int, *, whole: bool) -> list[str]:
    """Return an array in lines, in the fewest digits that tell a number from its neighbours.

    Of many numbers, only the first and the last are shown, unless `whole`.
    """
    if dtype_name(array.dtype) == "bfloat16":
        array = array.astype(np.float32)
    threshold = MOST_WHOLE if whole else 24
    text = np.array2string(
        array, max_line_width=columns, floatmode="unique", threshold=threshold, edgeitems=2
    )
    return [line for line in text.splitlines() if line.strip()]


def as_block(text: str) -> str:
    """Return escaped lines as a Markdown block of code, between more backticks than any row inside."""
    fence = "`" * max([3, *(1 + len(found) for found in re.findall("`+", text))])
    return f"{fence}text\n{escape_commands(text)}\n{fence}"


def as_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, even in a table. Words that would be links are code."""

    def show(part: re.Match[str]) -> str:
        if _LINKED.search(part[0]):
            return f"`{escape_commands(part[0])}`"
        return _SPECIAL.sub(r"\\\1", html.escape(part[0], quote=False))

    return _PARTS.sub(show, escape(text))


def page_head(title: str, about: str, command: str) -> Iterator[str]:
    """Yield the head of a page in Markdown: its title, what it is about, and the command that made it."""
    made = escape_commands(escape(command))
    yield from [title, "", *about.splitlines(), "", "This page was made by", "", f"    {made}", ""]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table in Markdown; the cells are Markdown already."""
    for row in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(row)} |"
