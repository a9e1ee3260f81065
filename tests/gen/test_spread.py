"""The spread of a step's errors, against steps written out with a random number for each rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.operators import OPERATORS
from grucible.gen.gru import DirectionWeights
from grucible.gen.stacks import Stack, stacks
from grucible.gen.tolerances.classes import CLASSES, ArithmeticClass
from grucible.gen.tolerances.spread import (
    SPREAD_MANTISSAS,
    Random,
    RandomArithmetic,
    last_spread,
    rounding,
    step_spread,
)

Array = Any
INPUT, HIDDEN, BATCH, SAMPLES = 5, 4, 2, 4000
BFLOAT16 = FLOAT_TYPES["bfloat16"]
UNIT = 2.0**-8


def named(name: str) -> ArithmeticClass:
    return next(one for one in CLASSES["bfloat16"] if one.name == name)


def case(after: bool, time: int = 1, seed: int = 1) -> tuple[Stack, dict[str, Array]]:
    """A case of GRUSequence-5, and its inputs in float64."""
    rng = np.random.default_rng(seed)
    inputs = {
        "X": rng.uniform(-2, 2, (BATCH, time, INPUT)),
        "initial_hidden_state": rng.uniform(-1, 1, (BATCH, 1, HIDDEN)),
        "sequence_lengths": np.full(BATCH, time),
        "W": rng.uniform(-0.5, 0.5, (1, 3 * HIDDEN, INPUT)),
        "R": rng.uniform(-0.5, 0.5, (1, 3 * HIDDEN, HIDDEN)),
        "B": rng.uniform(-1, 1, (1, (4 if after else 3) * HIDDEN)),
    }
    given = {"hidden_size": HIDDEN, "direction": "forward", "linear_before_reset": after}
    operator = OPERATORS["openvino.GRUSequence-5"]
    [stack] = stacks(operator, [given], {name: array[None] for name, array in inputs.items()})
    return stack, inputs


class Written:
    """A step of `SAMPLES` kernels: what is stored goes through `store`, the new state through `keep`."""

    def __init__(self, inputs: dict[str, Array], after: bool, store: bool) -> None:
        self.rng, self.inputs, self.after = np.random.default_rng(2), inputs, after
        self.store = self.round if store else lambda v: v

    def round(self, v: Array) -> Array:
        """Any number within half a unit in the last place."""
        half = UNIT * 2.0 ** np.floor(np.log2(np.abs(v)))
        return v + half * self.rng.uniform(-1, 1, np.shape(v))

    def step(self, x: Array, h: Array) -> Array:
        s, (w, r, b) = self.store, (self.inputs[name][0] for name in "WRB")
        wz, wr, wh = (s(x @ m.T) for m in np.split(w, 3))
        rz, rr, rh = np.split(r, 3)
        bz, br, bh, *more = np.split(b, 4 if self.after else 3)
        z = s(1 / (1 + np.exp(-s(s(wz + s(h @ rz.T)) + bz))))
        q = s(1 / (1 + np.exp(-s(s(wr + s(h @ rr.T)) + br))))
        inner = s(q * s(s(h @ rh.T) + more[0])) if self.after else s(np.matmul(s(q * h), rh.T))
        t = s(np.tanh(s(s(wh + inner) + bh)))
        return self.round(s(s(1 - z) * t) + s(z * h))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["float32", "bfloat16-gemm"])
@pytest.mark.parametrize("given", [True, False])
def test_a_step_varies_as_random_roundings_do(name: str, after: bool, given: bool) -> None:
    """The state before it is given, or handed out rounded from a more precise one."""
    stack, inputs = case(after)
    first = np.full((1, 1, BATCH), given)
    spread = step_spread(stack.semantics, stack.inputs, named(name), BFLOAT16, first)
    kernel = Written(inputs, after, store=name != "float32")
    h = np.broadcast_to(inputs["initial_hidden_state"][:, 0], (SAMPLES, BATCH, HIDDEN))
    seen = kernel.step(inputs["X"][:, 0], h if given else kernel.round(h))
    actual = ((seen - spread.values[0, 0]) ** 2).mean(axis=0)
    predicted = spread.variance[0, 0]
    assert (
        actual < 2.0 * predicted
    ).all()  # of one unit, a partial sum may be rounded more than usually
    assert actual.sum() < 1.05 * predicted.sum()
    assert predicted.sum() < (1.2 if name == "float32" else 2.5) * actual.sum()
    if name == "float32" and given:
        assert predicted == pytest.approx(actual, rel=0.1)


def test_the_last_state_varies_with_all_roundings_before() -> None:
    stack, inputs = case(after=True, time=4)
    spread = last_spread(stack.semantics, stack.inputs, named("bfloat16-state"), BFLOAT16)
    kernel = Written(inputs, True, store=False)
    h = np.broadcast_to(inputs["initial_hidden_state"][:, 0], (SAMPLES, BATCH, HIDDEN))
    for x in np.moveaxis(inputs["X"], 1, 0):
        h = kernel.step(x, h)
    actual = ((h - spread.values[0, 0]) ** 2).mean(axis=0)
    assert spread.variance[0, 0] == pytest.approx(actual, rel=0.12)
    one = step_spread(
        stack.semantics,
        stack.inputs,
        named("bfloat16-state"),
        BFLOAT16,
        np.ones((1, 1, BATCH), bool),
    )
    assert spread.variance.sum() > 1.2 * one.variance.sum()


@pytest.mark.parametrize("way", ["in order", "biases first"])
def test_sums_in_float16_vary_no_more_than_derived(way: str) -> None:
    """Over many cases: partial sums are those of products in no order, whatever is added first."""
    ratios = []
    [one] = [c for c in CLASSES["float16"] if c.name == "float16"]
    for seed in range(40):
        stack, inputs = case(after=False, seed=seed)
        b = stack.inputs.b
        x, h = inputs["X"][:, 0], inputs["initial_hidden_state"][:, 0]
        names = [("z", 0), ("r", 1)]
        for name, place in names:
            w, r = (np.split(inputs[m][0], 3)[place] for m in "WR")
            bias = b[name][0, 0] if name in b else np.split(inputs["B"][0], 3)[place]
            terms = [x[:, k, None] * w[:, k] for k in range(INPUT)]
            terms += [h[:, k, None] * r[:, k] for k in range(HIDDEN)]
            both = np.broadcast_to(bias, terms[0].shape)
            partial = np.cumsum([both, *terms] if way == "biases first" else [*terms, both], axis=0)
            rounded = np.sum([rounding(v, one.unit, 0.0) for v in (*terms, *partial[1:])])
            ratios.append(rounded / _of_gate(stack, one, name).sum())
    assert 0.3 < np.mean(ratios) < 1.0


def _of_gate(stack: Stack, one: ArithmeticClass, gate: str) -> Array:
    """The variance of a gate's pre-activation."""
    arithmetic = RandomArithmetic(one)
    d = DirectionWeights(arithmetic, stack.inputs, stack.inputs.x, 0)
    h = Random(one, d.h0)
    found = d.input[gate][..., 0, :] + arithmetic.product(h, d.recurrent[gate]) + d.bias[gate]
    return np.asarray(found.rounded().own)


def test_mantissas_are_spread() -> None:
    """The constant is the largest for densities that fall from 0: those are mixtures of uniform ones."""
    ends = np.linspace(1, 2, 201)
    shares = []
    for end in ends:
        v = np.linspace(0, end, 20_001)[1:]
        shares.append((2.0 ** (2 * np.floor(np.log2(v)))).mean() / (v**2).mean())
    assert 0.99 * SPREAD_MANTISSAS < max(shares) < SPREAD_MANTISSAS
