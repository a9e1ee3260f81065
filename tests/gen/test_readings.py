"""What each reading of BNNSGraph's page changes, and only that; biases on a grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn import drawn_block

from grucible import Case
from grucible.cases.operators.readings import STORED
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import load_spec

THEME = """\
operator: bnnsgraph.gru
about: one case
dtypes: [{dtype}]
sizes: {{N: 2, L: 3, Hin: 2, Hout: 3}}
cases:
  - list:
      - {{direction: {direction}, applyResetGateAfterMatMul: {after}, recurrentActivation: {f},
          activation: {g}, outputSequence: {sequence}, inputBias: {bias}}}
"""


def made(tmp_path: Path, **given: object) -> Case:
    values = {"direction": "forward", "after": "true", "f": "sigmoid", "g": "tanh",
              "sequence": "true", "bias": "zeros", "dtype": "float32"} | given  # fmt: skip
    file = tmp_path / "theme.yaml"
    file.write_text(THEME.format(**values))
    [spec] = expand(load_spec(file, "theme"))
    return drawn_block([spec], seed=3).case(0)


@pytest.mark.parametrize(
    ("given", "readings"),
    [
        ({}, []),
        ({"after": "false"}, ["reset-false.before"]),
        ({"direction": "reverse", "sequence": "false"}, []),
        ({"after": "false", "bias": "drawn"}, ["reset-false.before", "input-bias-unused.ignored"]),
        ({"f": "hardSigmoid", "g": "scaledTanh"}, ["hard-sigmoid.sixth", "scaled-tanh.one"]),
        ({"direction": "reverse", "bias": "drawn"}, ["bias-sum.sum", "reverse-order.time"]),
    ],
)
def test_every_accepted_answer_differs(
    given: dict[str, object], readings: list[str], tmp_path: Path
) -> None:
    """That each is the oracle's is tested of random questions."""
    case = made(tmp_path, **given)
    alone = [(name,) for name in readings]
    expected = [*alone, tuple(readings)] if len(readings) == 2 else alone
    assert list(case.answers) == [STORED, *expected]
    found = [answer.outputs.values() for answer in case.answers.values()]
    distinct = {tuple(array.tobytes() for array in outputs) for outputs in found}
    assert len(distinct) == len(found)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_and_differences_of_two_biases_are_exact(dtype: str, tmp_path: Path) -> None:
    case = made(tmp_path, bias="drawn", dtype=dtype)
    a, b = (case.inputs[name].astype(np.float64) for name in ("bias", "inputBias"))
    for exact in (a + b, a - b):
        assert (exact.astype(dtype).astype(np.float64) == exact).all()
    assert (a != 0).all()
    assert (b != 0).all()
