"""Trying several variants at once, and choosing the fewest explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grucible.check.diagnosis.explanations import Explanation, fewest
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.search import Search
from grucible.check.judging.criterion import chosen_criteria
from grucible.gen.variants.known import variant_called

from .diagnosing import core_blocks

Mask = npt.NDArray[np.bool_]


def noise() -> FailingBlock:
    """A few cases of one block whose outputs nothing explains."""
    block = core_blocks("openvino.GRUCell-3", "float32")[0].rows(np.arange(2))
    rng = np.random.default_rng(2)
    observed = {
        name: (right + rng.normal(0, 0.3, right.shape)).astype(right.dtype)
        for name, right in block.answer.outputs.items()
    }
    return FailingBlock(block, observed, chosen_criteria()["float32"])


def test_what_computes_in_an_arithmetic_of_its_own_is_not_tried_together_with_others() -> None:
    """Two arithmetics cannot be had at once, nor one of them with a function that it does not know."""
    part = noise()
    search = Search([part], np.ones(len(part), bool))
    names = ("bfloat16-products", "float16-state", "sigmoid-argument-scaled=0.5", "clip-ignored")
    search.on_all([(variant_called(name),) for name in names])
    search.together(search.which)
    assert {names for names in search.distances if len(names) > 1} == set()
    assert not search.explained.any()


def cases(*several: Sequence[int]) -> Mask:
    """The failing cases of some ranges, of 200."""
    return np.isin(np.arange(200), np.concatenate([np.asarray(one, int) for one in several]))


def of(mask: Mask, *names: str) -> Explanation:
    return Explanation(names, mask, near=0.1)


def test_what_two_explanations_are_left_as_without_what_is_needless_is_said_once() -> None:
    """Each of two pairs explains one case more than the variant that both have."""
    found = [
        of(cases(range(100)), "clip-ignored"),
        of(cases(range(100), [150]), "clip-ignored", "h0-ignored"),
        of(cases(range(100), [160]), "clip-ignored", "bias-ignored"),
    ]
    assert [one.names for one in fewest(found)] == [("clip-ignored",)]


def test_the_fewest_explanations_are_chosen_and_of_equally_many_those_of_fewer_variants() -> None:
    found = [
        of(cases(range(60)), "clip-ignored"),
        of(cases(range(60, 120)), "bias-ignored"),
        of(cases(range(120)), "R-transposed"),
        of(cases(range(120)), "h0-ignored", "row-reused"),
    ]
    found.sort(key=lambda one: one.rank)
    assert [one.names for one in fewest(found)] == [("R-transposed",)]


def test_what_is_certain_is_chosen_before_what_may_be() -> None:
    sure, perhaps = of(cases(range(40)), "clip-ignored"), of(cases(range(100)), "bias-ignored")
    found = [Explanation(perhaps.names, perhaps.mask, 0.1, certain=False), sure]
    assert [(one.names, one.certain) for one in fewest(found)] == [
        (("clip-ignored",), True),
        (("bias-ignored",), False),
    ]
