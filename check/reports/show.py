"""One case, readable: what it asks, its inputs, its expected outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...cases.dtypes import Array, dtype_name
from ...cases.errors import GrucibleError
from ...cases.invalid import InvalidQuestion, invalid_questions
from ...cases.operators import OPERATORS
from ...cases.operators.readings import about
from ...cases.question import INVALID, Question, names_invalid
from ...gen.formula import attribute_lines, equation_lines
from ...gen.making import open_or_make
from ...gen.tolerances.classes import CLASSES
from ...gen.variants.evaluate import catches
from ...gen.variants.work import too_large
from ...vectors.block import Block
from ...vectors.case import Case
from ..judging.criterion import check_classes
from .text import MOST_WHOLE, array_lines, plural, wrap

_MOST_NAMED = 5


def find_case(vectors: Path | None, wanted: str) -> tuple[Block, str]:
    """Return the block of the only case whose id is, or matches, `wanted`, and where it is.

    Raises GrucibleError where no case or several match, and where the block lacks the tolerances of a class.
    """
    opened = open_or_make(vectors, (wanted,))
    nothing = (
        f"no case of {vectors or 'the core vectors'} is called {wanted!r}; name other "
        "vectors before it, and see the ids with: grucible cases --list"
    )
    found = opened.one(_choose(wanted, opened.ids, nothing))
    check_classes(found.file.path, found.block)
    made = opened.more is not None and found.file.path.is_relative_to(opened.more)
    return found.block, "memory, made from its id" if made else str(found.file.path)


def _choose(wanted: str, ids: Sequence[str], nothing: str) -> str:
    """Return the only id that equals or matches `wanted`. Raises GrucibleError for no id or several."""
    if not ids:
        raise GrucibleError(nothing)
    if len(ids) > 1 and wanted not in ids:
        names = ", ".join(ids[:_MOST_NAMED])
        raise GrucibleError(f"{len(ids)} cases match {wanted!r}; name one, such as {names}")
    return wanted if wanted in ids else ids[0]


def show_lines(vectors: Path | None, wanted: str, full: bool) -> Iterator[str]:
    """Yield the lines of `grucible show`."""
    if vectors is None and names_invalid(wanted):
        found = {one.id: one for one in invalid_questions(select=(wanted,))}
        nothing = (
            f"no invalid question is called {wanted!r}; see the ids with: grucible cases --invalid"
        )
        yield from _invalid_lines(found[_choose(wanted, [*found], nothing)], full)
        return
    block, file = find_case(vectors, wanted)
    case = block.case(0)
    yield from (case.id, f"  in {file}", *case_lines(case, full))
    if case.tier != "nonportable":
        yield from _caught(block)


def _invalid_lines(one: InvalidQuestion, full: bool) -> Iterator[str]:
    """Yield what an invalid question asks, and why it must be refused."""
    question = one.question
    yield one.id
    yield f"  {question.operator}, {question.dtype}, tier {INVALID}"
    yield f"  {OPERATORS[question.operator].source}"
    must = "must be refused" if one.defect.decides else "may be refused; the text leaves it open"
    yield from ["", f"{must}: {one.defect.about}"]
    yield f"  (see: grucible explain ledger {one.defect.ledger})"
    yield from _given(question, full)


def case_lines(case: Case, full: bool) -> Iterator[str]:
    """Yield what a case asks, and its answers."""
    yield from asked_lines(case, full)
    yield from _arrays("expected outputs (exact, rounded once)", case.answer.outputs, full)
    yield from _tolerances(case)
    for names, answer in case.answers.items():
        if names:
            title = f"also accepted, reading {' and '.join(names)}: {about(names)}"
            yield from _arrays(title, answer.outputs, full)


def asked_lines(case: Case, full: bool) -> Iterator[str]:
    """Yield what a case asks."""
    yield f"  {case.operator}, {case.dtype}, tier {case.tier}"
    yield f"  {OPERATORS[case.operator].source}"
    yield from ["", "asks for", *(f"  {line}" for line in equation_lines(case.question))]
    yield from _given(case.question, full)
    count = len(case.question.semantics.directions)
    for tensor in OPERATORS[case.operator].inputs:
        if tensor.names and tensor.name in case.inputs:
            yield f"  {tensor.name} has {' and '.join(tensor.names[:count])}"


def _given(question: Question, full: bool) -> Iterator[str]:
    """Yield attributes and inputs."""
    yield from ["", "attributes", *(f"  {line}" for line in attribute_lines(question))]
    yield from _arrays("inputs", question.inputs, full)
    for tensor in OPERATORS[question.operator].inputs:
        if tensor.name not in question.inputs:
            yield f"  {tensor.name}: absent"


def _arrays(title: str, arrays: Mapping[str, Array], full: bool) -> Iterator[str]:
    yield from ["", title]
    for name, array in arrays.items():
        yield f"  {name}: {dtype_name(array.dtype)} {array.shape}"
        whole = full and array.size <= MOST_WHOLE
        if full and not whole:
            yield f"    {array.size} numbers are too many to be printed whole; see: grucible export"
        yield from (f"    {line}" for line in array_lines(array, 76, whole=whole))


def _tolerances(case: Case) -> Iterator[str]:
    """Yield the range of the tolerances in each class, without those of padding."""
    yield from ["", "tolerances, by class of arithmetic: least, median, largest"]
    for one in CLASSES[case.dtype]:
        for name, limit in case.answer.tolerances[one.name].items():
            values = limit[limit > 0].astype(np.float64) if limit.any() else np.zeros(1)
            some = np.quantile(values, [0, 0.5, 1], method="nearest")
            figures = "".join(f"{value:12.3g}" for value in some)
            yield f"  {one.name + ', ' + name:22}{figures}"


def _caught(block: Block) -> Iterator[str]:
    """Yield the misreadings that the only case of a block catches, if the case is small enough."""
    if too_large(block.question(0)):
        yield from ["", "which misreadings it catches is not computed: it is too large for that"]
        return
    names = [variant.name for variant, caught in catches(block) if caught[0]]
    if names:
        caught = plural(len(names), "misreading")
        yield from ["", f"catches {caught} of the catalogue (grucible explain NAME)"]
        yield from wrap(", ".join(names), 2)
