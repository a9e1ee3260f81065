"""What a program is asked by a probe: small core cases of each operator and dtype."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from ...cases.question import Question
from ...vectors.case import Case
from ...vectors.find import case_ids, find_vectors
from ...vectors.reader import open_vectors
from ..protocol.header import question_parts
from .dump import dumped

_THEME = "core"
MOST_SENT = 20
"""So many rows of the header of a question are shown, and its last ones."""


@functools.cache
def plainest_first(operator: str, dtype: str) -> tuple[Case, ...]:
    """The core cases of an operator and dtype: first those that ask for the textbook's GRU, and among
    these the smallest."""
    select = [f"{operator}/{_THEME}/{dtype}/*"]
    cases: list[Case] = []
    for file, relative in find_vectors(None, select):
        with open_vectors(file, relative) as vectors:
            for block in vectors.blocks(select):
                cases += (case for rows in block.slices() for case in rows.cases())
    cases.sort(key=lambda case: (_unusual(case), input_bytes(case), case.id))
    return tuple(cases)


def of_other_sizes(first: Case, cases: Sequence[Case]) -> list[Case]:
    """Of some cases those whose inputs have another number of bytes than the first's, the most first."""
    found = [case for case in cases if input_bytes(case) != input_bytes(first)]
    return sorted(found, key=lambda case: (-input_bytes(case), _unusual(case), case.id))


def input_bytes(case: Case) -> int:
    """How many bytes of inputs follow the header."""
    return sum(array.nbytes for array in case.inputs.values())


def sent_lines(question: Question) -> tuple[str, ...]:
    """The question as it is sent, as lines: its header, and how many bytes follow."""
    header, *arrays = question_parts(question)
    sizes = ", ".join(f"{name} {array.nbytes}" for name, array in question.inputs.items())
    total = sum(map(len, arrays))
    return (*dumped(header, MOST_SENT, 5), f"{len(header):6}  {total} bytes: {sizes}")


def core_asked(operators: Sequence[str], dtypes: Sequence[str]) -> tuple[int, int]:
    """How many core cases are of these operators and dtypes, and how many there are."""
    ids = [case_id.split("/") for case_id in case_ids(None)]
    return sum(one[0] in operators and one[2] in dtypes for one in ids), len(ids)


def _unusual(case: Case) -> int:
    """In how many ways a case asks for another GRU than the textbook's, in one direction."""
    asked = case.semantics
    return (
        sum(f.name != "sigmoid" for f in asked.f[:1])
        + sum(g.name != "tanh" for g in asked.g[:1])
        + (asked.clip != math.inf)
        + (asked.directions != ("forward",))
    )
