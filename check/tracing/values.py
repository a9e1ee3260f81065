"""A trace for programs: as plain data for JSON, and as the arrays of an .npz file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.strict_json import encode_number, format_json
from ...gen.exact.trace import DirectionTrace
from ...gen.gru import Step
from ...vectors.exchange.tensors import stored_arrays
from .deviation import Deviation
from .observing import Traced
from .part import WHOLE, Part

VERSION = 1
FIRST = "grucible_trace"
"""The first array of a file, which holds VERSION and says what the file is."""
LIKE = re.compile(rb"PK\x03\x04.{26}" + FIRST.encode() + rb"\.npy", re.DOTALL)
"""What such a file begins with."""


def npz_bytes(traced: Traced) -> bytes:
    """An .npz file of every array of a trace: `forward/z` and so on, `lengths`, and with what was observed
    `forward/observed`; bfloat16 as its 16 bits, uint16."""
    trace = traced.trace
    arrays: Arrays = {FIRST: np.array(VERSION), "lengths": trace.directions[0].lengths}
    arrays |= trace.arrays
    for one, states in zip(trace.directions, traced.observed, strict=True):
        if states is not None:
            arrays[f"{one.direction}/observed"] = states
    file = io.BytesIO()
    np.savez(file, **stored_arrays(arrays))  # type: ignore[arg-type]
    return file.getvalue()


def trace_json(traced: Traced, part: Part = WHOLE) -> str:
    """Part of a trace as a JSON text; infinities and NaN are the strings "inf", "-inf" and "nan"."""
    return format_json(trace_value(traced, part))


def trace_value(traced: Traced, part: Part = WHOLE) -> dict[str, Any]:
    """Part of a trace, and where what was observed leaves it, as plain data."""
    trace = traced.trace
    return {
        FIRST: VERSION,
        "id": trace.case.id,
        "operator": trace.case.operator,
        "dtype": trace.case.dtype,
        "reading": " and ".join(trace.reading) or None,
        "against": traced.found and {"name": traced.name} | deviation_value(traced.found),
        "directions": [
            {"direction": one.direction, "rows": list(_rows(one, states, part))}
            for one, states in zip(trace.directions, traced.observed, strict=True)
            if part.has_direction(one)
        ],
    }


def _rows(one: DirectionTrace, states: Array | None, part: Part) -> Iterator[dict[str, Any]]:
    for row in part.rows(one):
        steps = []
        for step in part.steps(one, row):
            values = {name: _numbers(one.arrays[name][row, step]) for name in Step._fields}
            if states is not None:
                values["observed"] = _numbers(states[row, step])
            steps.append({"step": step, "time": int(one.time[row, step])} | values)
        yield {
            "row": row,
            "length": int(one.lengths[row]),
            "h0": _numbers(one.h0[row]),
            "steps": steps,
        }


def deviation_value(found: Deviation) -> dict[str, Any]:
    """What was observed against a trace, as plain data."""
    result = found.result
    return {
        "verdict": result.verdict,
        "message": result.message,
        "where": result.where,
        "worst_ratio": encode_number(result.worst_ratio),
        "every_state": found.every,
        "steps": found.steps,
        "leaving": [_plain(asdict(one)) for one in found.leaving],
        "wrong": [_plain(asdict(one)) for one in found.wrong],
        "beside": [_plain(asdict(one)) for one in found.beside],
        "last_alone_right": found.last_alone_right,
    }


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of a value, those of its place among them."""
    flat = value.pop("place", {}) | value
    return {k: encode_number(v) if isinstance(v, float) else v for k, v in flat.items()}


def _numbers(array: Array) -> list[float | str]:
    return [encode_number(value) for value in array.astype(np.float64).tolist()]
