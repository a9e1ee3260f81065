"""The operators' descriptions against the text of their specifications."""

from __future__ import annotations

import pytest

from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.semantics import semantics

CELL, SEQUENCE = OPERATORS["openvino.GRUCell-3"], OPERATORS["openvino.GRUSequence-5"]


def shapes(name: str, given: dict[str, object], **sizes: int) -> dict[str, tuple[int, ...]]:
    operator = OPERATORS[name]
    attributes = operator.with_defaults(given)
    tensors = (*operator.inputs, *operator.outputs)
    return {t.name: operator.shape(t, attributes, sizes) for t in tensors}


def test_shapes_are_those_of_the_specification_s_examples() -> None:
    # ledger example-b-768: the XML example gives B 768 = 6·128; the text says 4 * hidden_size
    given: dict[str, object] = {"hidden_size": 128, "linear_before_reset": True}
    assert shapes(CELL.name, given, batch_size=1, input_size=16, hidden_size=128) == {
        "X": (1, 16), "initial_hidden_state": (1, 128), "W": (384, 16), "R": (384, 128), "B": (512,),
        "Ho": (1, 128),
    }  # fmt: skip
    given = {"hidden_size": 128, "direction": "forward"}
    sizes = {
        "batch_size": 1,
        "seq_length": 4,
        "input_size": 16,
        "hidden_size": 128,
        "num_directions": 1,
    }
    assert shapes(SEQUENCE.name, given, **sizes) == {
        "X": (1, 4, 16), "initial_hidden_state": (1, 1, 128), "sequence_lengths": (1,),
        "W": (1, 384, 16), "R": (1, 384, 128), "B": (1, 384), "Y": (1, 1, 4, 128), "Ho": (1, 1, 128),
    }  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_descriptions_are_consistent(name: str) -> None:
    operator = OPERATORS[name]
    assert [a for a in operator.id_order if operator.attribute(a) is None] == []
    for tensor in (*operator.inputs, *operator.outputs):
        assert tensor.type in operator.types
        for form in tensor.forms:
            stacked = [axis for axis in form.axes if "*" in axis]
            parts = [len(form.parts)] if form.parts else []
            assert [int(axis.split("*")[0]) for axis in stacked] == parts
            assert {axis.rpartition("*")[2] for axis in form.axes} <= {*operator.sizes, "1"}
            assert {a for a in form.when if operator.attribute(a) is None} == set()


def test_defaults_are_the_specification_s() -> None:  # ledger act-default, clip-default
    meant = semantics(SEQUENCE, SEQUENCE.with_defaults({"hidden_size": 3, "direction": "forward"}))
    assert (meant.f, meant.g, meant.clip, meant.reset_after) == (
        (Activation("sigmoid"),),
        (Activation("tanh"),),
        float("inf"),
        False,
    )


def test_only_the_cell_s_B_is_optional() -> None:  # ledger b-optional
    optional = {(o.name, t.name) for o in (CELL, SEQUENCE) for t in o.inputs if not t.required}
    assert optional == {("openvino.GRUCell-3", "B")}
