"""The descriptions of the operators against their sources, and what their cases touch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import expanded

from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.readings import MOST_POINTS, READINGS, STORED, as_read
from grucible.cases.operators.semantics import Semantics, semantics
from grucible.cases.operators.signature import Operator
from grucible.cases.specs.expand import CaseSpec, expand
from grucible.cases.specs.spec_file import SHIPPED, load_spec

ONNX, BNNS = OPERATORS["onnx.GRU-14"], OPERATORS["bnnsgraph.gru"]
CELL, SEQUENCE = OPERATORS["openvino.GRUCell-3"], OPERATORS["openvino.GRUSequence-5"]
AXES = ("batch", "time", "input", "hidden")


@pytest.fixture(scope="module")
def shipped() -> list[CaseSpec]:
    return [case for _, cases in expanded() for case in cases]


def test_onnx_gru_is_described_as_onnx_s_own_schema_has_it() -> None:
    onnx = pytest.importorskip("onnx")
    schema = onnx.defs.get_schema("GRU", 14)
    newer = onnx.defs.get_schema("GRU", 22)
    assert {a.name for a in ONNX.attributes} == set(schema.attributes)
    for attribute in ONNX.attributes:
        own = schema.attributes[attribute.name]
        assert attribute.kind == own.type.name.lower()
        assert attribute.required == own.required
        assert attribute.single == (own.type.name in ("FLOAT", "FLOATS"))
        default = (
            onnx.helper.get_attribute_value(own.default_value) if own.default_value.name else None
        )
        if default is not None:
            assert attribute.default == (
                default.decode() if isinstance(default, bytes) else default
            )
    for mine, theirs in ((ONNX.inputs, schema.inputs), (ONNX.outputs, schema.outputs)):
        assert [t.name for t in mine] == [t.name for t in theirs]
        optional = onnx.defs.OpSchema.FormalParameterOption.Optional
        assert [t.required for t in mine] == [t.option != optional for t in theirs]
    types = {"tensor(float16)": "float16", "tensor(float)": "float32", "tensor(double)": "float64",
             "tensor(bfloat16)": "bfloat16", "tensor(int32)": "int32"}  # fmt: skip
    for variable in newer.type_constraints:
        allowed = {types[name] for name in variable.allowed_type_strs}
        assert set(ONNX.types[variable.type_param_str]) == allowed
    activations = ONNX.attribute("activations")
    assert activations
    for name in activations.choices:
        assert f"* {name}(x)" in schema.doc


ALONE = ("len-zero", "leading-mask")
"""Readings of owners that have no other."""


def asked(**given: object) -> Semantics:
    return semantics(ONNX, ONNX.with_defaults(given))


def test_onnx_activations_of_each_direction_and_their_parameters() -> None:
    sigmoid, tanh = Activation("sigmoid"), Activation("tanh")
    assert (asked().f, asked().g) == ((sigmoid,), (tanh,))
    both = asked(direction="bidirectional")
    assert (both.f, both.g) == ((sigmoid, sigmoid), (tanh, tanh))
    # consumed in order by those that take one, and held as float32
    some = asked(
        direction="bidirectional",
        activations=["Tanh", "LeakyRelu", "HardSigmoid", "Elu"],
        activation_alpha=[0.1, 0.25, 0.5],
        activation_beta=[0.75],
    )
    assert some.f == (tanh, Activation("hard-sigmoid", 0.25, 0.75))
    assert some.g == (Activation("leaky-relu", float(np.float32(0.1))), Activation("elu", 0.5))
    defaults = asked(activations=["HardSigmoid", "LeakyRelu"])
    assert defaults.f == (Activation("hard-sigmoid", float(np.float32(0.2)), 0.5),)
    assert defaults.g == (Activation("leaky-relu", float(np.float32(0.01))),)
    assert asked(activations=["Sigmoid", "ThresholdedRelu"]).g == (
        Activation("thresholded-relu", 1.0),
    )
    assert asked(clip=0.1).clip == float(np.float32(0.1))


def test_no_case_touches_more_than_two_points_and_every_reading_has_cases(
    shipped: list[CaseSpec],
) -> None:
    alone, together = set(), set()
    for case in shipped:
        assert (case.tier == "ambiguous") == bool(case.readings)
        single = [names[0] for names in case.readings if len(names) == 1]
        assert len(single) <= MOST_POINTS
        assert len(case.readings) == 2 ** len(single) - 1
        if len(single) == 1:
            alone |= set(single)
        together |= set(single) if len(single) == 2 else set()
    assert alone == set(READINGS) - {"input-bias-unused.ignored"}  # which touches reset-false too
    assert together >= {name for name in READINGS if not name.startswith(ALONE)}


def test_readings_together_are_named_in_one_order(shipped: list[CaseSpec]) -> None:
    followed = {names for case in shipped for names in case.readings}
    assert ("reset-false.before", "hard-sigmoid.sixth") in followed
    assert all(list(names) == [one for one in READINGS if one in names] for names in followed)
    meant = semantics(BNNS, next(c.attributes for c in shipped if c.operator == BNNS.name))
    assert as_read(STORED, meant) == meant


def test_every_ledger_entry_that_is_named_exists() -> None:
    for reading in READINGS.values():
        for owner in reading.owners:
            ledger = (SHIPPED / owner / "LEDGER.md").read_text()
            assert f'<a id="{reading.ledger}"></a>' in ledger
            assert f"`{reading.name}`" in ledger


@pytest.mark.parametrize(("operator", "sizes", "entry", "found"), [
    ("bnnsgraph.gru", "{N: 1, L: 2, Hin: 2, Hout: 3}",
     "direction: [forward], applyResetGateAfterMatMul: [true], recurrentActivation: [sigmoid], "
     "activation: [tanh], outputSequence: [true], inputBias: [zeros, drawn]",
     {"": (), "-inputBias": (("bias-sum.sum",),)}),
    ("openvino.GRUCell-3", "{batch_size: 1, input_size: 2, hidden_size: 3}",
     "initial_hidden_state: [drawn, zeros]", {"": (), "-zeroinitial_hidden_state": ()}),
    ("openvino.GRUSequence-5", "{batch_size: 2, seq_length: 2, input_size: 2, hidden_size: 3}",
     "direction: [forward], sequence_lengths: [zero-first], initial_hidden_state: [drawn, zeros]",
     {"-zero-first": (("len-zero.initial-state",),), "-zeroinitial_hidden_state-zero-first": ()}),
])  # fmt: skip
def test_what_may_be_zeros_leaves_no_second_reading_where_it_is(
    operator: str, sizes: str, entry: str, found: dict[str, object], tmp_path: Path
) -> None:
    file = tmp_path / "theme.yaml"
    file.write_text(
        f"operator: {operator}\nabout: zeros\ndtypes: [float32]\nsizes: {sizes}\n"
        f"cases: [{{product: {{{entry}}}}}]\n"
    )
    cases = expand(load_spec(file, "theme"))
    assert [case.readings for case in cases] == [*found.values()]
    for case, (words, readings) in zip(cases, found.items(), strict=True):
        assert case.id.endswith(words)
        assert case.tier == ("ambiguous" if readings else "required")
        assert ("zero" in words.replace("-zero-first", "")) == (
            "initial_hidden_state" in case.zeros
        )


EXAMPLES: dict[Operator, Any] = {  # ledger example-b-768: the XML example gives B 768 = 6·128; the text says 4 * hidden_size
    CELL: ({"linear_before_reset": True}, {"batch_size": 1, "input_size": 16, "hidden_size": 128},
           [(1, 16), (1, 128), (384, 16), (384, 128), (512,), (1, 128)]),
    SEQUENCE: ({"direction": "forward"},
               {"batch_size": 1, "seq_length": 4, "input_size": 16, "hidden_size": 128, "num_directions": 1},
               [(1, 4, 16), (1, 1, 128), (1,), (1, 384, 16), (1, 384, 128), (1, 384), (1, 1, 4, 128), (1, 1, 128)]),
}  # fmt: skip


@pytest.mark.parametrize("operator", EXAMPLES, ids=lambda one: one.name)
def test_the_specification_s_examples_and_defaults(operator: Operator) -> None:
    given, sizes, shapes = EXAMPLES[operator]
    attributes = operator.with_defaults(given | {"hidden_size": 128})
    tensors = (*operator.inputs, *operator.outputs)
    assert [operator.shape(tensor, attributes, sizes) for tensor in tensors] == shapes
    meant = semantics(operator, attributes)  # ledger act-default, clip-default, b-optional
    assert (meant.f, meant.g) == ((Activation("sigmoid"),), (Activation("tanh"),))
    assert meant.clip == float("inf")
    optional = [tensor.name for tensor in operator.inputs if not tensor.required]
    assert optional == (["B"] if operator is CELL else [])


@pytest.mark.parametrize("name", OPERATORS)
def test_descriptions_are_consistent(name: str) -> None:
    operator = OPERATORS[name]
    assert [a for a in operator.id_order if operator.attribute(a) is None] == []
    for attribute in operator.attributes:
        axis = operator.sizes.get(attribute.name)
        assert attribute.sets == axis or (axis is None and attribute.sets not in AXES)
    for tensor in (*operator.inputs, *operator.outputs):
        assert tensor.type in operator.types
        assert len(operator.beside(tensor)) == 1 or not tensor.required
        for form in tensor.forms:
            factors = [factor for product in form.products for factor in product]
            numbers = [int(factor) for factor in factors if factor.isdigit()]
            assert math.prod(numbers) == (len(form.parts) or 1)
            assert {factor for factor in factors if not factor.isdigit()} <= {*operator.sizes}
            assert {a for a in form.when if operator.attribute(a) is None} == set()


@pytest.mark.parametrize(
    ("operator", "text", "expected"),
    [
        ("onnx.GRU-14", "Ht = (1 - zt) (.) ht, Rbh", "Ht = (1 - zt) (.) ht, Rbh"),
        (
            "torch.GRU",
            "Ht = (1 - zt) (.) ht + zt (.) Ht-1",
            "h_t = (1 - z_t) * n_t + z_t * h_(t-1)",
        ),
        (
            "webnn.gru",
            "Xt*(Wz^T) and Rbh",
            "matmul(input, transpose(weight_z)) and recurrentBias_n",
        ),
        ("keras.GRU", "that Wbz of it starts", "that bias_z_i of it starts"),
    ],
)
def test_a_text_is_written_in_the_operator_s_notation(
    operator: str, text: str, expected: str
) -> None:
    assert OPERATORS[operator].notation.rewrite(text) == expected
