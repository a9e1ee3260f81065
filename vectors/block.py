"""A block: cases that share dtype, tier and every shape, stacked along a first axis."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators import OPERATORS
from ..cases.operators.readings import STORED, ReadingNames
from ..cases.operators.signature import Operator
from ..cases.operators.values import all_attributes
from ..cases.question import Question, TensorType
from ..cases.selection import selected
from ..cases.strict_json import strict_json
from .case import Answer, Case, rows_of

SLICE_BYTES = 16 << 20
"""Maximum bytes of a slice, unless a case has more; a slice is judged at once, in memory."""
TIERS = ("required", "ambiguous", "nonportable")
TOGETHER = " + "
"""The text between names of readings that are followed together, in the name of their group."""


@dataclass(frozen=True)
class BlockKey:
    """What the cases of a block share; `path` is unique among the blocks of a file.

    `sizes` has every size symbol, `forms` the form's name of each present tensor that has several forms,
    `types` the dtype of each type variable.
    """

    operator: str
    dtype: str
    tier: str
    readings: tuple[ReadingNames, ...]
    sizes: tuple[tuple[str, int], ...]
    absent: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    forms: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """The block's path in a file: `<dtype>/<name>`."""
        others = [t for variable, t in self.types if t != self.dtype]
        parts = [
            "x".join(str(length) for _, length in self.sizes),
            *(f"{tensor}{form}" for tensor, form in self.forms),
            *(f"no{tensor}" for tensor in self.absent),
            *others,
            *([] if self.tier == "required" else [self.tier]),
            *(names[0] for names in self.readings if len(names) == 1),
        ]
        return f"{self.dtype}/{'-'.join(parts)}"


@dataclass(frozen=True)
class Block:
    """Cases stacked along a first axis of length n: row i of every array is case i.

    `answers` are stacked too, by the readings that are followed.
    """

    path: str
    operator: str
    dtype: str
    tier: str
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Arrays
    answers: dict[ReadingNames, Answer]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def answer(self) -> Answer:
        """The stored answer."""
        return self.answers[STORED]

    @property
    def absent(self) -> frozenset[str]:
        """The outputs that the cases leave out."""
        named = {tensor.name for tensor in OPERATORS[self.operator].outputs}
        return frozenset(named - self.answer.outputs.keys())

    def question(self, row: int) -> Question:
        """Return the question of case `row`; its inputs are views of the block's arrays."""
        return Question(
            self.ids[row],
            self.operator,
            self.dtype,
            self.given[row],
            rows_of(self.inputs, row),
            {name: TensorType(a.shape[1:], a.dtype) for name, a in self.answer.outputs.items()},
        )

    def questions(self) -> Iterator[Question]:
        """Return the questions of the block, in order."""
        return map(self.question, range(len(self)))

    def case(self, row: int) -> Case:
        """Return case `row` of the block; its arrays are views of the block's arrays."""
        answers = {names: answer.rows(row) for names, answer in self.answers.items()}
        return Case(self.question(row), self.tier, answers)

    def cases(self) -> Iterator[Case]:
        """Return the cases of the block, in order."""
        return map(self.case, range(len(self)))

    def rows(self, keep: Array) -> Block:
        """Copy the rows that `keep` (a boolean mask or an index array) selects."""
        where = np.flatnonzero(keep) if keep.dtype == bool else keep
        return replace(
            self,
            ids=[self.ids[i] for i in where],
            given=[self.given[i] for i in where],
            inputs=rows_of(self.inputs, where),
            answers={names: answer.rows(where) for names, answer in self.answers.items()},
        )

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(a.nbytes for a in arrays_by_path(self.inputs, self.answers).values())

    def selected(
        self, select: Sequence[str] = (), *, inputs: bool = True
    ) -> Iterator[tuple[Array, Block]]:
        """Copy the rows whose ids `select` matches, in slices of SLICE_BYTES, each with its rows' places.

        Without `inputs`, the copies have no inputs.
        """
        block = self if inputs else replace(self, inputs={})
        step = max(1, SLICE_BYTES * len(self) // max(1, self.nbytes))
        for start in range(0, len(self), step):
            part = range(start, min(start + step, len(self)))
            rows = np.array([row for row in part if selected(self.ids[row], select)])
            if rows.size:
                yield rows, block.rows(rows)


def arrays_by_path(
    inputs: Mapping[str, Array], answers: Mapping[ReadingNames, Answer]
) -> dict[str, Array]:
    """Return inputs and answers by their paths in a block, which vectors/FORMAT.md lists."""
    found = {f"inputs/{name}": array for name, array in inputs.items()}
    for names, answer in answers.items():
        above = f"readings/{TOGETHER.join(names)}/" if names else ""
        found |= {f"{above}outputs/{name}": array for name, array in answer.outputs.items()}
        for arithmetic, limits in answer.tolerances.items():
            found |= {f"{above}tolerance/{arithmetic}/{name}": a for name, a in limits.items()}
    return found


def block_of(case: Case) -> Block:
    """Make a block of one case, so that it can be judged; its arrays are views of the case's arrays."""
    return Block(
        case.id, case.operator, case.dtype, case.tier, [case.id], [dict(case.given)],
        rows_of(case.inputs, None), {names: a.rows(None) for names, a in case.stored.items()},
    )  # fmt: skip


def canonical_json(given: Mapping[str, Any]) -> str:
    """Write the attributes of a case as canonical JSON: sorted keys, no spaces, infinity as "inf"."""
    return json.dumps(
        {name: "inf" if value == math.inf else value for name, value in given.items()},
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def attributes_from_json(
    text: str, operator: Operator, *, as_written: bool = False
) -> dict[str, Any]:
    """Read what `canonical_json` writes. Raises ValueError, with one sentence, for anything else.

    With `as_written`, an integer may stand for a value, as some specifications write it.
    """
    given: Any = strict_json(text, "an attribute")
    if not isinstance(given, dict):
        raise ValueError("attributes are not a JSON object")
    for name, value in given.items():
        attribute = operator.attribute(name)
        if attribute and attribute.kind == "float" and value == "inf":
            given[name] = math.inf
        elif attribute and as_written:
            given[name] = attribute.canonical(value)
    all_attributes(operator, given)
    return dict(given)
