"""Paddle's nn.GRU, of one layer, as one record: the language suffices for an owner that nobody named.

Written from cases/README.md and Paddle's docstrings; the docstring's formula in NumPy is the oracle. Where Paddle is
installed, it is asked, too: 3.3.1 is right in all cases. A row without a step keeps its state there; the docstring is
silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from drawn import drawn_block

from grucible.cases.conversion import NotExpressible, ask
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import Activation
from grucible.cases.operators.layout import of_each_direction
from grucible.cases.operators.signature import DRAWN_OR_ZEROS, Attribute, Form, Operator, Tensor
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import load_spec
from grucible.gen.posed import answered_case
from grucible.vectors.case import Case

RZC = ("r", "z", "h")
TIME_MAJOR, BOTH = {"time_major": True}, ("forward", "reverse")
GRU = Operator(
    name="paddle.GRU",
    source="paddle.nn.GRU",
    attributes=(
        Attribute("input_size", "int", "the input size", sets="input", required=True, positive=True),
        Attribute("hidden_size", "int", "the hidden size", sets="hidden", required=True, positive=True),
        Attribute("direction", "string", "the direction of the network", sets="direction", default="forward",
                  choices={"forward": ("forward",), "bidirect": BOTH, "bidirectional": BOTH}),
        Attribute("time_major", "boolean", "the first dimension is time", default=False, token="time_major"),
    ),
    inputs=(
        Tensor("inputs", "x", "T",
               (Form(("time_steps", "batch_size", "input_size"), (), TIME_MAJOR, "time_major"),
                Form(("batch_size", "time_steps", "input_size")))),
        Tensor("initial_states", "h0", "T", (Form(("num_directions", "batch_size", "hidden_size")),),
               required=False, fills=DRAWN_OR_ZEROS),
        Tensor("sequence_length", "lengths", "T1", (Form(("batch_size",)),), required=False),
        Tensor("weight_ih", "w", "T", (Form(("num_directions", "3*hidden_size", "input_size"), RZC),),
               names=("weight_ih_l0", "weight_ih_l0_reverse")),
        Tensor("weight_hh", "r", "T", (Form(("num_directions", "3*hidden_size", "hidden_size"), RZC),),
               names=("weight_hh_l0", "weight_hh_l0_reverse")),
        Tensor("bias_ih", "b", "T", (Form(("num_directions", "3*hidden_size"), ("wr", "wz", "wh")),),
               names=("bias_ih_l0", "bias_ih_l0_reverse")),
        Tensor("bias_hh", "b", "T", (Form(("num_directions", "3*hidden_size"), ("rr", "rz", "rh")),),
               names=("bias_hh_l0", "bias_hh_l0_reverse")),
    ),
    outputs=(
        Tensor("outputs", "y", "T",
               (Form(("time_steps", "batch_size", "num_directions*hidden_size"), (), TIME_MAJOR, "time_major"),
                Form(("batch_size", "time_steps", "num_directions*hidden_size")))),
        Tensor("final_states", "ho", "T", (Form(("num_directions", "batch_size", "hidden_size")),)),
    ),
    sizes={"batch_size": "batch", "time_steps": "time", "input_size": "input", "hidden_size": "hidden",
           "num_directions": "direction"},
    types={"T": ("float32", "float64"), "T1": ("int64", "int32")},
    id_order=("direction", "time_major"),
    always={"f": Activation("sigmoid"), "g": Activation("tanh"), "reset_after": True,
            "empty_row": "initial_hidden_state"},
)  # fmt: skip
SPEC = """\
operator: paddle.GRU
about: each attribute and each optional input, with full and ragged rows
dtypes: [float32, float64]
sizes: {batch_size: 3, time_steps: 4, input_size: 5, hidden_size: 2}
cases:
  - product:
      direction: [absent, bidirect]
      time_major: [absent, true]
      sequence_length: [absent, [4, 1, 2]]
      initial_states: [present, absent]
  - list:
      - {direction: bidirectional, sequence_length: [0, 4, 2], T1: int32}
      - {sequence_length: [0, 4, 2], initial_states: absent}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Case]]:
    """The spec's cases, drawn and answered as `gen` does it."""
    file = tmp_path_factory.mktemp("specs") / "theme.yaml"
    file.write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(OPERATORS, GRU.name, GRU)
        yield [drawn_block([one], seed=0).case(0) for one in expand(load_spec(file, "theme"))]


