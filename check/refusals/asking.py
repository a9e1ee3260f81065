"""Asking a runtime what it must refuse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...cases.invalid.questions import InvalidQuestion, invalid_questions
from ...cases.question import TensorType
from ..judging.expectations import Expectation, Expectations, of_invalid, says
from ..observed.source import Reply, Source, held_to
from .grading import graded
from .refusal import Outcome, Refusal


def refusals(
    source: Source,
    operators: Collection[str] = (),
    dtypes: Collection[str] = (),
    select: Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
) -> list[Refusal]:
    """What a runtime makes of the invalid questions of some operators and dtypes, or of all, whose id a
    glob of `select` matches.

    `source` is `RuntimePool(name, timeout)`, for a runtime in processes of its own, or `FromRuntime`, for one
    in this process, where a crash ends whoever asks. The valid questions are asked first; what is made from
    one that is not answered is not asked. An expectation counts where its glob names `/invalid/`: one that is
    about wrong numbers explains nothing here.
    """
    asked = list(invalid_questions(operators, dtypes, select))
    valid = {one.valid.id: one.valid for one in asked}
    said = dict(zip(valid, source.answer(valid.values()), strict=True))
    answered = {name for name, reply in said.items() if not _unanswered(valid[name].outputs, reply)}
    worth = [one for one in asked if one.valid.id in answered]
    replies = source.answer([one.question for one in worth])
    given = {one.id: reply for one, reply in zip(worth, replies, strict=True)}
    known = Expectations(list(filter(of_invalid, expectations)))
    return [_refusal(one, said[one.valid.id], given.get(one.id), known) for one in asked]


def _unanswered(wanted: Mapping[str, TensorType], reply: Reply) -> str:
    """Why a question of these outputs has no answer; "" where it has one."""
    held = held_to(wanted, reply)
    return "" if held.status == "ok" else held.message or held.status


def _refusal(
    asked: InvalidQuestion, valid: Reply, given: Reply | None, known: Expectations
) -> Refusal:
    outcome: Outcome = "unasked"
    message = _unanswered(asked.valid.outputs, valid)
    answered = False
    if given is not None:
        outcome, message = graded(asked, valid, given)
        answered = not _unanswered(asked.question.outputs, given)
    question, defect = asked.question, asked.defect
    one = Refusal(
        id=asked.id,
        operator=question.operator,
        dtype=question.dtype,
        defect=defect.name,
        about=defect.about,
        ledger=asked.ledger,
        outcome=outcome,
        message=message,
        decides=defect.decides,
        answered=answered,
    )
    return expected_refusal(one, known)


def expected_refusal(one: Refusal, known: Expectations) -> Refusal:
    """What became of an invalid question, with the expectation of such questions that names it, unless that
    says a message and another one was seen, or numbers."""
    expected = known.of(one.id)
    if expected and one.wrong and expected.message:
        held = not one.answered and says(one.message, expected.message)
        expected = expected if held else None
    return replace(one, expected=expected)
