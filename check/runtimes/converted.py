"""Asking a runtime that knows one operator another operator's questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...cases.conversion import Asked, NotExpressible, ask
from ...cases.dtypes import Array, Arrays
from ...cases.operators.signature import Operator
from ...cases.question import INVALID, Question
from .runtime import Unsupported


def run_as(
    operator: Operator, run: Callable[[Question], Mapping[str, Array]], question: Question
) -> Arrays:
    """The outputs for `question` from `run`, which answers questions of `operator`: asked as such a
    one, and the outputs converted back. Raises Unsupported where `operator` cannot ask the same, and for
    what must be refused: who refuses or accepts it then would be our conversion.
    """
    if question.operator == operator.name:
        return dict(run(question))
    asked = _converted(operator, question)
    return asked.answer(run(asked.question))


def question_as(operator: Operator, question: Question) -> Question:
    """The question that `run_as` asks for `question`. Raises Unsupported as it does."""
    if question.operator == operator.name:
        return question
    return _converted(operator, question).question


def _converted(operator: Operator, question: Question) -> Asked:
    if question.theme == INVALID:
        raise Unsupported(
            f"{question.operator} is asked as {operator.name}, and valid questions alone"
        )
    try:
        return ask(question, operator)
    except NotExpressible as reason:
        raise Unsupported(str(reason)) from None
