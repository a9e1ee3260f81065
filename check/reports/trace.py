"""The trace of a case as text, as JSON and as arrays, and where observed states leave it."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, groupby
from typing import Any

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.layout import gru_inputs
from ...cases.operators.readings import about, as_read
from ...cases.strict_json import encode_number, format_json
from ...gen.exact.answers import DirectionTrace
from ...gen.formula import quantities
from ...gen.gru import Step
from ...vectors.exchange.manifest import stored_arrays
from ..trace import WHOLE, Beside, Deviation, Leaving, StepPlace, StepRange, Trace, Traced
from .findings import how_far_off, off_by
from .text import ALONE, array_lines, fit, group, list_some, plural, width, wrap

VERSION = 1
FIRST = "grucible_trace"
"""The first array of an .npz file, which holds VERSION and marks the file as a trace."""
MARK = re.compile(rb"PK\x03\x04.{26}" + FIRST.encode() + rb"\.npy", re.DOTALL)
"""The beginning of an .npz file that holds a trace."""
_MOST_ROWS, _MOST_STEPS = 4, 8
"""Maximum rows, and steps of a row, that are printed without --full; the others are counted."""
_NAME = 8
"""Columns for a quantity's name, or for `observed`."""
_ORDER = ("a_z", "a_r", "z", "r", "u", "a_h", "t", "state")


def head_lines(trace: Trace, file: str) -> Iterator[str]:
    """Yield the case's id, and the file that has the case."""
    yield from (trace.case.id, f"  in {file}")
    yield f"  every number exact, rounded once to {trace.case.dtype}"


def against_lines(traced: Traced, *, full: bool) -> Iterator[str]:
    """Yield whether the observed outputs pass, where they leave the exact states, and the wrong steps.

    Yields nothing where nothing was observed.
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
    lines = [
        wrap(text, 2, 4) for text in wrong_steps(found, traced.trace.directions[0].h0.shape[-1])
    ]
    if lines:
        yield "wrong by themselves:"
    yield from chain(*lines) if full else list_some(lines, "steps; --full names all")


def verdict(name: str, found: Deviation) -> str:
    """Return whether the runtime called `name` passes the case, and if not, the worst element."""
    result = found.result
    if result.verdict == "passed":
        how = f"{name} passes"
        if result.readings and all(result.readings):  # the stored one does not pass
            how += f", under the reading {' and '.join(result.readings[0])}"
        return f"{how}: the largest error is {result.worst_ratio:.3g} × tolerance{ALONE}"
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
        admitted = "what rounding over all steps may change" if found.wrong else "its tolerance"
        yield f"no state is off by more than {admitted}"
    if found.last_alone_right:
        yield "the last states are right by themselves: the steps are right, and Y holds other states"
    elif found.leaving or found.wrong:
        yield _wrong_in_words(found)
    for beside in found.beside:
        what = f"past the row's length at time {beside.time}"
        if beside.time is None:
            what = "is not the state after the row's last step"
        where = f"{beside.direction}, row {beside.row}, unit {beside.unit}"
        yield f"{beside.output} {what}, {where}: {_expected(beside, found)}"
    if found.result.arithmetic:
        yield f"it is off by no more than {found.result.arithmetic} arithmetic may be"


def _expected(one: Leaving | Beside, found: Deviation) -> str:
    """Return both numbers in the case's dtype, in the fewest digits that tell them from others."""
    dtype = FLOAT_TYPES[found.result.dtype].numpy.type
    return f"expected {dtype(one.expected)!s}, got {dtype(one.observed)!s}"


def _at(place: StepPlace) -> str:
    return f"{place.direction}, row {place.row}, step {place.step} (time {place.time})"


def _wrong_in_words(found: Deviation) -> str:
    """Return how many steps do not follow from the observed state before them."""
    wrong, total = len(found.wrong), found.steps
    if not found.every:
        return "at which step they go wrong is unknown: the other states are not handed out"
    if not wrong:
        return (
            "by itself no step is off by much: coarse arithmetic, rounded weights, an inexact function, "
            "or a mistake that hardly shows here"
        )
    if wrong == total == 1:
        return "its only step is wrong"
    if wrong == total:
        return f"every step is wrong by itself, from the observed state before it: all {total}"
    if wrong == 1:
        alone = f"{_at(found.wrong[0].place)} alone is wrong by itself"
        return f"{alone}; no other step clearly is, given the state before it"
    return f"{wrong} of {total} steps are wrong by themselves, from the observed state before them"


def wrong_steps(found: Deviation, hidden: int) -> Iterator[str]:
    """Yield the steps that are wrong by themselves, such as `forward, rows 0-2: step 4, every unit`.

    Yields nothing where `sentences` says enough: one step, every step, or other states in Y.
    """
    if found.last_alone_right or len(found.wrong) in (1, found.steps):
        return
    alike = group(found.wrong, lambda one: (one.place.direction, one.place.step, one.units))
    for (direction, step, units), steps in alike.items():
        rows = name_ranges("row", [one.place.row for one in steps])
        which = "every unit" if len(units) == hidden else name_ranges("unit", units)
        yield f"{direction}, {rows}: step {step}, {which}"


