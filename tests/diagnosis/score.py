"""Scoring what the judge says of a wrong GRU: right, in part, silent or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .told import Told

Mark = Literal["right", "in part", "silent", "wrong"]
MARKS: tuple[Mark, ...] = ("right", "in part", "silent", "wrong")


@dataclass(frozen=True)
class Said:
    """What a right diagnosis says: a regular expression for each mistake, whatever its words for it, one for
    the `place` where it sits if it is not everywhere, and those of sentences that are true besides."""

    mistakes: tuple[str, ...]
    place: str = ""
    also: tuple[str, ...] = ()


def mark(told: Told, said: Said) -> Mark:
    """How good what was told is.

    Wrong: a sentence that is said with certainty is none of those that are true. Right: every mistake is
    named, with certainty; where it sits in some place, the place may be named instead, as what is known of
    failures that nothing explains. In part: some mistakes of several are named, or only perhaps. Silent: none.
    """
    certain = [one for one in told.sentences if one.certain]
    true = (*said.mistakes, *said.also)
    if any(not _any(true, (one.text, *one.others)) for one in certain):
        return "wrong"
    texts = [text for one in certain for text in (one.text, *one.others)]
    named = [_any((mistake,), texts) for mistake in said.mistakes]
    if all(named) or (said.place and _any((said.place,), (*texts, *told.hints))):
        return "right"
    maybe = [text for one in told.sentences for text in (one.text, *one.others)] + list(told.hints)
    some = any(named) or _any(said.mistakes, maybe)
    return "in part" if some else "silent"


def _any(patterns: Iterable[str], texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns for text in texts)
