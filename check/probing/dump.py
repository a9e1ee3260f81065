"""Bytes for a person to read: lines of text as text, all else as rows of hexadecimal, with offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator

HEAD, TAIL = 7, 3
"""So many rows are shown of the beginning and of the end of what has more, unless said otherwise."""
MOST_CHARACTERS = 64
"""So much of a line of text is shown."""
ROW = 16

_TEXT = re.compile(rb"[\t\x20-\x7e]{2,}\r?\n|[\t\x20-\x7e]{5,}\Z")
"""Text in the midst of other bytes: a line of it, or what is left."""


def dumped(data: bytes, head: int = HEAD, tail: int = TAIL, at: int = 0) -> tuple[str, ...]:
    """The rows of some bytes, each with its offset, from `at` on; of many those at both ends."""
    rows = list(_rows(data, at))
    if len(rows) <= head + tail + 1:
        return tuple(rows)
    hidden = f"{'…':>6}  {len(rows) - head - tail} rows are not shown"
    return (*rows[:head], hidden, *rows[-tail:])


def differing(before: bytes, now: bytes) -> tuple[str, ...]:
    """The rows of two messages where they first differ."""
    pairs = zip(before, now, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))
    at = same - same % ROW
    rows = [dumped(data[at : at + 2 * ROW], at=at) or ("nothing",) for data in (before, now)]
    return ("before:", *rows[0], "now:", *rows[1])


def line_of_text(data: bytes, most: int = MOST_CHARACTERS) -> str:
    r"""Some bytes as one line of text, shortened, with \n, \x1b and the like written out."""
    text = data[: 4 * most].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= most else f"{text[:most]} …"


def is_text(data: bytes) -> bool:
    """Whether some bytes are text, as a program prints it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\t\r\n\x1b" for c in text)


def _rows(data: bytes, offset: int) -> Iterator[str]:
    at = 0
    while at < len(data):
        stop = data.find(b"\n", at) + 1 or len(data)
        if is_text(data[at:stop]):
            yield f"{offset + at:6}  {line_of_text(data[at:stop])}"
        else:
            text = _TEXT.search(data, at + 1)
            stop = text.start() if text else len(data)
            for start in range(at, stop, ROW):
                yield f"{offset + start:6}  {_hexadecimal(data[start : min(start + ROW, stop)])}"
        at = stop


def _hexadecimal(row: bytes) -> str:
    shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
    return f"{row.hex(' '):{3 * ROW}} {shown}"
