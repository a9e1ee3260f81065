"""The independent oracles: against examples worked out by hand, and against each other."""

from __future__ import annotations

import decimal
import importlib
import math
import random
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import bnnsgraph_oracle
import numpy
import onnx_oracle
import pytest
import webnn_oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from oracle import (
    FORMATS,
    FRACTIONS,
    MPMATH,
    Array,
    MpmathNumbers,
    distance_to_tie,
    round_once,
    to_fraction,
    vector,
)

mpmath: Any = importlib.import_module("mpmath")  # it has no type information

NAN, INF = math.nan, math.inf
DTYPES = sorted(FORMATS)
OPERATORS = [
    "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14", "bnnsgraph.gru", "webnn.gru", "webnn.gruCell",
]  # fmt: skip
WITHOUT_CLIP = ("bnnsgraph.gru", "webnn.gru", "webnn.gruCell")
BEFORE, SUM, IGNORED = "reset-false.before", "bias-sum.sum", "input-bias-unused.ignored"
TIME = "reverse-order.time"


class Gru(NamedTuple):
    """A question for any operator, d being directions, n rows, t times; the gates are z, r, h."""

    x: Array  # (n, t, input)
    h0: Array  # (d, n, hidden)
    w: Array  # (d, 3, hidden, input)
    r: Array  # (d, 3, hidden, hidden)
    wb: Array  # (d, 3, hidden)
    rb: Array
    lengths: Array
    direction: str = "forward"
    lbr: bool = False
    clip: float = INF
    activations: tuple[str, str] = ("relu", "relu")
    layout: int = 0


def gru(x: Any, h0: Any, w: Any, r: Any, wb: Any, rb: Any, lengths: Any = None, **more: Any) -> Gru:
    given: list[Any] = [numpy.array(one, numpy.float32) for one in (x, h0, w, r, wb, rb)]
    batch, time, _ = given[0].shape
    return Gru(*given, lengths=numpy.array([time] * batch if lengths is None else lengths), **more)


def ask(operator: str, g: Gru, numbers: Any = FRACTIONS, **more: Any) -> tuple[Any, Any]:
    """Y (d, n, t, hidden) and Ho (d, n, hidden), as nested lists of fractions; a cell has no Y."""
    d, _, hidden, _ = g.w.shape
    a: dict[str, Any] = {"hidden_size": hidden, "direction": g.direction, "clip": g.clip}
    a |= {"linear_before_reset": g.lbr, "activations": [*g.activations]}
    w, r = (one.reshape(d, 3 * hidden, -1) for one in (g.w, g.r))
    if operator == "bnnsgraph.gru":
        return ask_bnnsgraph(g, a, numbers, **more)
    if operator.startswith("webnn"):
        return ask_webnn(operator, g, numbers, **more)
    if operator == "onnx.GRU-14":
        b = numpy.concatenate([g.wb, g.rb], axis=1).reshape(d, -1)
        a |= {"activations": [f.capitalize() for f in g.activations] * d, "layout": g.layout}
        inputs = {"X": g.x, "initial_h": g.h0.swapaxes(0, 1)}
        if not g.layout:
            inputs = {name: given.swapaxes(0, 1) for name, given in inputs.items()}
        inputs |= {"W": w, "R": r, "B": b, "sequence_lens": g.lengths}
        found = onnx_oracle.evaluate(a, inputs, numbers=numbers, **more)
        y, ho = array(found["Y"]), array(found["Y_h"])
        y = y.transpose((2, 0, 1, 3) if g.layout else (1, 2, 0, 3))
        return y.tolist(), (ho.swapaxes(0, 1) if g.layout else ho).tolist()
    b = g.wb + g.rb
    b = numpy.concatenate([b[:, :2], g.wb[:, 2:], g.rb[:, 2:]], axis=1) if g.lbr else b
    inputs = {"W": w, "R": r, "B": b.reshape(d, -1)}
    if operator == "openvino.GRUCell-3":
        inputs = {name: given[0] for name, given in inputs.items()}
        inputs |= {"X": g.x[:, 0], "initial_hidden_state": g.h0[0]}
        found = oracle.evaluate(operator, a, inputs, numbers=numbers)
        return None, array([found["Ho"]]).tolist()
    inputs |= {"X": g.x, "initial_hidden_state": g.h0.swapaxes(0, 1), "sequence_lengths": g.lengths}
    found = oracle.evaluate(operator, a, inputs, numbers=numbers, **more)
    return array(found["Y"]).swapaxes(0, 1).tolist(), array(found["Ho"]).swapaxes(0, 1).tolist()


