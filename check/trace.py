"""Trace a case: the exact quantities of every step, and what is observed against them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays
from ..cases.errors import GrucibleError, expected, texts
from ..cases.operators import OPERATORS
from ..cases.operators.readings import STORED, ReadingNames
from ..cases.strict_json import encode_number, format_json
from ..gen.exact.answers import DirectionTrace, exact_trace
from ..gen.exact.enclosures import Undecided
from ..gen.gru import Step
from ..vectors.block import block_of
from ..vectors.case import REQUIRED, Case
from ..vectors.exchange.manifest import stored_arrays
from ..vectors.vector_set import VectorSet
from .deviation import Deviation, find_deviation, nearest_reading
from .judging.criterion import Demanded
from .judging.judge import judge_one
from .observed.observations import observe
from .observed.source import Observed, Source, stack_replies
from .protocol.header import Reply

VERSION = 1
FIRST = "grucible_trace"
"""The first array of an .npz file, which holds VERSION and marks the file as a trace."""
MARK = re.compile(rb"PK\x03\x04.{26}" + FIRST.encode() + rb"\.npy", re.DOTALL)
"""The beginning of such a file."""


@dataclass(frozen=True)
class Trace:
    """The exact quantities of every step of a case, rounded once to its dtype.

    `directions` are in the order of the direction axis, their arrays in the order of processing (see
    DirectionTrace for names and shapes). `reading` names the readings that are followed.
    """

    case: Case = field(repr=False)
    directions: tuple[DirectionTrace, ...]
    reading: ReadingNames = STORED

    @property
    def arrays(self) -> Arrays:
        """Every array under the direction and its name, such as `forward/z`."""
        each = ((one, name, array) for one in self.directions for name, array in one.arrays.items())
        return {f"{one.direction}/{name}": array for one, name, array in each}

    def against(self, outputs: Mapping[str, Array]) -> Deviation:
        """Find where `outputs`, named, shaped and typed as the case asks, leave the exact steps.

        The tolerances are those of the class of arithmetic that the dtype requires. What is wrong with
        names, shapes or dtypes stands in the deviation's `result`.
        """
        given = {name: np.asarray(array) for name, array in outputs.items()}
        return self.against_observed(stack_replies(block_of(self.case), [Reply("ok", given)]))

    def against_observed(self, observed: Observed) -> Deviation:
        """Find where what a source observed of the case leaves the exact steps.

        A case that fails under every accepted reading is compared with the one it is nearest to.
        """
        block = block_of(self.case)
        result = judge_one(block, observed, Demanded(REQUIRED[block.dtype]))
        if result.verdict != "failed":
            return Deviation(result)
        reading = nearest_reading(block, observed.outputs)
        directions = self.under(reading).directions
        return find_deviation(result, block, observed.outputs, reading, directions)

    def under(self, reading: ReadingNames) -> Trace:
        """Trace the same case under a reading. Raises GrucibleError as `trace` does."""
        return self if reading == self.reading else trace(self.case, reading)


def trace(case: Case, reading: ReadingNames = STORED) -> Trace:
    """Trace the exact quantities of every step of a case, under the readings that are followed.

    Each quantity is proven exact, and rounded once. Raises GrucibleError for readings that the case has no
    answer under, and where a quantity is too close to the middle between two numbers of the dtype, as may
    happen where inputs overflow.
    """
    expected("case", case, Case, "a grucible.Case, as load_vectors gives them")
    reading = texts("reading", reading)
    if reading not in case.answers:
        known = ", ".join(map(repr, case.answers))
        raise GrucibleError(f"{case.id}: has no answer under {reading!r}; expected one of {known}")
    operator = OPERATORS[case.operator]
    try:
        directions = exact_trace(operator, case.attributes, case.dtype, case.inputs, reading)
    except Undecided:
        why = f"a quantity is too close to the middle between two numbers of {case.dtype}"
        raise GrucibleError(f"{case.id}: {why}") from None
    return Trace(case, directions, reading)


@dataclass(frozen=True)
class StepRange:
    """The steps of one `direction`, of one `row`, of one number in the order of processing, or of all.

    Rows and steps count from 0.
    """

    direction: str | None = None
    row: int | None = None
    step: int | None = None

    def rows(self, one: DirectionTrace) -> list[int]:
        """List the rows of a direction; with a `step`, those that take it."""
        rows = range(len(one.lengths)) if self.row is None else [self.row]
        return [row for row in rows if self.step is None or self.step < one.lengths[row]]

    def steps(self, one: DirectionTrace, row: int) -> list[int]:
        """List the numbers of the steps of a row of a direction."""
        return list(range(one.lengths[row])) if self.step is None else [self.step]

    def check(self, directions: Sequence[DirectionTrace]) -> None:
        """Raise GrucibleError where none of the steps is there."""
        names = [one.direction for one in directions]
        lengths = directions[0].lengths.tolist()
        rows = lengths if self.row is None else lengths[self.row : self.row + 1]
        there = bool(rows) and (self.step is None or self.step < max(rows))
        if not there or self.direction not in (None, *names):
            steps = ", ".join(map(str, lengths))
            what = f"{' and '.join(names)}, and rows of {steps} steps; rows and steps count from 0"
            raise GrucibleError(f"no such step: the case has {what}")


WHOLE = StepRange()
"""All steps."""


@dataclass(frozen=True)
class Traced:
    """A trace, and the deviation `found` from it of what a runtime called `name` gave."""

    trace: Trace
    name: str = ""
    found: Deviation | None = None

    @property
    def observed(self) -> list[Array | None]:
        """By direction, the observed states (batch, steps, hidden); None where none were looked at.

        They are in the case's dtype and the order of processing, NaN where none was handed out.
        """
        if self.found is None or self.found.states is None:
            return [None] * len(self.trace.directions)
        kind = FLOAT_TYPES[self.trace.case.dtype].numpy
        with np.errstate(invalid="ignore"):
            return [states.astype(kind) for states in self.found.states]


def traced_against(exact: Trace, vectors: VectorSet, source: Source) -> Traced:
    """Compare the one case of a set of vectors with what `source` observes of it.

    What goes wrong when the source ends is an error of the case, as in `check`. Raises VectorFileError for
    vectors that are not as their digests say, and for outputs that are not of these vectors.
    """
    [part] = observe(vectors, source)
    found = exact.against_observed(part.observed)
    name = f"{source.name} {source.version}".rstrip()
    return Traced(exact.under(found.reading), name, found)


def trace_npz(traced: Traced) -> bytes:
    """Make an .npz file of a trace: `lengths`, `forward/z` and so on, and `forward/observed`.

    bfloat16 arrays are their 16 bits, uint16.
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
    """Describe a finding by its fields, those of its place among them."""
    value = asdict(one)
    flat = value.pop("place", {}) | value
    return {k: encode_number(v) if isinstance(v, float) else v for k, v in flat.items()}


def _encode(array: Array) -> list[float | str]:
    return [encode_number(value) for value in array.astype(np.float64).tolist()]
