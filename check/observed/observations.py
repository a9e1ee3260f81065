"""Asks a source the selected cases of a set of vectors, and finds where each vector file comes from.

The digests of a file prove that it is undamaged, not that its answers are right. Anyone can change answers
and tolerances and compute new digests. Only the digests of published files are known in advance.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from ...cases.dtypes import Array
from ...cases.errors import GrucibleError
from ...cases.process import end_if_interrupted
from ...cases.question import Question
from ...vectors.block import Block
from ...vectors.digest import GENERATOR, published_pairs
from ...vectors.reader import VectorFile
from ...vectors.vector_set import Rows, VectorSet
from ..protocol.header import Reply
from .source import Observed, Source, stack_replies

Origin = Literal["published", "this version", "unknown"]
ORIGINS: dict[Origin, str] = {
    "published": "published",
    "this version": "apparently made by this version",
    "unknown": "of unknown origin",
}
"""Each origin in words that follow a number of files: `2 published`."""


class Slice(NamedTuple):
    """Selected cases of a block: `rows` (n,) are their places in `stored`, and `block` has copies of them.

    `observed` is what the source replied to them.
    """

    file: VectorFile
    stored: Block
    rows: Array
    block: Block
    observed: Observed


def observe(
    vectors: VectorSet, source: Source, advance: Callable[[int], None] = lambda _: None
) -> Iterator[Slice]:
    """Yield the selected cases in slices of blocks, with what was observed.

    `advance(n)` is called when n more cases are answered. Every file is verified against its digests first.
    """
    waiting: deque[Rows] = deque()
    damage: list[GrucibleError] = []

    def questions() -> Iterator[Question]:
        try:
            for rows in vectors.slices():
                end_if_interrupted()
                waiting.append(rows)
                yield from rows.block.questions()
        except GrucibleError as error:  # raised below, when all earlier questions are answered
            damage.append(error)

    replies: list[Reply] = []
    for reply in source.answer(questions()):
        replies.append(reply)
        if len(replies) == len(waiting[0].block):
            rows, answered, replies = waiting.popleft(), replies, []
            advance(len(answered))
            yield Slice(*rows, stack_replies(rows.block, answered))
    if waiting or replies:
        raise RuntimeError(f"{source.name} replied to fewer questions than it was asked")
    for error in damage:
        raise error


def origin(vectors: VectorFile) -> Origin:
    """Find the origin of an open file, whose digests have been verified."""
    if (vectors.content_sha256, vectors.tolerance_sha256) in published_pairs():
        return "published"
    try:
        made_from = json.loads(str(vectors.root.attribute("made_from")))
        return "this version" if made_from["generator"] == GENERATOR else "unknown"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "unknown"