def ask_bnnsgraph(
    g: Gru, a: dict[str, Any], numbers: Any, readings: Collection[str] = (TIME, BEFORE)
) -> tuple[Any, Any]:
    rnz = [1, 2, 0]
    inputs = {"x": g.x.swapaxes(0, 1), "initialHiddenStates": g.h0[0]}
    inputs |= {"inputBias": g.wb[0, rnz].ravel(), "bias": g.rb[0, rnz].ravel()}
    inputs |= {"inputHiddenWeight": numpy.concatenate(g.w[0, rnz])}
    inputs |= {"hiddenHiddenWeight": numpy.concatenate(g.r[0, rnz])}
    a |= {"recurrentActivation": g.activations[0], "activation": g.activations[1]}
    a |= {"applyResetGateAfterMatMul": g.lbr}
    found, last = (
        bnnsgraph_oracle.evaluate(
            a | {"outputSequence": every}, inputs, numbers=numbers, readings=readings
        )
        for every in (True, False)
    )
    assert last["output"] == [last["hiddenStates"]] == [found["hiddenStates"]]
    return array([found["output"]]).swapaxes(1, 2).tolist(), array(last["output"]).tolist()


def ask_webnn(operator: str, g: Gru, numbers: Any, layout: str = "zrn") -> tuple[Any, Any]:
    of = {"gru": {"steps": g.x.shape[1]}, "gruCell": {}}[operator.partition(".")[2]]
    d, _, hidden, _ = g.w.shape
    a = {"hiddenSize": hidden, "resetAfter": g.lbr, "activations": [*g.activations], **of}
    a |= {"direction": {"reverse": "backward", "bidirectional": "both"}.get(g.direction, "forward")}
    order = ["zrn".index(gate) for gate in layout]
    inputs = {"weight": g.w, "recurrentWeight": g.r, "bias": g.wb, "recurrentBias": g.rb}
    inputs = {n: one[:, order].reshape(d, 3 * hidden, *one.shape[3:]) for n, one in inputs.items()}
    if operator == "webnn.gruCell":
        inputs = {name: one[0] for name, one in inputs.items()}
        inputs |= {"input": g.x[:, 0], "hiddenState": g.h0[0]}
    else:
        inputs |= {"input": g.x.swapaxes(0, 1), "initialHiddenState": g.h0}
    found = webnn_oracle.evaluate(operator, a | {"layout": layout}, inputs, numbers=numbers)
    if operator == "webnn.gruCell":
        return None, array([found["output"]]).tolist()
    y = array(found["output1"]).transpose((1, 2, 0, 3)).tolist()
    return y, array(found["output0"]).tolist()


def array(nested: Any) -> Array:
    """The nested lists as an array of fractions."""
    values = numpy.array(nested, object)
    return numpy.vectorize(to_fraction, [object])(values)


def column(*values: Any) -> list[list[Fraction]]:
    return [[Fraction(value)] for value in values]


# by hand


