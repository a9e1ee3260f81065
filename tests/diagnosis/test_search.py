"""What is found and proven: what passed contradicts it, others fail in the same way, chance tells nothing apart."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, no-any-return"
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import shipped
from diagnosis.blocks import core_blocks, variants_run
from diagnosis.wrong import CELL, SEQUENCE

from grucible.cases.dtypes import FLOAT_TYPES, Arrays
from grucible.check.diagnosis import contradictions
from grucible.check.diagnosis.apart import Feature, Groups, conditions
from grucible.check.diagnosis.contradictions import Blocks, Passed, Passing, excluded
from grucible.check.diagnosis.failing import FailingBlock, Room, elements
from grucible.check.diagnosis.finding import Explanation, finding_by_case, finding_of
from grucible.check.diagnosis.hints import answered_otherwise
from grucible.check.diagnosis.local import Local
from grucible.check.diagnosis.proof import Proof
from grucible.check.diagnosis.search import Search
from grucible.check.judging.criterion import Demanded, chosen_criteria
from grucible.check.protocol.header import Reply
from grucible.gen.variants.evaluate import stacks_of, variant_outputs
from grucible.gen.variants.known import variant_called
from grucible.vectors.hdf5 import CORE
from grucible.vectors.reader import open_vectors

REQUIRED = chosen_criteria()["float32"]
FILE = CORE / "openvino/gru_cell/core.h5"
HALVED = variant_called("z+=-0.5*z")


def part_of(change: Callable[[Arrays], None]) -> FailingBlock:
    """Take some cases of a sequence, with changed outputs."""
    block = next(b for b in core_blocks(SEQUENCE) if "B3H-int32" in b.path and len(b) > 10)
    observed = {name: array.copy() for name, array in block.answer.outputs.items()}
    change(observed)
    return FailingBlock(block, observed, REQUIRED)


def test_questions_that_are_answered_otherwise_are_told() -> None:
    def off(outputs: Arrays) -> None:
        outputs["Y"] += np.float32(0.5)

    part = part_of(off)
    which = np.ones(len(part), bool)
    same = Reply("ok", {name: array[0] for name, array in part.observed.items()})
    other = Reply("ok", {name: array + np.float32(0.1) for name, array in same.outputs.items()})
    refused = Reply("error", {}, "not again")
    malformed = Reply("ok", {**same.outputs, "Y": same.outputs["Y"].astype(str)})
    assert answered_otherwise([part], which, lambda asked: [same] * len(asked)) == []
    for no_answer in (refused, malformed):
        assert answered_otherwise([part], which, lambda _, one=no_answer: [one] * 2) == []
    [found] = answered_otherwise([part], which, lambda asked: [same, other][: len(asked)])
    assert found.startswith("asked again, 1 of 1 of these cases gave other numbers")


def test_each_case_has_the_finding_that_it_is_counted_under() -> None:
    """A case is counted under what is certain, though something simpler is so perhaps."""
    part = part_of(lambda _: None).rows(np.arange(2))
    both = Explanation(("lbr-ignored", "Rbh-ignored"), np.array([True, True]))
    perhaps = Explanation(("Rbh-ignored",), np.array([True, False]), certain=False)
    each = [(finding_of([part], one, []), one.mask) for one in (perhaps, both)]
    rows = [(part.block.dtype, case_id) for case_id in part.block.ids]
    by_case = finding_by_case(rows, each)
    assert [by_case[case_id].names for case_id in part.block.ids] == [both.names] * 2


def test_an_overflow_that_is_known_is_told_by_infinities_alone() -> None:
    """Nowhere else, for any NaN would tell it. A kernel may clip infinity to the largest number."""
    overflow, largest = variant_called("softplus-overflows"), np.finfo(np.float32).max
    clipped, nan_alone = list[bool](), list[bool]()
    for block in shipped.core_blocks():
        if block.dtype == "float32" and "Softplus" in block.ids[0]:
            given = variant_outputs(block, stacks_of(block), [[overflow]])
            seen = {name: array[0].astype(np.float32) for name, array in given.items()}
            wild = ~np.isfinite(elements(seen, 1))
            near = FailingBlock(
                block, {n: np.clip(a, -largest, largest) for n, a in seen.items()}, REQUIRED
            )
            clipped += (near.distances([[overflow]])[0, wild.any(axis=1)] <= 1.0).tolist()
            far = FailingBlock(
                block, {n: np.full_like(a, np.nan) for n, a in seen.items()}, REQUIRED
            )
            told = far.distances([[overflow]], known=True)[0] <= 1.0
            nan_alone += told[wild.mean(axis=1) >= 0.5].tolist()
            assert not told[wild.mean(axis=1) < 0.4].any()
            assert (far.distances([[overflow]]) > 1.0).all()
    assert len(clipped) > len(nan_alone) > 1
    assert all(clipped)
    assert all(nan_alone)


# what passed contradicts


def test_a_case_that_passed_excludes_what_gives_clearly_something_else() -> None:
    block, twice = core_blocks(CELL)[0], variant_called("z+=1*z")
    near = variant_called("z+=1e-07*z")
    several = [[HALVED], [twice], [HALVED, twice], [near]]  # one undoes the other
    found = excluded(block, several, REQUIRED)
    assert found.all(axis=1).tolist() == [True, True, False, False]
    assert found.any(axis=1).tolist() == [True, True, False, False]
    assert not excluded(block, [[HALVED]], REQUIRED, share=1e-6).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_right_zeros_admit_no_large_numbers(dtype: str) -> None:
    """What underflow may lose of a zero grows with a number that is given no further than rounding does."""
    kind = FLOAT_TYPES[dtype]
    least = 2.0 ** (kind.least_exponent + kind.precision - 1)
    admitted = Room(np.array([[least]]), np.zeros((1, 1)), kind).of(np.array([[[0.5]]]))
    assert 0.0 < admitted.max() <= 8.0 * 2.0**-kind.precision


def test_where_no_error_is_admitted_another_number_is_off_by_as_much_as_rounding() -> None:
    """A row of length 0 is all zeros, or a state that was given; a kernel that computes it rounds its own."""
    nothing, kind = np.zeros((1, 2)), FLOAT_TYPES["float32"]
    given = np.full((1, 1, 2), 0.5)
    for right in (nothing, nothing + 0.25):
        admitted = Room(nothing, right, kind).of(given)
        assert (admitted >= 8 * 2.0**-25).all()
        assert (admitted <= 10 * 2.0**-25).all()
    assert (Room(nothing, nothing, kind).of(0 * given) <= 2.0**kind.least_exponent).all()


def test_right_zeros_do_not_narrow_what_other_numbers_are_admitted() -> None:
    """A zero is off by no more than underflow; what a variant gives in its place is off as others are."""
    limit = np.array([[1e-38, 1e-38, 1e-38, 1e-6]])
    right, given = np.array([[0.0, 0.0, 0.0, 0.5]]), np.full((1, 1, 4), 1e-9)
    assert (Room(limit, right, FLOAT_TYPES["float32"]).of(given) >= 8e-6).all()
    assert Room(limit, np.zeros((1, 4)), FLOAT_TYPES["float32"]).of(given)[0, 0, 0] < 1e-9


def test_what_passed_contradicts_what_is_off_by_twice_what_was_admitted() -> None:
    """Rounding to sixteenths is within the loosest tolerance, and far from what float32 admits."""
    block = core_blocks(CELL)[0]
    rounded = variant_called("pre-activations-of-gates-rounded=16")
    passed = [Passed(open_vectors(FILE), block.path, np.arange(len(block)))]

    def against(some: Passing) -> list[Blocks]:
        return some.against(some.blocks, [[rounded]])

    [[(_, found)]] = against(Passing(passed))
    assert found.all()
    [few] = against(Passing(passed, {"float32": Demanded("bfloat16-gemm")}))
    assert sum(int(mask.sum()) for _, mask in few) < len(block) / 2


def test_what_two_variants_must_explain_is_looked_for_and_no_less() -> None:
    """Beside one explanation of nearly all, two variants explain a fiftieth; beside two, they may replace both."""
    found = Search([], np.ones(200, bool))
    nothing, cases = np.zeros(200, bool), np.arange(200)
    assert found.left(nothing).all()
    for covered, left in ((150, 50), (196, 4), (197, 0)):
        found.distances = {("one",): np.where(cases < covered, 0.5, np.inf)}
        assert found.left(nothing).sum() == left
    found = Search([], cases == 0)
    found.distances = {("one",): np.full(200, np.inf)}
    assert found.left(nothing).sum() == 1
    found = Search([], np.ones(200, bool))
    found.distances = {
        ("one",): np.where(cases < 100, 0.5, np.inf),
        ("two",): np.where(cases > 100, 0.5, np.inf),
    }
    assert found.left(nothing).sum() == 1
    assert found.unexplained.sum() == 1


def test_of_many_cases_that_passed_all_are_asked_before_anything_is_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the cases that passed one is looked at while explanations are sought."""
    monkeypatch.setattr(contradictions, "MOST_LOOKED_AT", 1)
    block, rows = core_blocks(CELL)[0], np.arange(len(core_blocks(CELL)[0]))
    failing = block.rows(rows[::2])
    parts = [FailingBlock(failing, {"Ho": variants_run(HALVED.name)(failing)["Ho"]}, REQUIRED)]
    every = np.ones(len(failing), bool)
    one = Explanation((HALVED.name,), every)
    for others, certain in ((rows[:0], True), (rows[1::2], False)):
        passing = Passing([Passed(open_vectors(FILE), block.path, others)])
        local = Local(parts, passing, len(failing))
        [proven] = Proof(parts, passing, local, every).chosen([one])
        assert proven.certain is certain


