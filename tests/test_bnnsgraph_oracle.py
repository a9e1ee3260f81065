"""The oracle of BNNSGraph's gru against examples worked out by hand."""

import decimal
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy
import pytest
from bnnsgraph_oracle import evaluate

from oracle import FRACTIONS, MPMATH, Array, to_fraction

decimal_context = decimal.Context(prec=80)

BEFORE, SUM, IGNORED = "reset-false.before", "bias-sum.sum", "input-bias-unused.ignored"
TIME = "reverse-order.time"


def attributes(**given: Any) -> dict[str, Any]:
    defaults = {"direction": "forward", "activation": "linear", "recurrentActivation": "linear"}
    return {**defaults, "applyResetGateAfterMatMul": False, "outputSequence": True, **given}


def floats(dtype: Any = numpy.float32, **tensors: Any) -> dict[str, Array]:
    return {name: numpy.array(tensor, dtype) for name, tensor in tensors.items()}


def exact(nested: Any) -> Any:
    """The nested lists with every number a Fraction."""
    return [exact(n) for n in nested] if isinstance(nested, list) else to_fraction(nested)


def outputs(
    inputs: dict[str, Array],
    readings: Collection[str] = (),
    numbers: Any = FRACTIONS,
    **given: Any,
) -> dict[str, Any]:
    found = evaluate(attributes(**given), inputs, numbers=numbers, readings=readings)
    assert list(found) == ["output", "hiddenStates"]
    return {name: exact(value) for name, value in found.items()}


def unit(x: float, h: float, dtype: Any = numpy.float32, **tensors: Any) -> dict[str, Array]:
    """One step of one unit; tensors given by their r, n and z, 0 where left out."""
    rnz = {"inputHiddenWeight": 0, "hiddenHiddenWeight": 0, "bias": 0, "inputBias": 0}
    stacked = {name: tensors.get(name, [0, 0, 0]) for name in rnz}
    for name in ("inputHiddenWeight", "hiddenHiddenWeight"):
        stacked[name] = [[value] for value in stacked[name]]
    return floats(dtype, x=[[[x]]], initialHiddenStates=[[h]], **stacked)


def state(inputs: dict[str, Array], *readings: str, numbers: Any = FRACTIONS, **given: Any) -> Any:
    found = outputs(inputs, readings, numbers, **given)
    assert found["output"] == [found["hiddenStates"]]
    return found["hiddenStates"][0][0]


# the formulas


# x = 2, h = 3 with W 1/2, 1, 1/4 and R 1/4, 1/2, -1/8 (r, n, z); b_i -1/4, 1/4, 1/8 and
# b_h 1/2, -2, 1/4
#   r = 1 - 1/4 + 3/4 + 1/2 = 2,   z = 1/2 + 1/8 - 3/8 + 1/4 = 1/2
#   false: n = 2 + 1/4 + 3/2 * 2 - 2 = 13/4,          h = 1/2 * 13/4 + 1/2 * 3 = 25/8
#   true:  n = 2 + 1/4 + (3/2 - 2) * 2 = 5/4,         h = 1/2 * 5/4 + 1/2 * 3 = 17/8
# true, bias the sum:  b_h = 3/4, -9/4, 1/8
#   r = 1 + 3/4 + 1/2 = 9/4,       z = 1/2 - 3/8 + 1/4 = 3/8
#          n = 9/4 + (3/2 - 9/4) * 9/4 = 9/16,        h = 5/8 * 9/16 + 3/8 * 3 = 189/128
# false, inputBias ignored:  r and z as above
#          n = 2 + 3/2 * 9/4 - 2 = 27/8,              h = 5/8 * 27/8 + 3/8 * 3 = 207/64
# With one unit W_hn (r * h) is (W_hn h) * r, so "before" changes nothing here.
UNIT = unit(
    2,
    3,
    inputHiddenWeight=[0.5, 1, 0.25],
    hiddenHiddenWeight=[0.25, 0.5, -0.125],
    inputBias=[-0.25, 0.25, 0.125],
    bias=[0.5, -2, 0.25],
)
UNITS = [
    (False, [], Fraction(25, 8)),
    (False, [BEFORE], Fraction(25, 8)),
    (False, [SUM], Fraction(25, 8)),
    (False, [IGNORED], Fraction(207, 64)),
    (False, [IGNORED, BEFORE, SUM], Fraction(207, 64)),
    (True, [], Fraction(17, 8)),
    (True, [BEFORE], Fraction(17, 8)),
    (True, [IGNORED], Fraction(17, 8)),
    (True, [SUM], Fraction(189, 128)),
    (True, [SUM, BEFORE, IGNORED], Fraction(189, 128)),
]