# x = 2, h = 3 with W 1/4, 1/2, 1 and R -1/8, 1/4, 1/2 (z, r, h); Wb = 1/8, 1/4, -1 and Rb = 0, 0, 1/2:
#   zt = 2/4 - 3/8 + 1/8 = 1/4,  rt = 2/2 + 3/4 + 1/4 = 2
#   before:  ht = 2 + (2*3)/2 + (1/2 - 1) = 9/2,    Ht = 3/4 * 9/2 + 1/4 * 3 = 33/8
#   after:   ht = 2 + 2 * (3/2 + 1/2) - 1 = 5,      Ht = 3/4 * 5   + 1/4 * 3 = 9/2
# With parts of z and r moved to Rb it is the same.  With Wbh = 1/2, Rbh = -1 instead, before is
# the same, and after:   ht = 2 + 2 * (3/2 - 1) + 1/2 = 7/2,  Ht = 3/4 * 7/2 + 3/4 = 27/8
# clip 1 (the same whether or not lbr):  rt = 1 (of 2), ht = 1 (of 3),  Ht = 3/4 * 1 + 1/4 * 3 = 3/2
# clip 4 reaches ht alone, after:  ht = 4 (of 5),                       Ht = 3/4 * 4 + 3/4 = 15/4
# clip 1, Wbh = -7/2: the inner 3/2 + 1/2 = 2 is not clipped, nor is the state 3
#   after:   ht = 2 + 1 * 2 - 7/2 = 1/2,  Ht = 3/4 * 1/2 + 3/4 = 9/8;  before: 2 + (1*3)/2 - 3, the same
# Without biases:  zt = 1/8, rt = 7/4,  ht = 2 + 21/4/2 = 37/8 (both),  Ht = 7/8 * 37/8 + 3/8 = 283/64
# Wbz = -5/8, Wbh = -6 or -7: relu of -1/2 and of 2 + 3 - 6 = -1 (after: 2 + 2*2 - 7) is 0, so Ht = 0
#   with Wbz = 1/8:  zt = 1/4, Ht = 1/4 * 3 = 3/4
Z3 = [0, 0, 0]
FIRST, RB = [0.125, 0.25, -1], [0, 0, 0.5]
CELLS = [
    (FIRST, RB, False, INF, "33/8"),
    (FIRST, RB, True, INF, "9/2"),
    ([0.375, -1.75, -1], [-0.25, 2, 0.5], False, INF, "33/8"),
    ([0.375, -1.75, -1], [-0.25, 2, 0.5], True, INF, "9/2"),
    ([0.125, 0.25, 0.5], [0, 0, -1], False, INF, "33/8"),
    ([0.125, 0.25, 0.5], [0, 0, -1], True, INF, "27/8"),
    (FIRST, RB, False, 1.0, "3/2"),
    (FIRST, RB, True, 1.0, "3/2"),
    (FIRST, RB, True, 4.0, "15/4"),
    ([0.125, 0.25, -3.5], RB, False, 1.0, "9/8"),
    ([0.125, 0.25, -3.5], RB, True, 1.0, "9/8"),
    (Z3, Z3, False, INF, "283/64"),
    (Z3, Z3, True, INF, "283/64"),
    ([-0.625, 0.25, -6], Z3, False, INF, "0"),
    ([0.125, 0.25, -6], Z3, False, INF, "3/4"),
    ([0.125, 0.25, -7], RB, True, INF, "3/4"),
]


def cell(wb: Any, rb: Any, h: float = 3, **asked: Any) -> Gru:
    w, r = [[[[0.25]], [[0.5]], [[1]]]], [[[[-0.125]], [[0.25]], [[0.5]]]]
    return gru([[[2]]], [[[h]]], w, r, [wb], [rb], **asked)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("wb", "rb", "lbr", "clip", "expected"), CELLS)
def test_one_unit(operator: str, wb: Any, rb: Any, lbr: bool, clip: float, expected: str) -> None:
    asked = cell(wb, rb, lbr=lbr, clip=clip)
    if operator in WITHOUT_CLIP and clip < INF:
        return
    for numbers in (FRACTIONS, MPMATH):
        y, ho = ask(operator, asked, numbers)
        assert ho == [column(expected)]
        assert y in (None, [[column(expected)]])


