"""The catalogue of variants, and what is beyond it: each says enough, changes something, and only what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf  # type: ignore[import-untyped]
from shipped import core_blocks

from grucible.cases.dtypes import Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import FUNCTIONS
from grucible.cases.operators.readings import READINGS, SILENT
from grucible.gen.stacks import Stack
from grucible.gen.variants.approximate import APPROXIMATIONS
from grucible.gen.variants.catalogue import CATALOGUE, variants_of
from grucible.gen.variants.compute import compute
from grucible.gen.variants.evaluate import (
    batches,
    can_be_caught,
    catches,
    stacks_of,
    variant_outputs,
    within,
)
from grucible.gen.variants.families import FAMILIES, Family
from grucible.gen.variants.known import UNLISTED, variant_called
from grucible.gen.variants.places import units_of
from grucible.gen.variants.restricted import UNITS, can_be_restricted, restricted
from grucible.gen.variants.variant import Variant
from grucible.vectors.block import Block
from grucible.vectors.case import REQUIRED

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"


@cache
def stacked(widest: bool) -> tuple[tuple[Block, list[Stack]], ...]:
    """Stack the core blocks in float32, or in each operator's widest dtype; arrays are read-only."""
    wide = {n: "float64" if "float64" in o.dtypes() else "float32" for n, o in OPERATORS.items()}
    blocks = [b for b in core_blocks() if b.dtype == (wide[b.operator] if widest else "float32")]
    found = tuple((block, stacks_of(block)) for block in blocks)
    for _, stacks in found:
        for one in stacks:
            by_gate = (*one.inputs.w.values(), *one.inputs.r.values(), *one.inputs.b.values())
            for array in (one.inputs.x, one.inputs.h0, one.inputs.lengths, *by_gate):
                array.flags.writeable = False
    return found


def outputs_of(
    block: Block, stacks: list[Stack], variants: Sequence[Variant]
) -> Iterator[tuple[Variant, Arrays]]:
    """Compute the outputs of a block under each variant that means something for it."""
    meant = [one for one in variants if one.means_something_for(OPERATORS[block.operator])]
    for batch in batches(block, [[variant] for variant in meant]):
        together = variant_outputs(block, stacks, batch)
        for place, [variant] in enumerate(batch):
            yield variant, {name: array[place] for name, array in together.items()}


def right(block: Block, outputs: Arrays) -> Array:
    """(n,) whether outputs are the stored ones, as near as the widest dtype must be."""
    return within(outputs, block.answer.outputs, block.answer.tolerances[REQUIRED[block.dtype]])


def test_records_say_enough() -> None:
    silent = {entry for entries in SILENT.values() for entry in entries}
    for one in CATALOGUE.values():
        assert not one.about.endswith("."), one.name
        changes = (one.inputs, one.semantics, one.quantities, one.outputs, one.last, one.arithmetic)
        assert any(changes), one.name
        assert (one.kind == "reading") == (one.name in READINGS), one.name
        ledgers = silent | {""} if one.kind != "reading" else {READINGS[one.name].ledger}
        assert one.ledger in ledgers, one.name
        assert (one.kind == "approximation") == (one.name in APPROXIMATIONS), one.name
        assert all(link.startswith("https://") for link in one.links), one.name
    assert not CATALOGUE.keys() & UNLISTED.keys()
    for operator in OPERATORS.values():
        known = (*CATALOGUE.values(), *UNLISTED.values())
        sentences = [one.about_for(operator) for one in known if one.means_something_for(operator)]
        assert sorted(sentences) == sorted(set(sentences))


def test_without_a_variant_the_stored_answers_come_out() -> None:
    for block, stacks in stacked(widest=True):
        found = {name: one[0] for name, one in variant_outputs(block, stacks, [[]]).items()}
        assert right(block, found).all()


def test_a_variant_of_the_catalogue_is_caught_by_three_cases() -> None:
    caught: Counter[str] = Counter()
    for block, stacks in stacked(widest=True):
        for variant, outputs in outputs_of(block, stacks, [*CATALOGUE.values()]):
            caught[variant.name] += int((~right(block, outputs)).sum())
    assert [name for name in CATALOGUE if caught[name] < 3] == []