def name_ranges(word: str, numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges, such as `steps 0-3, 5`."""
    places = groupby(enumerate(numbers), lambda one: one[1] - one[0])
    runs = [[number for _, number in run] for _, run in places]
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{word}{'s' if len(numbers) > 1 else ''} {named}"


def step_lines(traced: Traced, part: StepRange, *, full: bool) -> Iterator[str]:
    """Yield each quantity's formula, and its numbers step after step, in the order of processing.

    With observed outputs, only the first step of each direction that leaves the exact states is shown, unless
    a `part` is asked for, or `full`. Otherwise the steps of `part` are shown.
    """
    case, found, before = traced.trace.case, traced.found, list[str]()
    operator = OPERATORS[case.operator]
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
        named = quantities(meant, biases, index, operator.notation)
        lines = [
            line for name, text in named for line in wrap(f"{name:{_NAME}} {text}", 2, 5 + _NAME)
        ]
        same = ", the same with weights of its own" if lines == before else ""
        yield from ["", f"{one.direction}{same}", *([] if same else lines)]
        yield from _rows(one, chosen, traced.observed[index], first, full=full)
        before = lines


def _rows(
    one: DirectionTrace, part: StepRange, states: Array | None, first: Leaving | None, *, full: bool
) -> Iterator[str]:
    """Yield the steps of each row; unless `full`, only the first of many rows and steps."""
    rows = part.rows(one)
    for row in rows if full else rows[:_MOST_ROWS]:
        count, steps = int(one.lengths[row]), part.steps(one, row)
        taken = plural(count, "step") if count else "no steps"
        yield from ["", f"{one.direction}, row {row}: {taken}"]
        before = one.state[row, steps[0] - 1] if steps and steps[0] else one.h0[row]
        yield from _numbers("before", before, full=full)
        for step in steps if full else steps[:_MOST_STEPS]:
            values = {name: getattr(one, name)[row, step] for name in _ORDER}
            if states is not None:
                values["observed"] = states[row, step]
            yield f"  step {step}, time {one.time[row, step]}"
            for name, array in values.items():
                yield from _numbers(name, array, full=full)
            if first:
                numbers = [f"{name} {array[first.unit]!s}" for name, array in values.items()]
                yield from wrap(f"unit {first.unit}: {', '.join(numbers)}", 4, 6)
        if len(steps) > _MOST_STEPS and not full:
            yield f"  … {len(steps) - _MOST_STEPS} more steps: --step N, or --full"
    if len(rows) > _MOST_ROWS and not full:
        yield from ["", f"… {len(rows) - _MOST_ROWS} more rows: --row N, or --full"]


def _numbers(name: str, array: Array, *, full: bool) -> Iterator[str]:
    start = f"    {name:{_NAME}} "
    for line in array_lines(array, width() - len(start), whole=full):
        yield f"{start}{line}"
        start = " " * len(start)


def trace_npz(traced: Traced) -> bytes:
    """Make an .npz file of a trace: `lengths`, `forward/z` and so on, and `forward/observed`.

    bfloat16 arrays are stored as their bits, in uint16.
    """
    directions = traced.trace.directions
    arrays: Arrays = {FIRST: np.array(VERSION), "lengths": directions[0].lengths}
    arrays |= traced.trace.arrays
    for one, states in zip(directions, traced.observed, strict=True):
        if states is not None:
            arrays[f"{one.direction}/observed"] = states
    file = io.BytesIO()
    np.savez(file, **stored_arrays(arrays))  # type: ignore[arg-type]
    return file.getvalue()


def trace_json(traced: Traced, part: StepRange = WHOLE) -> str:
    """Format part of a trace as JSON; infinities and NaN are the strings "inf", "-inf" and "nan"."""
    trace, found = traced.trace, traced.found
    against = None
    if found:
        lists = {"leaving": found.leaving, "wrong": found.wrong, "beside": found.beside}
        against = {
            "name": traced.name,
            "verdict": found.result.verdict,
            "message": found.result.message,
            "where": found.result.where,
            "worst_ratio": encode_number(found.result.worst_ratio),
            "every_state": found.every,
            "steps": found.steps,
            **{name: [_describe(one) for one in some] for name, some in lists.items()},
            "last_alone_right": found.last_alone_right,
        }
    directions = [
        {"direction": one.direction, "rows": list(_describe_rows(one, states, part))}
        for one, states in zip(trace.directions, traced.observed, strict=True)
        if part.direction in (None, one.direction)
    ]
    return format_json(
        {
            FIRST: VERSION,
            "id": trace.case.id,
            "operator": trace.case.operator,
            "dtype": trace.case.dtype,
            "reading": " and ".join(trace.reading) or None,
            "against": against,
            "directions": directions,
        }
    )


def _describe_rows(
    one: DirectionTrace, states: Array | None, part: StepRange
) -> Iterator[dict[str, Any]]:
    for row in part.rows(one):
        steps = []
        for step in part.steps(one, row):
            values = {name: _encode(one.arrays[name][row, step]) for name in Step._fields}
            if states is not None:
                values["observed"] = _encode(states[row, step])
            steps.append({"step": step, "time": int(one.time[row, step])} | values)
        length = int(one.lengths[row])
        yield {"row": row, "length": length, "h0": _encode(one.h0[row]), "steps": steps}


def _describe(one: Any) -> dict[str, Any]:
    """Describe a finding by its fields, including the fields of its place."""
    value = asdict(one)
    flat = value.pop("place", {}) | value
    return {k: encode_number(v) if isinstance(v, float) else v for k, v in flat.items()}


def _encode(array: Array) -> list[float | str]:
    return [encode_number(value) for value in array.astype(np.float64).tolist()]