# bnnsgraph's gru, with linear functions: x = 2, h = 3 with W 1/2, 1, 1/4 and R 1/4, 1/2, -1/8 (r, n, z);
# b_i -1/4, 1/4, 1/8 and b_h 1/2, -2, 1/4
#   r = 1 - 1/4 + 3/4 + 1/2 = 2,   z = 1/2 + 1/8 - 3/8 + 1/4 = 1/2
#   false: n = 2 + 1/4 + 3/2 * 2 - 2 = 13/4,          h = 1/2 * 13/4 + 1/2 * 3 = 25/8
#   true:  n = 2 + 1/4 + (3/2 - 2) * 2 = 5/4,         h = 1/2 * 5/4 + 1/2 * 3 = 17/8
# true, bias the sum:  b_h = 3/4, -9/4, 1/8
#   r = 1 + 3/4 + 1/2 = 9/4,       z = 1/2 - 3/8 + 1/4 = 3/8
#          n = 9/4 + (3/2 - 9/4) * 9/4 = 9/16,        h = 5/8 * 9/16 + 3/8 * 3 = 189/128
# false, inputBias ignored:  r and z as above
#          n = 2 + 3/2 * 9/4 - 2 = 27/8,              h = 5/8 * 27/8 + 3/8 * 3 = 207/64
# With one unit W_hn (r * h) is (W_hn h) * r, so "before" changes nothing here.
UNIT = gru(
    [[[2]]], [[[3]]], [[[[0.25]], [[0.5]], [[1]]]], [[[[-0.125]], [[0.25]], [[0.5]]]],
    [[[0.125], [-0.25], [0.25]]], [[[0.25], [0.5], [-2]]], activations=("linear", "linear"),
)  # fmt: skip
# x = 1, h = [1, 2];  r = [1/2, 1] + [1/2 + 2/2, 2] = [2, 3],  z = [1/4 + 1/4, 1/4] = [1/2, 1/4]
#   W_hn h = [1 + 2/2, 2 - 2] = [2, 0],  r * h = [2, 6],  W_hn (r * h) = [2 + 6/2, 4 - 6] = [5, -2]
#   W_in x + b_in = [2, -1],  b_hn = [-1, 4]
#   false:  n = [2 + 2*2 - 1, -1 + 0*3 + 4] = [5, 3],      h = [5/2 + 1/2, 9/4 + 2/4] = [3, 11/4]
#   before: n = [2 + 5 - 1, -1 - 2 + 4] = [6, 1],          h = [6/2 + 1/2, 3/4 + 2/4] = [7/2, 5/4]
#   true:   n = [2 + (2-1) * 2, -1 + (0+4) * 3] = [4, 11], h = [4/2 + 1/2, 33/4 + 2/4] = [5/2, 35/4]
TWO_UNITS = gru(
    [[[1]]], [[[1, 2]]], [[[[0.25], [0.25]], [[0.5], [1]], [[1], [-1]]]],
    [[[[0.25, 0], [0, 0]], [[0.5, 0.5], [0, 1]], [[1, 0.5], [2, -1]]]],
    [[[0, 0], [0, 0], [1, 0]]], [[[0, 0], [0, 0], [-1, 4]]], activations=("linear", "linear"),
)  # fmt: skip
READINGS = [
    (UNIT, False, [], ["25/8"]),
    (UNIT, False, [BEFORE, SUM], ["25/8"]),
    (UNIT, False, [IGNORED, BEFORE, SUM], ["207/64"]),
    (UNIT, True, [], ["17/8"]),
    (UNIT, True, [BEFORE, IGNORED], ["17/8"]),
    (UNIT, True, [SUM, BEFORE, IGNORED], ["189/128"]),
    (TWO_UNITS, False, [], ["3", "11/4"]),
    (TWO_UNITS, False, [BEFORE], ["7/2", "5/4"]),
    (TWO_UNITS, True, [BEFORE], ["5/2", "35/4"]),
]


@pytest.mark.parametrize(("unit", "lbr", "readings", "expected"), READINGS)
def test_readings_of_bnnsgraph(unit: Gru, lbr: bool, readings: list[str], expected: Any) -> None:
    _, ho = ask("bnnsgraph.gru", unit._replace(lbr=lbr), readings=readings)
    assert ho == [[[*map(Fraction, expected)]]]


