"""A case as users meet it: a question, and its answers; and how far outputs are from an answer."""

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
"""The class that decides the verdict, per dtype of the vectors, where no other is demanded."""


@dataclass(frozen=True, repr=False)
class Answer:
    """What is expected under one accepted reading: of a case, or of stacked cases.

    `outputs` are the exact real results, rounded once, named and shaped as the operator's specification
    has them; stacked cases have a first axis more. `tolerances` say, by class of arithmetic, how far
    each element may be off: float32 arrays of the outputs' shapes.
    """

    outputs: Arrays
    tolerances: dict[str, Arrays] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Answer {shapes(self.outputs)}>"

    def rows(self, which: Any) -> Answer:
        """Index all arrays; the answer has dicts of its own, and arrays to be read only."""
        limits = {name: rows_of(arrays, which) for name, arrays in self.tolerances.items()}
        answer = Answer(rows_of(self.outputs, which), limits)
        for arrays in (answer.outputs, *limits.values()):
            for array in arrays.values():
                array.setflags(write=False)
        return answer


def rows_of(arrays: Mapping[str, Array], which: Any) -> Arrays:
    """Index each array: by a row, by several, or by None, which makes one row of it."""
    return {name: array[which] for name, array in arrays.items()}


@dataclass(frozen=True, repr=False)
class Case:
    """A question, its tier, and its answers: one per accepted reading.

    `stored` has, by the names of the readings that are followed, an answer each; the one that follows none of
    `cases.operators.readings` stands under no name. A case is judged by these.
    """

    question: Question
    tier: str
    stored: Mapping[ReadingNames, Answer]

    def __repr__(self) -> str:
        return f"<Case {self.id}: {self.tier}, {shapes(self.stored[STORED].outputs)}>"

    @property
    def answers(self) -> dict[ReadingNames, Answer]:
        """The answers, by the readings that are followed; changing them changes no verdict."""
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
        """The attributes written out."""
        return self.question.given

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute, defaults filled in."""
        return self.question.attributes

    @property
    def inputs(self) -> Mapping[str, Array]:
        """The question's inputs."""
        return self.question.inputs

    @property
    def semantics(self) -> Semantics:
        """What the case asks of a GRU."""
        return self.question.semantics


def difference(observed: Array, expected: Array) -> Array:
    """|observed - expected| of each element, in float64.

    There is none between NaN and NaN, nor between the same infinities; any other is infinite.
    Both are float64 arrays, or broadcast.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.asarray(np.abs(np.subtract(observed, expected)))
    if np.isfinite(off.max(initial=0.0)):
        return off
    same = (observed == expected) | (np.isnan(observed) & np.isnan(expected))
    special = ~(np.isfinite(observed) & np.isfinite(expected))
    return np.where(special, np.where(same, 0.0, np.inf), off)