def test_a_variant_beyond_the_catalogue_changes_some_case() -> None:
    left = dict(UNLISTED)
    for block, stacks in stacked(widest=False):
        plain = variant_outputs(block, stacks, [[]])
        for variant, outputs in outputs_of(block, stacks, [*left.values()]):
            if any(not np.array_equal(plain[n][0], outputs[n], equal_nan=True) for n in plain):
                left.pop(variant.name, None)
    assert list(left) == []
    assert all(variant_called(name) is one for name, one in UNLISTED.items())


NEUTRAL = {"scaled": 1.0, "shifted": 0.0, "limited": 1e30, "leaky": 1.0, "saturated": 1e30}
"""The number with which a family changes nothing, by the name of its form."""


def numbers(family: Family) -> list[float]:
    """List the numbers that are tried of a family, and its neutral one."""
    neutral = NEUTRAL.get(family.form.name)
    return [*family.form.tried, *([] if neutral is None else [neutral])]


def changing(stack: Stack, left: dict[str, list[float]]) -> Iterator[tuple[str, float]]:
    """Find the families and numbers that change some state of a stack."""
    both = (*stack.semantics.f, *stack.semantics.g)
    asked = {one.name for functions in both for one in functions}
    some = {
        name: values
        for name, values in left.items()
        if asked.issuperset(n[2:] for n in FAMILIES[name].needs if n[2:] in FUNCTIONS)
    }
    each = [(name, number) for name, values in some.items() for number in values]
    members = [[FAMILIES[name].member(number)] for name, number in each]
    (plain, _, _), *others = compute([[], *members], stack.semantics, stack.inputs)
    for one, (y, _, _) in zip(each, others, strict=True):
        if not np.array_equal(y, plain, equal_nan=True):
            yield one


def test_a_family_changes_some_case_and_with_its_neutral_number_none() -> None:
    found: dict[str, set[float]] = {name: set() for name in FAMILIES}
    for block, stacks in stacked(widest=False):
        operator = OPERATORS[block.operator]
        for stack in stacks:
            meant = [f for f in FAMILIES.values() if f.member(1.0).means_something_for(operator)]
            left = {f.name: [n for n in numbers(f) if n not in found[f.name]] for f in meant}
            for name, number in changing(stack, {n: some for n, some in left.items() if some}):
                found[name].add(number)
    assert [f.name for f in FAMILIES.values() if not found[f.name] & set(f.form.tried)] == []
    neutral = {f.name: set(numbers(f)) - set(f.form.tried) for f in FAMILIES.values()}
    assert [name for name in FAMILIES if neutral[name] & found[name]] == []


def test_names_give_the_variants_that_have_them_and_words_for_their_numbers() -> None:
    for family in FAMILIES.values():
        for member in map(family.member, family.form.tried):
            again = variant_called(member.name)
            assert (again.name, again.about) == (member.name, member.about)
    for name, about in {
        "tanh-argument-scaled=0.5": "the argument of tanh multiplied by 0.5",
        "tanh-argument-scaled=0": "the argument of tanh left out",
        "tanh-argument-scaled=0.33333333": "the argument of tanh multiplied by 0.333333",
        "tanh-argument-scaled=-0.99999999": "the argument of tanh negated",
        "z+=-0.5*z": "the update gate zt multiplied by 0.5",
        "a_zr+=-2*b": "both gates' part of {b} negated",
        "a_zrh+=-1*x": "{w} left out",
        "a_h+=-0.25*z+1*r*h": "0.25 times zt subtracted from the candidate's pre-activation and "
        "rt (.) Ht-1 added to the candidate's pre-activation",
    }.items():
        assert variant_called(name).about == about
    for name in ("nothing", "z-limited=much", "nothing@last-hidden-unit", "unwritten-Ho-last-time"):
        with pytest.raises((KeyError, ValueError)):
            variant_called(name)


def test_a_place_that_was_never_written_is_filled_alone() -> None:
    block, stacks = next(pair for pair in stacked(widest=False) if "x6x2-B4H" in pair[0].path)
    right, wrong = (
        variant_outputs(block, stacks, [of])
        for of in ([], [variant_called("unwritten-hidden-units-past-the-last-whole-group-of-4=2")])
    )
    for name, before in right.items():
        assert np.array_equal(wrong[name], np.where(np.arange(6) >= 4, 2.0, before))


