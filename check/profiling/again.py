"""Asking the same questions again, in one session: whether a runtime keeps what it should not.

Long rows come before short ones and behind them, large batches before small ones. So a state that is kept
from the question before, or memory that is not written, shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...cases.dtypes import Arrays
from ...cases.selection import PLAIN
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import Block
from ...vectors.find import find_vectors
from ...vectors.reader import open_vectors
from ..judging.criterion import chosen_criteria
from ..judging.grade import Grade
from ..judging.judge import judge_block
from ..observed.source import Observed, Source
from .row import AGAIN, Row, Status, row_of
from .stale import what_is_left

_MOST_CRASHES = 3
_STOPPED = f"nothing more is asked, for {_MOST_CRASHES} of what had been right crashed"
"""What is said where so much crashed: who hangs on every second question would be waited for at each."""


class Again(NamedTuple):
    """The row of what is asked again of an operator, and whether nothing more is to be asked of it."""

    row: Row
    stopped: bool


class _Asked(NamedTuple):
    """A question, as the block of one case, and what was answered."""

    block: Block
    outputs: Arrays


def asked_again(
    source: Source,
    vectors: Path | None,
    rows: Sequence[Row],
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Again]:
    """For each operator a row of the plain questions that were right, in the first dtype that has any,
    asked once more in their order and once more in the reverse of it, as far as few of them crash."""
    for operator in dict.fromkeys(row.operator for row in rows):
        right = [
            row
            for row in rows
            if (row.operator, row.status) == (operator, "right") and f"/{PLAIN}/" in row.cases[0]
        ]
        if right:
            ids = [row.cases[0] for row in right if row.dtype == right[0].dtype]
            yield _row(source, vectors, ids, advance)


def _row(
    source: Source, vectors: Path | None, ids: Sequence[str], advance: Callable[[int], None]
) -> Again:
    blocks = _blocks(vectors, ids)
    before: list[_Asked] = []
    answers: list[Row] = []
    for case_id in (*ids, *reversed(ids)):
        block = blocks[case_id]
        observed = source.ask("", block)()
        one = _judged(block, observed, before)
        answers.append(one)
        if observed.status[0] == "ok":
            before.append(_Asked(block, observed.outputs))
        advance(1)
        if stopped := sum(row.status == "crashed" for row in answers) >= _MOST_CRASHES:
            break
    worst = max(answers, key=_badness)
    cases = worst.cases if worst.status != "right" else tuple(ids)
    message = f"{worst.message}; {_STOPPED}" if stopped else worst.message
    return Again(replace(worst, feature=AGAIN, cases=cases, message=message), stopped)


def _badness(row: Row) -> tuple[int, int]:
    """Of several answers the one to tell: a wrong one before all others, of right ones the coarsest."""
    order: tuple[Status, ...] = ("right", "missing", "refused", "malformed", "crashed", "wrong")
    classes = [one.name for one in CLASSES[row.dtype]]
    return order.index(row.status), classes.index(row.arithmetic) if row.arithmetic else 0


def _judged(block: Block, observed: Observed, before: Sequence[_Asked]) -> Row:
    """The row of one answer, and what a wrong one looks like."""
    grade = Grade(block.dtype, chosen_criteria()[block.dtype])
    [result] = judge_block("", block, observed, grade)
    if result.verdict not in ("passed", "failed") or result.arithmetic:
        return row_of(result, "")
    earlier = [one.outputs for one in before]
    last = before[-1] if before else None
    return row_of(result, what_is_left(block, observed.outputs, last and last.block, earlier))


def _blocks(vectors: Path | None, ids: Sequence[str]) -> dict[str, Block]:
    """The block of each case alone."""
    found: dict[str, Block] = {}
    for file, relative in find_vectors(vectors, ids):
        with open_vectors(file, relative) as opened:
            for path in opened.ids(ids):
                for _, block in opened.block(path).selected(ids):
                    found |= {
                        case_id: block.rows(np.array([row]))
                        for row, case_id in enumerate(block.ids)
                    }
    return found
