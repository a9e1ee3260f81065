"""What Apple's page leaves open and no reading stores: a runtime may do it, or its mistake is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawn import drawn_block
from shipped import core_cases

from grucible import Question, verify
from grucible.cases.operators import OPERATORS
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import find_specs
from grucible.check.score import ENOUGH
from grucible.gen.drawing import draw_inputs

from . import bnns_page

Activation = Callable[[bnns_page.Array], bnns_page.Array]
BNNS = ("bnnsgraph.gru/*",)


def test_a_runtime_that_clips_at_50_as_core_ml_does_passes_and_one_that_clips_at_20_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ledger: range."""
    report = verify(runtime=bnns_page.run_clipped, select=BNNS)
    assert (report.verdict, [*report.counts]) == ("conforms", ["passed"])
    report = verify(runtime=lambda question: clipped(question, 20.0), select=BNNS)
    failed = {one.id for one in report.results if one.verdict == "failed"}
    asked = {case.id: case.question for case in core_cases() if case.operator == "bnnsgraph.gru"}
    assert failed
    assert all(largest(asked[one], monkeypatch) > 20 for one in failed)


def clipped(question: Question, limit: float) -> dict[str, bnns_page.Array]:
    return bnns_page._gru(question, before=False, time_aligned=False, clip=limit)


def largest(question: Question, monkeypatch: pytest.MonkeyPatch) -> float:
    """Find the largest pre-activation, by the page's formulas."""
    seen: list[float] = []

    def watched(function: Activation) -> Activation:
        return lambda v: (seen.append(float(np.abs(v).max())), function(v))[1]

    with monkeypatch.context() as patch:
        each = {name: watched(function) for name, function in bnns_page.ACTIVATIONS.items()}
        patch.setattr(bnns_page, "ACTIVATIONS", each)
        bnns_page.run(question)
    return max(seen)


def test_a_draw_whose_pre_activations_pass_50_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one case beside the core's that passed 50, and those whose x is 64 times as large."""
    assert OPERATORS["bnnsgraph.gru"].sure_range == 50.0
    [magnitudes] = [s for s in find_specs() if s.path == "bnnsgraph/gru/magnitudes"]
    [grown] = expand(magnitudes, ["float16"], ["*/forward-after-tanh-linear-sequence"])
    [again] = drawn_block([grown], 0).cases()
    assert largest(replace(again.question, inputs=draw_inputs(grown, 0, 0)), monkeypatch) > 50
    core = [c for c in core_cases() if c.operator == "bnnsgraph.gru" and c.id.endswith("-x64")]
    assert len(core) == 4
    assert all(20 < largest(case.question, monkeypatch) <= 50 for case in (*core, again))


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        (bnns_page.run_last_in_time, "last-output-in-time-order"),
        (bnns_page.run_sum_but_for_n, "bias-sum-but-for-n"),
    ],
)
def test_two_plausible_mistakes_are_named(runtime: bnns_page.Runtime, name: str) -> None:
    report = verify(runtime=runtime, select=BNNS)
    assert report.counts["failed"] >= ENOUGH
    finding, *others = report.diagnosis.findings
    assert finding.names == (name,)
    assert all("(bias-sum)" in other.about for other in others)  # right, but under two readings
    assert finding.explains + sum(o.explains for o in others) == report.counts["failed"]
    assert sum(other.explains for other in others) < ENOUGH
    assert finding.contradicted == 0