@pytest.mark.parametrize(("count", "certain"), [(2, False), (3, True)])
def test_two_cases_make_no_loss_of_precision_certain(count: int, certain: bool) -> None:
    name, block = "wr-in-bfloat16", core_blocks(CELL)[0].rows(np.arange(count))
    every, passing = np.ones(count, bool), Passing(())
    parts = [FailingBlock(block, dict(variants_run(name)(block)), REQUIRED)]
    proof = Proof(parts, passing, Local(parts, passing, count), every)
    [proven] = proof.chosen([Explanation((name,), every)])
    assert proven.certain is certain


def test_a_misreading_is_held_against_cases_of_coarser_arithmetic() -> None:
    coarser, block = "bfloat16-products", core_blocks(CELL)[0]
    half = np.arange(len(block)) % 2 == 0
    seen = (variants_run(name)(block)["Ho"] for name in (HALVED.name, coarser))
    parts = [FailingBlock(block, {"Ho": np.where(half[:, None, None], *seen)}, REQUIRED)]
    found = [Explanation((HALVED.name,), half), Explanation((coarser,), ~half)]
    proof = Proof(parts, Passing(()), Local(parts, Passing(()), len(half)), half | ~half)
    assert {one.names for one in proof.chosen(found)} == {(HALVED.name,), (coarser,)}


def test_where_no_step_of_a_failing_case_is_explained_nothing_is() -> None:
    block = core_blocks(CELL)[0].rows(np.arange(2))
    wrong = variants_run(HALVED.name)(block)["Ho"].copy()
    wrong[0] += 0.1
    parts = [FailingBlock(block, {"Ho": wrong}, REQUIRED)]
    local = Local(parts, Passing([]), 2)
    found = local.explained((HALVED,), [])
    assert found is not None
    assert found.mask.tolist() == [False, True]
    assert local.explained((HALVED,), [], otherwise=np.array([False, True])) is None


# what tells cases apart


def feature(*values: float) -> Feature:
    words = {"==": "it is {value}", ">=": "it from {value} on", "<": "it below {value}"}
    return Feature([np.array(values, float)], words)


def test_what_chance_could_find_tells_nothing_apart() -> None:
    """Of 200 coins some fall as three members and three others would have it."""
    rng = np.random.default_rng(5)
    coins = [feature(*rng.integers(0, 2, 6)) for _ in range(200)]
    members = np.arange(6) < 3
    each = [one.values[0] for one in coins]
    assert any(set(values[members]) != set(values[~members]) for values in each)
    assert list(conditions(coins, Groups([members], [~members]))) == []
