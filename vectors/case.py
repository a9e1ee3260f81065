"""Cases as users meet them, a question and its answers; and the difference of outputs and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.readings import STORED, ReadingNames
from ..cases.operators.semantics import Semantics
from ..cases.question import Question, shapes

REQUIRED: dict[str, str] = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16-gemm",
}
"""The class of arithmetic that decides the verdict, by dtype of the vectors, unless users name another."""


@dataclass(frozen=True, repr=False)
class Answer:
    """The answer to a case, or to stacked cases, under one accepted reading.

    `outputs` are the exact real results, rounded once, with the names and shapes of the operator's
    specification; stacked cases have one more axis, the first. `tolerances` say, by class of arithmetic,
    how far each element may be off: float32 arrays of the outputs' shapes.
    """

    outputs: Arrays
    tolerances: dict[str, Arrays] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Answer {shapes(self.outputs)}>"

    def rows(self, which: Any) -> Answer:
        """Index all arrays; the new answer has its own dicts, and read-only arrays."""
        limits = {name: rows_of(arrays, which) for name, arrays in self.tolerances.items()}
        answer = Answer(rows_of(self.outputs, which), limits)
        for arrays in (answer.outputs, *limits.values()):
            for array in arrays.values():
                array.setflags(write=False)
        return answer


def rows_of(arrays: Mapping[str, Array], which: Any) -> Arrays:
    """Index each array: by a row, by several rows, or by None, which adds a first axis of length 1."""
    return {name: array[which] for name, array in arrays.items()}


@dataclass(frozen=True, repr=False)
class Case:
    """A question, its tier, and its answers: one per accepted reading.

    `stored` has an answer for each tuple of names of readings that are followed; for STORED, which is empty,
    the answer that follows no reading of `cases.operators.readings`. A case is judged by these answers.
    """

    question: Question
    tier: str
    stored: Mapping[ReadingNames, Answer]

    def __repr__(self) -> str:
        return f"<Case {self.id}: {self.tier}, {shapes(self.stored[STORED].outputs)}>"

    @property
    def answers(self) -> dict[ReadingNames, Answer]:
        """A copy of the answers, by the readings that are followed; changing it changes no verdict."""
        return {names: answer.rows(...) for names, answer in self.stored.items()}

    @property
    def answer(self) -> Answer:
        """The answer that follows no reading; changing it changes no verdict."""
        return self.stored[STORED].rows(...)

    @property
    def id(self) -> str:
        """The question's id, `<operator>/<theme>/<dtype>/<what is enumerated>`."""
        return self.question.id

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.question.operator

    @property
    def dtype(self) -> str:
        """The type of floating-point inputs and outputs."""
        return self.question.dtype

    @property
    def given(self) -> Mapping[str, Any]:
        """The attributes that the case sets."""
        return self.question.given

    @property
    def attributes(self) -> dict[str, Any]:
        """All attributes, with defaults filled in."""
        return self.question.attributes

    @property
    def inputs(self) -> Mapping[str, Array]:
        """The question's inputs."""
        return self.question.inputs

    @property
    def semantics(self) -> Semantics:
        """The GRU that the case asks for."""
        return self.question.semantics


def difference(observed: Array, expected: Array) -> Array:
    """|observed - expected| of each element, in float64.

    It is 0 between NaN and NaN and between equal infinities; else NaN and infinity differ infinitely.
    Both arguments are float64 arrays of one shape, or of shapes that broadcast.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.asarray(np.abs(np.subtract(observed, expected)))
    if np.isfinite(off.max(initial=0.0)):
        return off
    same = (observed == expected) | (np.isnan(observed) & np.isnan(expected))
    special = ~(np.isfinite(observed) & np.isfinite(expected))
    return np.where(special, np.where(same, 0.0, np.inf), off)
