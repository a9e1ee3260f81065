"""Asking a case as another operator's: the exact answers agree, or there is a reason."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest
from drawn import exact_answer
from oracles import assert_rounds_to, exact_outputs
from shipped import core_cases

from grucible import Case, Question
from grucible.cases.conversion import Asked, NotExpressible, ask
from grucible.cases.operators import OPERATORS
from grucible.cases.question import TensorType
from oracle import MPMATH

PAIRS = list(itertools.permutations(OPERATORS, 2))
CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"
TORCH, TORCH_CELL = "torch.GRU", "torch.GRUCell"
ONNX, BNNS, KERAS = "onnx.GRU-14", "bnnsgraph.gru", "keras.GRU"
_EMPTY = "has no such a state of a row of length 0"
WEBNN, WEBNN_CELL = "webnn.gru", "webnn.gruCell"


@cache
def core(operator: str) -> tuple[Case, ...]:
    """The core vectors of an operator but for float64."""
    return tuple(c for c in core_cases() if c.operator == operator and c.dtype != "float64")


def asked_as(source: str, target: str) -> tuple[list[Asked], Counter[str]]:
    found, refused = [], Counter[str]()
    for case in core(source):
        try:
            found.append(ask(case.question, OPERATORS[target]))
        except NotExpressible as reason:
            refused[str(reason)] += 1
    return found, refused


REASONS = {
    **{(openvino, ONNX): {f"has no clip 0.{n}, which float32 does not hold exactly" for n in (1, 3)} for openvino in (CELL, SEQUENCE)},
    (BNNS, ONNX): {"has one bias, and the sum of two is not exact"},
    (SEQUENCE, CELL): {"has no forward and reverse", "has no time axis, and the case has 4 steps", "has no reverse"},
    (ONNX, SEQUENCE): {"has no activations elu(0.75)", "has no separate activations for each direction"},
    (ONNX, CELL): {"has no activations softplus", "has no time axis, and the case has 4 steps"},
    (BNNS, CELL): {"has no time axis, and the case has 4 steps", "has no activations scaled-tanh(1.7159, 0.666667)"},
    (BNNS, SEQUENCE): {"has no activations affine(1, 0)"},
    (CELL, BNNS): {"has no clip", "has no bfloat16", "has no reset gate applied before the product with R"},
    (SEQUENCE, BNNS): {"has no clip", "has no bfloat16", "has no direction forward and reverse",
                       "has no lengths, and some rows have fewer steps",
                       "has no reset gate applied before the product with R"},
    (ONNX, BNNS): {"has no activation softplus", "has no recurrentActivation hard-sigmoid(0.25, 0.5)"},
    **{(CELL, torch): {"has no clip", "has no f relu", "has no reset gate applied before the product with R"}
       for torch in (TORCH, TORCH_CELL)},
    (SEQUENCE, TORCH): {"has no bidirectional reverse", "has no rows of length 0", "has no g sigmoid"},
    (ONNX, TORCH): {"has no bidirectional reverse", "has no rows of length 0", "has no f hard-sigmoid(0.25, 0.5)",
                    "has no separate activations for each direction"},
    (BNNS, TORCH): {"has no bidirectional reverse", "has no f affine(1, 0)"},
    **{(other, TORCH_CELL): {"has no time axis, and the case has 4 steps"} for other in (SEQUENCE, ONNX, BNNS)},
    **{(TORCH, cell): {"has no forward and reverse", "has no time axis, and the case has 3 steps"}
       for cell in (CELL, TORCH_CELL)},
    **{(torch, other): {"has one bias, and the sum of two is not exact"}
       for torch, other in ((TORCH_CELL, CELL), (TORCH_CELL, SEQUENCE), (TORCH, SEQUENCE))},
    (TORCH, BNNS): {"has no bfloat16", "has no direction forward and reverse",
                    "has no lengths, and some rows have fewer steps"},
    (TORCH_CELL, BNNS): {"has no bfloat16"},
    (CELL, KERAS): {"has no clip"},
    (SEQUENCE, KERAS): {"has no clip", "has no go_backwards forward and reverse", _EMPTY},
    (ONNX, KERAS): {"has no clip", "has no go_backwards forward and reverse", _EMPTY},
    (BNNS, KERAS): {"has no activation hard-sigmoid(0.2, 0.5)"},
    (KERAS, CELL): {"has no time axis, and the case has 4 steps", "has no reverse"},
    (KERAS, SEQUENCE): {"has no padding before the steps of a row", "has no activations softplus", _EMPTY,
                        "has no such outputs where a row has no step"},
    (KERAS, ONNX): {"has no padding before the steps of a row", "has no g leaky-relu(0.2)", _EMPTY,
                    "has no such outputs where a row has no step"},
    (TORCH, KERAS): {"has no go_backwards forward and reverse"},
    **{(KERAS, torch): {"has no such outputs where a row has no step", "has no g softplus", _EMPTY}
       for torch in (TORCH, TORCH_CELL)},
    **{(KERAS, webnn): {"has no activations softplus"} for webnn in (WEBNN, WEBNN_CELL)},
    (WEBNN, KERAS): {"has no go_backwards forward and reverse"},
    (KERAS, BNNS): {"has no bfloat16", "has no lengths, and some rows have fewer steps"},
    **{(CELL, webnn): {"has no bfloat16", "has no clip"} for webnn in (WEBNN, WEBNN_CELL)},
    **{(TORCH_CELL, webnn): {"has no bfloat16"} for webnn in (WEBNN, WEBNN_CELL)},
    (SEQUENCE, WEBNN): {"has no bfloat16", "has no clip", "has no lengths, and some rows have fewer steps"},
    (ONNX, WEBNN): {"has no activations softplus", "has no separate activations for each direction"},
    (BNNS, WEBNN): {"has no activations affine(1, 0)"},
    (TORCH, WEBNN): {"has no bfloat16", "has no lengths, and some rows have fewer steps"},
    **{(other, WEBNN_CELL): {"has no time axis, and the case has 4 steps"} for other in (SEQUENCE, ONNX, BNNS, TORCH)},
    **{(WEBNN, cell): {"has no forward and reverse", "has no time axis, and the case has 3 steps"}
       for cell in (CELL, TORCH_CELL, WEBNN_CELL)},
    (WEBNN, BNNS): {"has no direction forward and reverse", "has no reset gate applied before the product with R"},
    (WEBNN_CELL, BNNS): {"has no reset gate applied before the product with R"},
    **{(webnn, torch): {"has no f relu", "has no reset gate applied before the product with R"}
       for webnn in (WEBNN, WEBNN_CELL) for torch in (TORCH, TORCH_CELL)},
}  # fmt: skip
NONE = {(SEQUENCE, TORCH_CELL), (ONNX, TORCH_CELL)}
"""Pairs without a plain case in common: none has one step and the reset gate after the product."""


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_exact_answers_agree(source: str, target: str) -> None:
    """The target's exact answer, given back, is the stored one; an oracle confirms a sample of them."""
    found, refused = asked_as(source, target)
    assert len(found) + sum(refused.values()) == len(core(source))
    plain = [a for a in found if "/plain/" in a.original.id]
    assert len(plain) >= 2 or (not plain and (source, target) in NONE)
    why = {reason.removeprefix(f"{target} ") for reason in refused}
    assert why >= REASONS.get((source, target), set())
    assert not why or (source, target) in REASONS  # the wider operator can ask everything
    stored = {case.id: case.answer.outputs for case in core(source)}
    every = max(1, len(found) // 8)
    for number, asked in enumerate(found):
        other = asked.question
        assert other.operator == target
        answer = exact_answer(OPERATORS[target], other.attributes, other.dtype, other.inputs)
        if number % every == 0:
            for name, values in exact_outputs(other, MPMATH).items():
                assert_rounds_to(values, answer[name], other)
        back = asked.answer(answer)
        assert set(back) == set(asked.original.outputs)
        for name, wanted in stored[asked.original.id].items():
            np.testing.assert_array_equal(back[name], wanted, err_msg=asked.original.id)
            assert back[name].dtype == wanted.dtype


@pytest.mark.parametrize("clip", [1e308, 3.5e38])
def test_a_clip_beyond_float32_is_refused_in_silence(clip: float) -> None:
    """As a float32 number it is infinity, which clips nothing."""
    given = {"hidden_size": 2, "clip": clip, "linear_before_reset": True}
    shapes = {"X": (1, 3), "initial_hidden_state": (1, 2), "W": (6, 3), "R": (6, 2), "B": (8,)}
    inputs = {name: np.ones(shape, "f8") for name, shape in shapes.items()}
    outputs = {"Ho": TensorType((1, 2), np.dtype("f8"))}
    question = Question("a/b/c/d", CELL, "float64", given, inputs, outputs)
    with np.errstate(over="raise"), pytest.raises(NotExpressible, match=r"GRU-14 has no clip \d"):
        ask(question, OPERATORS[ONNX])


@pytest.mark.parametrize(
    ("dtype", "small"), [("float32", 2.0**-30), ("float32", 2.0**-100), ("float64", 2.0**-60)]
)
def test_a_sum_that_is_not_exact_is_refused(dtype: str, small: float) -> None:
    hidden, given = 2, {"hidden_size": 2}
    shapes = {"X": (1, 1, 3), "W": (1, 6, 3), "R": (1, 6, 2), "B": (1, 12)}
    inputs = {name: np.ones(shape, dtype) for name, shape in shapes.items()}
    outputs = {"Y_h": TensorType((1, 1, 2), np.dtype(dtype))}
    question = Question("a/b/c/d", ONNX, dtype, given, inputs, outputs)
    ask(question, OPERATORS[SEQUENCE])
    inputs["B"][..., 3 * hidden] = small
    with pytest.raises(NotExpressible, match=r"the sum of two is not exact"):
        ask(question, OPERATORS[SEQUENCE])


def test_the_same_question_in_the_other_s_words() -> None:
    [case] = [
        c
        for c in core(BNNS)
        if c.id == "bnnsgraph.gru/core/float32/reverse-after-relu-tanh-sequence"
    ]
    asked = ask(case.question, OPERATORS[ONNX]).question
    assert asked.given == {
        "hidden_size": 6,
        "direction": "reverse",
        "linear_before_reset": 1,
        "activations": ["Relu", "Tanh"],
    }
    assert set(asked.inputs) == {"X", "W", "R", "B", "initial_h"}  # it has no lengths
    r, n, z = np.split(case.inputs["inputHiddenWeight"], 3)
    np.testing.assert_array_equal(asked.inputs["W"][0], np.concatenate([z, r, n]))
    r, n, z = np.split(case.inputs["bias"], 3)
    zeros = np.zeros_like(z)
    np.testing.assert_array_equal(asked.inputs["B"][0], np.concatenate([zeros] * 3 + [z, r, n]))
