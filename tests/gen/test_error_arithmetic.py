"""The arithmetic of errors, one step at a time, against the oracle's scalars of 300 bits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from grucible.cases.operators.activations import Activation
from grucible.cases.operators.layout import GruInputs
from grucible.cases.operators.semantics import StackedSemantics
from grucible.gen.gru import DirectionWeights, Step, step
from grucible.gen.tolerances import march as error_chains
from grucible.gen.tolerances.classes import CLASSES, FLOAT64, ArithmeticClass, Units
from grucible.gen.tolerances.error_arithmetic import ErrorArithmetic
from grucible.gen.tolerances.error_values import IDENTITY, Linear
from grucible.gen.tolerances.march import Chains, window
from oracle import MPMATH, Vector, quantities

Array = Any

INPUT, HIDDEN, ROWS = 2, 3, 2
PAIRS = [("sigmoid", "tanh"), ("tanh", "softsign"), ("softplus", "sigmoid"), ("sigmoid", "relu")]


@dataclass(frozen=True)
class Cell:
    """One step of one case; biases have the parts wz, wr, wh, rz, rr, rh."""

    x: Array
    h: Array
    w: dict[str, Array]
    r: dict[str, Array]
    b: dict[str, Array]
    f: str
    g: str
    clip: float
    after: bool


def drawn(f: str, g: str, after: bool, clip: float, seed: int = 3) -> Cell:
    rng = np.random.default_rng(seed)
    return Cell(
        x=rng.normal(0, 1, (ROWS, INPUT)),
        h=rng.uniform(-1, 1, (ROWS, HIDDEN)),
        w={gate: rng.normal(0, 0.7, (HIDDEN, INPUT)) for gate in "zrh"},
        r={gate: rng.normal(0, 0.7, (HIDDEN, HIDDEN)) for gate in "zrh"},
        b={part: rng.normal(0, 0.5, HIDDEN) for part in ("wz", "wr", "wh", "rz", "rr", "rh")},
        f=f, g=g, clip=clip, after=after,
    )  # fmt: skip


def vector(values: Array) -> Vector:
    return [MPMATH.exact(v) for v in values.tolist()]


def exact(cell: Cell, row: int, h: Vector) -> dict[str, Vector]:
    """Every quantity of a step from the state h, one scalar at a time."""
    W, R = ([vector(line) for gate in "zrh" for line in of[gate]] for of in (cell.w, cell.r))
    b = {part: vector(values) for part, values in cell.b.items()}
    B = [w + r for gate in "zr" for w, r in zip(b[f"w{gate}"], b[f"r{gate}"], strict=True)]
    if cell.after:
        B += b["wh"] + b["rh"]
    else:
        B += [w + r for w, r in zip(b["wh"], b["rh"], strict=True)]
    asked = {"activations": (cell.f, cell.g), "clip": cell.clip, "linear_before_reset": cell.after}
    return quantities(vector(cell.x[row]), h, W, R, B, asked, MPMATH)


def bounded(
    cell: Cell,
    e: float,
    classes: tuple[ArithmeticClass, ...] = (FLOAT64,),
) -> dict[str, Any]:
    """The same quantities in the arithmetic of errors, the state off by up to e."""
    inputs = GruInputs(
        cell.x[None, :, None], cell.h[None, None], np.ones((1, ROWS), int), np.zeros((1, ROWS), int),
        *({name: a[None, None] for name, a in part.items()} for part in (cell.w, cell.r, cell.b)),
    )  # fmt: skip
    arithmetic = ErrorArithmetic(Units(classes))
    f, g = (((Activation(name),),) for name in (cell.f, cell.g))
    meant = StackedSemantics(f, g, np.full((1, 1, 1), cell.clip), cell.after, (("forward",),))
    d = DirectionWeights(arithmetic, inputs, arithmetic.numbers(inputs.x), 0)
    wx = {gate: values[..., 0, :] for gate, values in d.input.items()}
    total = np.full((1, ROWS, len(classes), HIDDEN), e)
    found: Step = step(arithmetic, meant, d, wx, arithmetic.state(d.h0, total))
    return {name: value.rounded() for name, value in found._asdict().items()}


def matrix(linear: Linear) -> Array:
    """As (rows, hidden, m), for reading."""
    if linear is IDENTITY:
        return np.broadcast_to(np.eye(HIDDEN), (ROWS, HIDDEN, HIDDEN))
    out = np.empty((1, ROWS, HIDDEN, HIDDEN))
    return linear.matrix(out)[0]


def differences(cell: Cell) -> Array:
    """∂state/∂h by central differences, (rows, hidden, hidden): of row i, column j that of j by i."""
    found = np.zeros((ROWS, HIDDEN, HIDDEN))
    little = MPMATH.exact(2.0**-80)
    for row in range(ROWS):
        for i in range(HIDDEN):
            ends = []
            for sign in (1, -1):
                h = vector(cell.h[row])
                h[i] += sign * little
                ends.append(exact(cell, row, h)["state"])
            rise = zip(*ends, strict=True)
            found[row, i] = [float((up - down) / (2 * little)) for up, down in rise]
    return found


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("clip", [0.6, np.inf])
@pytest.mark.parametrize(("f", "g"), PAIRS)
def test_every_quantity_of_a_step_is_off_by_no_more_than_is_said(
    f: str, g: str, clip: float, after: bool
) -> None:
    """However the error of the state is: by no more than `total`, and after its linear part, which is the
    Jacobian, by no more than `source`."""
    cell, rng = drawn(f, g, after, clip), np.random.default_rng(8)
    jacobian = matrix(bounded(cell, 0.0)["state"].linear)
    np.testing.assert_allclose(jacobian, differences(cell), rtol=1e-11, atol=1e-14)
    tightest = 0.0
    for e in (1e-7, 1e-3, 0.2):
        found = bounded(cell, e)
        for row in range(ROWS):
            base = exact(cell, row, vector(cell.h[row]))
            for _ in range(12):
                error = e * rng.choice([-1.0, 1.0, 0.3], HIDDEN)
                moved = exact(cell, row, vector(cell.h[row] + error))
                for name, value in found.items():
                    change = np.array(
                        [float(a - b) for a, b in zip(moved[name], base[name], strict=True)]
                    )
                    rest = np.abs(change - error @ matrix(value.linear)[row])
                    total = np.broadcast_to(value.total, (1, ROWS, 1, HIDDEN))[0, row, 0]
                    source = np.broadcast_to(value.source, (1, ROWS, 1, HIDDEN))[0, row, 0]
                    assert (np.abs(change) <= total * (1 + 1e-9)).all(), (name, e)
                    assert (rest <= source + 1e-14).all(), (name, e)
                    tightest = max(tightest, float((np.abs(change) / total).max()))
    assert tightest > 0.9


def sum_rounding(
    one: ArithmeticClass, products: float, operands: float, biases: list[float], n: int
) -> float:
    """What a sum of n products and biases loses, from TOLERANCES.md."""
    used, b, cut = n * one.unit, sum(map(abs, biases)), one.operands
    lost = used / (1 - used) * (products + b) + n * one.tiny
    lost += (2 * cut + cut**2) * products + cut * b
    return lost + one.operand_tiny * (operands + len(biases) + n * one.operand_tiny)


@pytest.mark.parametrize("dtype", CLASSES)
@pytest.mark.parametrize("e", [0.0, 1e-3])
def test_a_sum_is_rounded_as_one(dtype: str, e: float) -> None:
    """a_z, and where the reset gate comes after the product, what it multiplies, element by element."""
    cell, classes = drawn("sigmoid", "tanh", True, np.inf), CLASSES[dtype]
    found = bounded(cell, e, classes)
    for row, i, k in itertools.product(range(ROWS), range(HIDDEN), range(len(classes))):
        one, x, h = classes[k], cell.x[row], cell.h[row]
        size = np.abs(h) + e
        for name, gate, biases, of_input in (("a_z", "z", ("wz", "rz"), 1), ("u", "h", ("rh",), 0)):
            w, r = np.abs(cell.w[gate][i]) * of_input, np.abs(cell.r[gate][i])
            b = [cell.b[part][i] for part in biases]
            parts = [cell.w[gate][i] @ x * of_input, cell.r[gate][i] @ h]
            operands = float(r.sum() + size.sum() + (w.sum() + np.abs(x).sum()) * of_input)
            n, carried = HIDDEN + (INPUT + 2 if of_input else 3), e * float(r.sum())
            lost = sum_rounding(one, float(w @ np.abs(x) + r @ size), operands, b, n)
            kept = sum(map(abs, parts)) + carried + sum(map(abs, b)) * of_input
            whole = abs(found[name].value[0, row, i]) + carried + lost
            lost += one.stored * ((3 if of_input else 1) * kept + whole)
            source, total = (of[0, row, k, i] for of in (found[name].source, found[name].total))
            np.testing.assert_allclose(source, lost, rtol=1e-12)
            np.testing.assert_allclose(total, lost + carried, rtol=1e-12)


def test_how_far_chains_reach_back() -> None:
    assert [window(h) for h in (1, 32, 33, 64, 127, 128, 512, 4096)] == [16, 16, 15, 8, 4, 4, 4, 4]


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_chains_are_the_sum_they_are_said_to_be(
    first: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a row is over before the others."""
    monkeypatch.setattr(error_chains, "window", lambda _: 3)
    rng = np.random.default_rng(2)
    steps, rows = 8, [0, 1]
    e0 = first * rng.uniform(0, 1, (1, 2, 2, HIDDEN))
    chains, jacobians, sources, errors = Chains(e0, steps), [], [e0], [e0]
    for t in range(1, steps + 1):
        if t == 6:
            rows = [1]
            chains.keep(np.array([False, True]))
        jacobians.append(rng.normal(0, 0.6, (1, 2, HIDDEN, HIDDEN)))
        added = rng.uniform(0, 1, (1, 2, 2, HIDDEN))
        arrived = chains.arrive(Linear(((None, jacobians[-1][:, rows]),)))
        total, product = np.zeros_like(e0), np.eye(HIDDEN)
        for s in range(t - 1, max(t - 3, 0) - 1, -1):
            product = jacobians[s] @ product
            whole = s == t - 3
            total = total + (errors[s] if whole else sources[s]) @ np.abs(product)
        np.testing.assert_allclose(
            np.broadcast_to(arrived, (1, len(rows), 2, HIDDEN)), total[:, rows], rtol=1e-12
        )
        errors.append(total + added)
        sources.append(added)
        chains.add(added[:, rows], errors[-1][:, rows])
