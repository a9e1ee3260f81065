"""Answering questions whose numbers are given: vector files of cases that were not drawn here.

A question is read twice, once to see which block it belongs to, and once to be answered: all of them may not
fit into memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import grucible

from ...cases.dtypes import Array
from ...cases.errors import GrucibleError
from ...cases.expansion.case_spec import CaseSpec
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import touched_by
from ...cases.operators.semantics import semantics
from ...cases.pose import sizes_of
from ...cases.question import Question
from ...vectors.block import Block
from ...vectors.case import Case
from ...vectors.published import GENERATOR
from ...vectors.writer import new_vector_file
from ..stacks import stacks
from .answering import answered, kept_in_any_case, overflows, parts
from .chunks import Made, block_of, check_sizes, chunks, stacked
from .special import NOTHING_NONPORTABLE, special

NONPORTABLE = "nonportable"
MOST_BYTES = 128 << 20
"""So much a vector file may hold, for it is built in memory: twice what the largest that is shipped holds."""


@dataclass(frozen=True)
class Posed:
    """A question that can be `read`; `nonportable` where whoever poses it says that it is."""

    id: str
    read: Callable[[], Question]
    nonportable: bool = False


@dataclass(frozen=True)
class Imported:
    """What became of questions: how many the vector file at `path` holds, and by id why not the others."""

    path: Path
    cases: int
    content_sha256: str
    unanswered: Mapping[str, str]


def answer(question: Question, *, nonportable: bool = False) -> Case:
    """The case of a question: its tier, and its answers under every reading that it leaves open.

    Raises GrucibleError where it has none: it is too large, or an output could not be rounded.
    """
    return next(answered_block(question, nonportable=nonportable).cases())


def answered_block(question: Question, *, nonportable: bool = False) -> Block:
    """The case of a question as a block of one, to be judged by. Raises as `answer` does."""
    spec = _spec(question, nonportable=nonportable)
    block, unanswered = _answered_block([spec], [question])
    if block is None:
        raise GrucibleError(f"{question.id or 'the question'}: {unanswered[question.id]}")
    return block


def write_answered(
    path: Path,
    posed: Sequence[Posed],
    about: str,
    advance: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Write a vector file of questions, of one operator and theme, with their exact answers.

    `about` stands in the file where a case spec would. `advance(n)` is called as cases are written.
    Raises GrucibleError where a question is too large, all together are, or none can be answered, and where
    one is nonportable by no more than what is said of it.
    """
    by_id = {one.id: one for one in posed}
    about = about.encode("utf-8", "backslashreplace").decode()  # the name of a file may be no text
    specs = _specs(posed, _Room(path))
    operator, theme, *_ = specs[0].id.split("/")
    unanswered: dict[str, str] = {}
    with new_vector_file(
        path,
        operator=operator,
        theme=theme,
        spec_text="".join(f"# {line}\n" for line in about.splitlines()),
        seed=0,
        generator=f"grucible {grucible.__version__}",
        made_from=json.dumps({"imported": about, "generator": GENERATOR}, sort_keys=True),
    ) as writer:
        room = _Room(path)
        for key, members in chunks(specs):
            answers = _answers(members, by_id, unanswered, room, advance)
            if blocks := list(answers):
                writer.write_block(key, blocks)
            del blocks  # before the next are made, and before the file is put together
        if len(unanswered) == len(specs):
            first = next(iter(unanswered))
            raise GrucibleError(f"no case can be answered; {first}: {unanswered[first]}")
    return Imported(path, len(specs) - len(unanswered), writer.content_sha256, unanswered)


class _Room:
    """What is left of MOST_BYTES in a vector file."""

    def __init__(self, path: Path) -> None:
        self._path, self._left = path, MOST_BYTES

    def take(self, *held: Mapping[str, Array]) -> None:
        """Count arrays; GrucibleError for those that are too much."""
        self._left -= sum(array.nbytes for arrays in held for array in arrays.values())
        if self._left < 0:
            raise GrucibleError(
                f"{self._path}: would hold more than {MOST_BYTES >> 20} MiB; import the cases in parts, "
                "each to a file of its own"
            )


def _specs(posed: Sequence[Posed], room: _Room) -> list[CaseSpec]:
    """What the questions ask. Raises GrucibleError where there is no room for their inputs alone."""
    specs = []
    for one in posed:
        question = one.read()
        room.take(question.inputs)
        specs.append(_spec(question, nonportable=one.nonportable))
    return specs


