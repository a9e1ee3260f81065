"""The numpy example with a bug gets the sentence that says so first, and without one none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

from grucible import Question, verify
from grucible.check.reports.terminal import headline, report_lines

from .diagnosing import by_question, core_blocks, names, report_on
from .numpy_gru import run
from .readme_bugs import BUGS

Array = npt.NDArray[Any]
EXAMPLE = Path(__file__).parents[2] / "check" / "examples" / "my_gru.py"
FLOAT32 = ("openvino.*/float32/*",)


def readme_runtime(*changes: tuple[str, str]) -> Callable[[Question], dict[str, Array]]:
    """Run the example with some of its text replaced."""
    code = EXAMPLE.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in code, old
        code = code.replace(old, new)
    space: dict[str, Any] = {}
    exec(code, space)
    found: Callable[[Question], dict[str, Array]] = space["run"]
    return found


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_gets_the_right_sentence_first(name: str) -> None:
    operators = ("openvino.GRUCell-3", "openvino.GRUSequence-5")
    blocks = [block for one in operators for block in core_blocks(one, "float32")]
    report = report_on(blocks, by_question(readme_runtime(*BUGS[name])))
    first = headline(report)
    [finding] = report.diagnosis.findings
    assert f"; all failures are explained by: {finding.about}" in first
    assert (name,) in names(report), names(report)


@pytest.mark.parametrize("name", ["lbr-ignored", "lengths-ignored"])
def test_so_it_is_from_files(name: str) -> None:
    report = verify(runtime=readme_runtime(*BUGS[name]), select=FLOAT32)
    [finding] = report.diagnosis.findings
    assert f"; all failures are explained by: {finding.about}" in headline(report)
    assert (name,) in names(report), names(report)


def test_without_a_bug_there_is_no_diagnosis() -> None:
    for right in (readme_runtime(), run):
        report = verify(runtime=right, select=("openvino.*",))
        assert report.verdict == "conforms"
        assert (report.diagnosis.failed, report.diagnosis.findings) == (0, ())
        assert not any("diagnosis" in line for line in report_lines(report))


def test_without_diagnosis() -> None:
    report = verify(runtime=readme_runtime(*BUGS["clip-ignored"]), select=FLOAT32, diagnosis=False)
    assert report.counts["failed"] > 0
    assert report.diagnosis.findings == ()


def test_a_right_runtime_held_to_the_user_s_own_tolerance_gets_no_misreading() -> None:
    select, right = ("*GRUCell-3/core/float64/*",), readme_runtime()
    for report in (
        verify(runtime=right, select=select, rtol=0.0),
        verify(runtime=right, select=select, ulp=0.25),
    ):
        assert report.diagnosis.failed > 0
        [finding] = report.diagnosis.findings
        assert finding.about == "float64 as good as float64 arithmetic, but less than was demanded"