# zt = 0 and rt = 1, so that Ht = Xt + Rh * Ht-1, with Rh = 1/2 and then 1/4:
# forward, h0 = 2:  1 + 1 = 2, 2 + 1 = 3;   h0 = 6:  4 + 3 = 7, 8 + 3.5 = 11.5, 16 + 5.75 = 21.75
# reverse, h0 = 2:  t1: 2 + 1 = 3, t0: 1 + 1.5 = 2.5
#          h0 = 6:  t2: 16 + 3 = 19, t1: 8 + 9.5 = 17.5, t0: 4 + 8.75 = 12.75
# reverse with 1/4, h0 = 8:  t1: 2 + 2 = 4, t0: 1 + 1 = 2
#                   h0 = 4:  t2: 16 + 1 = 17, t1: 8 + 4.25 = 12.25, t0: 4 + 3.0625 = 7.0625
BOTH = gru(
    [[[1], [2], [NAN]], [[4], [8], [16]]],  # what is past the length is not looked at
    [[[2], [6]], [[8], [4]]], [[[[0]], [[0]], [[1]]]] * 2,
    [[[[0]], [[0]], [[0.5]]], [[[0]], [[0]], [[0.25]]]], [[[0], [1], [0]]] * 2, [[[0], [0], [0]]] * 2,
    lengths=[2, 3],
)  # fmt: skip
FORWARD = [column(2, 3, 0), column(7, 11.5, 21.75)]
REVERSE = [column(2.5, 3, 0), column(12.75, 17.5, 19)]
SECOND = [column(2, 4, 0), column(7.0625, 12.25, 17)]
LAST = {"forward": column(3, 21.75), "reverse": column(2.5, 12.75), "second": column(2, 7.0625)}


def one_direction(g: Gru, direction: str) -> Gru:
    return g._replace(
        direction=direction, **{n: getattr(g, n)[:1] for n in ("h0", "w", "r", "wb", "rb")}
    )


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("operator", ["openvino.GRUSequence-5", "onnx.GRU-14"])
def test_ragged_rows(operator: str, layout: int) -> None:
    both = BOTH._replace(layout=layout, direction="bidirectional")
    assert ask(operator, both) == ([FORWARD, SECOND], [LAST["forward"], LAST["second"]])
    one = one_direction(both, "reverse")
    assert ask(operator, one) == ([REVERSE], [LAST["reverse"]])
    for reading, first in (("zeros", 0), ("initial_hidden_state", 2)):
        y, ho = ask(operator, one._replace(lengths=numpy.array([0, 3])), len_zero=reading)
        assert (y, ho) == ([[column(0, 0, 0), REVERSE[1]]], [column(first, 12.75)])


# against each other


@st.composite
def questions(draw: st.DrawFn) -> Gru:
    """Questions of relu alone, on quarters, so that fractions stay small."""
    n, t, i, h = (draw(st.integers(1, 2)) for _ in range(4))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    d = 1 + (direction == "bidirectional")
    rng = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    shapes = [(n, t, i), (d, n, h), (d, 3, h, i), (d, 3, h, h), (d, 3, h), (d, 3, h)]
    arrays = [rng.integers(-6, 9, shape) / 4 for shape in shapes]
    clip = draw(st.sampled_from([INF, 0.75]))
    lengths = [draw(st.integers(0, t)) for _ in range(n)]
    return gru(*arrays, lengths=lengths, direction=direction, clip=clip, lbr=draw(st.booleans()))


@settings(max_examples=60)
@given(questions())
def test_operators_agree_where_their_texts_do(g: Gru) -> None:
    expected = ask("openvino.GRUSequence-5", g)
    for layout in (0, 1):
        assert ask("onnx.GRU-14", g._replace(layout=layout)) == expected
    single = one_direction(g, "forward")._replace(lengths=numpy.ones(len(g.x), int), x=g.x[:, :1])
    assert ask("openvino.GRUCell-3", single)[1] == ask("openvino.GRUSequence-5", single)[1]
    whole = g._replace(clip=INF, lengths=numpy.full(len(g.x), g.x.shape[1]))
    for gates in ("zrn", "rzn"):
        assert ask("webnn.gru", whole, layout=gates) == ask("openvino.GRUSequence-5", whole)
        cell_alone = ask("webnn.gruCell", single._replace(clip=INF), layout=gates)
        assert cell_alone == ask("openvino.GRUCell-3", single._replace(clip=INF))
    for direction in ("forward", "reverse"):
        one = one_direction(whole, direction)
        y, ho = ask("openvino.GRUSequence-5", one)
        assert ask("bnnsgraph.gru", one) == (y, ho)
        processed = [[row[::-1] for row in y[0]]] if direction == "reverse" else y
        assert ask("bnnsgraph.gru", one, readings=[BEFORE]) == (processed, ho)


