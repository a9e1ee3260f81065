"""How far a verdict reaches: how much of each operator a runtime supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .judging.case_result import CaseResult


@dataclass(frozen=True)
class Reach:
    """Of the deciding cases of an operator, how many there are and how many the runtime supports.

    A case is supported if the runtime answered it, rightly or not, or gave an error; what it declared
    unsupported is not, and of what is missing nobody knows.
    """

    operator: str
    supported: int
    cases: int


def reach(results: Iterable[CaseResult]) -> list[Reach]:
    """The reach in each operator, in the order in which the results name them."""
    cases: Counter[str] = Counter()
    supported: Counter[str] = Counter()
    for result in results:
        if result.decides:
            cases[result.operator] += 1
            supported[result.operator] += result.verdict not in ("unsupported", "missing")
    return [Reach(operator, supported[operator], count) for operator, count in cases.items()]


def in_words(reaches: Iterable[Reach]) -> Iterator[str]:
    """The sentences that say which operators are supported: wholly, partly, not at all."""
    found = list(reaches)
    whole = [one.operator for one in found if one.supported == one.cases]
    partly = [
        f"{one.operator} ({one.supported} of {one.cases})"
        for one in found
        if 0 < one.supported < one.cases
    ]
    none = [one.operator for one in found if not one.supported]
    for word, operators in (("supported", whole), ("in part", partly), ("not supported", none)):
        if operators:
            yield f"{word}: {', '.join(operators)}"
