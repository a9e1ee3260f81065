"""Kernels that leave memory unwritten get the place named; those that compute NaN get no such sentence."""

# ruff: noqa: ARG001, ARG002
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, no-any-return"
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from diagnosis.kernel import Array, Kernel, Task
from diagnosis.wrong import CELL, ONNX, SEQUENCE

from grucible import Report, verify
from grucible.check.judging.expectations import is_misreading
from grucible.check.reports.findings import notes

Fill = Callable[[Array, Array, Task, float], None]
"""Leaves something of y [time, direction, batch, hidden] and last [direction, batch, hidden] as it was."""


class Unwritten(Kernel):
    """A right kernel that leaves some of its buffers as they were: all of one value."""

    def __init__(self, fill: Fill, value: float = np.nan) -> None:
        self.fill, self.value = fill, value

    def pack(self, question, y, last):
        y, last = y.copy(), last.copy()
        self.fill(y, last, self.task, self.value)
        return super().pack(question, y, last)


def of_ho(y, last, task, value):
    last[...] = value


def of_all(y, last, task, value):
    y[...] = last[...] = value


def tail(size: int) -> Fill:
    def fill(y, last, task, value):
        whole = y.shape[-1] // size * size
        y[..., whole:] = last[..., whole:] = value

    return fill


def second_direction(y, last, task, value):
    y[:, 1:] = last[1:] = value


def second_direction_of_y(y, last, task, value):
    y[:, 1:] = value


def rows_past_first(y, last, task, value):
    y[:, :, 1:] = last[:, 1:] = value


def last_of_several_rows(y, last, task, value):
    if len(task.lengths) > 1:
        last[:, -1] = value


def last_time(y, last, task, value):
    y[-1] = value


def last_step(y, last, task, value):
    for row, length in enumerate(task.lengths):
        for p in task.directions:
            if length:
                y[0 if p.backwards else length - 1, p.number, row] = value


def last_step_and_ho(y, last, task, value):
    last_step(y, last, task, value)
    last[...] = value


def padding(y, last, task, value):
    for row, length in enumerate(task.lengths):
        y[length:, :, row] = value