# numbers and functions


# to 50 places, by Python's decimal: 1/(1 + 1/e), (e^2 - 1)/(e^2 + 1), 1/(1 + e^(1/2)), (e - 1)/(e + 1)
SIGMOID_1 = Fraction("0.73105857863000487925115924182183627436514464016506")
TANH_1 = Fraction("0.76159415595576488811945828260479359041276859725794")
SIGMOID_MINUS_HALF = Fraction("0.37754066879814543536109943425449152124672063469109")
TANH_HALF = Fraction("0.46211715726000975850231848364367254873028928033011")


@pytest.mark.parametrize("operator", OPERATORS)
def test_sigmoid_and_tanh(operator: str) -> None:
    def state(wb: Any, numbers: Any = MPMATH, **more: Any) -> Any:
        asked = cell(wb, Z3, h=0, activations=("sigmoid", "tanh"), **more)
        return ask(operator, asked, numbers)[1][0][0][0]

    with mpmath.workprec(20):  # of the global context, which is not the oracle's
        found = state([0.5, 0, -1])  # zt = sigmoid(2/4 + 1/2), ht = tanh(2 - 1)
        more = state([0.5, 0, -1], numbers=MpmathNumbers(3000))
        if (
            operator not in WITHOUT_CLIP
        ):  # sigmoid(-1/2 of 2/4 - 2), tanh(-1/2 of 2 - 6): clipped from below
            low = (1 - SIGMOID_MINUS_HALF) * -TANH_HALF
            assert abs(state([-2, 0, -6], clip=0.5) - low) < Fraction(1, 10**49)
    assert abs(found - (1 - SIGMOID_1) * TANH_1) < Fraction(1, 10**49)
    assert 0 < abs(more - found) < power(-295)
    # 300 bits and no more: the last one of 1/3 is 2^-301, and 1/3 is off by a third of it
    third = to_fraction(MPMATH.exact(1.0) / 3)
    assert abs(third - Fraction(1, 3)) == power(-301) / 3


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


TENTHS = {
    "float16": Fraction(819, 8192),
    "bfloat16": Fraction(205, 2048),
    "float32": Fraction(13421773, 2**27),
    "float64": Fraction(3602879701896397, 2**55),
}


@pytest.mark.parametrize("numbers", [FRACTIONS, MPMATH])
@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_are_exact(dtype: str, numbers: Any) -> None:
    row = numpy.array([0.1, -0.1], FORMATS[dtype].scalar)
    assert [*map(to_fraction, vector(row, numbers))] == [TENTHS[dtype], -TENTHS[dtype]]


# onnx's activations


def float32(value: float) -> Fraction:
    return Fraction(float(numpy.float32(value)))


def onnx(x: Any, h: Any, w: Any, wb: Any = Z3, d: int = 1, **asked: Any) -> list[Fraction]:
    """One step, with R zero: Y_h of each direction."""
    inputs: Any = {"X": [[[x]]], "initial_h": [[[h]]] * d, "W": [[[one] for one in w]] * d}
    inputs |= {"R": [[[0]] * 3] * d, "B": [[*wb, *Z3]] * d}
    arrays = {name: numpy.array(value, numpy.float32) for name, value in inputs.items()}
    a = {"hidden_size": 1, "direction": "forward", "clip": INF, "layout": 0}
    a |= {"activations": ["Relu", "Relu"], "linear_before_reset": 0}
    found = onnx_oracle.evaluate(a | asked, arrays, numbers=MPMATH)
    assert found["Y"] == [found["Y_h"]]
    return [to_fraction(state[0][0]) for state in found["Y_h"]]


def test_clip_is_float32_and_two_sided() -> None:
    c = float32(0.1)  # zt = c (of 1/4), ht = c: the state 3 and the products are not clipped
    assert c != Fraction(0.1)
    assert onnx(2, 3, [0.25, 0.5, 1], clip=0.1) == [(1 - c) * c + c * 3]
    # zt is of -1/2, ht of -1: -c each.  Affine of them, alpha 1/2, beta 1 and 0
    given: Any = {"activations": ["Affine"] * 2, "activation_alpha": [0.5, 0.5]}
    z = 1 - c / 2
    got = onnx(2, 3, [-0.25, 0, -0.5], clip=0.1, activation_beta=[1.0, 0.0], **given)
    assert got == [(1 - z) * -c / 2 + z * 3]
    assert onnx(2, 0, [0, 0, 1], clip=1e39) == [2]  # infinite as float32


