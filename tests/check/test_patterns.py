"""What is off by a little in every step: told from how large the residuals are, and only where one pattern fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from diagnosis.kernel import Array, Direction, Function, Kernel
from diagnosis.run import report_of
from diagnosis.wrong import WRONG

from grucible import verify
from grucible.cases.operators.readings import STORED
from grucible.check.diagnosis import patterns
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.patterns import _Residuals, pattern
from grucible.check.diagnosis.sensitivity import squares_of
from grucible.check.diagnosis.steps import Steps, steps_of
from grucible.check.judging.criterion import chosen_criteria
from grucible.vectors.difference import difference

from .diagnosing import by_question, core_blocks

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"
LITTLE = "every step is off by a little, as if "
APPROXIMATED = "approximated (a table, a polynomial, a fast instruction)?"
HARDWARE = """
    0.022 105  0.051 17  0.078 19  0.104 52  0.130 45  0.157 -25  0.183 -22  0.213 -29
    0.239 -22  0.265 131  0.293 -113  0.318 21  0.345 -11  0.371 7  0.400 28  0.427 -42
    0.453 38  0.482 -34  0.506 -2  0.532 83  0.562 -48  0.588 -151  0.614 -41  0.644 0
    0.670 -7  0.694 9  0.723 34  0.749 7  0.776 -79  0.802 -41  0.831 83  0.858 79
    0.881 27  0.911 -130  0.937 11  0.963 133  0.993 -6  1.019 -106  1.045 -100  1.072 61
    1.098 138  1.125 -109  1.153 -136  1.180 -39  1.207 121  1.233 92  1.260 -16  1.286 -118
    1.312 10  1.342 127  1.368 -15  1.394 -80  1.424 -62  1.447 58  1.474 109  1.505 27
    1.896 -43  2.287 -24  2.678 -5  3.069 2  3.421 -1  3.812 0  4.203 -14  4.594 -12
"""
"""cuDNN 9.19's tanh in float32 on an H100, at hidden_size 64: arguments, and relative errors in units of 2^-24."""


def sigmoid(v: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-v)))


def in_a_table(v: Array) -> Array:
    """tanh, straight between the numbers of a table."""
    low = np.floor(v * 128.0)
    below, above = np.tanh(low / 128.0), np.tanh((low + 1.0) / 128.0)
    return np.asarray(below + (above - below) * (v * 128.0 - low))


def rational(v: Array) -> Array:
    """tanh, by the fifth convergent of its continued fraction."""
    s = v * v
    found = v * (945.0 + s * (105.0 + s)) / (945.0 + s * (420.0 + s * 15.0))
    return np.clip(found, -1.0, 1.0)


def on_hardware(v: Array) -> Array:
    """tanh, off by what cuDNN's is."""
    at, error = np.array(HARDWARE.split(), np.float64).reshape(-1, 2).T
    return np.asarray(np.tanh(v) * (1.0 + np.interp(np.abs(v), at, error * 2.0**-24)))


