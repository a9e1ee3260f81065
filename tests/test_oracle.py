"""The oracle against examples worked out by hand."""

import importlib
import math
import random
from fractions import Fraction
from typing import Any

import numpy
import pytest

from oracle import (
    FORMATS,
    FRACTIONS,
    MPMATH,
    Array,
    MpmathNumbers,
    distance_to_tie,
    evaluate,
    round_once,
    to_fraction,
)

mpmath: Any = importlib.import_module("mpmath")  # it has no type information

NAN, INF = math.nan, math.inf
DTYPES = sorted(FORMATS)


def attributes(**given: Any) -> dict[str, Any]:
    defaults = {"hidden_size": 1, "activations": ["relu", "relu"], "clip": INF}
    return {**defaults, "linear_before_reset": False, "direction": "forward", **given}


def cell(h: Any, B: Any = None, numbers: Any = FRACTIONS, **given: Any) -> list[Any]:
    """GRUCell of x = 2 with Wz, Wr, Wh = 1/4, 1/2, 1 and Rz, Rr, Rh = -1/8, 1/4, 1/2."""
    inputs = floats(X=[[2]], initial_hidden_state=[[h]])
    inputs |= floats(W=[[0.25], [0.5], [1]], R=[[-0.125], [0.25], [0.5]])
    inputs |= {} if B is None else floats(B=B)
    return evaluate("GRUCell-3", attributes(**given), inputs, numbers=numbers)["Ho"]


def floats(dtype: Any = numpy.float32, **tensors: Any) -> dict[str, Array]:
    return {name: numpy.array(tensor, dtype) for name, tensor in tensors.items()}


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


# the cell


# With h = 3 and the biases z 1/8, r 1/4, Wbh -1, Rbh 1/2:
#   zt = 2/4 - 3/8 + 1/8 = 1/4,  rt = 2/2 + 3/4 + 1/4 = 2
#   before:  ht = 2 + (2*3)/2 + (1/2 - 1) = 9/2,     Ht = 3/4 * 9/2 + 1/4 * 3 = 33/8
#   after:   ht = 2 + 2 * (3/2 + 1/2) - 1 = 5,       Ht = 3/4 * 5   + 1/4 * 3 = 9/2
# clip 1 (the same whether or not linear_before_reset):
#   rt = 1 (of 2), ht = 1 (of 3),                    Ht = 3/4 * 1   + 1/4 * 3 = 3/2
# clip 1, Wbh = -7/2: the inner 3/2 + 1/2 = 2 is not clipped, nor is the state 3
#   after:   ht = 2 + 1 * 2 - 7/2 = 1/2,             Ht = 3/4 * 1/2 + 1/4 * 3 = 9/8
#   before:  ht = 2 + (1*3)/2 - 3 = 1/2, the same
# z bias -5/8, Wbh -6: relu of -1/2 and of 2 + 3 - 6 = -1 (after: 2 + 2*2 - 7 = -1) is 0
#   zt = 0, ht = 0,                                  Ht = 0;  z bias 1/8:  Ht = 1/4 * 3 = 3/4
# clip 4 reaches ht alone, after: ht = 4 (of 5),     Ht = 3/4 * 4   + 1/4 * 3 = 15/4
BEFORE, AFTER = [0.125, 0.25, -0.5], [0.125, 0.25, -1, 0.5]
CELLS = [
    (BEFORE, INF, Fraction(33, 8)),
    (AFTER, INF, Fraction(9, 2)),
    (BEFORE, 1.0, Fraction(3, 2)),
    (AFTER, 1.0, Fraction(3, 2)),
    ([0.125, 0.25, -3], 1.0, Fraction(9, 8)),
    ([0.125, 0.25, -3.5, 0.5], 1.0, Fraction(9, 8)),
    (AFTER, 4.0, Fraction(15, 4)),
    ([-0.625, 0.25, -6], INF, Fraction(0)),
    ([0.125, 0.25, -6], INF, Fraction(3, 4)),
    ([0.125, 0.25, -7, 0.5], INF, Fraction(3, 4)),
]