class StateTail(Kernel):
    def step(self, x, h, p):
        found = super().step(x, h, p).copy()
        found[:, found.shape[1] // 4 * 4 :] = np.nan
        return found


class EmptyRowsKeepH0(Unwritten):
    """It follows the other accepted reading of rows of length 0."""

    def last(self, task, y, h):
        return h


class HoFromFirstTime(Kernel):
    def pack(self, question, y, last):
        return super().pack(question, y, y[0])


def report(kernel: Kernel, operator: str, more: str = "*") -> Report:
    return verify(runtime=kernel, select=[f"{operator}/core/float32/{more}"])


@pytest.mark.parametrize(
    ("operator", "kernel", "says"),
    [
        (SEQUENCE, Unwritten(of_ho), "Ho NaN everywhere, as if never written"),
        (ONNX, Unwritten(of_ho), "Y_h NaN everywhere, as if never written"),
        (CELL, Unwritten(of_ho), "Ho NaN everywhere"),
        (CELL, Unwritten(of_ho, 0.0), "Ho left zero"),
        (ONNX, Unwritten(of_all), "Y and Y_h NaN everywhere"),
        (ONNX, Unwritten(of_all, 1.0), "Y and Y_h 1 everywhere"),
        (CELL, Unwritten(tail(4)), "Ho NaN in the hidden units past the last whole group of 4, as if never written"),
        (ONNX, Unwritten(tail(4)), "Y and Y_h NaN in the hidden units past the last whole group of 4, as if never written"),
        (SEQUENCE, Unwritten(tail(8)), "Y and Ho NaN in the hidden units past the last whole group of 8, as if never written"),
        (SEQUENCE, Unwritten(tail(4), 0.0), "Y and Ho zero in the hidden units past the last whole group of 4"),
        (SEQUENCE, StateTail(), "Y and Ho NaN in the hidden units past the last whole group of 4 in the first step, and everywhere after it, as if never written"),
        (ONNX, Unwritten(second_direction), "Y and Y_h NaN in the second direction, as if never written"),
        (ONNX, Unwritten(second_direction_of_y), "Y NaN in the second direction, as if never written"),
        (SEQUENCE, Unwritten(second_direction, 0.0), "Y and Ho zero in the second direction"),
        (SEQUENCE, Unwritten(rows_past_first), "Y and Ho NaN in the rows of the batch past the first, as if never written"),
        (SEQUENCE, EmptyRowsKeepH0(last_of_several_rows), "Ho NaN in the last row of the batch, as if never written"),
        (SEQUENCE, Unwritten(last_time), "Y NaN at the last time, as if never written"),
        (ONNX, Unwritten(last_step), "Y NaN in the last step of each row, as if never written"),
        (SEQUENCE, Unwritten(last_step_and_ho), "Y NaN in the last step of each row, as if never written; and Ho NaN everywhere, as if never written"),
        (ONNX, Unwritten(padding), "Y NaN past a row's length, as if never written"),
        (SEQUENCE, Unwritten(padding, 7.25), "Y 7.25 past a row's length, as if never written"),
        (ONNX, HoFromFirstTime(), "Y_h taken from Y at time 0"),
    ],
)  # fmt: skip
def test_what_was_never_written_is_named(operator: str, kernel: Kernel, says: str) -> None:
    found = report(kernel, operator).diagnosis
    assert (found.failed > 20, found.unexplained) == (True, 0)
    [finding] = found.findings
    assert (finding.about, finding.where, finding.certain) == (says, "", True)
    assert finding.explains == found.failed
    assert all(map(is_misreading, finding.names))


def test_a_single_row_may_be_right() -> None:
    kernel = Unwritten(last_of_several_rows)
    [finding] = verify(runtime=kernel, select=[f"{SEQUENCE}/*/float32/*"]).diagnosis.findings
    words = "Ho NaN in the last of several rows of the batch, as if never written"
    assert (finding.about, finding.where, finding.certain) == (words, "", True)


def test_places_that_no_case_tells_apart_are_alternatives() -> None:
    [finding] = report(Unwritten(tail(8)), SEQUENCE).diagnosis.findings
    other = "unwritten-hidden-units-past-the-last-whole-group-of-16"
    assert finding.alternatives == ((other,),)
    assert next(notes(finding)).endswith(f" [{other}]")


def test_where_some_cases_alone_have_the_place_it_is_said_and_the_others_go_on() -> None:
    class InReverse(Kernel):
        """Never writes Ho in reverse, and ignores clip forward."""

        def pack(self, question, y, last):
            backwards = question.attributes["direction"] == "reverse"
            return super().pack(question, y, np.full_like(last, np.nan) if backwards else last)

        def clipped(self, v, clip):
            return v if self.forward else super().clipped(v, clip)

        def direction(self, task, p):
            self.forward = not p.backwards and len(task.directions) == 1
            return super().direction(task, p)

    found = report(InReverse(), SEQUENCE).diagnosis
    certain = {one.names: one.where for one in found.findings if one.certain}
    assert certain.pop(("unwritten-Ho-reverse",)) == "where direction is reverse"
    assert set(certain) <= {("clip-ignored",)}
    assert ("clip-ignored",) in {one.names for one in found.findings}


class NanOfLarge(Kernel):
    """Its tanh overflows: infinity by infinity."""

    def tanh(self, v):
        return (np.exp(40 * v) - 1) / (np.exp(40 * v) + 1) if self.now else super().tanh(v)


class NanEverySeventh(Kernel):
    def step(self, x, h, p):
        found = super().step(x, h, p)
        return np.where(np.abs(found * 64) % 7 < 1, np.nan, found)


@pytest.mark.parametrize("kernel", [NanOfLarge(), NanEverySeventh()])
def test_what_is_computed_as_nan_is_not_unwritten(kernel: Kernel) -> None:
    found = report(kernel, SEQUENCE, "*sigmoid_tanh*").diagnosis
    assert found.failed >= 3
    assert not any("never written" in one.about for one in found.findings)
    assert not any("every step is right" in hint for hint in found.hints)
    right = [hint for hint in found.hints if "elsewhere each is right" in hint]
    assert all("NaN after NaN" in hint for hint in right)
