"""Failing questions asked again: whether a runtime's answer depends on more than the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.readings import STORED
from ...cases.question import Question
from ...vectors.case import difference
from ..protocol.header import Reply
from .failing import FailingBlock, by_part

ASKED = 3
"""Maximum questions that are asked again, each twice in a row: a runtime may take seconds for one."""
Replies = Callable[[Sequence[Question]], Sequence[Reply]]
"""A runtime's answers to questions that are asked one after another."""


def answered_otherwise(parts: Sequence[FailingBlock], which: Array, replies: Replies) -> str:
    """Say how many of some cases give other numbers when they are asked again; "" if none does."""
    chosen = [
        (part, int(np.flatnonzero(rows)[0])) for part, rows in by_part(parts, which) if rows.any()
    ]
    chosen = sorted(chosen, key=lambda one: one[0].work)[:ASKED]
    asked = [one for one in chosen for _ in range(2)]
    answers = replies([part.block.question(row) for part, row in asked])
    other = [
        reply.status == "ok" and _differs(part.rows(np.array([row])), reply.outputs)
        for (part, row), reply in zip(asked, answers, strict=True)
    ]
    count = sum(any(other[at : at + 2]) for at in range(0, len(other), 2))
    if not count:
        return ""
    return (
        f"asked again, {count} of {len(chosen)} of these cases gave other numbers: the answer depends on "
        "more than the question, such as what was asked before"
    )


def _differs(part: FailingBlock, outputs: Arrays) -> bool:
    """Say whether outputs of one case are further from those observed first than is admitted."""
    admitted = part.criterion.admitted(part.block, STORED)
    for name, seen in part.observed.items():
        if name in outputs and outputs[name].shape == seen.shape[1:]:
            off = difference(outputs[name].astype(np.float64), seen[0].astype(np.float64))
            if (off > admitted[name][0]).any():
                return True
    return False