@pytest.mark.parametrize("numbers", [FRACTIONS, MPMATH])
@pytest.mark.parametrize(("B", "clip", "expected"), CELLS)
def test_cell(B: list[float], clip: float, expected: Fraction, numbers: Any) -> None:
    Ho = cell(3, B, numbers, linear_before_reset=len(B) == 4, clip=clip)
    assert [[to_fraction(h) for h in row] for row in Ho] == [[expected]]


def test_two_units() -> None:
    # B absent is zeros.  zt = [1/2, 1/4 * 1] = [1/2, 1/4],  rt = [1 + 2/2, 4 + 1 - 2] = [2, 3]
    #   before: rt (.) h = [2, 6],     ht = [1 + 2 + 6/2, -1 + 2*2 + 6] = [6, 9]
    #           Ht = [1/2 * 6 + 1/2 * 1, 3/4 * 9 + 1/4 * 2] = [7/2, 29/4]
    #   after:  Rh h = [1 + 2/2, 2 + 2] = [2, 4],  ht = [1 + 2*2, -1 + 3*4] = [5, 11]
    #           Ht = [1/2 * 5 + 1/2 * 1, 3/4 * 11 + 1/4 * 2] = [3, 35/4]
    inputs = floats(
        X=[[1]],
        initial_hidden_state=[[1, 2]],
        W=[[0.5], [0], [1], [4], [1], [-1]],
        R=[[0, 0], [0.25, 0], [0, 0.5], [1, -1], [1, 0.5], [2, 1]],
    )
    expected = {False: [Fraction(7, 2), Fraction(29, 4)], True: [Fraction(3), Fraction(35, 4)]}
    for lbr, Ho in expected.items():
        given = attributes(hidden_size=2, linear_before_reset=lbr)
        assert evaluate("GRUCell-3", given, inputs, numbers=FRACTIONS) == {"Ho": [Ho]}


# to 50 places, by Python's decimal: 1/(1 + 1/e), (e^2 - 1)/(e^2 + 1), 1/(1 + e^(1/2)),
# (e - 1)/(e + 1)
SIGMOID_1 = Fraction("0.73105857863000487925115924182183627436514464016506")
TANH_1 = Fraction("0.76159415595576488811945828260479359041276859725794")
SIGMOID_MINUS_HALF = Fraction("0.37754066879814543536109943425449152124672063469109")
TANH_HALF = Fraction("0.46211715726000975850231848364367254873028928033011")


def test_sigmoid_and_tanh() -> None:
    names = ["sigmoid", "tanh"]
    with mpmath.workprec(20):  # of the global context, which is not the oracle's
        # h = 0, zt = sigmoid(2/4 + 1/2), ht = tanh(2 - 1)
        Ho = cell(0, [0.5, 0, -1], MPMATH, activations=names)
        # zt = sigmoid(-1/2 of 2/4 - 2), ht = tanh(-1/2 of 2 - 6): clipped from below
        low = cell(0, [-2, 0, -6], MPMATH, activations=names, clip=0.5)
    assert abs(to_fraction(Ho[0][0]) - (1 - SIGMOID_1) * TANH_1) < Fraction(1, 10**49)
    low_expected = (1 - SIGMOID_MINUS_HALF) * -TANH_HALF
    assert abs(to_fraction(low[0][0]) - low_expected) < Fraction(1, 10**49)
    assert mpmath.mp.prec == 53
    # 300 bits and no more: the last one of 1/3 is 2^-301, and 1/3 is off by a third of it
    third = to_fraction(MPMATH.exact(1.0) / 3)
    assert abs(third - Fraction(1, 3)) == power(-301) / 3
    more = cell(0, [0.5, 0, -1], MpmathNumbers(3000), activations=names)
    assert 0 < abs(to_fraction(more[0][0]) - to_fraction(Ho[0][0])) < power(-295)


