"""What balls of float64 numbers decide: all of a ball rounds alike, and Arb says the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from shipped import specs

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.expansion.case_spec import CaseSpec
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.readings import as_read
from grucible.cases.operators.semantics import one_of
from grucible.gen.drawing import block_key
from grucible.gen.exact.answers import decided_by_balls, exact_outputs
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.inputs import draw_inputs
from grucible.gen.stacks import Stack, stacks


def _sample() -> list[list[CaseSpec]]:
    """Cases of every spec, few of some blocks, those that plant special values too."""
    groups = []
    for spec in specs().values():
        if any(word in spec.path for word in ("sizes", "long", "large")):
            continue
        blocks: dict[Any, list[CaseSpec]] = {}
        for case in expand(spec):
            blocks.setdefault(block_key(case), []).append(case)
        first = sorted(blocks, key=lambda key: hashlib.sha256(key.path.encode()).digest())
        groups += [blocks[key][:: max(1, len(blocks[key]) // 3)] for key in first[:3]]
    return groups


def _stacks(cases: list[CaseSpec]) -> Iterator[Stack]:
    drawn = [draw_inputs(case, 1, 0) for case in cases]
    inputs = {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}
    return stacks(OPERATORS[cases[0].operator], [case.given for case in cases], inputs)


ROLES = ("y", "ho")


def test_what_is_decided_is_arb_s() -> None:
    seen, open_ = dict.fromkeys(FLOAT_TYPES, 0), dict.fromkeys(FLOAT_TYPES, 0)
    for cases in _sample():
        kind = FLOAT_TYPES[cases[0].dtype]
        for stack in _stacks(cases):
            for reading in ((), *cases[0].readings):
                meant = as_read(reading, stack.semantics)
                found, decided = decided_by_balls(meant, stack.inputs, kind, ROLES)
                open_[kind.name] += int((~decided).sum())
                seen[kind.name] += int(decided.sum())
                for row in np.flatnonzero(decided).tolist():
                    by_arb = outputs_by_arb(one_of(meant, row), stack.inputs.rows(row), kind, ROLES)
                    for role, expected in by_arb.items():
                        got, where = found[role][row], cases[stack.rows[row]].id
                        assert got.dtype == expected.dtype
                        np.testing.assert_array_equal(got, expected, where)
                        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), where)
    assert not seen["float64"]
    for dtype in set(FLOAT_TYPES) - {"float64"}:
        assert seen[dtype] > 2 * open_[dtype]
        assert open_[dtype] > 0  # infinite inputs are among them


def test_what_balls_leave_open_is_answered_all_the_same() -> None:
    spec = specs()["onnx/gru/activations"]
    cases = [case for case in expand(spec, ["float64"]) if "Softplus" in case.id][:2]
    kind = FLOAT_TYPES["float64"]
    for stack in _stacks(cases):
        assert not decided_by_balls(stack.semantics, stack.inputs, kind, ROLES)[1].any()
        found, undecided = exact_outputs(stack.semantics, stack.inputs, kind, ROLES)
        assert not undecided.any()
        for row in range(len(stack)):
            meant = one_of(stack.semantics, row)
            by_arb = outputs_by_arb(meant, stack.inputs.rows(row), kind, ROLES)
            for role, expected in by_arb.items():
                np.testing.assert_array_equal(found[role][row], expected)
