"""Find the smallest case that still fails the same way."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.question import Question
from ...gen.posed import answered_block
from ...gen.variants.known import variant_called
from ...gen.variants.variant import Variant
from ...gen.variants.work import too_large
from ...vectors.block import Block
from ..diagnosis.contradictions import Passing
from ..diagnosis.diagnose import diagnose
from ..diagnosis.failing import FailingBlock
from ..diagnosis.local import Local
from ..judging.case_result import ANSWERED, CaseResult
from ..judging.criterion import Criterion
from ..judging.judge import judge_one
from ..observed.source import Observed, Source, observe_block, stack_replies
from ..reports.text import mask
from .reductions import reductions

SHRUNK = "shrunk"
"""The theme of what was shrunk."""
MAX_SECONDS = 300.0
"""Maximum time of the search for something smaller, where no other is asked for."""
_CLEARLY = 4.0
"""Minimum error of a smaller case, in tolerances, unless the first one was off by less."""


@dataclass(frozen=True)
class Failure:
    """A case that went wrong: its `result`, and the variants of the GRU that explain it, if any do."""

    result: CaseResult
    variants: tuple[Variant, ...] = ()

    @property
    def looks_like(self) -> str:
        """What explains it, in words."""
        operator = OPERATORS[self.result.operator]
        return "; and ".join(variant.about_for(operator) for variant in self.variants)


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that was found: its `question` and `result`.

    `first` is what the first case did, `left_out` describes what was left out of it, and `asked` counts
    questions. `cut_short` says that time ran out.
    """

    question: Question
    result: CaseResult
    first: Failure
    left_out: tuple[str, ...]
    asked: int
    cut_short: bool
    interrupted: bool = False


def shrink(
    block: Block,
    source: Source,
    criteria: Mapping[str, Criterion],
    seconds: float = MAX_SECONDS,
    advance: Callable[[Question], None] = lambda _: None,
    *,
    interruptible: bool = False,
) -> Shrunk:
    """Leave out of a case all that it does not need to fail the same way; `block` has it alone.

    Every smaller question gets its exact answer, and is judged by that; `advance` sees those that are kept.
    Where it is `interruptible`, Ctrl-C gives the smallest case so far, if anything was left out.
    Raises GrucibleError where the case does not fail, and where it or what is left of it does not when it is
    asked again.
    """
    trials = _Trials(source, criteria)
    first = trials.find_failure(block)
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
        while (found := _find_smaller(question, trials, first, passed_over, until)) is not None:
            about, question, result = found
            left_out.append(about)
            advance(question)
        trials.ask_again(answered_block(question) if left_out else block, first)
    except KeyboardInterrupt:
        if not (interruptible and left_out):
            raise
        interrupted = True
    late = time.monotonic() >= until
    return Shrunk(question, result, first, tuple(left_out), trials.asked, late, interrupted)


def shrunk_id(case_id: str) -> str:
    """Make the id of what is shrunk from a case: it names that case."""
    operator, theme, dtype, what = case_id.split("/", 3)
    return case_id if theme == SHRUNK else f"{operator}/{SHRUNK}/{dtype}/{theme}.{what}"


def _find_smaller(
    question: Question, trials: _Trials, first: Failure, passed_over: set[bytes], until: float
) -> tuple[str, Question, CaseResult] | None:
    """Find the first reduction that fails the same way; None where none does, or time is over."""
    for about, smaller in reductions(question):
        if time.monotonic() >= until:
            return None
        key = _digest(smaller)
        if key in passed_over:
            continue
        passed_over.add(key)
        try:
            result = trials.fails_alike(answered_block(smaller), first)
        except GrucibleError:  # it has no answer that could be rounded
            continue
        if result is not None:
            return about, smaller, result
    return None


def _digest(question: Question) -> bytes:
    """Tell a question from others that were tried."""
    shapes = [(name, array.shape) for name, array in question.inputs.items()]
    asked = (sorted(question.given.items(), key=str), list(question.outputs), shapes)
    digest = hashlib.sha256(repr(asked).encode())
    for array in question.inputs.values():
        digest.update(array.tobytes())
    return digest.digest()