TENTHS = {
    "float16": Fraction(819, 8192),
    "bfloat16": Fraction(205, 2048),
    "float32": Fraction(13421773, 2**27),
    "float64": Fraction(3602879701896397, 2**55),
}


@pytest.mark.parametrize("numbers", [FRACTIONS, MPMATH])
@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_are_exact(dtype: str, numbers: Any) -> None:
    # zt = 0, so Ht = ht = 0.1 * 3/4, 0.1 being what the dtype makes of it
    inputs = floats(FORMATS[dtype].scalar, X=[[0.1]], initial_hidden_state=[[0]])
    inputs |= floats(FORMATS[dtype].scalar, W=[[0], [0], [0.75]], R=[[0], [0], [0]])
    Ho = evaluate("openvino.GRUCell-3", attributes(), inputs, numbers=numbers)["Ho"]
    assert to_fraction(Ho[0][0]) == TENTHS[dtype] * Fraction(3, 4)


# the sequence


def sequence(direction: str, lengths: list[int], **given: Any) -> dict[str, Any]:
    """zt = 0 and rt = 1, so that Ht = Xt + Rh * Ht-1, with Rh = 1/2 and then 1/4."""
    D = 2 if direction == "bidirectional" else 1
    inputs = floats(
        X=[[[1], [2], [NAN]], [[4], [8], [16]]],  # what is past the length is not looked at
        initial_hidden_state=[[[2], [8]][:D], [[6], [4]][:D]],
        W=[[[0], [0], [1]]] * D,
        R=[[[0], [0], [0.5]], [[0], [0], [0.25]]][:D],
        B=[[0, 1, 0]] * D,
    )
    inputs["sequence_lengths"] = numpy.array(lengths, numpy.int64)
    given = {"attributes": attributes(direction=direction), "inputs": inputs, **given}
    return evaluate("GRUSequence-5", numbers=FRACTIONS, **given)


def column(*values: float) -> list[list[Fraction]]:
    return [[Fraction(value)] for value in values]


# forward, h0 = 2:  1 + 1 = 2, 2 + 1 = 3;   h0 = 6:  4 + 3 = 7, 8 + 3.5 = 11.5, 16 + 5.75 = 21.75
# reverse, h0 = 2:  t1: 2 + 1 = 3, t0: 1 + 1.5 = 2.5
#          h0 = 6:  t2: 16 + 3 = 19, t1: 8 + 9.5 = 17.5, t0: 4 + 8.75 = 12.75
# reverse with 1/4, h0 = 8:  t1: 2 + 2 = 4, t0: 1 + 1 = 2
#                   h0 = 4:  t2: 16 + 1 = 17, t1: 8 + 4.25 = 12.25, t0: 4 + 3.0625 = 7.0625
FORWARD = [column(2, 3, 0), column(7, 11.5, 21.75)]
REVERSE = [column(2.5, 3, 0), column(12.75, 17.5, 19)]
SECOND = [column(2, 4, 0), column(7.0625, 12.25, 17)]


def test_ragged() -> None:
    out = sequence("forward", [2, 3])
    assert out == {"Y": [[FORWARD[0]], [FORWARD[1]]], "Ho": [column(3), column(21.75)]}
    out = sequence("reverse", [2, 3])
    assert out == {"Y": [[REVERSE[0]], [REVERSE[1]]], "Ho": [column(2.5), column(12.75)]}
    out = sequence("bidirectional", [2, 3])
    assert out["Y"] == [[FORWARD[0], SECOND[0]], [FORWARD[1], SECOND[1]]]
    assert out["Ho"] == [column(3, 2), column(21.75, 7.0625)]


@pytest.mark.parametrize(("reading", "first"), [("zeros", 0), ("initial_hidden_state", 2)])
def test_length_zero(reading: str, first: int) -> None:
    out = sequence("reverse", [0, 3], len_zero=reading)
    assert out["Y"] == [[column(0, 0, 0)], [REVERSE[1]]]
    assert out["Ho"] == [column(first), column(12.75)]
    assert sequence("forward", [0, 3])["Ho"] == [column(0), column(21.75)]


