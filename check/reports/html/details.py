"""What the page shows of a failing case when it is opened: what it asks, and every element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....cases.console import escape
from ....cases.dtypes import Array, Arrays
from ....cases.operators.known import OPERATORS
from ....cases.operators.readings import STORED
from ...diagnosis.failing import FailingBlock
from ...judging.case_result import CaseResult
from ...judging.compare import ratios
from ...judging.growth import step_errors
from ...report import Report
from ..findings import plainest
from ..show import asked_lines
from .columns import explained
from .packed import few_digits, numbers, packed, short
from .sections import more_sections

MOST_BYTES = 1_500_000
"""So much text the values of failing cases may take in a page; of more cases the plainest are whole."""
MOST_ELEMENTS = 4096
"""Of a larger output no more elements than this are shown: those that are furthest off."""
WITH_SECTIONS = 48
"""So many of them have their trace and a script in the page: each takes some hundredths of a second."""
_TOGETHER = 16
"""So many cases are compressed together, and read together when one of them is opened."""


@dataclass(frozen=True)
class Details:
    """The values of failing cases: `chunks` are packed lists of cases; `places` has, by id, the number of the
    chunk and the place in it. `left_out` counts the failing cases for which there was no room."""

    chunks: Sequence[str]
    places: dict[str, tuple[int, int]]
    left_out: int


def details(report: Report, most: int = MOST_BYTES) -> Details:
    """The values of the failing cases of a report, as many as `most` bytes hold: of each explanation and
    dtype in turn, the plainest first."""
    kept = {
        case_id: (part, row)
        for part in report.failing
        for row, case_id in enumerate(part.block.ids)
    }
    failed = [r for r in report.results if r.decides and r.verdict == "failed"]
    order = [result.id for result in _in_turn(report) if result.id in kept]
    chunks: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    for start in range(0, len(order), _TOGETHER):
        ids = order[start : start + _TOGETHER]
        told = report if start < WITH_SECTIONS else None
        chunk = packed([_case(*kept[case_id], told) for case_id in ids])
        most -= len(chunk)
        if most < 0:
            break
        places |= {case_id: (len(chunks), place) for place, case_id in enumerate(ids)}
        chunks.append(chunk)
    return Details(chunks, places, len(failed) - len(places))


def _in_turn(report: Report) -> list[CaseResult]:
    """The failed cases: unexpected ones first, then of each explanation in turn, the plainest first."""
    why = explained(report)
    failed = [r for r in report.results if r.decides and r.verdict == "failed"]
    placed: dict[int, int] = {}
    order = []
    for place, result in enumerate(plainest(failed)):
        number = why.get(result.id, -1)
        placed[number] = placed.get(number, 0) + 1
        order.append((bool(result.expected), placed[number], place, result))
    return [entry[-1] for entry in sorted(order, key=lambda entry: entry[:3])]


def _case(part: FailingBlock, row: int, report: Report | None) -> dict[str, Any]:
    """The case of a row; with its trace and a script, where the report is given."""
    one = part.rows(np.array([row]))
    block, answer = one.block, one.block.answer
    admitted = one.criterion.admitted(block, STORED)
    off = ratios(answer.outputs, one.observed, admitted, block.dtype, signed_zero=False)
    lines = [escape(line) for line in asked_lines(block.case(0), full=False)]
    inputs = lines.index("inputs")
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])
    axes = {tensor.name: tensor.form(attributes).axes for tensor in operator.outputs}
    return {
        "asked": [*_flush(lines[:2]), *lines[2:inputs]],
        "inputs": _flush(lines[inputs + 1 :]),
        "outputs": [
            {"axes": axes[name]}
            | _output(name, answer.outputs[name][0], one.observed[name][0], admitted[name][0], off[name][0])
            for name in answer.outputs
        ],
        "steps": _steps(one),
        "readings": len(block.answers) - 1,
        "sections": [
            {"title": section.title, "lines": [escape(line) for line in section.lines]}
            for section in (more_sections(part, row, report) if report else ())
        ],
    }  # fmt: skip


def _flush(lines: Sequence[str]) -> list[str]:
    """Lines without the indentation that all of them have on a terminal."""
    return [line.removeprefix("  ") for line in lines]


def _output(
    name: str, expected: Array, observed: Array, admitted: Array, off: Array
) -> dict[str, Any]:
    """An output: its elements, or, of very many, those that are furthest off, with where they are."""
    told: dict[str, Any] = {"name": name, "shape": list(expected.shape)}
    arrays: Arrays = {"expected": expected, "observed": observed}
    if expected.size > MOST_ELEMENTS:
        at = np.sort(np.argsort(-off.ravel(), kind="stable")[:MOST_ELEMENTS])
        arrays = {key: array.ravel()[at] for key, array in arrays.items()}
        admitted, off = admitted.ravel()[at], off.ravel()[at]
        told["at"] = at.tolist()
    told |= {key: numbers(array) for key, array in arrays.items()}
    return told | {"admitted": few_digits(admitted), "ratio": few_digits(off)}


def _steps(one: FailingBlock) -> list[float | str] | None:
    """The error at each step, where the outputs hold every state."""
    tensor = OPERATORS[one.block.operator].tensor("lengths")
    lengths = one.block.inputs.get(tensor.name) if tensor else None
    errors = step_errors(one.block, one.observed, one.criterion, lengths)
    if errors is None:
        return None
    return [short(float(error)) for error in errors[0] if not np.isnan(error)]
