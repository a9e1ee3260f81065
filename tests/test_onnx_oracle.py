"""The ONNX oracle against examples worked out by hand."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest
from onnx_oracle import evaluate

from oracle import MPMATH, Array, to_fraction

INF = math.inf
decimal_context = decimal.Context(prec=80)


def attributes(**given: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"hidden_size": 1, "direction": "forward", "clip": INF}
    defaults |= {"activations": ["Relu", "Relu"], "linear_before_reset": 0, "layout": 0}
    return {**defaults, **given}


def floats(**tensors: Any) -> dict[str, Array]:
    return {name: numpy.array(tensor, numpy.float32) for name, tensor in tensors.items()}


def exact(nested: Any) -> Any:
    """The nested lists with every number a Fraction."""
    return [exact(n) for n in nested] if isinstance(nested, list) else to_fraction(nested)


def float32(value: float) -> Fraction:
    return Fraction(float(numpy.float32(value)))


# the equations


def cell(B: Any, **given: Any) -> Fraction:
    """One step of x = 2, h = 3 with Wz, Wr, Wh = 1/4, 1/2, 1 and Rz, Rr, Rh = -1/8, 1/4, 1/2."""
    inputs = floats(X=[[[2]]], W=[[[0.25], [0.5], [1]]], R=[[[-0.125], [0.25], [0.5]]])
    inputs |= floats(initial_h=[[[3]]]) | ({} if B is None else floats(B=[B]))
    outputs = exact_outputs(inputs, **given)
    assert outputs["Y"] == [outputs["Y_h"]]
    value: Fraction = outputs["Y_h"][0][0][0]
    return value


def exact_outputs(
    inputs: dict[str, Array], len_zero: str = "zeros", **given: Any
) -> dict[str, Any]:
    outputs = evaluate(attributes(**given), inputs, numbers=MPMATH, len_zero=len_zero)
    return {name: exact(value) for name, value in outputs.items()}


# With the biases Wb = 1/8, 1/4, -1 and Rb = 0, 0, 1/2:
#   zt = 2/4 - 3/8 + 1/8 = 1/4,  rt = 2/2 + 3/4 + 1/4 = 2
#   before:  ht = 2 + (2*3)/2 + (1/2 - 1) = 9/2,    Ht = 3/4 * 9/2 + 1/4 * 3 = 33/8
#   after:   ht = 2 + 2 * (3/2 + 1/2) - 1 = 5,      Ht = 3/4 * 5   + 1/4 * 3 = 9/2
# With parts of z and r moved to Rb it is the same.  With Wbh = 1/2, Rbh = -1 instead, before is
# the same, and after:   ht = 2 + 2 * (3/2 - 1) + 1/2 = 7/2,  Ht = 3/4 * 7/2 + 3/4 = 27/8
# With clip 1:  rt = 1 (of 2), ht = 1 (of 3),       Ht = 3/4 * 1   + 1/4 * 3 = 3/2
# With clip 4, after:  ht = 4 (of 5),               Ht = 3/4 * 4   + 3/4 = 15/4
# Without B:  zt = 1/8, rt = 7/4,  ht = 2 + 21/4/2 = 37/8 (both),  Ht = 7/8 * 37/8 + 3/8 = 283/64
# With Wb = -5/8, 1/4, -6 and Rb 0:  z is of -1/2, ht of 2 + 3 - 6: both 0
FIRST = [0.125, 0.25, -1, 0, 0, 0.5]
CELLS = [
    (FIRST, 0, INF, Fraction(33, 8)),
    (FIRST, 1, INF, Fraction(9, 2)),
    (FIRST, -1, INF, Fraction(9, 2)),
    ([0.375, -1.75, -1, -0.25, 2, 0.5], 0, INF, Fraction(33, 8)),
    ([0.375, -1.75, -1, -0.25, 2, 0.5], 1, INF, Fraction(9, 2)),
    ([0.125, 0.25, 0.5, 0, 0, -1], 0, INF, Fraction(33, 8)),
    ([0.125, 0.25, 0.5, 0, 0, -1], 1, INF, Fraction(27, 8)),
    (FIRST, 0, 1.0, Fraction(3, 2)),
    (FIRST, 1, 1.0, Fraction(3, 2)),
    (FIRST, 1, 4.0, Fraction(15, 4)),
    (None, 0, INF, Fraction(283, 64)),
    (None, 1, INF, Fraction(283, 64)),
    ([-0.625, 0.25, -6, 0, 0, 0], 0, INF, Fraction(0)),
]


@pytest.mark.parametrize(("B", "lbr", "clip", "expected"), CELLS)
def test_cell(B: list[float] | None, lbr: int, clip: float, expected: Fraction) -> None:
    assert cell(B, linear_before_reset=lbr, clip=clip) == expected


def test_clip_is_float32_and_two_sided() -> None:
    c = float32(0.1)  # zt = c (of 1/4), ht = c: the state 3 and the products are not clipped
    assert c != Fraction(0.1)
    assert cell(FIRST, clip=0.1) == (1 - c) * c + c * 3
    # zt is of -1/2, ht of -1: -c each.  Affine of them, alpha 1/2, beta 1 and 0
    given = {"activations": ["Affine"] * 2, "activation_alpha": [0.5, 0.5]}
    z = 1 - c / 2
    got = cell([-0.625, 0, -9, 0, 0, 0], clip=0.1, activation_beta=[1.0, 0.0], **given)
    assert got == (1 - z) * -c / 2 + z * 3
    assert cell(FIRST, clip=1e39) == Fraction(33, 8)  # infinite as float32


# activations: random questions compare them with the answers


def one_step(x: float, h: float, W: list[float], Rh: float, **given: Any) -> Fraction:
    inputs = floats(X=[[[x]]], initial_h=[[[h]]], W=[[[w] for w in W]], R=[[[0], [0], [Rh]]])
    value: Fraction = exact_outputs(inputs, **given)["Y_h"][0][0][0]
    return value


def test_thresholds_and_edges() -> None:
    def g(name: str, x: float, alpha: float) -> Fraction:
        given = {"activations": ["Relu", name], "activation_alpha": [alpha]}
        return one_step(x, 0, [0, 0, 1], 0, **given)

    below = float(numpy.nextafter(numpy.float32(0.5), numpy.float32(0)))
    assert g("ThresholdedRelu", 0.5, 0.5) == Fraction(1, 2)  # x >= alpha
    assert g("ThresholdedRelu", below, 0.5) == 0
    assert g("ThresholdedRelu", -1, -1.5) == -1
    assert g("LeakyRelu", -1, 0.01) == -float32(0.01) != -Fraction(0.01)
    # e^x - 1 and log(1 + e^x) keep their relative precision where the terms cancel or vanish
    x = Fraction(2) ** -280  # from two float32 factors
    elu = one_step(-(2.0**-140), 0, [0, 0, 2.0**-140], 0, activations=["Relu", "Elu"])
    assert abs(elu - (-x + x**2 / 2)) < x * Fraction(2) ** -290
    plus = one_step(-500, 0, [0, 0, 1], 0, activations=["Relu", "Softplus"])
    with decimal.localcontext(decimal_context):
        assert abs(plus / Fraction(Decimal(-500).exp()) - 1) < Fraction(1, 10**60)
    assert one_step(1e30, 0, [0, 0, 1], 0, activations=["Relu", "Softplus"]) == float32(1e30)


# the parameters' order


def test_parameters_are_taken_in_order() -> None:
    # Tanh takes none: z = tanh(0) = 0, the one alpha is LeakyRelu's
    got = one_step(-1, 0, [0, 0, 1], 0, activations=["Tanh", "LeakyRelu"], activation_alpha=[0.25])
    assert got == Fraction(-1, 4)
    # the first alpha is f's (z of -1/2 is -1/4), the second g's (of -2: -1/2 * 2 = -1)
    # Ht = 5/4 * -1 - 1/4 * 3
    got = one_step(
        -2, 3, [0.25, 0, 1], 0, activations=["LeakyRelu"] * 2, activation_alpha=[0.5, 0.5]
    )
    assert got == Fraction(-2)
    got = one_step(
        -2, 3, [0.25, 0, 1], 0, activations=["LeakyRelu"] * 2, activation_alpha=[0.25, 0.5]
    )
    assert got == Fraction(9, 8) * -1 - Fraction(1, 8) * 3
    # where the list is too short, the default: z = -1/8, ht = -2 * 0.01
    got = one_step(-2, 3, [0.25, 0, 1], 0, activations=["LeakyRelu"] * 2, activation_alpha=[0.25])
    assert got == Fraction(9, 8) * -2 * float32(0.01) - Fraction(1, 8) * 3


def test_parameters_across_directions() -> None:
    # x = -1, h = 1; alphas 1/2 to LeakyRelu, 1/8 to HardSigmoid, 2 to Affine, beta 1/4 and 3
    # forward:  z = -1/2,  ht = -1/8 + 1/4 = 1/8,   Ht = 3/2 * 1/8 - 1/2
    # reverse:  z = relu(-1) = 0,  Ht = ht = -2 + 3
    inputs = floats(X=[[[-1]]], initial_h=[[[1]], [[1]]], W=numpy.ones((2, 3, 1)))
    inputs |= floats(R=numpy.zeros((2, 3, 1)))
    names = ["LeakyRelu", "HardSigmoid", "Relu", "Affine"]
    given: dict[str, Any] = {"activation_alpha": [0.5, 0.125, 2], "activation_beta": [0.25, 3]}
    outputs = exact_outputs(inputs, direction="bidirectional", activations=names, **given)
    assert outputs["Y_h"] == [[[Fraction(-5, 16)]], [[Fraction(1)]]]
    assert outputs["Y"] == [outputs["Y_h"]]


# lengths, directions, layouts


def sums(more: dict[str, Array] | None = None, directions: int = 1) -> dict[str, Array]:
    """Ht = Xt + Ht-1: z = 0, r = 1 by their biases.  In the second direction 10 Xt + Ht-1."""
    W = [[[0], [0], [1]], [[0], [0], [10]]][:directions]
    R = [[[0], [0], [1]]] * directions
    B = [[0, 1, 0, 0, 0, 0]] * directions
    X = [[[1], [100], [5]], [[2], [200], [6]], [[4], [400], [7]]]  # rows 1 2 4, 100.. and 5 6 7
    return floats(X=X, W=W, R=R, B=B) | (more or {})


LENGTHS: dict[str, Array] = {"sequence_lens": numpy.array([2, 3, 0], numpy.int32)}
INITIAL = floats(initial_h=[[[8], [0], [9]]])


def test_lengths_forward() -> None:
    outputs = exact_outputs(sums(LENGTHS | INITIAL))
    assert outputs["Y"] == [[[[9], [100], [0]]], [[[11], [300], [0]]], [[[0], [700], [0]]]]
    assert outputs["Y_h"] == [[[11], [700], [0]]]
    other = exact_outputs(sums(LENGTHS | INITIAL), "initial_hidden_state")
    assert other == {"Y": outputs["Y"], "Y_h": [[[11], [700], [9]]]}


def test_layout_by_hand() -> None:
    inputs = sums(directions=2) | floats(
        X=[[[1], [2], [4]]], initial_h=[[[8], [16]]]
    )  # [N, T, I], [N, D, H]
    given: dict[str, Any] = {"direction": "bidirectional", "activations": ["Relu"] * 4}
    outputs = exact_outputs(inputs, layout=1, **given)
    assert outputs["Y"] == [[[[9], [86]], [[11], [76]], [[15], [56]]]]
    assert outputs["Y_h"] == [[[15], [86]]]
