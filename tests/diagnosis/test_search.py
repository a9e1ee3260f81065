"""How explanations are found and proven: single steps, what tells cases apart, patterns of small errors."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from diagnosis.blocks import by_question, core_blocks, variants_run
from diagnosis.kernel import Array, Kernel
from diagnosis.wrong import CELL, SEQUENCE

from grucible.cases.dtypes import Arrays
from grucible.cases.operators.readings import STORED
from grucible.check.diagnosis import contradictions, places
from grucible.check.diagnosis.apart import FEWEST, Feature, conditions, conditions_together
from grucible.check.diagnosis.asked import what_tells_apart
from grucible.check.diagnosis.contradictions import Passed, Passing, excluded
from grucible.check.diagnosis.curves import in_words
from grucible.check.diagnosis.explanations import Explanation, fewest
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.local import Local
from grucible.check.diagnosis.patterns import pattern
from grucible.check.diagnosis.places import where
from grucible.check.diagnosis.proof import Proof
from grucible.check.diagnosis.repeated import answered_otherwise
from grucible.check.diagnosis.steps import Steps, steps_of
from grucible.check.judging.criterion import Demanded, chosen_criteria
from grucible.check.observed.source import Reply
from grucible.gen.variants.curves import KNOTS, with_curve
from grucible.gen.variants.known import variant_called
from grucible.vectors.case import difference
from grucible.vectors.hdf5 import CORE

REQUIRED = chosen_criteria()["float32"]
FILE = CORE / "openvino/gru_cell/core.h5"
HALVED = variant_called("z-scaled=0.5")


def part_of(change: Callable[[Arrays], None]) -> FailingBlock:
    """Take some cases of a sequence, with changed outputs."""
    block = next(b for b in core_blocks(SEQUENCE) if "B3H-int32" in b.path and len(b) > 10)
    observed = {name: array.copy() for name, array in block.answer.outputs.items()}
    change(observed)
    return FailingBlock(block, observed, REQUIRED)


def right_steps() -> Steps:
    """Compute the steps of one block of cells, all of them right."""
    block = core_blocks(CELL)[0]
    return steps_of(FailingBlock(block, dict(block.answer.outputs), REQUIRED))[0]


# steps


def test_a_wrong_state_is_wrong_by_itself_and_the_next_is_compared_with_it() -> None:
    """Y[:, 0, 0] of row 0 is off: that step is wrong, and the next, which did not start from it."""

    def off(outputs: Arrays) -> None:
        outputs["Y"][:, 0, 0, 0] += np.float32(0.25)

    assert not any(one.wrong.any() for one in steps_of(part_of(lambda _: None)))
    forward = [
        (steps, case)
        for steps in steps_of(part_of(off))
        for case, word in enumerate(steps.stack.semantics.directions[0])
        if word == "forward" and steps.stack.inputs.lengths[case, 0] > 1
    ]
    assert len(forward) >= 3
    for steps, case in forward:
        assert set(np.flatnonzero(steps.wrong[case, 0].any(axis=-1))) == {0, 1}


def test_what_is_past_a_length_is_no_step_and_is_wrong() -> None:
    right = part_of(lambda _: None)
    held = variants_run("Y-holds-last-state")(right.block)
    for one in steps_of(FailingBlock(right.block, dict(held), right.criterion)):
        assert not one.wrong.any()
        ragged = (one.stack.inputs.lengths < one.stack.inputs.x.shape[-2]).any(axis=-1)
        assert ragged.any()
        assert np.array_equal(one.rest, ~ragged)


def test_questions_that_are_answered_otherwise_are_told() -> None:
    def off(outputs: Arrays) -> None:
        outputs["Y"] += np.float32(0.5)

    part = part_of(off)
    which = np.ones(len(part), bool)
    same = Reply("ok", {name: array[0] for name, array in part.observed.items()})
    other = Reply("ok", {name: array + np.float32(0.1) for name, array in same.outputs.items()})
    refused = Reply("error", {}, "not again")
    assert answered_otherwise([part], which, lambda asked: [same] * len(asked)) == ""
    assert answered_otherwise([part], which, lambda asked: [refused] * len(asked)) == ""
    told = answered_otherwise([part], which, lambda asked: [same, other][: len(asked)])
    assert told.startswith("asked again, 1 of 1 of these cases gave other numbers")


# what passed contradicts


def test_a_case_that_passed_excludes_what_gives_clearly_something_else() -> None:
    block, twice = core_blocks(CELL)[0], variant_called("z-scaled=2")
    assert excluded(block, [HALVED], REQUIRED).all()
    assert excluded(block, [twice], REQUIRED).all()
    assert not excluded(block, [HALVED, twice], REQUIRED).any()  # one undoes the other
    assert not excluded(block, [variant_called("z-scaled=1.0000001")], REQUIRED).any()
    assert not excluded(block, [HALVED], REQUIRED, share=1e-6).any()


def test_what_passed_contradicts_what_is_off_by_twice_what_was_admitted() -> None:
    """Rounding to sixteenths is within the loosest tolerance, and far from what float32 admits."""
    block, rounded = core_blocks(CELL)[0], "pre-activations-of-gates-rounded=16"
    passed = [Passed(FILE, block.path, np.arange(len(block)))]
    assert Passing(passed).contradicting({rounded})[rounded] == len(block)
    loose = Passing(passed, {"float32": Demanded("bfloat16-gemm")})
    assert loose.contradicting({rounded})[rounded] < len(block) / 2


def test_of_many_cases_that_passed_all_are_asked_before_anything_is_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the cases that passed one is looked at while explanations are sought."""
    monkeypatch.setattr(contradictions, "MOST_LOOKED_AT", 1)
    block, rows = core_blocks(CELL)[0], np.arange(len(core_blocks(CELL)[0]))
    failing = block.rows(rows[::2])
    parts = [FailingBlock(failing, {"Ho": variants_run(HALVED.name)(failing)["Ho"]}, REQUIRED)]
    every = np.ones(len(failing), bool)
    one = Explanation((HALVED.name,), every, near=0.1)
    for others, certain in ((rows[:0], True), (rows[1::2], False)):
        passing = Passing([Passed(FILE, block.path, others)])
        local = Local(parts, passing, len(failing), 1 << 40)
        [proven] = Proof(parts, passing, local, every).chosen([one])
        assert proven.certain is certain


