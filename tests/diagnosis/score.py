"""Scoring what the judge says of a wrong GRU: right, in part, silent or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from .said import Said
from .told import Sentence, Told

Mark = Literal["right", "in part", "silent", "wrong"]
MARKS: tuple[Mark, ...] = ("right", "in part", "silent", "wrong")


def mark(told: Told, said: Said) -> Mark:
    """How good what was told is.

    Wrong: what a sentence says with certainty is not true, nor what it says may be as well. Right: every mistake is
    named, with certainty; where it sits in some place, the place may be named instead, as what is known of
    failures that nothing explains. In part: some mistakes of several are named, or only perhaps. Silent: none.
    """
    true = (*said.mistakes, *said.also)
    certain = [one for one in told.sentences if one.certain]
    if not all(_true(one, true) for one in certain):
        return "wrong"
    texts = [text for one in certain for text in _all_parts(one)]
    texts += [hint for hint in told.hints if hint.startswith("asked again")]
    named = [_any((mistake,), texts) for mistake in said.mistakes]
    if all(named) or (said.place and _any((said.place,), (*texts, *told.hints))):
        return "right"
    maybe = [text for one in told.sentences for text in _all_parts(one)] + list(told.hints)
    return "in part" if any(named) or _any(said.mistakes, maybe) else "silent"


def _all_parts(sentence: Sentence) -> list[str]:
    return [part for parts in (sentence.parts, *sentence.other_parts) for part in parts]


def _true(sentence: Sentence, true: Sequence[str]) -> bool:
    """Whether each of the mistakes that a sentence names is one, or each of those of what may be as well."""
    return any(
        all(_any(true, (part,)) for part in parts)
        for parts in (sentence.parts, *sentence.other_parts)
    )


def _any(patterns: Iterable[str], texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns for text in texts)