@pytest.mark.parametrize("units", UNITS)
def test_a_restricted_bias_is_of_those_units_alone(units: str) -> None:
    """Where the reset gate is applied after the product, other units take nothing of a unit within a step."""
    cells = (pair for pair in stacked(widest=False) if pair[0].operator == CELL)
    block, stacks = next(pair for pair in cells if "B4H" in pair[0].path)
    variant = restricted(CATALOGUE["bias-ignored"], units)
    assert variant_called(variant.name).about == variant.about
    plain, whole, part = (
        variant_outputs(block, stacks, [of])["Ho"][0]
        for of in ([], [CATALOGUE["bias-ignored"]], [variant])
    )
    assert np.array_equal(part, np.where(units_of(units, plain.shape[-1]), whole, plain))
    for name in ("lengths-ignored", "activations-exchanged", "Ho-of-last-step"):
        assert not can_be_restricted(CATALOGUE[name])


@pytest.mark.parametrize(
    ("place", "of"),
    [("reverse", 1), ("second-direction", 1), ("forward-direction", 0), ("first-direction", 0)],
)
@pytest.mark.parametrize(
    "name", ["update-gate-flipped", "z+=-0.5*z", "lengths-ignored", "in-place"]
)
def test_what_is_of_one_direction_leaves_the_other(name: str, place: str, of: int) -> None:
    """In the other direction, and after another variant, the outputs are as without it."""
    ragged = (pair for pair in stacked(widest=False) if pair[0].operator == SEQUENCE)
    block, stacks = next(
        pair
        for pair in ragged
        if all(one["direction"] == "bidirectional" for one in pair[0].given)
        and any((one.inputs.lengths < one.inputs.x.shape[-2]).any() for one in pair[1])
    )
    variant, early = variant_called(f"{name}@{place}"), CATALOGUE["Ho-one-step-early"]
    plain, whole, part, both = (
        variant_outputs(block, stacks, [each])
        for each in (
            [],
            [variant_called(name)],
            [variant],
            [early, variant_called(f"Y-zero@{place}")],
        )
    )
    assert not np.array_equal(plain["Y"], whole["Y"])
    mine = np.arange(2)[:, None] == of
    assert np.array_equal(part["Ho"], np.where(mine, whole["Ho"], plain["Ho"]))
    assert np.array_equal(part["Y"], np.where(mine[..., None], whole["Y"], plain["Y"]))
    assert np.array_equal(both["Ho"], variant_outputs(block, stacks, [[early]])["Ho"])


def test_a_cell_has_no_variants_of_time() -> None:
    cell, sequence = ({v.name for v in variants_of(OPERATORS[o])} for o in (CELL, SEQUENCE))
    assert cell < sequence
    of_time = {"lengths-ignored", "reverse-ignored", "Y-directions-exchanged", "h0-shared"}
    assert of_time <= sequence - cell


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("lbr-ignored", "bfloat16", True),
        ("tanh-interpolated-3e-06", "float32", True),
        ("tanh-interpolated-3e-06", "float16", False),
        ("float32-arithmetic", "float64", True),
        ("float32-arithmetic", "float32", False),
        ("len-zero.initial-state", "float64", False),
    ],
)
def test_what_a_dtype_is_asked_to_catch(name: str, dtype: str, expected: bool) -> None:
    assert can_be_caught(CATALOGUE[name], dtype) is expected


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_an_approximation_is_as_far_off_as_it_says(name: str) -> None:
    function, error, approximation = APPROXIMATIONS[name]
    at = np.linspace(-12, 12, 4001)
    exact = {"tanh": mp.tanh, "sigmoid": lambda x: 1 / (1 + mp.exp(-x))}[function]
    worst = np.abs(approximation(at) - [float(exact(mpf(float(x)))) for x in at]).max()
    assert 0.7 * error < worst <= 1.3 * error


def test_ambiguous_cases_do_not_catch_an_accepted_reading() -> None:
    several = (b for b, _ in stacked(widest=True) if len(b.answers) > 1 and b.operator == SEQUENCE)
    block = next(b for b in several if b.answer.outputs["Y"].shape[2] == 1)
    caught = {variant.name: found for variant, found in catches(block)}
    assert "len-zero.initial-state" not in caught
    assert caught["length-0-as-1"].all()
