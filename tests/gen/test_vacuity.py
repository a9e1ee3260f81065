"""Tolerances that admit anything: what they are counted as, and that no case that decides has them."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import drawn_block
from shipped import core_cases, specs

from grucible.cases.expansion.expand import expand
from grucible.cases.operators.readings import STORED
from grucible.gen.inputs import draw_inputs
from grucible.gen.tolerances.classes import CLASSES
from grucible.gen.tolerances.gate import vacuous, vacuous_rows
from grucible.vectors.case import REQUIRED, Answer

INF = float("inf")


def answer(values: list[float], limits: list[float], dtype: str = "float16") -> Answer:
    """One case of one output; the required class has `limits`, the coarsest those or a little."""
    array = np.array([limits], np.float32)
    tolerances = {one.name: {"Ho": array} for one in CLASSES[dtype]}
    return Answer({"Ho": np.array([values], np.float32)}, tolerances)


@pytest.mark.parametrize(
    ("values", "limits", "nothing", "elements"),
    [
        ([1.0, -1.0, 0.5], [0.999, 0.999, 0.499], 0, 3),
        ([1.0, -1.0, 0.5], [1.0, 1.0, 0.5], 3, 3),  # zero is just admitted
        (
            [0.0, 0.0, 0.5],
            [1e-9, 0.0, 0.25],
            1,
            2,
        ),  # a zero may be no more than zero; padding is not counted
        ([1.0, 2.0], [INF, 1.0], 1, 2),
        ([float("nan"), INF, 1.0], [0.0, 0.0, 0.5], 2, 3),  # nothing but themselves is admitted
        ([0.0, 0.0], [0.0, 0.0], 0, 1),  # padding alone, in which nothing else is admitted
    ],
)
def test_what_says_nothing(
    values: list[float], limits: list[float], nothing: int, elements: int
) -> None:
    one = answer(values, limits)
    found, counted = vacuous(one, one.tolerances["float16"])
    assert (found.tolist(), counted.tolist()) == ([nothing], [elements])


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ([0.5, 0.5, 2.0, 2.0], ""),  # half of them are enough
        (
            [0.5, 2.0, 2.0, 2.0],
            "float16 arithmetic admits more than the value for 75 % of the elements",
        ),
        ([0.5, 0.5, 0.5, INF], "float16 arithmetic has no bound"),
        ([0.5, 0.0, 0.0, 2.0], ""),  # padding is no element
    ],
)
def test_what_decides(limits: list[float], says: str) -> None:
    good, bad = answer([1.0] * 4, [0.1] * 4), answer([1.0] * 4, limits)
    under = {STORED: good, ("len-zero.initial-state",): bad}
    said = vacuous_rows(under, "float16").get(0, "")
    assert said.startswith(says)
    assert bool(said) == bool(says)
    assert not says or said.endswith("under len-zero.initial-state")
    assert vacuous_rows({STORED: good}, "float16") == {}


def test_a_cell_too_large_for_float16_is_drawn_smaller() -> None:
    """With weights of the size that float32 has, all of its tolerances would be vacuous or infinite."""
    spec = specs()["openvino/gru_sequence/large"]
    [case] = expand(spec, ["float16"], ["*/reverse-lbr0-t16-h256"])
    block = drawn_block([case], seed=0)
    limits, outputs = block.answer.tolerances["float16"], block.answer.outputs
    assert all(np.isfinite(limit).all() for limit in limits.values())
    for name, limit in limits.items():
        assert np.count_nonzero(limit <= np.abs(outputs[name].astype(float))) > limit.size / 2
    plain = draw_inputs(case, 0, 0)
    assert np.abs(block.inputs["R"]).max() < np.abs(plain["R"]).max() / 2
    assert np.abs(block.inputs["X"]).max() > np.abs(plain["X"]).max() / 2


def test_zero_is_no_answer_to_any_core_case_that_decides() -> None:
    """Not within the required tolerances: the judge's own rule is not used here."""
    for case in core_cases():
        if case.tier == "nonportable":
            continue
        required = REQUIRED[case.question.dtype]
        for one in case.answers.values():
            told = [
                (np.abs(one.outputs[name].astype(np.float64)) > limit) | (limit == 0)
                for name, limit in one.tolerances[required].items()
            ]
            coarsest = CLASSES[case.question.dtype][-1].name
            known = [limit > 0 for limit in one.tolerances[coarsest].values()]
            said = sum(int((t & k).sum()) for t, k in zip(told, known, strict=True))
            assert 2 * said >= sum(int(k.sum()) for k in known), case.id
            assert all(np.isfinite(limit).all() for limit in one.tolerances[required].values())


def test_padding_alone_says_nothing_where_limits_of_one_s_own_admit_more() -> None:
    one = answer([0.0, 0.0], [0.0, 0.0])
    found, counted = vacuous(one, {"Ho": np.array([[1e30, 1e30]])})
    assert (found.tolist(), counted.tolist()) == ([1], [1])
