"""Patterns of sequence lengths: from a word to one length per row."""

from __future__ import annotations

import functools
from collections.abc import Callable

PATTERNS: dict[str, str] = {
    "full": "every row as long as the sequence",
    "ones": "every row of length 1",
    "ragged": "rows of different lengths, all shorter than the sequence",
    "longest-first": "row 0 as long as the sequence, the others shorter",
    "longest-middle": "the middle row as long as the sequence, the others shorter",
    "longest-last": "the last row as long as the sequence, the others shorter",
    "with-zero": "every other row of length 0, from the first on",
    "zero-first": "row 0 of length 0, the others as long as the sequence",
    "zero-middle": "the middle row of length 0, the others as long as the sequence",
    "zero-last": "the last row of length 0, the others of different lengths, shorter than the sequence",
    "all-zero": "every row of length 0",
}


@functools.cache
def lengths(pattern: str, batch: int, time: int) -> tuple[int, ...]:
    """The length of each of `batch` rows, each in 0 … `time`, by a pattern of PATTERNS."""
    shorter = max(time - 1, 1)
    ragged = [shorter - (2 * row) % shorter for row in range(batch)]
    rows: dict[str, Callable[[], list[int]]] = {
        "full": lambda: [time] * batch,
        "ones": lambda: [1] * batch,
        "ragged": lambda: ragged,
        "longest-first": lambda: [time, *ragged[1:]],
        "longest-middle": lambda: [*ragged[: batch // 2], time, *ragged[batch // 2 + 1 :]],
        "longest-last": lambda: [*ragged[:-1], time],
        "with-zero": lambda: [0 if row % 2 == 0 else ragged[row] for row in range(batch)],
        "zero-first": lambda: [0 if row == 0 else time for row in range(batch)],
        "zero-middle": lambda: [0 if row == batch // 2 else time for row in range(batch)],
        "zero-last": lambda: [*ragged[:-1], 0],
        "all-zero": lambda: [0] * batch,
    }
    return tuple(rows[pattern]())
