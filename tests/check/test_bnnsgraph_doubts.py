"""What Apple's page leaves open and no reading stores: a runtime may do it, or is told what it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from drawn import drawn_block
from shipped import core_cases

from grucible import verify
from grucible.cases.dtypes import Arrays
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.known import OPERATORS
from grucible.cases.specs.spec_file import find_specs
from grucible.gen.inputs import draw_inputs

from . import bnns_page

BNNS = ("bnnsgraph.gru/*",)


def test_a_runtime_that_clips_at_50_as_core_ml_does_passes_every_core_case() -> None:
    """Ledger: range. Before draws were bounded it failed four."""
    report = verify(runtime=bnns_page.run_clipped, select=BNNS)
    assert (report.verdict, report.counts) == ("conforms", {"passed": 327})


def test_one_that_clips_at_20_does_not() -> None:
    """So the clipping of the one above is seen where it matters."""
    report = verify(
        runtime=lambda q: bnns_page._gru(q, before=False, time_aligned=False, clip=20.0),
        select=BNNS,
    )
    assert report.counts["failed"] >= 4


def test_a_draw_whose_pre_activations_pass_50_is_drawn_again() -> None:
    """The one case beside the core's that passed 50, and those whose x is 64 times as large."""
    assert OPERATORS["bnnsgraph.gru"].sure_range == 50.0
    [magnitudes] = [s for s in find_specs() if s.path == "bnnsgraph/gru/magnitudes"]
    [grown] = expand(magnitudes, ["float16"], ["*/forward-after-tanh-linear-sequence"])
    assert _largest(draw_inputs(grown, 0, 0), grown.attributes) > 50
    core = [c for c in core_cases() if c.operator == "bnnsgraph.gru" and c.id.endswith("x64")]
    assert len(core) == 4
    [again] = drawn_block([grown], 0).cases()
    for case in (*core, again):
        assert 20 < _largest(dict(case.inputs), case.attributes) <= 50


def _largest(inputs: Arrays, attributes: Mapping[str, Any]) -> float:
    """The largest pre-activation, by the page's formulas with the reset gate after the product."""
    a = {
        name: bnns_page.ACTIVATIONS[attributes[name]]
        for name in ("activation", "recurrentActivation")
    }
    assert attributes["applyResetGateAfterMatMul"]
    assert not inputs["inputBias"].any()
    v = {name: array.astype(np.float64) for name, array in inputs.items()}
    wr, wn, wz = np.split(v["inputHiddenWeight"], 3)
    rr, rn, rz = np.split(v["hiddenHiddenWeight"], 3)
    br, bn, bz = np.split(v["bias"], 3)
    h, largest = v["initialHiddenStates"], 0.0
    for x in v["x"]:
        before = [x @ wr.T + h @ rr.T + br, x @ wz.T + h @ rz.T + bz]
        r, z = map(a["recurrentActivation"], before)
        before.append(x @ wn.T + (h @ rn.T + bn) * r)
        h = (1 - z) * a["activation"](before[2]) + z * h
        largest = max(largest, *(float(np.abs(one).max()) for one in before))
    return largest


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        (bnns_page.run_last_in_time, "last-output-in-time-order"),
        (bnns_page.run_sum_but_for_n, "bias-sum-but-for-n"),
    ],
)
def test_two_plausible_mistakes_are_named(runtime: bnns_page.Runtime, name: str) -> None:
    report = verify(runtime=runtime, select=BNNS)
    assert report.counts["failed"] >= 20
    [finding] = report.diagnosis.findings
    assert finding.names == (name,)
    assert finding.explains == report.counts["failed"]
    assert finding.contradicted == 0