@pytest.mark.parametrize(("count", "certain"), [(2, False), (3, True)])
def test_two_cases_make_no_loss_of_precision_certain(count: int, certain: bool) -> None:
    name, block = "wr-in-bfloat16", core_blocks(CELL)[0].rows(np.arange(count))
    every, passing = np.ones(count, bool), Passing(())
    parts = [FailingBlock(block, dict(variants_run(name)(block)), REQUIRED)]
    proof = Proof(parts, passing, Local(parts, passing, count, 1 << 40), every)
    [proven] = proof.chosen([Explanation((name,), every, near=0.1)])
    assert proven.certain is certain


def test_where_no_step_of_a_failing_case_is_explained_nothing_is() -> None:
    block = core_blocks(CELL)[0].rows(np.arange(2))
    wrong = variants_run(HALVED.name)(block)["Ho"].copy()
    wrong[0] += 0.1
    parts = [FailingBlock(block, {"Ho": wrong}, REQUIRED)]
    local = Local(parts, Passing([]), 2, 1 << 40)
    found = local.explained((HALVED,), [])
    assert found is not None
    assert found.cases.tolist() == [False, True]
    assert local.explained((HALVED,), [], otherwise=np.array([False, True])) is None


# the fewest explanations


def of(
    *cases: Sequence[int], names: tuple[str, ...] = ("clip-ignored",), certain: bool = True
) -> Explanation:
    mask = np.isin(np.arange(200), np.concatenate([np.asarray(one, int) for one in cases]))
    return Explanation(names, mask, near=0.1, certain=certain)


def test_the_fewest_explanations_are_chosen() -> None:
    """Of equally many those of fewer variants; what is certain first; what is needless is left out."""
    one, two, both = ("R-transposed",), ("bias-ignored",), ("h0-ignored", "row-reused")
    found = [
        of(range(60)),
        of(range(60, 120), names=two),
        of(range(120), names=one),
        of(range(120), names=both),
    ]
    found.sort(key=lambda each: each.rank)
    assert [each.names for each in fewest(found)] == [one]
    perhaps = of(range(100), names=two, certain=False)
    chosen = [(each.names, each.certain) for each in fewest([perhaps, of(range(40))])]
    assert chosen == [(("clip-ignored",), True), (two, False)]
    pairs = [
        of(range(100), [150 + n], names=("clip-ignored", name)) for n, name in enumerate(one + two)
    ]
    assert [each.names for each in fewest([of(range(100)), *pairs])] == [("clip-ignored",)]


# what tells cases apart


def feature(*values: float, real: bool = False, word: str = "it") -> Feature:
    words = {
        "==": f"{word} is {{value}}",
        ">=": f"{word} from {{value}} on",
        "<": f"{word} below {{value}}",
    }
    return Feature(np.array(values, float), words, real)


