"""Each ledger entry about what is computed: a case worked by hand that the other reading would fail.

All numbers are small dyadics, so that with relu every step is exact; the arithmetic is written out.
The entries about what is refused are tested in tests/cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import exact_answer

from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.readings import ReadingNames

CELL, SEQUENCE = OPERATORS["openvino.GRUCell-3"], OPERATORS["openvino.GRUSequence-5"]
RELU = ["relu", "relu"]


def cell(
    B: list[float] | None,
    *,
    x: float = 1.0,
    h: float = 2.0,
    W: Any = (0.25, 0.5, 1.0),
    R: Any = (0, 0, 1),
    **given: Any,
) -> float:
    """Ho of a GRUCell-3 with one input, one hidden unit and a batch of one; relu/relu by default."""
    attributes = CELL.with_defaults({"hidden_size": 1, "activations": RELU} | given)
    inputs = {
        "X": np.array([[x]]),
        "initial_hidden_state": np.array([[h]]),
        "W": np.array(W, float).reshape(3, 1),
        "R": np.array(R, float).reshape(3, 1),
    }
    if B is not None:
        inputs["B"] = np.array(B, float)
    return float(exact_answer(CELL, attributes, "float64", inputs)["Ho"][0, 0])


def sequence(
    lengths: list[int], *, direction: str, reading: ReadingNames = (), scale: float = 1.0
) -> dict[str, Any]:
    """A GRUSequence-5 that counts: Ht = g(x_t + Ht-1) with z = 0, so states are running sums.

    X of row n is 1, 2, 3 … plus 10·n; h0 of every direction is 100.
    """
    rows, time, directions = len(lengths), 3, 2 if direction == "bidirectional" else 1
    attributes = SEQUENCE.with_defaults(
        {"hidden_size": 1, "direction": direction, "activations": RELU, "linear_before_reset": True}
    )
    x = np.arange(1.0, time + 1) + 10 * np.arange(rows)[:, None]
    weights = np.array([0, 0, scale]).reshape(1, 3, 1)
    inputs = {
        "X": x[..., None],
        "initial_hidden_state": np.full((rows, directions, 1), 100.0),
        "sequence_lengths": np.array(lengths, np.int64),
        "W": np.repeat(weights, directions, 0),
        "R": np.repeat(np.array([0.0, 0, 1]).reshape(1, 3, 1), directions, 0),
        "B": np.repeat(np.array([[0.0, 1, 0, 0]]), directions, 0),  # r = relu(1) = 1
    }
    if directions == 2:
        inputs["W"][1] *= 2  # the reverse direction adds 2·x
    return exact_answer(SEQUENCE, attributes, "float64", inputs, reading)


def test_b_order() -> None:
    # B = [z, r, Wbh, Rbh] = [0, 0.5, 3, 7]; z = relu(.25·1 - .25) … with Wz = 0: z = 0
    # r = relu(.5·1 + .5) = 1 with Wr = .5; ht = 1·1 + 1·(2·1 + 7) + 3 = 13 whichever way round,
    # so halve r: Wr = 0, br = .5: ht = 1 + .5·(2 + 7) + 3 = 8.5; swapped: 1 + .5·(2 + 3) + 7 = 10.5
    got = cell([0, 0.5, 3, 7], W=(0, 0, 1), linear_before_reset=True)
    assert got == 8.5


def test_linear_before_reset_and_the_paper() -> None:
    # r = .5, h = 2, Rh = 1, bias h 3: before: 1 + (.5·2)·1 + 3 = 5; and the blend is (1-z)·ht + z·h:
    # with z = .25: .75·5 + .25·2 = 4.25 (the paper's other version: .25·5 + .75·2 = 2.75)
    assert cell([0, 0.5, 3], W=(0, 0, 1)) == 5.0
    assert cell([0.25, 0.5, 3], W=(0, 0, 1)) == 4.25


def test_b_optional_is_zeros() -> None:
    # z = .25, r = .5, ht = 1 + (.5·2) = 2, Ht = .75·2 + .25·2 = 2
    for linear_before_reset in (False, True):
        given = {"linear_before_reset": linear_before_reset}
        absent = cell(None, h=3.0, **given)
        zeros = cell([0.0] * (4 if linear_before_reset else 3), h=3.0, **given)
        assert absent == zeros == 0.75 * (1 + 0.5 * 3) + 0.25 * 3


def test_clip_default_is_off_and_infinity_is_off() -> None:
    # ht = 100: clipped at any default bound it would differ
    assert cell([0, 0, 100], W=(0, 0, 0), R=(0, 0, 0)) == 100.0
    assert cell([0, 0, 100], W=(0, 0, 0), R=(0, 0, 0), clip=float("inf")) == 100.0


@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_clip_place(linear_before_reset: bool) -> None:
    # clip 1: the whole pre-activation of each gate, biases included, and nothing else
    bias = [0.0, 0.5, 3.0] + ([4.0] if linear_before_reset else [])
    # h: 1 + … + 3 > 1 is clipped to 1, so Ht = 1; with clip before the bias: 1 + 3 = 4
    assert cell(bias, W=(0, 0, 1), clip=1.0, linear_before_reset=linear_before_reset) == 1.0
    # the state is not clipped: z = clip(5) = 1 keeps h = 2
    keep = [5.0, 0.5, 3.0] + ([4.0] if linear_before_reset else [])
    assert cell(keep, W=(0, 0, 0), clip=1.0, linear_before_reset=linear_before_reset) == 2.0
    # a negative bound clips too: g = tanh would see -1, relu sees it as 0
    low = [0.0, 0.5, -9.0] + ([0.0] if linear_before_reset else [])
    got = cell(low, W=(0, 0, 0), R=(0, 0, 0), clip=1.0, activations=["relu", "tanh"],
               linear_before_reset=linear_before_reset)  # fmt: skip
    assert got == np.float64(-0.76159415595576488812)  # tanh(-1)


def test_clip_is_not_on_the_inner_recurrent_term() -> None:
    # Rh·h + Rbh = 2 + 7 = 9, r = .125: 1.125 - .5 = .625 is within [-1, 1]; an inner clip gives
    # .125·1 - .5 < 0, so relu would give 0
    got = cell([0, 0.125, -0.5, 7], W=(0, 0, 0), clip=1.0, linear_before_reset=True)
    assert got == 0.625


def test_alpha_and_beta_change_nothing() -> None:
    given: dict[str, Any] = {"activations_alpha": [0.5, 3.0], "activations_beta": [2.0, 7.0]}
    for pair in (["relu", "tanh"], ["sigmoid", "relu"], ["tanh", "sigmoid"]):
        assert cell([1, 2, 3], activations=pair, **given) == cell([1, 2, 3], activations=pair)


def test_act_default_is_sigmoid_tanh() -> None:
    attributes = CELL.with_defaults({"hidden_size": 1})
    assert attributes["activations"] == ["sigmoid", "tanh"]
    # f first, g second: z = relu(.5) = .5, ht = tanh(1)
    got = cell([0.5, 0, 1], W=(0, 0, 0), R=(0, 0, 0), activations=["relu", "tanh"])
    assert got == np.float64(0.5 * 0.76159415595576488812 + 1.0)


def test_y_padding_is_zeros_and_ho_is_the_row_s_own_last_state() -> None:
    out = sequence([2, 3], direction="forward")
    np.testing.assert_array_equal(out["Y"][:, 0, :, 0], [[101, 103, 0], [111, 123, 136]])
    np.testing.assert_array_equal(out["Ho"][:, 0, 0], [103, 136])  # ledger: ho-ragged


def test_reverse_ragged() -> None:
    # row 0 has length 2: it takes t = 1, then t = 0; Y stands at its own time; padding stays at the end
    out = sequence([2, 3], direction="reverse")
    np.testing.assert_array_equal(out["Y"][:, 0, :, 0], [[103, 102, 0], [136, 125, 113]])
    np.testing.assert_array_equal(out["Ho"][:, 0, 0], [103, 136])  # after t = 0


def test_bidi_layout() -> None:
    out = sequence([2, 3], direction="bidirectional")
    np.testing.assert_array_equal(out["Y"][0, :, :, 0], [[101, 103, 0], [106, 104, 0]])
    np.testing.assert_array_equal(out["Ho"][1, :, 0], [136, 172])


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_len_zero_both_readings(direction: str) -> None:
    stored = sequence([0, 3], direction=direction)
    other = sequence([0, 3], direction=direction, reading=("len-zero.initial-state",))
    assert (stored["Y"][0] == 0).all()
    assert (other["Y"][0] == 0).all()
    assert (stored["Ho"][0] == 0).all()
    assert (other["Ho"][0] == 100).all()
    np.testing.assert_array_equal(stored["Ho"][1], other["Ho"][1])


def test_nothing_is_rounded_between_steps() -> None:
    # 1 + 2^-30 is no float32; the state keeps it, and only the output is rounded
    attributes = SEQUENCE.with_defaults(
        {"hidden_size": 1, "direction": "forward", "activations": RELU, "linear_before_reset": True}
    )
    inputs = {
        "X": np.array([[[1.0], [2.0**-30], [-1.0]]], np.float32),
        "initial_hidden_state": np.zeros((1, 1, 1), np.float32),
        "sequence_lengths": np.array([3]),
        "W": np.array([0, 0, 1], np.float32).reshape(1, 3, 1),
        "R": np.array([0, 0, 1], np.float32).reshape(1, 3, 1),
        "B": np.array([[0, 1, 0, 0]], np.float32),
    }
    out = exact_answer(SEQUENCE, attributes, "float32", inputs)
    np.testing.assert_array_equal(out["Y"].ravel(), np.array([1, 1, 2.0**-30], np.float32))
