"""Questions that were answered right, asked again: the last first, and with other rows of the batch.

A right runtime gives a right answer each time. Rows of a batch are independent, so the answer of a case also
answers the same weights with some of its rows, and with its rows in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..cases.dtypes import Arrays
from ..cases.operators import OPERATORS
from ..cases.process import end_if_interrupted
from ..cases.question import Question, sizes_of
from ..vectors.block import Block
from ..vectors.case import Answer
from .diagnosis.finding import ASKED_AGAIN, ON_MORE, ON_ROWS, Diagnosis, Finding
from .judging.case_result import AGAIN, CaseResult
from .judging.criterion import Criterion
from .judging.judge import judge_one
from .observed.isolated import GONE
from .observed.pool import ASKED
from .observed.source import Source, stack_replies

EVERY = 37
"""The first of this number of passing cases of an operator and dtype is asked again, and so on. A prime meets
every value of a factor that recurs."""
MOST_BYTES = 32 << 20
"""Maximum bytes of a case that is asked again: memory has its other rows beside it."""
MOST_CRASHES = 3
"""Maximum crashes of questions that are asked again; each hang takes the whole timeout."""


@dataclass
class Again:
    """A sample of cases that passed, as blocks of one case, and what they give when asked again.

    `wrong` has by id the first wrong answer or error of a case, the case itself before some of its rows; an
    answer under another reading than before is wrong, too. `rows` has words for the rows that were asked, ""
    for the case itself.
    """

    sample: list[Block] = field(default_factory=list)
    asked: int = 0
    wrong: dict[str, CaseResult] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    _met: Counter[tuple[str, str]] = field(default_factory=Counter)
    _before: dict[str, CaseResult] = field(default_factory=dict)

    def see(self, block: Block, results: Sequence[CaseResult]) -> None:
        """Take deciding cases that passed into the sample, unless the batch is 1 or very large."""
        passed = [n for n, one in enumerate(results) if one.decides and one.verdict == "passed"]
        if _batch(block) == 1 or block.nbytes > MOST_BYTES * len(block):
            return
        met = self._met[block.operator, block.dtype]
        for row in passed[-met % EVERY :: EVERY]:
            self.sample.append(block.rows(np.array([row])))
            self._before[block.ids[row]] = results[row]
        self._met[block.operator, block.dtype] += len(passed)

    def ask(self, source: Source, criteria: Mapping[str, Criterion]) -> None:
        """Ask the sample again."""
        seen = set()
        for found, rows in ask_again(source, self.sample, criteria):
            seen.add(found.id)
            found = _under_one_reading(found, self._before[found.id])
            if found.verdict in ("failed", "error") and not (rows and found.id in self.wrong):
                self.wrong[found.id], self.rows[found.id] = found, rows
        self.asked = len(seen)

    def apply(self, results: Sequence[CaseResult]) -> list[CaseResult]:
        """Fail the cases that went wrong when they were asked again."""
        return [
            replace(
                one, verdict=now.verdict, message=now.message, where=now.where, fault=now.fault,
                worst_ratio=now.worst_ratio, worst_abs=now.worst_abs, worst_ulp=now.worst_ulp,
                holds=(), arithmetic="",
            )
            if one.verdict == "passed" and (now := self.wrong.get(one.id))
            else one
            for one in results
        ]  # fmt: skip

    def explain(self, found: Diagnosis, changed: Container[str]) -> Diagnosis:
        """Add to a diagnosis that the cases that `changed` by this failed, and why."""
        failed = [n for n, one in self.wrong.items() if one.verdict == "failed" and n in changed]
        unlike = "" in self.rows.values()
        about = describe_change(f"{len(self.wrong)} of {self.asked} cases", unlike=unlike)
        finding = Finding((ASKED_AGAIN,), ASKED_AGAIN, about, len(failed), len(failed))
        more = [finding] if failed else []
        if more and found.unexplained and not any(one.startswith(AGAIN) for one in found.hints):
            rows, means = ("", ON_MORE) if unlike else (", with other rows of their batch", ON_ROWS)
            hint = f"{AGAIN}{rows}, right cases go wrong: {means}, which may explain these"
            found = replace(found, hints=[hint, *found.hints])
        return found.with_more(more, len(failed), dict.fromkeys(failed, finding))


def describe_change(cases: str, *, unlike: bool) -> str:
    """Say that `cases` go wrong when they are asked again: as they are if `unlike`, else with other rows."""
    if not unlike:
        return f"asked again, with other rows of their batch, {cases} go wrong"
    why = "kept state, unwritten memory, threads that race, or weights changed in place"
    return f"asked again, {cases} give another answer, as with {why}"


def _under_one_reading(now: CaseResult, before: CaseResult) -> CaseResult:
    """Fail an answer that passed under another reading than the answer before; few rows may settle less."""
    for ledger in now.followed.keys() & before.followed.keys():
        if now.verdict == "passed" and now.followed[ledger] != before.followed[ledger]:
            about = f"{AGAIN}, it follows another reading of {ledger}"
            now = replace(now, verdict="failed", message=about)
    return now


def ask_again(
    source: Source, blocks: Sequence[Block], criteria: Mapping[str, Criterion]
) -> Iterator[tuple[CaseResult, str]]:
    """Ask the cases of `blocks`, one each, again, the last first; end after MOST_CRASHES crashes.

    Yield what was found of each answer, and words for its rows, "" for the case as it is. Each is asked with
    the last half of its batch, as it is, with its rows in reverse order, and with the first half. So a model
    that is kept meets a larger batch, other numbers of the same shape, and a smaller batch.
    """
    asked = [one for block in reversed(blocks) for one in other_rows(block)]
    crashes = 0

    def questions() -> Iterator[Question]:
        for block, _ in asked:
            end_if_interrupted()
            yield block.question(0)

    for (block, rows), reply in zip(asked, source.answer(questions()), strict=True):
        if reply.message.startswith(GONE):
            return
        found = judge_one(block, stack_replies(block, [reply]), criteria[block.dtype])
        if found.verdict != "passed":
            found = replace(found, message=f"{AGAIN}{rows}: {found.message}")
        yield found, rows
        crashes += found.fault is not None and found.fault.no_answer
        if crashes == MOST_CRASHES:
            return


def other_rows(block: Block) -> Iterator[tuple[Block, str]]:
    """Yield what is asked of one case's model, each with words for the rows of the batch that it has."""
    batch = _batch(block) or 1
    if batch == 1:
        yield from [(block, "")] * ASKED
        return
    every, half = range(batch), batch // 2
    yield take_rows(block, every[-half:]), " with the last half of the batch"
    yield block, ""
    yield take_rows(block, every[::-1]), " with the rows in reverse order"
    yield take_rows(block, every[:half]), " with the first half of the batch"


def _batch(block: Block) -> int | None:
    """Return the number of rows of a case's batch; None if the operator has no batch."""
    sizes = sizes_of(block.question(0)).items()
    batch = [length for s, length in sizes if OPERATORS[block.operator].sizes[s] == "batch"]
    return batch[0] if batch else None


def take_rows(block: Block, rows: Sequence[int]) -> Block:
    """Take rows of the batch, of the inputs and the answers of all cases of a block."""
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])
    [batch] = [symbol for symbol, name in operator.sizes.items() if name == "batch"]
    axes = {t.name: t.form(attributes).axes for t in (*operator.inputs, *operator.outputs)}

    def take(arrays: Arrays) -> Arrays:
        return {
            name: np.take(array, rows, 1 + axes[name].index(batch))
            if batch in axes[name]
            else array
            for name, array in arrays.items()
        }

    answers = {
        reading: Answer(take(answer.outputs), {k: take(v) for k, v in answer.tolerances.items()})
        for reading, answer in block.answers.items()
    }
    return replace(block, inputs=take(block.inputs), answers=answers)