@pytest.mark.parametrize(
    ("values", "members", "told"),
    [
        ([3, 3, 3, 1, 5, 7], 3, ["it is 3"]),
        ([4, 6, 9, 1, 2, 3], 3, ["it from 4 on"]),
        ([1, 2, 3, 6, 8, 9], 3, ["it below 6"]),
        ([3, 3, 3, 3, 5, 1], 3, []),  # another has it too
        ([*np.linspace(2.013, 3, 12), *np.linspace(0, 1.987, 12)], 12, ["it from 2 on"]),
        ([1, 1, 1, np.nan, 2, 2], 3, []),
        # what few have, or all but a few, may be by chance
        ([1] * (FEWEST - 1) + [2] * 20, FEWEST - 1, []),
        ([*np.linspace(2, 3, 200), *np.linspace(0, 1, 12)], 200, []),
        ([*np.linspace(2.5, 3, 100), *np.linspace(0, 1, 12)], 100, ["it from 2 on"]),
    ],
)  # fmt: skip
def test_conditions(values: Sequence[float], members: int, told: Sequence[str]) -> None:
    one = feature(*values, real=any(value != round(value) for value in values if value == value))
    assert conditions([one], np.arange(len(values)) < members) == told


def test_what_chance_could_find_tells_nothing_apart() -> None:
    """Of 200 coins some fall as three members and three others would have it."""
    rng = np.random.default_rng(5)
    coins = [feature(*rng.integers(0, 2, 6)) for _ in range(200)]
    members = np.arange(6) < 3
    assert any(set(one.values[members]) != set(one.values[~members]) for one in coins)
    assert conditions(coins, members) == []


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ([(1, 1)] * 20 + [(1, 0)] * 10 + [(0, 1)] * 10, "where cold and wet"),
        ([(1, 1)] * 20 + [(1, 0)] * 2 + [(0, 1)] * 18, ""),  # too few need the second
        ([(1, 1)] * 5 + [(1, 0)] * 20 + [(0, 1)] * 20, ""),  # too few members
        ([(1, 1, 1)] * 20 + [(0, 1, 1)] * 5 + [(1, 0, 1)] * 5 + [(1, 1, 0)] * 5, "where cold, wet and dark"),
        ([(1, 1, 1)] * 20 + [(1, 0, 1)] * 10 + [(0, 1, 1)] * 10, "where cold and wet"),
    ],
)  # fmt: skip
def test_conditions_are_told_together_where_each_is_needed(
    kinds: Sequence[Sequence[int]], told: str
) -> None:
    words = ("cold", "wet", "dark")
    features = [
        Feature(np.array(values, float), {">=": f"where {word}", "<": f"where not {word}"})
        for word, values in zip(words, zip(*kinds, strict=True), strict=False)
    ]
    members = np.array([kind == kinds[0] for kind in kinds])
    assert conditions_together(features, members) == told
    one_more = [Feature(np.append(f.values, 1.0), f.words) for f in features]
    assert conditions_together(one_more, np.append(members, False)) == ""  # it has all, and is none


def test_what_cases_ask_for_tells_them_apart() -> None:
    def where_f(name: str):
        questions = [(b, [q.semantics.f[0].name for q in b.questions()]) for b in core_blocks(CELL)]
        return [(block, np.array(names) == name) for block, names in questions]

    told = what_tells_apart(where_f("tanh"), where_f("relu"))
    assert {"where the gates' function is tanh", "where the gates' function is not relu"} <= set(
        told
    )
    assert not [one for one in told if "activations has" in one or "candidate" in one]


def test_two_cases_have_no_place_however_many_states_they_have() -> None:
    each = {one.seen.shape[2:]: one for b in core_blocks(CELL) for one in steps_of(FailingBlock(b, dict(b.answer.outputs), REQUIRED))}  # fmt: skip
    small, large = sorted(each.values(), key=lambda one: -len(one.seen))[:2]
    some = small.only(np.arange(2))
    states = [np.ones(one.seen.shape, bool) for one in (some, large)]
    assert where([some, large], [states[0], ~states[1]], [~states[0], states[1]]) == ""
    group = np.zeros(large.seen.shape, bool)
    group[..., -1] = True
    assert where([large], [group], [~group]).startswith("in hidden unit ")


def test_a_place_that_was_found_of_some_states_holds_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "MOST_ELEMENTS", 16)
    one = right_steps()
    group = np.zeros(one.seen.shape, bool)
    group[..., -1] = True
    others = ~group
    assert where([one], [group], [others]) == "in hidden unit 5"
    last = tuple(np.argwhere(group)[-1])
    group[last], others[last] = False, True
    assert where([one], [group], [others]) == ""