# rounding


def same(result: Any, expected: Any, dtype: str) -> bool:
    scalar = FORMATS[dtype].scalar
    return type(result) is scalar and result.tobytes() == scalar(expected).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_against_numpy(dtype: str) -> None:
    # numpy rounds float64 to float16 and float32 once, ml_dtypes float32 to bfloat16,
    # Python an int / int to float64; the exponents run from below the smallest subnormal
    rng = random.Random(dtype)
    fmt = FORMATS[dtype]
    source = numpy.float32 if dtype == "bfloat16" else numpy.float64
    for _ in range(3000):
        scale = rng.randint(fmt.emin - fmt.precision - 3, fmt.emax - 1)
        value = Fraction(rng.randint(-(2**70), 2**70), 2**70) * power(scale)
        held = source(value.numerator / value.denominator)
        expected = fmt.scalar(held) + fmt.scalar(0)  # + 0: no negative zero
        if dtype != "float64":
            value = Fraction(float(held))
        assert same(round_once(value, dtype), expected, dtype), value


@pytest.mark.parametrize("dtype", DTYPES)
def test_ties(dtype: str) -> None:
    fmt = FORMATS[dtype]
    kind = numpy.dtype(f"u{numpy.dtype(fmt.scalar).itemsize}")
    infinity = int(numpy.array(INF, fmt.scalar).view(kind))
    normal = 2 ** (fmt.precision - 1)
    edges = [0, 1, normal - 1, normal, infinity // 2, infinity - 2, infinity - 1]
    rng = random.Random(dtype)
    for k in edges + [rng.randrange(infinity) for _ in range(300)]:
        below, above = numpy.array([k, k + 1], kind).view(fmt.scalar)
        high = power(fmt.emax + 1) if k + 1 == infinity else Fraction(float(above))
        tie = (Fraction(float(below)) + high) / 2
        nudge = tie / 2**200
        for sign in (1, -1):
            even = (above if k % 2 else below) * fmt.scalar(sign)
            assert same(round_once(sign * tie, dtype), even + fmt.scalar(0), dtype)
            nearer = below * fmt.scalar(sign) + fmt.scalar(0)
            assert same(round_once(sign * (tie - nudge), dtype), nearer, dtype)
            assert same(round_once(sign * (tie + nudge), dtype), above * fmt.scalar(sign), dtype)
        assert distance_to_tie(tie, dtype) == 0
        assert 0 < distance_to_tie(tie - nudge, dtype) < power(-140)


def test_enormous_exponents() -> None:
    two = MPMATH.exact(2.0)
    for dtype in DTYPES:
        assert same(round_once(two ** (10**15), dtype), INF, dtype)
        assert same(round_once(-(two ** (10**15)), dtype), -INF, dtype)
        assert same(round_once(-(two ** -(10**15)), dtype), 0.0, dtype)
    with pytest.raises(ValueError, match="finite"):
        round_once(MPMATH.context.inf, "float32")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (Fraction(1), "float32", Fraction(1, 4)),  # the tie 1 - 2^-25; the spacing is 2^-23
        (Fraction(3, 2), "float32", Fraction(1, 2)),
        (1 + power(-24) - power(-30), "float32", power(-7)),
        (power(-14), "float16", Fraction(1, 2)),  # below it the spacing is the same
        (power(-24), "float16", Fraction(1, 2)),
        (Fraction(0), "float16", Fraction(1, 2)),
        (Fraction(-65536), "float16", Fraction(1, 2)),  # from 65520; the spacing is 32
        (Fraction(65520 + 320), "float16", Fraction(10)),
    ],
)
def test_distance_to_tie(value: Fraction, dtype: str, expected: Fraction) -> None:
    assert distance_to_tie(value, dtype) == expected
