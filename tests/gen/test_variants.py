"""The catalogue of variants: each record says enough, changes something, and only what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from shipped import core_blocks

from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.layout import GruInputs
from grucible.cases.operators.readings import READINGS, SILENT
from grucible.gen.stacks import Stack
from grucible.gen.variants.approximate import APPROXIMATIONS
from grucible.gen.variants.catalogue import CATALOGUE, variants_of
from grucible.gen.variants.evaluate import (
    batches,
    can_be_caught,
    catches,
    stacks_of,
    variant_outputs,
    within,
)
from grucible.gen.variants.variant import Variant
from grucible.vectors.block import Block
from grucible.vectors.case import REQUIRED

CELL, SEQUENCE = (OPERATORS[name] for name in ("openvino.GRUCell-3", "openvino.GRUSequence-5"))


@cache
def blocks() -> tuple[Block, ...]:
    """The core vectors, each operator's in its widest dtype."""
    widest = {
        name: "float64" if "float64" in operator.dtypes() else "float32"
        for name, operator in OPERATORS.items()
    }
    return tuple(block for block in core_blocks() if block.dtype == widest[block.operator])


def _right(block: Block, outputs: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """(n,) whether outputs are the stored ones, as near as the widest dtype must be."""
    return within(
        dict(outputs), block.answer.outputs, block.answer.tolerances[REQUIRED[block.dtype]]
    )


@pytest.mark.parametrize("variant", CATALOGUE.values(), ids=CATALOGUE)
def test_a_record_says_enough(variant: object) -> None:
    one = CATALOGUE[variant.name]  # type: ignore[attr-defined]
    assert one.about[0].islower() or one.about.split()[0] in one.about
    assert not one.about.endswith(".")
    changes = (one.inputs, one.semantics, one.alter, one.outputs, one.last, one.arithmetic)
    assert any(change is not None for change in changes)
    assert (one.kind == "reading") == (one.name in READINGS)
    silent = {entry for entries in SILENT.values() for entry in entries}
    assert one.ledger in (silent | {""} if one.kind != "reading" else {READINGS[one.name].ledger})
    assert (one.kind == "approximation") == (one.name in APPROXIMATIONS)
    assert all(link.startswith("https://") for link in one.links)


def test_sentences_are_each_one_s_own() -> None:
    assert len({variant.about for variant in CATALOGUE.values()}) >= len(CATALOGUE) - 6
    misreadings = [v.about for v in CATALOGUE.values() if v.kind == "misreading"]
    assert len(set(misreadings)) == len(misreadings)


@cache
def _stacked() -> tuple[tuple[Block, list[Stack]], ...]:
    """The blocks, with their cases stacked; what writes into an array of theirs gets a ValueError."""
    found = tuple((block, stacks_of(block)) for block in blocks())
    for _, stacked in found:
        for one in stacked:
            for array in _arrays(one.inputs):
                array.flags.writeable = False
    return found


def _arrays(inputs: GruInputs) -> Iterator[np.ndarray[Any, Any]]:
    yield from (inputs.x, inputs.h0, inputs.lengths)
    for by_gate in (inputs.w, inputs.r, inputs.b):
        yield from by_gate.values()


@cache
def _names_of(operator: str) -> frozenset[str]:
    """The names of the variants that mean something for an operator."""
    return frozenset(variant.name for variant in variants_of(OPERATORS[operator]))


def _one(block: Block, stacked: Sequence[Stack], variants: list[Variant]) -> dict[str, Any]:
    """The outputs of a block's cases under some variants at once."""
    together = variant_outputs(block, stacked, [variants])
    return {name: array[0] for name, array in together.items()}


def test_without_a_variant_the_stored_answers_come_out() -> None:
    for block, stacked in _stacked():
        assert _right(block, _one(block, stacked, [])).all()


def test_a_variant_changes_some_case_and_leaves_inputs_alone() -> None:
    changed = dict.fromkeys(CATALOGUE, 0)
    for block, stacked in _stacked():
        meant = [CATALOGUE[name] for name in sorted(_names_of(block.operator))]
        for some in batches(block, [[variant] for variant in meant]):
            together = variant_outputs(block, stacked, some)
            for place, [variant] in enumerate(some):
                outputs = {name: array[place] for name, array in together.items()}
                changed[variant.name] += int((~_right(block, outputs)).sum())
    assert {name: count for name, count in changed.items() if count < 3} == {}


def test_a_cell_has_no_variants_of_time() -> None:
    cell, sequence = ({v.name for v in variants_of(o)} for o in (CELL, SEQUENCE))
    assert cell < sequence
    for name in ("lengths-ignored", "reverse-ignored", "Y-directions-exchanged", "h0-shared"):
        assert name in sequence - cell


def test_what_a_dtype_is_asked_to_catch() -> None:
    assert can_be_caught(CATALOGUE["lbr-ignored"], "bfloat16")
    assert can_be_caught(CATALOGUE["tanh-interpolated-3e-06"], "float32")
    assert not can_be_caught(CATALOGUE["tanh-interpolated-3e-06"], "float16")
    assert can_be_caught(CATALOGUE["float32-arithmetic"], "float64")
    assert not can_be_caught(CATALOGUE["float32-arithmetic"], "float32")
    assert not can_be_caught(CATALOGUE["len-zero.initial-state"], "float64")


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_an_approximation_is_as_far_off_as_it_says(name: str) -> None:
    from mpmath import mp, mpf  # type: ignore[import-untyped]

    function, error, approximation = APPROXIMATIONS[name]
    at = np.linspace(-12, 12, 4001)
    exact = {"tanh": mp.tanh, "sigmoid": lambda x: 1 / (1 + mp.exp(-x))}[function]
    right = np.array([float(exact(mpf(float(x)))) for x in at])
    worst = np.abs(approximation(at) - right).max()
    assert 0.7 * error < worst <= 1.3 * error


def test_ambiguous_cases_do_not_catch_an_accepted_reading() -> None:
    ambiguous = [b for b in blocks() if len(b.answers) > 1 and b.operator == SEQUENCE.name]
    [block] = [b for b in ambiguous if b.answer.outputs["Y"].shape[2] == 1][:1]
    caught = {variant.name: found for variant, found in catches(block)}
    assert "len-zero.initial-state" not in caught
    assert caught["length-0-as-1"].all()
