"""The trace of a case as text: step after step, and where observed states leave it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.operators import OPERATORS
from ...cases.operators.layout import gru_inputs
from ...cases.operators.readings import about, as_read
from ...gen.exact.answers import DirectionTrace
from ...gen.formula import quantities
from ..deviation import Beside, Deviation, Leaving, StepPlace
from ..trace import WHOLE, StepRange, Trace, Traced
from .findings import how_far_off, off_by
from .text import array_lines, fit, group, plural, width, wrap

_MOST_ROWS, _MOST_STEPS, _MOST_WRONG = 4, 8, 16
"""Maximum rows, steps of a row, and lines of wrong steps without --full."""
_NAME = 8
"""Columns of the names of quantities, and of `observed`."""
_ORDER = ("a_z", "a_r", "z", "r", "u", "a_h", "t", "state")


def head_lines(trace: Trace, file: str) -> Iterator[str]:
    """Yield the case, and where it stands."""
    yield trace.case.id
    yield f"  in {file}"
    yield f"  every number exact, rounded once to {trace.case.dtype}"


def against_lines(traced: Traced, *, full: bool) -> Iterator[str]:
    """Yield whether what was observed passes, where its states leave the exact ones, and wrong steps.

    Nothing where nothing was observed.
    """
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


def verdict(name: str, found: Deviation) -> str:
    """Return whether what is called `name` passes the case, and if not, its worst element."""
    result = found.result
    if result.verdict == "passed":
        read = ""
        if result.readings and all(result.readings):  # never the stored one
            read = f", under the reading {' and '.join(result.readings[0])}"
        return f"{name} passes{read}: the largest error is {result.worst_ratio:.3g} × tolerance"
    if result.verdict != "failed":
        return f"{name}: {result.verdict}: {result.message}"
    return f"{name} fails: {how_far_off(result)}"


def sentences(found: Deviation) -> Iterator[str]:
    """Yield where the states of a failed case leave the exact ones, and what is wrong by itself."""
    if found.reading:
        yield f"compared with the nearest reading, {' and '.join(found.reading)}: {about(found.reading)}"
    whose = "leaves the exact states" if found.every else "its last states leave the exact ones"
    for one in found.leaving:
        ratio = one.off / one.tolerance if one.tolerance else math.inf
        more = f" (and {one.others} more of its units)" if one.others else ""
        at = f"{_at(one.place)}, unit {one.unit}{more}"
        yield f"{whose} first at {at}: {_expected(one, found)}{off_by(one.off, ratio)}"
    if not found.leaving:
        yield "no state is off by more than its tolerance"
    if found.leaving or found.wrong:
        yield from _other_steps(found)
    for beside in found.beside:
        what = f"past the row's length at time {beside.time}"
        if beside.time is None:
            what = "is not the state after the row's last step"
        where = f"{beside.direction}, row {beside.row}, unit {beside.unit}"
        yield f"{beside.output} {what}, {where}: {_expected(beside, found)}"
    if found.last_alone_right:
        yield (
            "the last states are right where they are handed out by themselves: so the steps are "
            "right, and what Y holds is not what they gave"
        )
    if found.result.arithmetic:
        yield f"it is off by no more than {found.result.arithmetic} arithmetic may be"


def _expected(one: Leaving | Beside, found: Deviation) -> str:
    """Return two numbers of the case's dtype, in the fewest digits that tell them from others."""
    dtype = FLOAT_TYPES[found.result.dtype].numpy.type
    return f"expected {dtype(one.expected)!s}, got {dtype(one.observed)!s}"


def _at(place: StepPlace) -> str:
    return f"{place.direction}, row {place.row}, step {place.step} (time {place.time})"


def _other_steps(found: Deviation) -> Iterator[str]:
    """Yield whether the steps are right from the observed state before them."""
    wrong, total = len(found.wrong), found.steps
    if found.last_alone_right:
        return
    if not found.every:
        yield "at which step they go wrong is unknown: the other states are not handed out"
    elif not wrong:
        yield (
            "from the observed state before it no step is off by much: these are small errors, as of "
            "coarse arithmetic, or of a function that is not exact enough"
        )
    elif wrong == total:
        yield f"every step is wrong by itself, from the observed state before it: all {total}"
    elif wrong == 1:
        yield (
            f"{_at(found.wrong[0].place)} alone is wrong by itself: every later step is right from the "
            "state before it"
        )
    else:
        yield (
            f"{wrong} of {total} steps are wrong by themselves, from the observed state before them; "
            "every other step is right from the state before it"
        )


