"""What is made of a hello: what is wrong with one, and what it names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...cases.console import join_lines
from ...cases.dtypes import FLOAT_TYPES
from ...cases.operators.known import OPERATORS
from ..protocol.header import VERSION
from .conversation import Heard, Lines
from .dump import dumped, is_text
from .message import (
    Message,
    carriage_returns,
    late_flush,
    no_end,
    other_writing,
    printed,
    quoted,
    taken_apart,
    wrong_step,
)
from .silence import silent
from .step import Cause, Step

EXPECTED = (f"grucible {VERSION}", "name my_gru", "operator …", "dtype …", "end")
_BEGIN = f"a hello begins with the line `grucible {VERSION}`"


@dataclass(frozen=True)
class Hello:
    """What a program said of itself: what it is to be asked, and what it names that nobody knows."""

    who: str
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    unknown: tuple[str, ...]


def said_of_itself(lines: Lines) -> Hello:
    """What the lines of a hello name; where they name no operator, or no dtype, every one is asked."""
    told = dict(lines)
    who = join_lines(f"{told.get('name', '')} {told.get('version', '')}").strip()
    operators = [rest for keyword, rest in lines if keyword == "operator"]
    dtypes = [rest for keyword, rest in lines if keyword == "dtype"]
    unknown = [*_unknown("operator", operators, OPERATORS), *_unknown("dtype", dtypes, FLOAT_TYPES)]
    return Hello(
        who,
        tuple(name for name in OPERATORS if not operators or name in operators),
        tuple(name for name in FLOAT_TYPES if not dtypes or name in dtypes),
        tuple(unknown),
    )


def _unknown(keyword: str, named: Sequence[str], known: Iterable[str]) -> list[str]:
    """What is named and not known, each with what may have been meant."""
    found = []
    for name in named:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            meant = f" (did you mean {near[0]}?)" if near else ""
            found.append(f"{keyword} {quoted(name.encode('utf-8', 'backslashreplace'))}{meant}")
    return found


def hello_step(heard: Heard, timeout: float) -> tuple[Step, Hello | None]:
    """The step of a hello, and what it says; nothing where the program cannot be asked."""
    if heard.hello is None:
        wrong = wrong_hello(heard) if heard.data else silent(heard, "hello", timeout)
        return wrong_step("hello", wrong, heard, EXPECTED), None
    if "unusable" in (told := dict(heard.hello)):
        unusable = Cause(f"it says that it cannot be used: {join_lines(told['unusable'])}", "")
        return wrong_step("hello", unusable, heard, EXPECTED), None
    hello = said_of_itself(heard.hello)
    said = (
        f"{hello.who or 'it does not say its name'}; operators: {', '.join(hello.operators) or 'none'}; "
        f"dtypes: {', '.join(hello.dtypes) or 'none'}"
    )
    unknown = _unknown_names(hello)
    if unknown and not (hello.operators and hello.dtypes):
        return wrong_step("hello", unknown, heard, EXPECTED), None
    odd = unknown or _printed_before(taken_apart(heard.data)) or carriage_returns(heard.data)
    seen = dumped(heard.data)
    if odd:
        return Step("hello", "remark", f"{said}; {odd.what}", (), seen, (), odd.remedy), hello
    return Step("hello", "ok", said, (), seen), hello


def _unknown_names(hello: Hello) -> Cause | None:
    if not hello.unknown:
        return None
    return Cause(
        f"unknown: {', '.join(hello.unknown)}",
        f"operators are {', '.join(OPERATORS)}; dtypes are {', '.join(FLOAT_TYPES)}. What is not "
        "named is never asked; without such lines everything is",
    )


def wrong_hello(heard: Heard) -> Cause:
    """What is wrong with a hello of which something came."""
    message = taken_apart(heard.data)
    first = message.lines[0] if message.lines else message.rest
    words = first.split()
    return (
        other_writing(heard.data)
        or _printed_before(message)
        or _no_greeting(first, words)
        or _late(heard)
        or no_end(message)
        or _after(message)
        or Cause(heard.problem or f"its hello is not whole, and it {heard.ended}", _BEGIN)
    )


def _printed_before(message: Message) -> Cause | None:
    for number, line in enumerate(message.lines):
        if line.startswith(b"grucible "):
            before = b"\n".join(message.lines[:number])
            return printed(before, "before its hello") if number else None
    return None


def _no_greeting(first: bytes, words: Sequence[bytes]) -> Cause | None:
    """The cause where the first line is not that of a hello."""
    if words and words[0] in (b"ok", b"error", b"unsupported", b"output"):
        return Cause(
            "it takes the judge's hello for a question",
            f"say hello first, and read the judge's hello up to its `end`; {_BEGIN}",
        )
    if words and words[0].lower().rstrip(b":") == b"grucible":
        version = first.removeprefix(b"grucible ")
        if version != first and version.isdigit():
            return None
        return Cause(f"the version line of its hello is {quoted(first)}", _BEGIN)
    if is_text(first):
        return Cause(
            f"its hello begins with {quoted(first)}",
            f"{_BEGIN}. What it prints for people belongs on standard error",
        )
    return Cause("its hello begins with bytes that are no text", _BEGIN)


def _late(heard: Heard) -> Cause | None:
    if heard.how == "late" and b"end" in heard.afterwards:
        return late_flush("the end of its hello")
    return None


def _after(message: Message) -> Cause | None:
    """The cause where a whole hello is followed by more."""
    if message.rest.startswith((b"ok", b"error", b"unsupported")):
        return Cause(
            "after its hello it answered, though nothing was asked yet",
            "the judge's own first message is a hello, too: read it up to its `end`, and answer none",
        )
    if message.rest and is_text(message.rest):
        return printed(message.rest, "after its hello")
    return (
        Cause("bytes follow its hello", "send nothing before a question") if message.rest else None
    )
