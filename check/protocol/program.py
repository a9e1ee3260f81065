"""What a program says, however it is asked: who it is, and its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from ...cases.console import MOST_MESSAGE, join_lines, shorten
from ...cases.question import Question
from ..runtimes.runtime import last_frames
from .header import SPARE_BYTES, Announced, ProtocolError, announced, check_hello, parsed

_Said = Literal["ok", "unsupported", "error"]
_MOST_NAMED, _MOST_NAME = 5, 60
"""Of what a hello names so many are said, each in so many characters; grucible knows fewer."""
_SAID: dict[str, _Said] = {"ok": "ok", "unsupported": "unsupported", "error": "error"}


@dataclass(frozen=True)
class Hello:
    """What a program says of itself: `name` and `version` are "" where it does not say them.

    `operators` and `dtypes` are what it answers; everything where there are none. With `prepares` it wants to
    see questions before they are asked. `unusable` says why it cannot be asked, "" where it can.
    """

    name: str = ""
    version: str = ""
    parallel: bool = False
    prepares: bool = False
    operators: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    unusable: str = ""

    def differs(self, other: Hello) -> str:
        """What another process of the same program says else of what it is and answers; "" where nothing."""
        told = (
            ("name", frozenset({other.name} - {""}), frozenset({self.name} - {""})),
            ("operators", other.operators, self.operators),
            ("dtypes", other.dtypes, self.dtypes),
        )
        return "; ".join(
            f"{what} {_difference(now, before)}" for what, now, before in told if now != before
        )

    def refuses(self, question: Question) -> str:
        """Why the program need not be asked; "" if it must."""
        if self.operators and question.operator not in self.operators:
            return f"no {question.operator}: its hello names {_named(self.operators)}"
        if self.dtypes and question.dtype not in self.dtypes:
            return f"no {question.dtype}: its hello names {_named(self.dtypes)}"
        return ""


class Greeted:
    """The hello of a runtime's first process, which the hellos of its others are held against."""

    def __init__(self) -> None:
        self._first: Hello | None = None

    def differs(self, hello: Hello) -> str:
        """How a hello differs from the first one; "" where it does not, or is the first."""
        self._first = self._first or hello
        return self._first.differs(hello)


@lru_cache(maxsize=16)
def _named(names: frozenset[str]) -> str:
    """The first of what a hello names, and how many more there are."""
    first = [join_lines(name) for name in sorted(names)[:_MOST_NAMED]]
    told = [name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}…" for name in first]
    more = len(names) - len(told)
    return ", ".join(told) + (f", and {more} more" if more else "")


def _difference(now: frozenset[str], before: frozenset[str]) -> str:
    """How what is named differs from what was; where that is shown alike, one name that makes it another."""
    shown, first = _named(now) or "not said", _named(before) or "not said"
    if shown != first:
        return f"{shown}, and before {first}"
    name = min(now ^ before)
    half = _MOST_NAME // 2
    part = name if len(name) <= _MOST_NAME else f"{name[:half]}…{name[-half:]}"
    return f"{shown}, {'now' if name in now else 'before'} alone {part!r}"


def hello_of(lines: Sequence[str]) -> Hello:
    """The hello of a header's lines; ProtocolError where it is none."""
    told = parsed(lines)
    last = dict(told)
    if "unusable" in last:
        return Hello(unusable=last["unusable"])
    check_hello(told)
    return Hello(
        name=join_lines(last.get("name", "")),
        version=join_lines(last.get("version", "")),
        parallel=last.get("parallel") == "yes",
        prepares=last.get("prepares") == "yes",
        operators=frozenset(rest for keyword, rest in told if keyword == "operator"),
        dtypes=frozenset(rest for keyword, rest in told if keyword == "dtype"),
    )


class AnswerHead(NamedTuple):
    """The header of an answer: why there are no outputs, or which ones follow."""

    status: _Said
    message: str
    outputs: list[Announced]
    malformed: bool = False
    traceback: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """How many bytes follow."""
        return sum(one.bytes for one in self.outputs)


class OtherQuestion(ProtocolError):
    """An answer says that it is to another question than the one that was asked."""


def answer_head(lines: Sequence[str], question: Question) -> AnswerHead:
    """The header of an answer to `question`. Raises OtherQuestion where it names another, and ProtocolError
    where it is no answer, or announces an output twice or far too many bytes."""
    keyword, _, message = lines[0].partition(" ") if lines else ("", "", "")
    if keyword not in _SAID:
        said = lines[0][:80] if lines else ""
        raise ProtocolError(f"it said {said!r}; expected ok, unsupported or error")
    told = parsed(lines[1:])
    for word in (word for word, _ in told if word in _SAID):
        raise ProtocolError(f"it said {keyword} and {word} to one question; expected one of them")
    for other in (rest for word, rest in told if word == "question" and rest != question.id):
        raise OtherQuestion(f"it answered {other[:200]!r}; the question is {question.id!r}")
    if keyword != "ok":
        frames = last_frames(rest for word, rest in told if word == "traceback")
        malformed = ("fault", "malformed") in told
        return AnswerHead(_SAID[keyword], shorten(message, MOST_MESSAGE), [], malformed, frames)
    return AnswerHead("ok", "", _outputs([r for word, r in told if word == "output"], question))


def _outputs(lines: Sequence[str], question: Question) -> list[Announced]:
    found = [announced(rest) for rest in lines]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise ProtocolError(f"it announced an output twice: {', '.join(names)}")
    wanted = sum(one.nbytes for one in question.outputs.values())
    if sum(one.bytes for one in found) > wanted + SPARE_BYTES:
        raise ProtocolError(
            f"it announced {sum(one.bytes for one in found)} bytes; expected {wanted}"
        )
    return found
