"""The smallest case that still fails the same way."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ...cases.errors import GrucibleError
from ...cases.question import Question
from ...gen.posed import answered_block
from ...vectors.block import Block
from ..judging.case_result import CaseResult
from ..judging.criterion import Criterion
from ..observed.source import Source
from .failure import Failure, Trials
from .reductions import reductions

SHRUNK = "shrunk"
"""The theme of what was shrunk."""
MOST_SECONDS = 300.0
"""How long is looked for something smaller."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that was found: its `question` and `result`, what the `first` one did, what was left
    out of that in words, how many questions were `asked`, whether time ran out, and whether it was
    `interrupted`; `broke_off` tells of an error of grucible's own in what explains a case."""

    question: Question
    result: CaseResult
    first: Failure
    left_out: tuple[str, ...]
    asked: int
    cut_short: bool
    interrupted: bool = False
    broke_off: str = ""


def shrink(
    block: Block,
    source: Source,
    criteria: Mapping[str, Criterion],
    seconds: float = MOST_SECONDS,
    advance: Callable[[Question], None] = lambda _: None,
    *,
    interruptible: bool = False,
) -> Shrunk:
    """Leave out of the case of a block of one whatever can be, so that it still fails the same way.

    Every smaller question gets its exact answer, and is judged by that; `advance` sees those that are kept.
    Where it is `interruptible`, Ctrl-C gives the smallest case so far, if anything was left out.
    Raises GrucibleError where the case does not fail, and where it or what is left of it does not when it is
    asked again.
    """
    trials = Trials(source, criteria)
    first = trials.failure(block)
    question = block.question(0)
    if first is None:
        raise GrucibleError(f"{question.id} does not fail: there is nothing to shrink")
    trials.ask_again(block, first)
    result, left_out = first.result, list[str]()
    until = time.monotonic() + seconds
    question = replace(question, id=shrunk_id(question.id))
    passed_over: set[bytes] = set()
    interrupted = False
    try:
        while (found := _smaller(question, trials, first, passed_over, until)) is not None:
            about, question, result = found
            left_out.append(about)
            advance(question)
        trials.ask_again(answered_block(question) if left_out else block, first)
    except KeyboardInterrupt:
        if not (interruptible and left_out):
            raise
        interrupted = True
    late = time.monotonic() >= until
    return Shrunk(
        question, result, first, tuple(left_out), trials.asked, late, interrupted, trials.broke_off
    )


def shrunk_id(case_id: str) -> str:
    """The id of what is shrunk from a case: it says from which."""
    operator, theme, dtype, what = case_id.split("/", 3)
    return case_id if theme == SHRUNK else f"{operator}/{SHRUNK}/{dtype}/{theme}.{what}"


def _smaller(
    question: Question, trials: Trials, first: Failure, passed_over: set[bytes], until: float
) -> tuple[str, Question, CaseResult] | None:
    """The first reduction that fails the same way; None where no one does, or time is over."""
    for one in reductions(question):
        if time.monotonic() >= until:
            return None
        key = _key(one.question)
        if key in passed_over:
            continue
        passed_over.add(key)
        try:
            result = trials.same(answered_block(one.question), first)
        except GrucibleError:  # it has no answer that could be rounded
            continue
        if result is not None:
            return one.about, one.question, result
    return None


def _key(question: Question) -> bytes:
    """What tells a question from others that were tried."""
    shapes = [(name, array.shape) for name, array in question.inputs.items()]
    asked = (sorted(question.given.items(), key=str), list(question.outputs), shapes)
    digest = hashlib.sha256(repr(asked).encode())
    for array in question.inputs.values():
        digest.update(array.tobytes())
    return digest.digest()
