"""What is in no catalogue: every variant has a name, means what it says, and changes something."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from shipped import core_blocks

from grucible.cases.operators.activations import FUNCTIONS
from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.signature import Operator
from grucible.gen.stacks import Stack
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.gen.variants.compute import compute
from grucible.gen.variants.evaluate import batches, stacks_of, variant_outputs
from grucible.gen.variants.families import FAMILIES, Family
from grucible.gen.variants.known import UNLISTED, variant_called
from grucible.gen.variants.restricted import UNITS, can_be_restricted, restricted
from grucible.gen.variants.variant import Variant
from grucible.vectors.block import Block

NEUTRAL = {"scaled": 1.0, "shifted": 0.0, "limited": 1e30, "leaky": 1.0, "saturated": 1e30}


def neutral(family: Family) -> float | None:
    """The number with which a family changes nothing."""
    return 0.0 if family.name.endswith("-with-h") else NEUTRAL.get(family.form.name)


def tried_or_neutral(family: Family) -> list[float]:
    number = neutral(family)
    return [*family.form.tried, *([] if number is None else [number])]


def meaning_something_for(operator: Operator) -> list[Family]:
    return [one for one in FAMILIES.values() if one.member(1.0).means_something_for(operator)]


@cache
def numbers_that_change() -> dict[str, set[float]]:
    """By family, of the numbers that are tried, and of the neutral one, those that change some output."""
    found: dict[str, set[float]] = {name: set() for name in FAMILIES}
    for operator in OPERATORS.values():
        for block in core_blocks():
            if (block.operator, block.dtype) == (operator.name, "float32"):
                for stack in stacks_of(block):
                    _add_changing(stack, meaning_something_for(operator), found)
    return found


def _add_changing(stack: Stack, families: list[Family], found: dict[str, set[float]]) -> None:
    asked = {
        one.name for functions in (*stack.semantics.f, *stack.semantics.g) for one in functions
    }
    left = {
        one.name: [n for n in tried_or_neutral(one) if n not in found[one.name]]
        for one in families
        if asked.issuperset(need[2:] for need in one.needs if need[2:] in FUNCTIONS)
    }
    left = {name: numbers for name, numbers in left.items() if numbers}
    several = [[FAMILIES[name].members(numbers)] for name, numbers in left.items()]
    (right, _, _), *each = compute([[], *several], stack.semantics, stack.inputs)
    for (name, numbers), (y, _, _) in zip(left.items(), each, strict=True):
        copies = y.reshape(len(numbers), *right.shape)
        same = [np.array_equal(one, right, equal_nan=True) for one in copies]
        found[name] |= {n for n, no in zip(numbers, same, strict=True) if not no}


@cache
def changing() -> set[str]:
    """The variants of no family that change some output of some case."""
    left = dict(UNLISTED)
    found: set[str] = set()
    for operator in OPERATORS.values():
        for block in core_blocks():  # the plain ones, of one size or another, among them
            if (block.operator, block.dtype) == (operator.name, "float32"):
                some = [v for v in left.values() if v.means_something_for(operator)]
                found |= set(_changing(block, some))
                left = {name: one for name, one in left.items() if name not in found}
    return found


def _changing(block: Block, variants: list[Variant]) -> Iterator[str]:
    stacked = stacks_of(block)
    right = variant_outputs(block, stacked, [[]])
    for batch in batches(block, [[variant] for variant in variants]):
        outputs = variant_outputs(block, stacked, batch)
        for place, [variant] in enumerate(batch):
            if any(
                not np.array_equal(right[n][0], outputs[n][place], equal_nan=True) for n in right
            ):
                yield variant.name


@pytest.mark.rows(5)
@pytest.mark.parametrize("name", UNLISTED)
def test_a_variant_beyond_the_catalogue_changes_some_case(name: str) -> None:
    assert variant_called(name) is UNLISTED[name]
    assert name not in CATALOGUE
    assert name in changing()


@pytest.mark.parametrize("name", FAMILIES)
def test_members_are_found_by_their_names(name: str) -> None:
    members = [FAMILIES[name].member(number) for number in FAMILIES[name].form.tried]
    again = [variant_called(member.name) for member in members]
    assert [(one.name, one.about) for one in again] == [(m.name, m.about) for m in members]


def test_a_family_changes_some_case_and_with_its_neutral_number_none() -> None:
    """One test of all: what is computed for one is computed for all."""
    changing = numbers_that_change()
    idle = [f.name for f in FAMILIES.values() if not changing[f.name].intersection(f.form.tried)]
    assert idle == []
    assert [f.name for f in FAMILIES.values() if neutral(f) in changing[f.name]] == []


@pytest.mark.parametrize("reset_after", [False, True])
def test_members_at_once_give_what_each_gives(reset_after: bool) -> None:
    blocks = [b for b in core_blocks() if (b.operator, b.dtype) == ("onnx.GRU-14", "float32")]
    some = [s for block in blocks for s in stacks_of(block) if len(s) > 1]
    stack = next(s for s in some if s.semantics.reset_after is reset_after)
    families = meaning_something_for(OPERATORS["onnx.GRU-14"])
    many = compute(
        [[one.members(one.form.tried)] for one in families], stack.semantics, stack.inputs
    )
    for family, (at_once, _, _) in zip(families, many, strict=True):
        each = [[family.member(number)] for number in family.form.tried]
        alone = [y for y, _, _ in compute(each, stack.semantics, stack.inputs)]
        assert np.array_equal(at_once, np.concatenate(alone), equal_nan=True), family.name


def test_a_number_is_told_in_words() -> None:
    assert variant_called("z-scaled=0.5").about == "the update gate zt multiplied by 0.5"
    assert variant_called("z-scaled=0").about == "the update gate zt left out"
    assert variant_called("a_r-scaled=-1").about == "the reset gate's pre-activation negated"


def test_a_number_is_told_by_what_is_left_of_it_in_few_digits() -> None:
    assert variant_called("a_r-scaled=-0.99999999").about == variant_called("a_r-scaled=-1").about
    assert variant_called("z-scaled=0.33333333").about.endswith("multiplied by 0.333333")


def test_no_two_variants_say_the_same() -> None:
    known = (*CATALOGUE.values(), *UNLISTED.values())
    for operator in OPERATORS.values():
        said = [v.about_for(operator) for v in known if v.means_something_for(operator)]
        assert sorted(said) == sorted(set(said))


def test_names_of_nothing_are_refused() -> None:
    for name in ("nothing", "z-scaled=much", "nothing@tail-of-4"):
        with pytest.raises((KeyError, ValueError)):
            variant_called(name)


@pytest.mark.parametrize("units", UNITS)
def test_a_restricted_bias_is_of_those_units_alone(units: str) -> None:
    """Where the reset gate is applied after the product, other units take nothing of a unit within a step."""
    wanted = ("openvino.GRUCell-3", "float32")
    [block, *_] = [b for b in core_blocks() if (b.operator, b.dtype) == wanted and "B4H" in b.path]
    variant = restricted(CATALOGUE["bias-ignored"], units)
    assert variant_called(variant.name).about == variant.about
    right, whole, part = (
        variant_outputs(block, stacks_of(block), [of])["Ho"][0]
        for of in ([], [CATALOGUE["bias-ignored"]], [variant])
    )
    mask = UNITS[units][1](right.shape[-1])
    assert np.array_equal(part, np.where(mask, whole, right))


def test_what_belongs_to_no_unit_is_not_restricted() -> None:
    assert can_be_restricted(CATALOGUE["bias-ignored"])
    for name in ("lengths-ignored", "activations-exchanged", "Ho-of-last-step"):
        assert not can_be_restricted(CATALOGUE[name])