def wrong_steps(found: Deviation, hidden: int) -> Iterator[str]:
    """Yield the steps that are wrong by themselves, such as `forward, rows 0-2: steps 4-5, every unit`.

    None where a sentence has them all: of one step, of every step, and where Y holds other states.
    """
    if found.last_alone_right or len(found.wrong) in (1, found.steps):
        return
    by_row = group(found.wrong, lambda one: (one.place.direction, one.place.row))
    texts = {}
    for key, steps in by_row.items():
        parts = []
        for units, alike in group(steps, lambda one: one.units).items():
            which = "every unit" if len(units) == hidden else name_ranges("unit", units)
            parts.append(f"{name_ranges('step', [one.place.step for one in alike])}, {which}")
        texts[key] = "; ".join(parts)
    for (direction, text), keys in group(texts, lambda key: (key[0], texts[key])).items():
        yield f"{direction}, {name_ranges('row', [row for _, row in keys])}: {text}"


def name_ranges(word: str, numbers: Sequence[int]) -> str:
    """Return numbers in order, as `steps 0-3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    named = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{word}{'s' if len(numbers) > 1 else ''} {named}"


def step_lines(traced: Traced, part: StepRange, *, full: bool) -> Iterator[str]:
    """Yield what each quantity is, and its numbers step after step, in the order of processing.

    Against what was observed: the steps of a `part` that is asked for, and else the first step of each
    direction that leaves the exact states, unless all is to be printed.
    """
    found, before = traced.found, [""]
    case, operator = traced.trace.case, OPERATORS[traced.trace.case.operator]
    biases = gru_inputs(operator, case.attributes, case.inputs).b
    meant = as_read(traced.trace.reading, case.semantics)
    for index, one in enumerate(traced.trace.directions):
        first, chosen = None, part
        if found and part == WHOLE and not full:
            first = next((x for x in found.leaving if x.place.direction == one.direction), None)
            if first is None:
                continue
            chosen = StepRange(one.direction, first.place.row, first.place.step)
        if chosen.direction not in (None, one.direction):
            continue
        lines = []
        for name, text in quantities(meant, biases, index, operator.notation):
            lines += wrap(f"{name:{_NAME}} {text}", 2, 5 + _NAME)
        same = lines == before
        yield from ["", f"{one.direction}{', the same with weights of its own' * same}"]
        yield from [] if same else lines
        yield from _rows(one, chosen, traced.observed[index], first, full=full)
        before = lines


def _rows(
    one: DirectionTrace, part: StepRange, states: Array | None, first: Leaving | None, *, full: bool
) -> Iterator[str]:
    """Yield the steps of each row, and of many those at both ends."""
    rows = part.rows(one)
    for row in _ends(rows, _MOST_ROWS, full=full):
        yield ""
        if row is None:
            yield f"… {len(rows) - _MOST_ROWS} more rows: --row N, or --full"
            continue
        count = int(one.lengths[row])
        yield f"{one.direction}, row {row}: {plural(count, 'step') if count else 'no steps'}"
        steps = part.steps(one, row)
        before = one.state[row, steps[0] - 1] if steps and steps[0] else one.h0[row]
        yield from _numbers("before", before, full=full)
        for step in _ends(steps, _MOST_STEPS, full=full):
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
                numbers = [f"{name} {array[first.unit]!s}" for name, array in values.items()]
                yield from wrap(f"unit {first.unit}: {', '.join(numbers)}", 4, 6)


def _ends(items: Sequence[int], most: int, *, full: bool) -> list[int | None]:
    """Return the items; of more than `most` the first ones, None, and the last one."""
    if full or len(items) <= most:
        return list(items)
    return [*items[: most - 1], None, items[-1]]


def _numbers(name: str, array: Array, *, full: bool) -> Iterator[str]:
    start = f"    {name:{_NAME}} "
    for line in array_lines(array, width() - len(start), whole=full):
        yield f"{start}{line}"
        start = " " * len(start)
