"""What is made of the bytes after a header: too few, too many, or of another kind."""

from __future__ import annotations

import math

from ...cases.question import Question
from .conversation import Heard
from .dump import is_text
from .message import BINARY, Message, late_flush, printed
from .step import Cause

_WRITE = (
    "after `end` write the bytes of each output in the order of the output lines, all of them: number of "
    "elements × bytes of a number"
)
_ANSWERS = (b"ok\n", b"ok\r\n", b"unsupported", b"error")


def wrong_bytes(message: Message, question: Question, heard: Heard) -> Cause | None:
    """What is wrong with the bytes of outputs that were announced as they should be."""
    total = sum(wanted.nbytes for wanted in question.outputs.values())
    count = sum(math.prod(wanted.shape) for wanted in question.outputs.values())
    if message.lines[0] != b"ok":
        return _after(message.rest, b"") if message.rest else None
    came = len(message.rest)
    if came == total:
        return None
    if came > total:
        return _text_mode(message.rest, total) or _after(message.rest[total:], message.rest[:total])
    if heard.how == "late" and came + len(heard.afterwards) >= total:
        return late_flush(f"{total - came} of the {total} bytes")
    few = f"{came} of {total} announced bytes came: {total - came} are missing"
    if came and came == count:
        return Cause(f"{few}. That is one byte for each of the {count} numbers", _WRITE)
    if came and 2 * came == total:
        each = total // count
        return Cause(
            f"{few}. That is half: {each // 2} bytes a number instead of {each}, or every other output",
            _WRITE,
        )
    return Cause(few, _WRITE)


def _text_mode(rest: bytes, total: int) -> Cause | None:
    r"""The cause where each 0x0a of the announced bytes came as 0x0d 0x0a."""
    expanded = rest.count(b"\r\n")
    if not expanded or len(rest) - expanded != total:
        return None
    return Cause(
        f"{len(rest)} bytes came, {total} were announced: standard output is in text mode, and "
        f"{expanded} bytes 0a came as 0d 0a",
        BINARY,
    )


def _after(surplus: bytes, data: bytes) -> Cause:
    if surplus.startswith(_ANSWERS):
        return Cause("it answered twice", "send one answer for each question")
    if surplus in (b"\n", b"\r\n"):
        place = (
            "after `end`, or after the bytes" if data[:1] in (b"\n", b"\r") else "after the bytes"
        )
        return Cause(
            f"a line end too many came {place}",
            "no empty line stands between `end` and the bytes, and nothing after the bytes",
        )
    if is_text(surplus):
        return printed(surplus, "after its answer")
    more = f"{len(surplus)} bytes more came than the {len(data)} announced"
    if data and len(surplus) == len(data):
        return Cause(
            f"{more}: twice as many. Numbers of twice the size, or every output twice?", _WRITE
        )
    return Cause(more, _WRITE)
