"""Answering questions whose numbers are given, not drawn; and checking answers of unknown origin.

Questions are read more than once: to find the block of each, and to answer them. All of them together
may not fit into memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..cases.dtypes import Array
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS, operator_named
from ..cases.operators.layout import gru_inputs
from ..cases.operators.readings import STORED, Asks, touched_by
from ..cases.question import Question, case_bytes, pose, sizes_of, too_large
from ..vectors.block import Block, BlockKey
from ..vectors.case import Case, difference
from ..vectors.digest import GENERATOR
from ..vectors.writer import new_vector_file
from .answering import NOTHING_NONPORTABLE, answer_stacked, find_nonportable, overflows
from .drawing import chunk_size, key_of, stacked
from .stacks import stacks

NONPORTABLE = "nonportable"
MOST_BYTES = 640 << 20
"""Maximum bytes of a vector file of given questions, built in memory; the largest case takes 450 MiB."""
NEAR = 2.0**-6
"""Maximum relative deviation of a stored tolerance; the last of a tolerance's 8 bits depends on the BLAS."""


@dataclass(frozen=True)
class Posed:
    """A question that can be `read`; `nonportable` if its author calls it so."""

    id: str
    read: Callable[[], Question]
    nonportable: bool = False


@dataclass(frozen=True)
class Imported:
    """The result of an import: `cases` are in the file at `path`; `unanswered` says why others are not."""

    path: Path
    cases: int
    content_sha256: str
    unanswered: Mapping[str, str]


def answer(
    operator: str,
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Any],
    *,
    outputs: Collection[str] | None = None,
) -> Case:
    """Answer a question of your own exactly: `outputs`, or all of the operator's, and their tolerances.

    `attributes` and `inputs` have the names, values, shapes and dtypes of the operator's specification; None
    is no value. The case can be judged by `judge`. Raises GrucibleError for what makes no question, and where
    `answered_case` does.
    """
    given = {name: value for name, value in attributes.items() if value is not None}
    arrays = {name: np.asarray(array) for name, array in inputs.items()}
    return answered_case(pose(operator_named(operator), given, arrays, outputs=outputs))


def answered_case(question: Question, *, nonportable: bool = False) -> Case:
    """Answer a question: find its tier, and its answers under every reading that it leaves open.

    Raises GrucibleError if the question is too large, or if an output could not be rounded.
    """
    return next(answered_block(question, nonportable=nonportable).cases())


def answered_block(question: Question, *, nonportable: bool = False) -> Block:
    """Answer a question as a block of one, for judging. Raises as `answered_case` does."""
    key, inputs = _key(question, nonportable=nonportable), stacked([question.inputs])
    block, reasons = answer_stacked(key, [question.id], [question.given], inputs)
    if block is None:
        raise GrucibleError(f"{question.id or 'the question'}: {reasons[0]}")
    return block