def _answers(
    members: Sequence[Sequence[CaseSpec]],
    by_id: Mapping[str, Posed],
    unanswered: dict[str, str],
    room: _Room,
    advance: Callable[[int], None],
) -> Iterator[Block]:
    """The answered cases of a block, chunk by chunk; why others are not goes to `unanswered`."""
    for part in members:
        block, refused = _answered_block(part, [by_id[spec.id].read() for spec in part])
        unanswered |= refused
        if block is not None:
            _check_tier(block)
            room.take(block.inputs)
            for one in block.answers.values():
                room.take(one.outputs, *one.tolerances.values())
            yield block
        advance(len(part))


def _check_tier(block: Block) -> None:
    """Raise GrucibleError for a case that decides, whatever whoever poses it says."""
    if block.tier == NONPORTABLE and not (held := special(block)).all():
        raise GrucibleError(
            f"{block.ids[int(np.argmin(held))]}: {NOTHING_NONPORTABLE}; export it from vectors in which it "
            "is required"
        )


def _spec(question: Question, *, nonportable: bool) -> CaseSpec:
    """What a question asks, which is nonportable also where an intermediate comes near overflow.

    Raises GrucibleError where it is too large to be answered.
    """
    spec = case_spec(question, nonportable=nonportable)
    check_sizes([spec])
    if spec.tier != NONPORTABLE and _overflowing(question):
        return case_spec(question, nonportable=True)
    return spec


def case_spec(question: Question, *, nonportable: bool = False) -> CaseSpec:
    """What a question asks, as a case is described before its numbers are drawn.

    It is nonportable where it says so or holds NaN or an infinity, ambiguous where it touches an ambiguous
    point, and required otherwise.
    """
    operator, inputs = OPERATORS[question.operator], question.inputs
    attributes = operator.with_defaults(question.given)
    lengths = operator.tensor("lengths")
    tensors = (*operator.inputs, *operator.outputs)
    finite = all(np.isfinite(array.astype(np.float64)).all() for array in inputs.values())
    case = CaseSpec(
        id=question.id,
        operator=operator.name,
        dtype=question.dtype,
        tier=NONPORTABLE if nonportable or not finite else "required",
        readings=(),
        given=dict(question.given),
        sizes=sizes_of(question),
        absent=frozenset(
            t.name for t in tensors if t.name not in inputs and t.name not in question.outputs
        ),
        types={
            variable: _type(question, variable, allowed)
            for variable, allowed in operator.types.items()
        },
        lengths=tuple(inputs[lengths.name].tolist())
        if lengths and lengths.name in inputs
        else None,
        draw="ordinary",
        factors={},
        zeros=frozenset(
            t.name
            for t in operator.inputs
            if t.fills and t.name in inputs and not np.any(inputs[t.name] != 0)
        ),
    )
    if case.tier == NONPORTABLE:
        return case
    readings = touched_by(case, semantics(operator, attributes))
    return replace(case, tier="ambiguous", readings=readings) if readings else case


def _type(question: Question, variable: str, allowed: Collection[str]) -> str:
    """The dtype that a type variable has in a question."""
    operator = OPERATORS[question.operator]
    if allowed == operator.dtypes():
        return question.dtype
    for tensor in operator.inputs:
        if tensor.type == variable and tensor.name in question.inputs:
            return str(question.inputs[tensor.name].dtype.name)
    return next(iter(allowed))


def _overflowing(question: Question) -> bool:
    """Whether an intermediate comes too near the dtype's overflow for an answer that decides."""
    inputs = stacked([question.inputs])
    whole = stacks(OPERATORS[question.operator], [dict(question.given)], inputs)
    return any(overflows(stack, question.dtype) for stack in whole)


def _answered_block(
    specs: Sequence[CaseSpec], questions: Sequence[Question]
) -> tuple[Block | None, dict[str, str]]:
    """The block of cases that share one, and by id why some have no answer."""
    first = specs[0]
    inputs = stacked([question.inputs for question in questions])
    made: list[Made] = []
    unanswered: dict[str, str] = {}
    for whole in stacks(OPERATORS[first.operator], [spec.given for spec in specs], inputs):
        for stack in parts(whole):
            found = answered(kept_in_any_case(stack, first.dtype, first.readings, first.absent))
            at = stack.rows[found.kept]
            if at.size:
                rows = {name: array[at] for name, array in inputs.items()}
                made.append(Made(at, rows, found.answers))
            for place, why in found.reasons.items():
                unanswered[specs[int(stack.rows[place])].id] = why
    return block_of(specs, made), unanswered