@pytest.mark.parametrize("numbers", [FRACTIONS, MPMATH])
@pytest.mark.parametrize(("after", "readings", "expected"), UNITS)
def test_one_unit(after: bool, readings: list[str], expected: Fraction, numbers: Any) -> None:
    given = {"applyResetGateAfterMatMul": after}
    assert state(UNIT, *readings, numbers=numbers, **given) == expected


# x = 1, h = [1, 2];  r = [1/2, 1] + [1/2 + 2/2, 2] = [2, 3],  z = [1/4 + 1/4, 1/4] = [1/2, 1/4]
#   W_hn h = [1 + 2/2, 2 - 2] = [2, 0],  r * h = [2, 6],  W_hn (r * h) = [2 + 6/2, 4 - 6] = [5, -2]
#   W_in x + b_in = [2, -1],  b_hn = [-1, 4]
#   false:  n = [2 + 2*2 - 1, -1 + 0*3 + 4] = [5, 3],      h = [5/2 + 1/2, 9/4 + 2/4] = [3, 11/4]
#   before: n = [2 + 5 - 1, -1 - 2 + 4] = [6, 1],          h = [6/2 + 1/2, 3/4 + 2/4] = [7/2, 5/4]
#   true:   n = [2 + (2-1) * 2, -1 + (0+4) * 3] = [4, 11], h = [4/2 + 1/2, 33/4 + 2/4] = [5/2, 35/4]
TWO_UNITS = floats(
    x=[[[1]]],
    initialHiddenStates=[[1, 2]],
    inputHiddenWeight=[[0.5], [1], [1], [-1], [0.25], [0.25]],
    hiddenHiddenWeight=[[0.5, 0.5], [0, 1], [1, 0.5], [2, -1], [0.25, 0], [0, 0]],
    inputBias=[0, 0, 1, 0, 0, 0],
    bias=[0, 0, -1, 4, 0, 0],
)


@pytest.mark.parametrize(
    ("after", "readings", "expected"),
    [
        (False, [], [Fraction(3), Fraction(11, 4)]),
        (False, [BEFORE], [Fraction(7, 2), Fraction(5, 4)]),
        (True, [], [Fraction(5, 2), Fraction(35, 4)]),
        (True, [BEFORE], [Fraction(5, 2), Fraction(35, 4)]),
    ],
)
def test_two_units(after: bool, readings: list[str], expected: list[Fraction]) -> None:
    found = outputs(TWO_UNITS, readings, applyResetGateAfterMatMul=after)
    assert found == {"output": [[expected]], "hiddenStates": [expected]}


# sequences


# z = 1/2 and n = x, so h[t] = (x[t] + h[t-1]) / 2, for two rows.
#   forward of 4, 8, 2 from 16:  10, 9, 11/2;     of 0, 0, 8 from 0:  0, 0, 4
#   reverse:                     9, 17/2, 25/4;                       4, 2, 1
SEQUENCE = floats(
    x=[[[4], [0]], [[8], [0]], [[2], [8]]],
    initialHiddenStates=[[16], [0]],
    inputHiddenWeight=[[0], [1], [0]],
    hiddenHiddenWeight=[[0], [0], [0]],
    inputBias=[0, 0, 0],
    bias=[0, 0, 0.5],
)
FORWARD = [[[10], [0]], [[9], [0]], [[Fraction(11, 2)], [4]]]
REVERSE = [[[9], [4]], [[Fraction(17, 2)], [2]], [[Fraction(25, 4)], [1]]]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("direction", "readings", "output", "last"),
    [
        ("forward", [], FORWARD, FORWARD[2]),
        ("forward", [TIME], FORWARD, FORWARD[2]),
        ("reverse", [], REVERSE, REVERSE[2]),
        ("reverse", [TIME], REVERSE[::-1], REVERSE[2]),
    ],
)
def test_sequences(
    direction: str, readings: list[str], output: Any, last: Any, after: bool
) -> None:
    given = {"direction": direction, "applyResetGateAfterMatMul": after}
    found = outputs(SEQUENCE, readings, **given)
    assert found == {"output": output, "hiddenStates": last}
    found = outputs(SEQUENCE, readings, outputSequence=False, **given)
    assert found == {"output": [last], "hiddenStates": last}
