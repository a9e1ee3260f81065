"""Scoring what the judge says of a wrong GRU: right, in part, silent or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from .said import Said
from .told import Sentence, Told

Mark = Literal["right", "in part", "silent", "wrong"]
MARKS: tuple[Mark, ...] = ("right", "in part", "silent", "wrong")


def mark(told: Told, said: Said) -> Mark:
    """How good what was told is.

    Wrong: a sentence that is said with certainty is none of those that are true. Right: every mistake is
    named, with certainty; where it sits in some place, the place may be named instead, as what is known of
    failures that nothing explains. In part: some mistakes of several are named, or only perhaps. Silent: none.
    """
    true = (*said.mistakes, *said.also)
    certain = [one for one in told.sentences if one.certain]
    if not all(_true(one, true) for one in certain):
        return "wrong"
    texts = [text for one in certain for text in (*one.parts, *one.others)]
    texts += [hint for hint in told.hints if hint.startswith("asked again")]
    named = [_any((mistake,), texts) for mistake in said.mistakes]
    if all(named) or (said.place and _any((said.place,), (*texts, *told.hints))):
        return "right"
    maybe = [text for one in told.sentences for text in (*one.parts, *one.others)] + list(
        told.hints
    )
    return "in part" if any(named) or _any(said.mistakes, maybe) else "silent"


def _true(sentence: Sentence, true: Iterable[str]) -> bool:
    """Whether each of the mistakes that a sentence names is one, or another is named that may be as well."""
    return all(_any(true, (part,)) for part in sentence.parts) or _any(true, sentence.others)


def _any(patterns: Iterable[str], texts: Iterable[str]) -> bool:
    texts = list(texts)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns for text in texts)
