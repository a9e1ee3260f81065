"""The trace of a case as text: step after step, and where observed states leave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import gru_inputs
from ...cases.operators.readings import as_read
from ...gen.exact.answers import DirectionTrace
from ...gen.formula import quantities
from ..tracing.deviation import Leaving
from ..tracing.trace import WHOLE, Part, Trace, Traced
from .deviation import sentences, verdict, wrong_steps
from .text import array_lines, fit, width, wrap

_MOST_ROWS, _MOST_STEPS = 4, 8
"""Of more rows, and of more steps of a row, only the first ones and the last are printed without --full."""
_MOST_WRONG = 16
_NAME = 8
"""The names of quantities, and `observed`, in a column of so many characters."""


def head_lines(trace: Trace, file: str) -> Iterator[str]:
    """The case, and where it stands."""
    yield trace.case.id
    yield f"  in {file}"
    yield f"  every number exact, rounded once to {trace.case.dtype}"


def against_lines(traced: Traced, *, full: bool) -> Iterator[str]:
    """Whether what was observed passes; if not, where its states leave the exact ones, and which steps are
    wrong by themselves. Nothing where nothing was observed."""
    found = traced.found
    if found is None:
        return
    yield ""
    yield from wrap(fit(verdict(traced.name, found), 8 * width()), 0, 2)
    if found.result.verdict != "failed":
        return
    for sentence in sentences(found):
        yield from wrap(sentence, 0, 2)
    lines = list(wrong_steps(found, traced.trace.directions[0].h0.shape[-1]))
    if lines:
        yield "wrong by themselves:"
        for line in lines if full else lines[:_MOST_WRONG]:
            yield from wrap(line, 2, 4)
        if len(lines) > _MOST_WRONG and not full:
            yield f"  … and {len(lines) - _MOST_WRONG} more rows; --full names all"


def step_lines(traced: Traced, part: Part, *, full: bool) -> Iterator[str]:
    """What each quantity is, and its numbers step after step, in the order of processing.

    Against what was observed: the steps of a `part` that is asked for, and else the first step of each
    direction that leaves the exact states, unless all is to be printed.
    """
    found, before = traced.found, [""]
    for index, one in enumerate(traced.trace.directions):
        first, chosen = None, part
        if found and part == WHOLE and not full:
            first = next((x for x in found.leaving if x.place.direction == one.direction), None)
            if first is None:
                continue
            chosen = Part(one.direction, first.place.row, first.place.step)
        if chosen.has_direction(one):
            told = list(_quantities(traced.trace, index))
            yield ""
            yield f"{one.direction}{', the same with weights of its own' if told == before else ''}"
            yield from [] if told == before else told
            yield from _rows(one, chosen, traced.observed[index], first, full=full)
            before = told


def _quantities(trace: Trace, index: int) -> Iterator[str]:
    """What each quantity of a direction is, in an order in which they can be computed."""
    case = trace.case
    operator = OPERATORS[case.operator]
    biases = gru_inputs(operator, case.attributes, case.inputs).b
    meant = as_read(trace.reading, case.semantics)
    for name, text in quantities(meant, biases, index, operator.notation):
        yield from wrap(f"{name:{_NAME}} {text}", 2, 5 + _NAME)


_ORDER = ("a_z", "a_r", "z", "r", "u", "a_h", "t", "state")


def _rows(
    one: DirectionTrace, part: Part, states: Array | None, first: Leaving | None, *, full: bool
) -> Iterator[str]:
    rows = part.rows(one)
    for row in _some(rows, _MOST_ROWS, full=full):
        yield ""
        if row is None:
            yield f"… {len(rows) - _MOST_ROWS} more rows: --row N, or --full"
            continue
        count = int(one.lengths[row])
        yield f"{one.direction}, row {row}: {count or 'no'} step{'s' * (count != 1)}"
        steps = part.steps(one, row)
        earlier = steps and steps[0]
        before = one.state[row, steps[0] - 1] if earlier else one.h0[row]
        yield from _numbers("before", before, full=full)
        for step in _some(steps, _MOST_STEPS, full=full):
            if step is None:
                yield f"  … {len(steps) - _MOST_STEPS} more steps: --step N, or --full"
                continue
            values = {name: getattr(one, name)[row, step] for name in _ORDER}
            if states is not None:
                values["observed"] = states[row, step]
            yield f"  step {step}, time {one.time[row, step]}"
            for name, array in values.items():
                yield from _numbers(name, array, full=full)
            if first:
                told = ", ".join(f"{name} {array[first.unit]!s}" for name, array in values.items())
                yield from wrap(f"unit {first.unit}: {told}", 4, 6)


def _some(items: Sequence[int], most: int, *, full: bool) -> Iterator[int | None]:
    """The items; of more than `most` the first ones, None, and the last one."""
    if full or len(items) <= most:
        yield from items
        return
    yield from items[: most - 1]
    yield None
    yield items[-1]


def _numbers(name: str, array: Array, *, full: bool) -> Iterator[str]:
    start = f"    {name:{_NAME}} "
    for line in array_lines(array, width() - len(start), whole=full):
        yield f"{start}{line}"
        start = " " * len(start)
