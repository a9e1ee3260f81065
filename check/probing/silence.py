"""What is made of a program that said nothing, or that ended."""

from __future__ import annotations

from typing import Literal

from .conversation import Heard
from .message import FLUSH, late_flush
from .step import Cause

_LOOP = (
    "answer in a loop, question after question, until standard input ends: read a header, the bytes it "
    "announces, answer, and begin again"
)
_READ = (
    "read just the bytes that the input lines announce, the last number of each; they begin directly "
    "after the line feed of `end`. Read the header through the same buffered reader as the bytes"
)
_FIRST = "say hello as soon as the program starts: the lines that are expected"
_AT_ONCE = "read standard input, and answer as soon as a question and its bytes are read"
LOOK = "see what it wrote to standard error; a debugger shows where it ended"


What = Literal["hello", "answer"]


def silent(heard: Heard, what: What, timeout: float) -> Cause:
    """The cause where not a byte came of `what`, for which `timeout` seconds were given."""
    if heard.how == "closed":
        return _gone(heard, what)
    if heard.afterwards:
        return late_flush(f"not a byte came in {timeout:g} s: its {what}")
    nothing = f"no {what} in {timeout:g} s"
    if heard.left:
        some = "none" if heard.left >= heard.sent else f"not all, {heard.left} less,"
        return Cause(
            f"{nothing}; and {some} of the {heard.sent} bytes sent was read",
            f"{_FIRST if what == 'hello' else _AT_ONCE}; if it is only slow, give it longer with "
            "--timeout",
        )
    if heard.ended and what == "answer":
        return Cause(
            f"{nothing}: it waited for more bytes than the {heard.sent} that were sent, or for the end of "
            f"its input; when that had come it {heard.ended}",
            _READ,
        )
    if heard.ended:
        return Cause(
            f"{nothing}, and nothing when its input had ended: it {heard.ended}",
            f"{_FIRST}. {FLUSH}",
        )
    return Cause(
        f"{nothing}, though it has read all that was sent; with its input ended it ran on",
        "it is still busy, or waits for something else. If it is only slow, give it longer with "
        f"--timeout; if it has answered, {FLUSH}",
    )


def _gone(heard: Heard, what: What) -> Cause:
    if "crashed" in heard.ended:
        return Cause(f"instead of its {what} it {heard.ended}", LOOK)
    if heard.answers and "(exit status 0)" in heard.ended:
        many = "one answer" if heard.answers == 1 else f"{heard.answers} answers"
        return Cause(f"after {many} it {heard.ended}", _LOOP)
    if what == "hello" and "(exit status 0)" in heard.ended:
        return Cause(
            f"it {heard.ended}, without a word of the protocol",
            "is it the right program? It should say hello, and then " + _LOOP,
        )
    if "closed its connection" in heard.ended:
        return Cause(f"instead of its {what} it {heard.ended}", "keep standard output open")
    return Cause(f"instead of its {what} it {heard.ended}", LOOK)