def write_answered(
    path: Path,
    posed: Sequence[Posed],
    about: str,
    advance: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Write a vector file of questions, of one operator and theme, with their exact answers.

    `about` takes the place of a case spec in the file. `advance(n)` is called as cases are written.
    Raises GrucibleError if one question, or all together, are too large; if none can be answered; and if a
    question is called nonportable without reason.
    """
    about = about.encode("utf-8", "backslashreplace").decode()  # a file's name need not be UTF-8
    size = 0
    blocks: dict[BlockKey, list[Posed]] = {}
    for one in posed:
        question = one.read()
        blocks.setdefault(_key(question, nonportable=one.nonportable), []).append(one)
    operator, theme, *_ = posed[0].id.split("/")
    unanswered: dict[str, str] = {}
    with new_vector_file(
        path,
        operator=operator,
        theme=theme,
        spec_text="".join(f"# {line}\n" for line in about.splitlines()),
        seed=0,
        generator=f"grucible {__version__}",
        made_from=json.dumps({"imported": about, "generator": GENERATOR}, sort_keys=True),
    ) as writer:
        for key in sorted(blocks, key=lambda key: key.path):
            found = []
            for block in _answered(key, blocks[key], unanswered, advance):
                size += block.nbytes
                found.append(block)
                if size > MOST_BYTES:
                    raise GrucibleError(
                        f"{path}: would hold more than {MOST_BYTES >> 20} MiB; import the cases in parts, "
                        "each to a file of its own"
                    )
            if found:
                writer.write_block(key, found)
            del found  # free memory before the next blocks, and before the file is built
        if len(unanswered) == len(posed):
            first = next(iter(unanswered))
            raise GrucibleError(f"no case can be answered; {first}: {unanswered[first]}")
    return Imported(path, len(posed) - len(unanswered), writer.content_sha256, unanswered)


def _answered(
    key: BlockKey,
    posed: Sequence[Posed],
    unanswered: dict[str, str],
    advance: Callable[[int], None],
) -> Iterator[Block]:
    """Yield questions of one key with their answers, some at a time; tell why others are `unanswered`."""
    members = sorted(posed, key=lambda one: one.id)
    attributes = members[0].read().attributes
    most = chunk_size(case_bytes(OPERATORS[key.operator], attributes, dict(key.sizes)))
    for start in range(0, len(members), most):
        questions = [one.read() for one in members[start : start + most]]
        ids, inputs = [one.id for one in questions], stacked([one.inputs for one in questions])
        block, reasons = answer_stacked(key, ids, [one.given for one in questions], inputs)
        unanswered |= {ids[row]: why for row, why in reasons.items()}
        if block is not None:
            _check_nonportable(block)
            yield block
        advance(len(questions))


def _check_nonportable(block: Block) -> None:
    """Raise GrucibleError for a case that its author calls nonportable without reason."""
    if block.tier == NONPORTABLE and not (holds := find_nonportable(block)).all():
        raise GrucibleError(
            f"{block.ids[int(np.argmin(holds))]}: {NOTHING_NONPORTABLE}; export it from vectors in "
            "which it is required"
        )


def _key(question: Question, *, nonportable: bool) -> BlockKey:
    """Derive the block of a question, which is nonportable also if an intermediate comes near overflow.

    Raises GrucibleError if the question is too large to be answered.
    """
    operator = OPERATORS[question.operator]
    if why := too_large(operator, question.attributes, sizes_of(question)):
        raise GrucibleError(f"{question.id}: {why}")
    key = block_key(question, nonportable=nonportable)
    if key.tier != NONPORTABLE:
        whole = stacks(operator, [question.given], stacked([question.inputs]))
        if any(overflows(stack, question.dtype) for stack in whole):
            return block_key(question, nonportable=True)
    return key


def block_key(question: Question, *, nonportable: bool = False) -> BlockKey:
    """Derive the block that a question belongs to, and with it the question's tier and readings.

    The question is nonportable if the caller says so or it holds NaN or an infinity, ambiguous if it touches
    an ambiguous point, and required otherwise.
    """
    operator, inputs = OPERATORS[question.operator], question.inputs
    attributes, sizes = question.attributes, sizes_of(question)
    rows = gru_inputs(operator, attributes, inputs)
    given = any(t.role == "lengths" and t.name in inputs for t in operator.inputs)
    zeros = {t.name for t in operator.inputs if t.fills and not np.any(inputs.get(t.name, 1) != 0)}
    names = [tensor.name for tensor in (*operator.inputs, *operator.outputs)]
    absent = {name for name in names if name not in inputs and name not in question.outputs}
    asks = Asks(
        operator.name,
        attributes,
        sizes,
        tuple(rows.lengths.tolist()) if given else None,
        tuple(rows.starts.tolist()),
        frozenset(zeros),
        frozenset(absent),
    )
    finite = all(np.isfinite(array.astype(np.float64)).all() for array in inputs.values())
    special = nonportable or not finite
    readings = () if special else touched_by(asks, question.semantics)
    return key_of(
        operator.name,
        question.dtype,
        attributes,
        tier=NONPORTABLE if special else "ambiguous" if readings else "required",
        readings=readings,
        sizes=sizes,
        absent=absent,
        types={variable: _type(question, variable) for variable in operator.types},
    )


def _type(question: Question, variable: str) -> str:
    """Find the dtype that a type variable has in a question."""
    operator = OPERATORS[question.operator]
    allowed = operator.types[variable]
    if allowed == operator.dtypes():
        return question.dtype
    given = (t.name for t in operator.inputs if t.type == variable and t.name in question.inputs)
    return next((str(question.inputs[name].dtype.name) for name in given), next(iter(allowed)))


# stored answers, evaluated anew: the only proof that they are right


def differing(block: Block) -> dict[int, str]:
    """Say by row of a block how its stored answer differs from a new evaluation.

    Outputs must equal the exact outputs bit by bit; where every class admits everything, as in large cases,
    they must be finite. Tolerances may differ in the last of their 8 bits. The tier must follow from the
    question.
    """
    found = _misplaced(block)
    readings = tuple(names for names in block.answers if names)
    key = replace(block_key(block.question(0)), tier=block.tier, readings=readings)
    rows = [str(row) for row in range(len(block))]  # ids of a stranger's file need not differ
    anew, reasons = answer_stacked(key, rows, block.given, block.inputs)
    found |= reasons
    if anew is None:
        return found
    kept = np.array(anew.ids, int)
    for reading, exact in anew.answers.items():
        stored = block.answers[reading].rows(kept)
        under = f" (reading {' and '.join(reading)})" if reading else ""
        for name, right in exact.outputs.items():
            values = stored.outputs[name]
            with np.errstate(invalid="ignore"):
                off = difference(values.astype(np.float64), right.astype(np.float64)) > 0
            free = np.all([np.isinf(one[name]) for one in exact.tolerances.values()], axis=0)
            off &= ~(free & np.isfinite(values.astype(np.float64)))
            for row, at in _first(off):
                why = f"stored {name}{[*at[1:]]} is {values[at]}; the exact value is {right[at]}{under}"
                found.setdefault(int(kept[row]), why)
        classes = [name for name in exact.tolerances if name in stored.tolerances]
        for name, output in product(classes, exact.outputs):
            got, right = (
                one.tolerances[name][output].astype(np.float64) for one in (stored, exact)
            )
            with np.errstate(invalid="ignore"):
                off = ~((got == right) | (np.abs(got - right) <= NEAR * right))
            for row, at in _first(off):
                why = f"the stored {name} tolerance of {output}{[*at[1:]]} is {got[at]:.3g}"
                found.setdefault(int(kept[row]), f"{why}; derived is {right[at]:.3g}")
    return found


def _misplaced(block: Block) -> dict[int, str]:
    """Say by row which cases have another tier, or other readings, than they are marked with."""
    if block.tier == NONPORTABLE:
        rows = np.flatnonzero(~find_nonportable(block)).tolist()
        return dict.fromkeys(rows, NOTHING_NONPORTABLE)
    found = {}
    for row, question in enumerate(block.questions()):
        key = block_key(question)
        if key.tier != block.tier:
            found[row] = f"is marked as {block.tier}, and it is {key.tier}"
        elif set(block.answers) != {STORED, *key.readings}:
            found[row] = "has answers under other readings than its specification leaves open"
    return found


def _first(off: Array) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each row that has an element that is off, with the index of the first such element."""
    for row in np.flatnonzero(off.reshape(len(off), -1).any(axis=1)).tolist():
        at = np.unravel_index(int(np.argmax(off[row])), off.shape[1:])
        yield row, (row, *map(int, at))