def step(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """One step: the docstring's formulas, of the parameters that GRUCell's docstring stacks."""
    (w_ir, w_iz, w_ic), (w_hr, w_hz, w_hc) = np.split(w_ih, 3), np.split(w_hh, 3)
    (b_ir, b_iz, b_ic), (b_hr, b_hz, b_hc) = np.split(b_ih, 3), np.split(b_hh, 3)
    r = 1 / (1 + np.exp(-(w_ir @ x + b_ir + w_hr @ h + b_hr)))
    z = 1 / (1 + np.exp(-(w_iz @ x + b_iz + w_hz @ h + b_hz)))
    c = np.tanh(w_ic @ x + b_ic + r * (w_hc @ h + b_hc))
    return z * h + (1 - z) * c


def by_the_docstring(case: Case) -> tuple[Any, Any]:
    """outputs, batch first, and final_states, in float64, row by row and from the owner's own tensors."""
    question, size = case.question, case.attributes["hidden_size"]
    own = of_each_direction(GRU, case.attributes, question.inputs)
    x = np.asarray(own["inputs"], "f8")
    x = x.swapaxes(0, 1) if case.attributes["time_major"] else x
    ways = ["", "_reverse"][: 2 if case.attributes["direction"].startswith("bi") else 1]
    lengths = own.get("sequence_length", [x.shape[1]] * len(x))
    outputs = np.zeros((*x.shape[:2], len(ways) * size))
    states = np.zeros((len(ways), len(x), size))
    states += own.get("initial_states", 0)
    for way, end in enumerate(ways):
        named = [f"{name}_l0{end}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        parameters = [np.asarray(own[one], "f8") for one in named]
        for row, length in enumerate(lengths):
            for time in sorted(range(length), reverse=bool(end)):
                states[way, row] = step(x[row, time], states[way, row], *parameters)
                outputs[row, time, way * size : (way + 1) * size] = states[way, row]
    return outputs, states


def test_answers_are_the_docstring_s(cases: list[Case]) -> None:
    assert len(cases) == 36
    assert {case.tier for case in cases} == {"required"}
    for case in cases:
        outputs, states = by_the_docstring(case)
        found = case.answer.outputs
        y = found["outputs"].swapaxes(0, 1) if case.attributes["time_major"] else found["outputs"]
        near: Any = {
            "rtol": 1e-13 if case.dtype == "float64" else 1e-6,
            "atol": 1e-14,
            "err_msg": case.id,
        }
        np.testing.assert_allclose(y, outputs, **near)
        np.testing.assert_allclose(found["final_states"], states, **near)
        for limits in case.answer.tolerances.values():
            assert {name: array.shape for name, array in limits.items()} == {
                n: a.shape for n, a in found.items()
            }


@pytest.mark.parametrize("other", ["torch.GRU", "onnx.GRU-14", "openvino.GRUSequence-5"])
def test_it_is_asked_as_the_operators_of_others(other: str, cases: list[Case]) -> None:
    """The answers of the other, given back, are the same; a row of length 0 keeps its state in Paddle alone."""
    refused = Counter[str]()
    for case in cases:
        try:
            one = ask(case.question, OPERATORS[other])
        except NotExpressible as reason:
            refused[str(reason).partition(" has ")[2]] += 1
            continue
        back = one.answer(answered_case(one.question).answer.outputs)
        for name, wanted in case.answer.outputs.items():
            np.testing.assert_array_equal(back[name], wanted, err_msg=case.id)
    assert refused == {"no such a state of a row of length 0": 4}


def test_paddle_itself_is_right(cases: list[Case]) -> None:
    paddle = pytest.importorskip("paddle")
    for case in cases:
        own = of_each_direction(GRU, case.attributes, case.inputs)
        paddle.set_default_dtype(case.dtype)
        layer = paddle.nn.GRU(**case.given)
        for name, parameter in layer.named_parameters():
            if name in own:
                parameter.set_value(own[name])
        fed = [own.get(name) for name in ("inputs", "initial_states", "sequence_length")]
        given = [None if array is None else paddle.to_tensor(array) for array in fed]
        found = dict(zip(case.answer.outputs, layer(*given), strict=True))
        for name, wanted in case.answer.outputs.items():
            off = np.abs(found[name].numpy().astype("f8") - wanted)
            assert (off <= case.answer.tolerances[case.dtype][name]).all(), (case.id, name)
