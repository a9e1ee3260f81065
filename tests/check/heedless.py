"""Runtimes that are asked what they must refuse. The GRU is that of `numpy_gru.py`, of two operators.

`grucible check --strict --runtime tests/check/heedless.py:<name>`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grucible import Question, Unsupported
from grucible.cases.invalid import invalid_questions
from grucible.cases.operators import OPERATORS
from grucible.cases.question import QuestionError, pose

sys.path.insert(0, str(Path(__file__).parent))
from numpy_gru import run as answer  # type: ignore[import-not-found]

Outputs = Mapping[str, Any]


def _is_valid(question: Question) -> bool:
    try:
        pose(OPERATORS[question.operator], question.given, question.inputs)
    except QuestionError:
        return False
    return True


def strict(question: Question) -> Outputs:
    """Refuses just what our own validation refuses."""
    try:
        pose(OPERATORS[question.operator], question.given, question.inputs)
    except QuestionError as error:
        raise ValueError(f"not I: {error}") from None
    return answer(question)


def declares(question: Question) -> Outputs:
    """Says Unsupported of what it refuses."""
    if not _is_valid(question):
        raise Unsupported("not offered")
    return answer(question)


def blind(question: Question) -> Outputs:
    """Sees no defect: answers the valid question that the invalid one was made from."""
    if _is_valid(question):
        return answer(question)
    [one] = [one for one in invalid_questions(select=[question.id]) if one.id == question.id]
    return answer(replace(one.valid, id=question.id))


def last_meaning(question: Question) -> Outputs:
    """Takes an invalid question for the last of the valid ones that it may be taken for."""
    if _is_valid(question):
        return answer(question)
    [one] = [one for one in invalid_questions(select=[question.id]) if one.id == question.id]
    return answer(one.may_be_taken_for()[-1])


def _on_invalid(change: Any) -> Any:
    def run(question: Question) -> Any:
        return answer(question) if _is_valid(question) else change(question)

    return run


zeros = _on_invalid(
    lambda question: {n: np.zeros(t.shape, t.dtype) for n, t in question.outputs.items()}
)
nan = _on_invalid(lambda question: question.buffers())
wrong_shape = _on_invalid(
    lambda question: {n: np.zeros((7, *t.shape), t.dtype) for n, t in question.outputs.items()}
)
nothing = _on_invalid(lambda _: {})
slightly_off = _on_invalid(
    lambda question: {n: (a * 1.25).astype(a.dtype) for n, a in blind(question).items()}
)


def dies(question: Question) -> Any:
    """At a clip of 0 it dies, at one of NaN it hangs; the rest it refuses."""
    if _is_valid(question):
        return answer(question)
    defect = question.id.rpartition("/")[2]
    if defect == "clip-zero":
        os.abort()
    if defect == "clip-nan":
        time.sleep(3600)
    raise ValueError("no")
