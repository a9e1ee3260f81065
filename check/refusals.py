"""What a runtime makes of questions that it must refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..cases.dtypes import Arrays
from ..cases.invalid import InvalidQuestion, invalid_questions
from ..cases.question import Question
from ..cases.selection import WHOLE, Shard
from ..vectors.case import REQUIRED
from .judging.criterion import Demanded
from .judging.expectations import Expectation
from .judging.judge import judge_one
from .observed.source import Source, check_reply, stack_replies
from .protocol.header import Reply

Outcome = Literal["refused", "obvious", "garbage", "crash", "unasked"]
ACCEPTED: tuple[Outcome, ...] = ("obvious", "garbage", "crash")


@dataclass(frozen=True)
class Refusal:
    """What became of the question `id`, in which one thing is wrong.

    `defect` is that thing's name, `about` says it in a sentence, and `ledger` is a link to the entry that
    says where the text forbids it. The `outcome` is

    * refused: an error was raised, or Unsupported; `message` is its text;
    * obvious: outputs came back as if nothing were wrong;
    * garbage: other outputs came back; `message` says what is wrong with them;
    * crash: the process died or did not answer; `message` says how;
    * unasked: a refusal would say nothing, because the valid question is not answered either.

    `decides` is false where the text leaves open what happens. `answered` says that outputs of the right
    names, shapes and dtypes came back; then `message` is the judge's own. `expected` is the known finding
    that names the question.
    """

    id: str
    operator: str
    dtype: str
    defect: str
    about: str
    ledger: str
    outcome: Outcome
    message: str = ""
    decides: bool = True
    answered: bool = False
    expected: Expectation | None = None

    @property
    def accepted(self) -> bool:
        """Whether the runtime did not refuse the question."""
        return self.outcome in ACCEPTED

    @property
    def wrong(self) -> bool:
        """Whether the runtime accepted what the text forbids."""
        return self.decides and self.accepted


def counts(refusals: Sequence[Refusal]) -> Counter[Outcome]:
    """Count the refusals with each outcome."""
    return Counter(one.outcome for one in refusals)


def refusals(
    source: Source,
    operators: Collection[str] = (),
    dtypes: Collection[str] = (),
    select: Sequence[str] = (),
    shard: Shard = WHOLE,
) -> list[Refusal]:
    """Ask a runtime the invalid questions that `select` matches, of some operators and dtypes, or of all.

    Those are asked that the `shard` takes.

    `source` is `RuntimePool(name, timeout)`, for a runtime in processes of its own, or `FromRuntime`, for one
    in this process, which a crash would end. The valid questions are asked first. An invalid question is not
    asked if its valid question is not answered.
    """
    asked = [one for one in invalid_questions(operators, dtypes, select) if shard.takes(one.id)]
    valid = {one.valid.id: one.valid for one in asked}
    replies = zip(valid.items(), source.answer(valid.values()), strict=True)
    replied = {name: check_reply(one.outputs, reply) for (name, one), reply in replies}
    worth = [one for one in asked if replied[one.valid.id].status == "ok"]
    answers = source.answer([one.question for one in worth])
    given = {one.id: reply for one, reply in zip(worth, answers, strict=True)}
    return [_refusal(one, replied[one.valid.id], given.get(one.id)) for one in asked]


def _refusal(asked: InvalidQuestion, valid: Reply, given: Reply | None) -> Refusal:
    question, defect = asked.question, asked.defect
    outcome: Outcome = "unasked"
    message, answered = valid.message or valid.status, False
    if given is not None:
        outcome, message = graded(asked, valid, given)
        answered = check_reply(question.outputs, given).status == "ok"
    return Refusal(
        asked.id, question.operator, question.dtype, defect.name, defect.about, asked.ledger,
        outcome, message, defect.decides, answered,
    )  # fmt: skip


def graded(asked: InvalidQuestion, valid: Reply, given: Reply) -> tuple[Outcome, str]:
    """Find the outcome of an invalid question, and a message about it.

    `valid` is the reply to the valid question, and `given` the reply to the invalid one. Outputs are obvious
    if they equal those of the valid question, right or wrong, or are near the exact answer to a question that
    this one may be taken for.
    """
    if given.status != "ok":
        if given.fault and given.fault.kind != "raised":
            return ("crash" if given.fault.no_answer else "garbage"), given.message
        return ("unasked" if given.status == "missing" else "refused"), given.message
    checked = check_reply(asked.question.outputs, given)
    if checked.status != "ok":
        return "garbage", checked.message
    same = all(np.array_equal(given.outputs[name], a) for name, a in valid.outputs.items())
    if same or any(_is_right(question, given) for question in asked.may_be_taken_for()):
        return "obvious", ""
    return "garbage", _what_is_wrong(given.outputs, valid.outputs)


def _is_right(question: Question, reply: Reply) -> bool:
    """Say whether outputs are right for a question, in some class of arithmetic."""
    from ..gen.posed import (
        answered_block,
    )  # the exact evaluation, slow to import, and seldom needed

    block = answered_block(question)
    criterion = Demanded(REQUIRED[question.dtype])
    return bool(judge_one(block, stack_replies(block, [reply]), criterion).holds)


def _what_is_wrong(outputs: Arrays, valid: Arrays) -> str:
    """Say how outputs differ from those of the valid question."""
    finite = {name: np.isfinite(a.astype(np.float64)).all() for name, a in outputs.items()}
    if bad := [name for name, is_finite in finite.items() if not is_finite]:
        have = "has" if len(bad) == 1 else "have"
        return f"{' and '.join(bad)} {have} numbers that are not finite"
    if all(not array.any() for array in outputs.values()):
        return "all numbers are zero"
    off = (np.abs(outputs[n].astype(np.float64) - valid[n].astype(np.float64)) for n in outputs)
    most = max(float(one.max(initial=0.0)) for one in off)
    return f"off by up to {most:.3g} from the outputs of the valid question"