def test_a_curve_is_told_as_far_as_two_halves_agree_on_it() -> None:
    bump = 0.02 * np.exp(-((KNOTS - 0.5) ** 2))
    edge = np.where(KNOTS[np.argmin(np.abs(KNOTS + 2))] == KNOTS, 0.5, 0.0)
    first, second = with_curve("tanh", bump.tolist()), with_curve("tanh", (bump + edge).tolist())
    told = in_words("tanh", first, first, [right_steps()])
    assert "by about 0.02 too large where its argument is near 0.5" in told
    assert in_words("tanh", first, second, [right_steps()]) == "tanh computed as another function"


# patterns of small errors


def rounded(v: Array, bits: int, way: Callable[[Array], Array] = np.rint) -> Array:
    """Round to a number of significand bits."""
    part, exponent = np.frexp(v)
    return np.ldexp(way(np.ldexp(part, bits)), exponent - bits).astype(v.dtype)


class Off(Kernel):
    """Wrong by a little: each of these changes one quantity."""

    def __init__(self, **changes: Callable[[Array], Array]) -> None:
        self.changes = changes

    def changed(self, name: str, v: Array) -> Array:
        return self.changes[name](v).astype(v.dtype) if name in self.changes else v

    def converted(self, name, array):
        weights = self.changed("weights", array) if name in "WR" else array
        return self.changed("biases", weights) if name == "B" else weights

    def product(self, v, matrix):
        return super().product(self.changed("operands", v), self.changed("operands", matrix))

    def tanh(self, v):
        return self.changed("tanh", super().tanh(v))

    def candidate(self, x, h, reset, p):
        return self.changed("candidate", super().candidate(x, h, reset, p))

    def start(self, task, p):
        return self.changed("start", super().start(task, p))

    def step(self, x, h, p):
        return self.changed("state", super().step(x, h, p))


def scaled(by: float) -> Callable[[Array], Array]:
    return lambda v: v * v.dtype.type(by)


def bits(count: int, way: Callable[[Array], Array] = np.rint) -> Callable[[Array], Array]:
    return lambda v: rounded(v, count, way)


def noisy(v: Array) -> Array:
    """Off by a share of itself, which hardly two arguments have alike."""
    return v * (1 + 1e-5 * np.sin(1e3 * v.astype(np.float64)))


def steps_by(kernel: Kernel, operator: str) -> list[Steps]:
    """Compute the steps of a kernel in the failing core cases of an operator."""
    run, found = by_question(kernel), []
    for block in core_blocks(operator):
        outputs, limits = run(block), REQUIRED.admitted(block, STORED)
        failed = np.zeros(len(block), bool)
        for name, right in block.answer.outputs.items():
            off = difference(outputs[name].astype(np.float64), right.astype(np.float64))
            failed |= (off > limits[name]).reshape(len(block), -1).any(axis=1)
        if failed.any():
            some = {name: array[failed] for name, array in outputs.items()}
            found += steps_of(FailingBlock(block.rows(failed), some, REQUIRED))
    return found


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (Off(tanh=noisy), "tanh were off by up to 1.1e-05: is it approximated"),
        (Off(state=bits(17)), "the new state were rounded to about 17 bits"),
        (Off(state=bits(17, np.trunc)), "the new state were cut off to about 17 bits"),
        (Off(state=bits(17, np.floor)), "the new state were rounded down to about 17 bits"),
        (Off(state=bits(17, np.ceil)), "the new state were rounded up to about 17 bits"),
        (Off(operands=bits(14, np.trunc)), "the operands of products were cut off to about 14 bits"),
        (Off(biases=bits(12, np.trunc)), "the biases were cut off to about 12 bits"),
        (Off(state=scaled(1 + 1e-5)), "the new state Ht were multiplied by 1 + 1e-05"),
        (Off(weights=scaled(1 - 1e-4)), "W and R were multiplied by 1 - 0.0001"),
        (Off(candidate=scaled(1.0001)), "the candidate ht were multiplied by 1 + 0.0001"),
        (Off(start=scaled(1 + 1e-5)), ""),  # before the first step alone
        (Off(tanh=lambda v: v * (1 + 0.03 * np.sin(1e3 * v))), ""),  # by more than a little
        (Off(), ""),
    ],
)  # fmt: skip
def test_a_pattern_of_small_errors_is_told(kernel: Kernel, told: str) -> None:
    found = pattern(steps_by(kernel, CELL))
    assert found.startswith(f"every step is off by a little, as if {told}" if told else "")
    assert bool(found) == bool(told)
