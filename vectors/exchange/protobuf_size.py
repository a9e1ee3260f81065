"""How many fields a protobuf message has, counted before it is parsed.

Parsed, an empty message of 2 bytes takes some 340, and a number of 1 byte takes 8: 30 MB of them took 5 GB.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...cases.question import MOST_CASE_BYTES

MOST_FIELDS = 100_000
"""So many fields may be in a message and those in it: a model of one GRU has some hundred."""
MOST_NUMBERS = MOST_CASE_BYTES // 4
"""So many numbers may be in lists of integers, twice as many as a case has: parsed they take 64 MiB."""
_VARINT, _EIGHT_BYTES, _SIZED, _START, _END, _FOUR_BYTES = range(6)
"""The wire types: what follows a field's number."""
_NO_INTEGERS = (1, 2, 9, 12)
"""Protobuf's numbers of the types double, float, string and bytes."""
_MOST_SHIFT = 63
_CUT_OFF = "is cut off, or is no message of protobuf"


def check_size(raw: bytes, message: Any) -> None:
    """Raise ValueError where a message of this type (a descriptor of protobuf) has more fields or numbers
    than any of ours, or is none."""
    fields = numbers = 0
    waiting = [(0, len(raw), message)]
    while waiting:
        at, end, message = waiting.pop()
        inner, integers = _fields(message)
        while at < end:
            fields += 1
            tag, at = _varint(raw, at, end)
            number, wire = tag >> 3, tag & 7
            if wire == _SIZED:
                size, at = _varint(raw, at, end)
                if at + size > end:
                    raise ValueError(_CUT_OFF)
                if number in inner:
                    waiting.append((at, at + size, inner[number]))
                elif number in integers:
                    numbers += int(
                        np.count_nonzero(np.frombuffer(raw, np.uint8, size, at) < 1 << 7)
                    )
                at += size
            else:
                at = _after(raw, at, end, wire)
            if fields > MOST_FIELDS or numbers > MOST_NUMBERS:
                raise ValueError(
                    f"has more than {MOST_FIELDS:,} fields or {MOST_NUMBERS:,} integers"
                )
        if at > end:
            raise ValueError(_CUT_OFF)


@cache
def _fields(message: Any) -> tuple[dict[int, Any], frozenset[int]]:
    """Of a message's fields: those that are messages, with their types, and those that are integers."""
    known = message.fields_by_number.items()
    inner = {number: field.message_type for number, field in known if field.message_type}
    integers = {
        number for number, field in known if number not in inner and field.type not in _NO_INTEGERS
    }
    return inner, frozenset(integers)


def _after(raw: bytes, at: int, end: int, wire: int) -> int:
    """Where a value of this wire type ends; ValueError where there is none. The
    fields of a group count as fields."""
    if wire == _VARINT:
        return _varint(raw, at, end)[1]
    sizes = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4, _START: 0, _END: 0}
    if wire not in sizes:
        raise ValueError(_CUT_OFF)
    return at + sizes[wire]


def _varint(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that begins at a byte, 7 bits in each, and where it ends."""
    value = 0
    for shift in range(0, _MOST_SHIFT + 1, 7):
        if at >= end:
            break
        byte, at = raw[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 1 << 7:
            return value, at
    raise ValueError(_CUT_OFF)