def test_thresholds_and_edges() -> None:
    def g(name: str, x: float, *alpha: float, w: float = 1) -> Fraction:
        return onnx(x, 0, [0, 0, w], activations=["Relu", name], activation_alpha=alpha)[0]

    below = float(numpy.nextafter(numpy.float32(0.5), numpy.float32(0)))
    assert g("ThresholdedRelu", 0.5, 0.5) == Fraction(1, 2)  # x >= alpha
    assert g("ThresholdedRelu", below, 0.5) == 0
    assert g("ThresholdedRelu", -1, -1.5) == -1
    assert g("LeakyRelu", -1, 0.01) == -float32(0.01) != -Fraction(0.01)
    # e^x - 1 and log(1 + e^x) keep their relative precision where the terms cancel or vanish
    x = power(-280)  # from two float32 factors
    assert abs(g("Elu", -(2.0**-140), w=2.0**-140) - (-x + x**2 / 2)) < x * power(-290)
    with decimal.localcontext(decimal.Context(prec=80)):
        assert abs(g("Softplus", -500) / Fraction(Decimal(-500).exp()) - 1) < Fraction(1, 10**60)
    assert g("Softplus", 1e30) == float32(1e30)


def test_parameters_are_taken_in_order() -> None:
    # Tanh takes none: z = tanh(0) = 0, the one alpha is LeakyRelu's
    [got] = onnx(-1, 0, [0, 0, 1], activations=["Tanh", "LeakyRelu"], activation_alpha=[0.25])
    assert got == Fraction(-1, 4)
    # the first alpha is f's (z of -1/2), the second g's (of -2); where there is none, the default
    for alphas, z, t in (([0.25, 0.5], "-1/8", -1), ([0.25], "-1/8", -2 * float32(0.01))):
        [got] = onnx(-2, 3, [0.25, 0, 1], activations=["LeakyRelu"] * 2, activation_alpha=alphas)
        assert got == (1 - Fraction(z)) * t + Fraction(z) * 3
    # x = -1, h = 1; alphas 1/2 to LeakyRelu, 1/8 to HardSigmoid, 2 to Affine, beta 1/4 and 3
    # forward:  z = -1/2,  ht = -1/8 + 1/4 = 1/8,   Ht = 3/2 * 1/8 - 1/2
    # reverse:  z = relu(-1) = 0,  Ht = ht = -2 + 3
    given: Any = {"activation_alpha": [0.5, 0.125, 2], "activation_beta": [0.25, 3]}
    names = ["LeakyRelu", "HardSigmoid", "Relu", "Affine"]
    got2 = onnx(-1, 1, [1, 1, 1], d=2, direction="bidirectional", activations=names, **given)
    assert got2 == [Fraction(-5, 16), 1]


# rounding


def same(result: Any, expected: Any, dtype: str) -> bool:
    scalar = FORMATS[dtype].scalar
    return type(result) is scalar and result.tobytes() == scalar(expected).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_against_numpy(dtype: str) -> None:
    # numpy rounds float64 to float16 and float32 once, ml_dtypes float32 to bfloat16,
    # Python an int / int to float64; the exponents run from below the smallest subnormal
    rng, fmt = random.Random(dtype), FORMATS[dtype]
    source = numpy.float32 if dtype == "bfloat16" else numpy.float64
    for _ in range(1000):
        scale = rng.randint(fmt.emin - fmt.precision - 3, fmt.emax - 1)
        value = Fraction(rng.randint(-(2**70), 2**70), 2**70) * power(scale)
        near = source(value.numerator / value.denominator)
        expected = fmt.scalar(near) + fmt.scalar(0)  # + 0: no negative zero
        exact = value if dtype == "float64" else Fraction(float(near))
        assert same(round_once(exact, dtype), expected, dtype), exact


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