def noisy(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function that is off by a share of itself, which hardly two arguments have alike."""
    return lambda v: np.asarray(function(v) * (1.0 + 1e-5 * np.sin(1e3 * v)))


class Scaled(Kernel):
    """Each state is off by the same share of itself."""

    def __init__(self, by: float) -> None:
        self.by = by

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        return super().step(x, h, p) * x.dtype.type(self.by)


class ScaledWeights(Kernel):
    """W and R are off by the same share of themselves."""

    def __init__(self, by: float) -> None:
        self.by = by

    def converted(self, name: str, array: Array) -> Array:
        return (array * array.dtype.type(self.by)).astype(array.dtype) if name in "WR" else array


class ScaledCandidate(Kernel):
    """The candidate is off by the same share of itself."""

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        return super().candidate(x, h, reset, p) * x.dtype.type(1.0001)


class Approximated(Kernel):
    """Other functions in place of tanh and sigmoid."""

    def __init__(self, **functions: Callable[[Array], Array]) -> None:
        self.given = functions

    def tanh(self, v: Array) -> Array:
        return self.given.get("tanh", np.tanh)(v.astype(np.float64)).astype(v.dtype)

    def sigmoid(self, v: Array) -> Array:
        return self.given.get("sigmoid", sigmoid)(v.astype(np.float64)).astype(v.dtype)


def rounded(v: Array, bits: int, way: Callable[[Array], Array] = np.rint) -> Array:
    """Numbers of so many significand bits."""
    part, exponent = np.frexp(v)
    return np.asarray(np.ldexp(way(np.ldexp(part, bits)), exponent - bits).astype(v.dtype))


class Products(Kernel):
    """Operands of products are rounded to 14 bits."""

    def __init__(self, way: Callable[[Array], Array] = np.rint) -> None:
        self.way = way

    def product(self, v: Array, matrix: Array) -> Array:
        return super().product(rounded(v, 14, self.way), rounded(matrix, 14, self.way))


class Blocks(Kernel):
    """Products are summed in blocks of four, each operand rounded to TF32, each sum to 16 bits."""

    def product(self, v: Array, matrix: Array) -> Array:
        found = np.zeros((len(v), len(matrix)), v.dtype)
        for at in range(0, v.shape[1], 4):
            v_part, part = (rounded(one[:, at : at + 4], 11) for one in (v, matrix))
            found = rounded(found + v_part @ part.T, 16)
        return found


class State(Kernel):
    """The state is stored with 17 bits."""

    def __init__(self, way: Callable[[Array], Array] = np.rint) -> None:
        self.way = way

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        return rounded(super().step(x, h, p), 17, self.way)


class Biases(Kernel):
    """Biases are rounded to 12 bits."""

    def __init__(self, way: Callable[[Array], Array] = np.rint) -> None:
        self.way = way

    def converted(self, name: str, array: Array) -> Array:
        return rounded(array, 12, self.way) if name == "B" else array


class Weights(Kernel):
    """Each weight is off by a share of itself."""

    def converted(self, name: str, array: Array) -> Array:
        if name not in ("W", "R"):
            return array
        shares = np.random.default_rng(7).uniform(-1e-5, 1e-5, array.shape)
        return np.asarray((array * (1.0 + shares)).astype(array.dtype))


class Start(Kernel):
    """The state before the first step is slightly wrong."""

    def start(self, task: object, p: Direction) -> Array:
        return super().start(task, p) * np.float32(1.0 + 1e-5)  # type: ignore[arg-type]


class Blend(Kernel):
    """1 - z is off by the same everywhere."""

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return np.asarray((1 - z - np.float32(1e-5)) * new + z * h)


class Shares(Kernel):
    """(1 - z)·t is off by a share of itself, whatever function t is of."""

    def blend(self, z: Array, new: Array, h: Array) -> Array:
        off = np.float32(1e-5) * np.sin(np.float32(1e4) * z)
        return np.asarray((1 - z) * new * (1 + off) + z * h)


class Arguments(Kernel):
    """The arguments of all functions are rounded to 16 bits."""

    def activated(self, function: Function, v: Array, p: Direction) -> Array:
        return super().activated(function, rounded(v, 16), p)


class AndProducts(Approximated):
    """And the operands of products are rounded to 18 bits."""

    def product(self, v: Array, matrix: Array) -> Array:
        return super().product(rounded(v, 18), rounded(matrix, 18))


class OneUnit(Kernel):
    """tanh is off in one hidden unit alone."""

    def candidate(self, x: Array, h: Array, reset: Array, p: Direction) -> Array:
        right = super().candidate(x, h, reset, p)
        off = 1e-5 * np.sin(1e4 * right) * (np.arange(right.shape[1]) == 1)
        return (
            np.asarray((right * (1.0 + off)).astype(right.dtype)) if p.g.name == "tanh" else right
        )


def steps_by(kernel: Kernel, operator: str, *, failing: bool = True) -> list[Steps]:
    """The steps of a kernel in the core cases of an operator: in those that fail, or in all."""
    run, criterion = by_question(kernel), chosen_criteria()["float32"]
    found = []
    for block in core_blocks(operator, "float32"):
        outputs = {name: array.copy() for name, array in run(block).items()}
        limits, kept = criterion.admitted(block, STORED), np.full(len(block), not failing)
        for name, right in block.answer.outputs.items():
            off = difference(outputs[name].astype(np.float64), right.astype(np.float64))
            kept |= (off > limits[name]).reshape(len(block), -1).any(axis=1)
        if kept.any():
            some = {name: array[kept] for name, array in outputs.items()}
            found += steps_of(FailingBlock(block.rows(kept), some, criterion))
    return found


def of_tanh(several: list[Steps]) -> list[Steps]:
    """The steps of the cases whose candidates are all tanh."""
    found = []
    for steps in several:
        each = zip(*steps.stack.semantics.g, strict=True)
        cases = np.array([all(one.name == "tanh" for one in both) for both in each])
        found += [steps.only(np.flatnonzero(cases))] if cases.any() else []
    return found


def sizes(told: str) -> dict[str, float]:
    """By how much the functions are off that are said to be approximated."""
    assert told.startswith(LITTLE)
    assert told.endswith(APPROXIMATED)
    each = told.removeprefix(LITTLE).partition(":")[0].split(" and ")
    return {
        name: float(size)
        for name, _, size in (one.partition(" were off by up to ") for one in each)
    }


@pytest.mark.rows(3)
@pytest.mark.parametrize("operator", [CELL, SEQUENCE])
@pytest.mark.parametrize(
    ("kernel", "off"),
    [
        (Approximated(tanh=in_a_table), {"tanh": 6e-6}),
        (Approximated(tanh=on_hardware), {"tanh": 7e-6}),
        (Approximated(tanh=noisy(np.tanh)), {"tanh": 1e-5}),
        (Approximated(sigmoid=noisy(sigmoid)), {"sigmoid": 1e-5}),
        (Approximated(tanh=rational), {"tanh": 1.2e-3}),
        (
            Approximated(tanh=noisy(np.tanh), sigmoid=noisy(sigmoid)),
            {"tanh": 1e-5, "sigmoid": 1e-5},
        ),
    ],
)
def test_functions_that_are_approximated(
    kernel: Kernel, off: dict[str, float], operator: str
) -> None:
    found = sizes(pattern(steps_by(kernel, operator)))
    assert found == {name: pytest.approx(size, rel=0.5) for name, size in off.items()}


def test_a_function_of_which_another_is_made() -> None:
    found = sizes(pattern(steps_by(Approximated(tanh=in_a_table), ONNX)))
    assert set(found) == {"tanh", "scaled-tanh"}


@pytest.mark.rows(3)
@pytest.mark.parametrize("operator", [CELL, SEQUENCE])
@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (Products(), "the operands of products were rounded to about 14 bits"),
        (Blocks(), "the operands of products were rounded to about 11 bits"),
        (State(), "the new state were rounded to about 17 bits"),
        (Biases(), "the biases were rounded to about 12 bits"),
        (Weights(), "the operands of products were rounded to about 17 bits"),
    ],
)
def test_what_is_rounded_is_no_function(kernel: Kernel, what: str, operator: str) -> None:
    assert pattern(steps_by(kernel, operator)) in ("", f"{LITTLE}{what}")


@pytest.mark.parametrize("operator", [CELL, SEQUENCE])
@pytest.mark.parametrize("kernel", [Start(), Blend(), Shares(), Arguments(), Kernel()])
def test_what_no_pattern_fits(kernel: Kernel, operator: str) -> None:
    assert "approximated" not in pattern(steps_by(kernel, operator))


@pytest.mark.parametrize("kernel", [AndProducts(tanh=noisy(np.tanh)), OneUnit()])
def test_no_pattern_is_told_that_is_not_all(kernel: Kernel) -> None:
    assert pattern(of_tanh(steps_by(kernel, SEQUENCE, failing=False))) == ""


def test_functions_of_straight_pieces_are_not_approximated() -> None:
    assert "approximated" not in pattern(of_tanh(steps_by(Arguments(), SEQUENCE)))


@pytest.mark.parametrize("kernel", [Products(), State(), Biases(), Weights()])
def test_what_is_rounded_is_told(kernel: Kernel) -> None:
    assert " were rounded to about " in pattern(steps_by(kernel, SEQUENCE))


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (Scaled(1 + 1e-5), "the new state Ht were multiplied by 1 + 1e-05"),
        (Scaled(1 - 1e-5), "the new state Ht were multiplied by 1 - 1e-05"),
        (ScaledWeights(1 - 1e-4), "W and R were multiplied by 1 - 0.0001"),
        (ScaledCandidate(), "the candidate ht were multiplied by 1 + 0.0001"),
        (State(np.trunc), "the new state were cut off to about 17 bits"),
        (State(np.floor), "the new state were rounded down to about 17 bits"),
        (State(np.ceil), "the new state were rounded up to about 17 bits"),
        (Products(np.trunc), "the operands of products were cut off to about 14 bits"),
        (Biases(np.trunc), "the biases were cut off to about 12 bits"),
    ],
)
def test_errors_that_all_go_one_way_are_no_rounding_both_ways(kernel: Kernel, what: str) -> None:
    assert pattern(steps_by(kernel, CELL)) == f"{LITTLE}{what}"


def test_a_constant_error_is_named_where_every_step_is_wrong() -> None:
    select = [f"{CELL}/core/float64/*sigmoid_tanh*"]
    [told] = verify(runtime=Scaled(1 + 1e-4), select=select).diagnosis.hints
    assert told.startswith("every step goes wrong, given the state before it, as if ")
    assert told.endswith(" the new state Ht were multiplied by 1 + 0.0001")


def test_what_leaves_more_than_rounding_is_no_constant_error() -> None:
    """Ht-1 is off before the first step alone."""
    assert pattern(steps_by(Start(), CELL)) == ""
    told = pattern(steps_by(ScaledWeights(1 - 1e-5), CELL))
    assert told == f"{LITTLE}W and R were multiplied by 1 - 1e-05"


def test_what_rounds_down_more_often_than_up_rounds_both_ways() -> None:
    told = pattern(steps_by(State(lambda v: np.rint(v - 0.2)), CELL))
    assert told.startswith(f"{LITTLE}the new state were rounded to about ")


def test_what_is_off_by_much_is_not_off_by_a_little() -> None:
    kernel = Approximated(tanh=lambda v: np.tanh(v) * (1.0 + 0.03 * np.sin(1e3 * v)))
    assert pattern(steps_by(kernel, CELL)) == ""


def residuals_of(off: Array, squares: Array) -> _Residuals:
    """Those of one quantity."""
    return _Residuals([("state", "")], off, np.full(len(off), 1e-300), squares[:, None], 2.0**-24)


@pytest.mark.parametrize(("share", "suffices"), [(0.35, False), (0.65, True)])
def test_a_pattern_is_there_in_half_of_the_states_at_least(share: float, suffices: bool) -> None:
    rng, count = np.random.default_rng(7), 6000
    off = rng.normal(0, 1e-5, count) * (rng.random(count) < share)
    residuals = residuals_of(off, np.ones(count))
    assert residuals.suffices(residuals.whole) is suffices


def test_a_size_is_told_by_residuals_that_nothing_else_makes() -> None:
    off, squares = np.array([1e-5, 3e-5]), np.ones(2)
    residuals = residuals_of(off, squares)
    fit = replace(residuals.whole, variances=np.array([1.0, 1.0]))
    assert residuals.largest(fit, np.array([0.995, 0.9]), squares) == pytest.approx(1e-5)


def test_the_factors_are_improved_until_no_fit_becomes_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    residuals = patterns._residuals(list(patterns._some(steps_by(State(), CELL))))
    assert residuals is not None
    found = []
    for rounds in (patterns.ROUNDS // 10, patterns.ROUNDS, 1000):
        monkeypatch.setattr(patterns, "ROUNDS", rounds)
        found.append(residuals.fit(residuals.squares))
    few, enough, many = found
    assert enough.behind(many) < patterns.CLEARLY < few.behind(many)


def test_what_two_rounded_operands_are_off_by() -> None:
    each = [np.random.default_rng(seed).uniform(0.5, 1.0, 100_000) for seed in (1, 2)]
    a, b = (rounded(one, 11) / one - 1.0 for one in each)
    assert np.sqrt(np.mean((a + b) ** 2)) == pytest.approx(
        patterns.TWO_ROUNDED * 2.0**-11, rel=0.02
    )


def test_the_report_says_so() -> None:
    found = verify(
        runtime=Approximated(tanh=on_hardware), select=[f"{SEQUENCE}/core/float32/*"]
    ).diagnosis
    assert found.failed > 20
    assert found.findings == []
    [told] = [hint for hint in found.hints if APPROXIMATED in hint]
    assert sizes(told) == {"tanh": pytest.approx(7e-6, rel=0.2)}
    assert not any("right up to rounding" in hint for hint in found.hints)


def test_a_place_is_told_before_a_pattern() -> None:
    found = report_of(WRONG["units-beyond-four-through-float16"]).diagnosis
    assert any(
        hint.startswith("steps go wrong only in the last 2 hidden units") for hint in found.hints
    )
    assert not any(APPROXIMATED in hint for hint in found.hints)


class Off(Kernel):
    """One quantity of a step is off by a little."""

    quantity, by = "", np.float32(1e-3)

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().update_gate(x, h, p) + self.by * (self.quantity == "z")

    def reset_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return super().reset_gate(x, h, p) + self.by * (self.quantity == "r")


@pytest.mark.parametrize("quantity", ["z", "r"])
def test_sensitivities_are_those_of_a_small_change(quantity: str) -> None:
    kernel = Off()
    kernel.quantity = quantity
    for steps in steps_by(kernel, CELL, failing=False):
        left = squares_of(steps)[quantity, "alike everywhere"]
        off = (steps.seen - steps.right) / kernel.by
        if quantity == "z" or steps.stack.semantics.reset_after:
            near = np.isclose(off**2, left, rtol=0.05, atol=1e-4)
            assert near.mean() > 0.9
