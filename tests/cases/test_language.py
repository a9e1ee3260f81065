"""What the language of operators can say, on an operator that nobody owns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grucible.cases.conversion import NotExpressible, ask
from grucible.cases.invalid import baseline, defects
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.layout import (
    gru_inputs,
    of_both_directions,
    of_each_direction,
    operator_inputs,
    operator_outputs,
    shared_outputs,
)
from grucible.cases.operators.semantics import semantics
from grucible.cases.operators.signature import Attribute, Form, Operator, Tensor
from grucible.cases.operators.values import all_attributes
from grucible.cases.question import Question, QuestionError, pose, sizes_of
from grucible.cases.specs.expand import case_of
from grucible.cases.specs.factors import factors

RZH = ("r", "z", "h")
MADE = Operator(
    name="made.gru",
    source="",
    attributes=(
        Attribute("T", "int", "steps", sets="time", positive=True),
        Attribute("both", "boolean", "two directions", sets="direction", default=False,
                  choices={False: ("forward",), True: ("forward", "reverse")}),
    ),
    inputs=(
        Tensor("x", "x", "F", (Form(("N", "T", "I")),)),
        Tensor("w", "w", "F", (Form(("I", "D", "3*U"), RZH),), names=("wf", "wb")),
        Tensor("u", "r", "F", (Form(("U", "D", "3*U"), RZH),), names=("uf", "ub")),
        Tensor("b", "b", "F", (Form(("D", "2", "3*U"), ("wr", "wz", "wh", "rr", "rz", "rh")),),
               required=False),
        Tensor("lengths", "lengths", "L", (Form(("N",)),), least=1),
    ),
    outputs=(
        Tensor("y", "y", "F", (Form(("N", "T", "D*U")),)),
        Tensor("last", "ho", "F", (Form(("N", "D*U")),)),
    ),
    sizes={"N": "batch", "T": "time", "I": "input", "U": "hidden", "D": "direction"},
    types={"F": ("float32",), "L": ("int32",)},
    id_order=("both",),
    always={"f": Activation("hard-sigmoid", 0.25, 0.5), "g": Activation("tanh"), "reset_after": True},
)  # fmt: skip
_LONE = Form(("D", "3*U"), ("wr", "wz", "wh")), Form(("D", "3*U"), ("rr", "rz", "rh"))
APART = replace(
    MADE,
    name="made.apart",
    inputs=(
        *(tensor for tensor in MADE.inputs if tensor.name != "b"),
        Tensor("wb", "b", "F", (_LONE[0],), required=False, together="bias"),
        Tensor("ub", "b", "F", (_LONE[1],), required=False, together="bias"),
    ),
)
SIZES = {"N": 3, "T": 4, "I": 5, "U": 2}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    for operator in (MADE, APART):
        monkeypatch.setitem(OPERATORS, operator.name, operator)


def inputs_of(operator: Operator, *, both: bool) -> dict[str, Any]:
    sizes = SIZES | {"D": 1 + both}
    shapes = {t.name: operator.shape(t, {"both": both}, sizes) for t in operator.inputs}
    found = {
        name: np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
        for name, shape in shapes.items()
    }
    return found | {"lengths": np.array([1, 4, 2], np.int32)}


def question(operator: Operator, *, both: bool = True, **given: Any) -> Question:
    return pose(operator, {"both": both, **given}, inputs_of(operator, both=both))


def test_numbers_count_parts_over_two_axes_and_weights_may_be_transposed() -> None:
    inputs = inputs_of(MADE, both=True)
    assert inputs["b"].shape == (2, 2, 6)
    shared = gru_inputs(MADE, {"both": True}, inputs)
    assert [*shared.b] == ["wr", "wz", "wh", "rr", "rz", "rh"]
    assert np.array_equal(shared.b["wh"], inputs["b"][:, 0, 4:])
    assert np.array_equal(shared.b["rz"], inputs["b"][:, 1, 2:4])
    assert np.array_equal(shared.w["z"][1], inputs["w"][:, 1, 2:4].T)
    assert np.array_equal(shared.r["h"][0], inputs["u"][:, 0, 4:].T)
    again = operator_inputs(MADE, {"both": True}, shared)
    assert all(np.array_equal(again[name], inputs[name]) for name in inputs)


def test_directions_side_by_side_are_two_axes_in_one() -> None:
    y, last = (
        np.random.default_rng(1).random((2, 3, 4, 2)),
        np.random.default_rng(2).random((2, 3, 2)),
    )
    own = operator_outputs(MADE, {"both": True}, {"y": y, "ho": last})
    assert np.array_equal(own["y"][1, 3], [*y[0, 1, 3], *y[1, 1, 3]])
    assert np.array_equal(own["last"][2], [*last[0, 2], *last[1, 2]])
    shared = shared_outputs(MADE, {"both": True}, own)
    assert np.array_equal(shared["y"], y)
    assert np.array_equal(shared["ho"], last)
    assert np.array_equal(
        shared_outputs(MADE, {"both": False}, own)["y"][0, 1, 3], [*y[0, 1, 3], *y[1, 1, 3]]
    )


def test_the_owner_s_tensors_of_each_direction() -> None:
    inputs = inputs_of(MADE, both=True)
    apart = of_each_direction(MADE, {"both": True}, inputs)
    assert [*apart] == ["x", "wf", "wb", "uf", "ub", "b", "lengths"]
    assert np.array_equal(apart["wb"], inputs["w"][:, 1])
    stacked = of_both_directions(MADE, {"both": True}, apart)
    assert stacked.keys() == inputs.keys()
    assert np.array_equal(stacked["w"], inputs["w"])
    one = inputs_of(MADE, both=False)
    alone = of_each_direction(MADE, {"both": False}, one)
    assert "wf" in alone
    assert "wb" not in alone
    assert of_both_directions(MADE, {"both": False}, alone)["w"].shape == one["w"].shape


def test_a_boolean_may_choose_and_functions_may_be_fixed() -> None:
    meant = semantics(MADE, all_attributes(MADE, {"both": True}))
    assert meant.directions == ("forward", "reverse")
    assert meant.f == (Activation("hard-sigmoid", 0.25, 0.5),) * 2
    assert meant.g == (Activation("tanh"),) * 2
    for wrong in (1, "true"):
        with pytest.raises(ValueError, match="expected true or false"):
            all_attributes(MADE, {"both": wrong})


def test_an_attribute_may_repeat_any_size() -> None:
    assert sizes_of(question(MADE, T=4)) == SIZES | {"D": 2}
    with pytest.raises(QuestionError, match="x has shape"):
        question(MADE, T=3)
    known = factors("made.gru")
    assert {"T", "T_attribute"} <= {*known}
    usual = {name: one.default for name, one in known.items()} | SIZES
    assert case_of(MADE, usual).given["T"] == 4
    assert "T" not in case_of(MADE, usual | {"T_attribute": "absent"}).given
    names = {one.name for one in defects(replace(MADE, name="onnx.made"))}
    assert "T-more" not in names  # no ledger names the rule for this axis


def test_lengths_have_a_least() -> None:
    known = factors("made.gru")["lengths"]
    assert known.values.accepts("ragged")
    assert known.values.accepts([1, 2])
    for wrong in ("with-zero", "all-zero", [0, 1]):
        assert not known.values.accepts(wrong)
    inputs = inputs_of(MADE, both=False) | {"lengths": np.array([1, 0, 2], np.int32)}
    with pytest.raises(QuestionError, match="lengths holds 0; expected 1 to 4"):
        pose(MADE, {}, inputs)


def test_inputs_come_together() -> None:
    known = factors("made.apart")
    assert "bias" in known
    assert not {"wb", "ub"} & {*known}
    usual = {name: one.default for name, one in known.items()} | SIZES
    assert case_of(APART, usual | {"bias": "absent"}).absent == {"wb", "ub"}
    inputs = inputs_of(APART, both=True)
    pose(APART, {"both": True}, {n: a for n, a in inputs.items() if n not in ("wb", "ub")})
    with pytest.raises(QuestionError, match="wb is missing; wb and ub come together"):
        pose(APART, {"both": True}, {n: a for n, a in inputs.items() if n != "wb"})


def test_a_baseline_says_what_it_means_in_the_operator_s_words() -> None:
    valid = baseline(MADE, "float32", {})
    assert valid.given == {"T": 3, "both": False}


def test_what_the_other_operator_lacks_is_named() -> None:
    onnx = OPERATORS["onnx.GRU-14"]
    asked = ask(question(MADE), onnx)
    assert asked.question.attributes["activations"] == ["HardSigmoid", "Tanh"] * 2
    back = ask(asked.question, MADE).question
    assert all(np.array_equal(back.inputs[n], a) for n, a in inputs_of(MADE, both=True).items())
    inputs = {**asked.question.inputs, "sequence_lens": np.array([1, 0, 2], np.int32)}
    with pytest.raises(NotExpressible, match="has no rows of length 0"):
        ask(pose(onnx, asked.question.given, inputs), MADE)
    given = {name: a for name, a in asked.question.given.items() if "activation" not in name}
    with pytest.raises(NotExpressible, match="has no f sigmoid"):
        ask(pose(onnx, given, asked.question.inputs), MADE)