class _Trials:
    """Ask a source questions, and compare its outputs with the exact answers, by the criteria of each dtype.

    Where a case is wrong in nothing but how the source ends, the source ends after every question.
    """

    def __init__(self, source: Source, criteria: Mapping[str, Criterion]) -> None:
        self._source, self._criteria = source, criteria
        self._ends = False
        self.asked = 0

    def find_failure(self, block: Block) -> Failure | None:
        """Find what is wrong with a case, and what explains it; None where nothing that decides is."""
        result, observed = self._ask(block)
        if not _is_wrong(result):
            self._ends = True
            result, observed = self._end(block, result, observed)
        if not _is_wrong(result):
            return None
        if result.verdict != "failed" or too_large(block.question(0)):
            return Failure(result)
        part = FailingBlock(block, observed.outputs, self._criteria[block.dtype])
        found = diagnose([part], {result.id: result.arithmetic}, Passing([]))
        finding = found.by_case.get(result.id)
        if finding is None or finding.kind == "arithmetic" or not finding.certain:
            return Failure(result)
        return Failure(result, tuple(map(variant_called, finding.names)))

    def fails_alike(self, block: Block, first: Failure) -> CaseResult | None:
        """Return the result of a case, if it fails as the first one does.

        That is by the same kind of message, or off by the same variants, or, where none explains it, clearly
        off and in the same way finite.
        """
        result, observed = self._ask(block)
        return result if self._is_alike(block, result, observed, first) else None

    def ask_again(self, block: Block, first: Failure) -> None:
        """Raise GrucibleError where a case that is asked again does not fail as the first one does.

        Of an error any other will do: the message of a death depends on who is asked next.
        """
        result, observed = self._ask(block)
        either = result.verdict == first.result.verdict == "error"
        if not (self._is_alike(block, result, observed, first) or (either and _is_wrong(result))):
            others = {"passed": "passed", "failed": "failed otherwise"}
            seen = others.get(result.verdict, f"was {result.verdict}")
            raise GrucibleError(
                f"{result.id} failed once, and {seen} when it was asked again: the answer depends on more "
                "than the question, and nothing is written"
            )

    def _is_alike(
        self, block: Block, result: CaseResult, observed: Observed, first: Failure
    ) -> bool:
        before = first.result
        if not _is_wrong(result) or result.verdict != before.verdict:
            return False
        if result.verdict != "failed":
            kinds = [one.fault.kind if one.fault else "" for one in (result, before)]
            return kinds[0] == kinds[1] and mask(result.message) == mask(before.message)
        if result.worst_ratio < min(_CLEARLY, before.worst_ratio):
            return False
        if math.isfinite(result.worst_abs) != math.isfinite(before.worst_abs):
            return False
        if not first.variants:
            return True
        part = FailingBlock(block, observed.outputs, self._criteria[block.dtype])
        return _is_explained(part, first.variants)

    def _ask(self, block: Block) -> tuple[CaseResult, Observed]:
        self.asked += 1
        observed = observe_block(self._source, block)
        result = judge_one(block, observed, self._criteria[block.dtype])
        return self._end(block, result, observed) if self._ends else (result, observed)

    def _end(
        self, block: Block, result: CaseResult, observed: Observed
    ) -> tuple[CaseResult, Observed]:
        """Judge the case again when the source has ended."""
        if result.verdict in ANSWERED:
            if wrong := self._source.finish():
                observed = stack_replies(block, [wrong])
            result = judge_one(block, observed, self._criteria[block.dtype])
        return result, observed


def _is_explained(part: FailingBlock, variants: tuple[Variant, ...]) -> bool:
    """Whether variants explain the one case of a part: as a whole, or one step at a time."""
    if part.distances([variants])[0, 0] <= 1.0:
        return True
    found = Local([part], Passing([]), 1, 4 * part.work).explained(variants)
    return found is not None and bool(found.cases[0])


def _is_wrong(result: CaseResult) -> bool:
    return result.decides and result.verdict in ("failed", "error")
