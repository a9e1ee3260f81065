"""A case of somebody else's: a question, and what they expect of whoever answers it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ...cases.dtypes import Arrays
from ...cases.operators.signature import Operator
from ...cases.question import Question

_MOST_NAME = 160


class NotAsked(Exception):
    """A foreign case is none that any operator here can ask; the message is the reason."""


@dataclass(frozen=True)
class ForeignCase:
    """A case that can be read. `id` is `<operator>/<theme>/<dtype>/<name>`, `expected` the outputs that its
    owner expects, by name; empty where there are none. `nonportable` is set where the owner says so."""

    id: str
    question: Callable[[], Question]
    expected: Callable[[], Arrays]
    nonportable: bool = False


def case_id(operator: Operator, theme: str, dtype: str, name: str) -> str:
    """The id of a foreign case called `name`, in printable words without spaces."""
    return f"{operator.name}/{word(theme)}/{dtype}/{word(name)}"


def word(text: str) -> str:
    """A name as a part of an id: letters, digits, `.`, `_`, `-`, `+`, `=`; at most so many characters."""
    return re.sub(r"[^A-Za-z0-9._+=]+", "-", text).strip(".-")[:_MOST_NAME] or "unnamed"


def each_once(cases: Iterable[ForeignCase]) -> list[ForeignCase]:
    """The cases, a number added to the name of one whose id is there before."""
    found: dict[str, ForeignCase] = {}
    again: Counter[str] = Counter()
    for case in cases:
        at = case.id
        while at in found:
            again[case.id] += 1
            at = f"{case.id}-{again[case.id] + 1}"
        found[at] = case if at == case.id else _renamed(case, at)
    return list(found.values())


def _renamed(case: ForeignCase, new: str) -> ForeignCase:
    return replace(case, id=new, question=lambda: replace(case.question(), id=new))
