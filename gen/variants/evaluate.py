"""What variants make of the cases of a block, and whether the block's tolerances would notice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators import OPERATORS
from ...cases.operators.readings import STORED, ReadingNames
from ...vectors.block import Block
from ...vectors.case import REQUIRED, difference
from ..stacks import Stack, stacks
from ..tolerances.classes import CHAINS, CLASSES, ArithmeticClass
from .catalogue import CATALOGUE
from .compute import compute
from .known import variant_called
from .variant import Variant

BATCH_BYTES = 32 << 20


def stacks_of(block: Block) -> list[Stack]:
    """Stack the cases of a block."""
    return list(stacks(OPERATORS[block.operator], block.given, block.inputs))


def variant_outputs(
    block: Block, stacked: Sequence[Stack], combinations: Sequence[Sequence[Variant]]
) -> Arrays:
    """(c, n, …) Compute the outputs of a block's n cases under c combinations of variants, in float64."""
    outputs = {
        name: np.empty((len(combinations), *array.shape))
        for name, array in block.answer.outputs.items()
    }
    for one in stacked:
        computed = compute(combinations, one.semantics, one.inputs)
        if not computed:
            continue
        y, ho, last = (np.stack(each) for each in zip(*computed, strict=True))
        shared = {"y": y, "ho": ho, "last": last}
        for name, array in one.handed_out(shared, block.absent).items():
            outputs[name][:, one.rows] = array
    return outputs


def batches(
    block: Block, combinations: Sequence[Sequence[Variant]]
) -> Iterator[Sequence[Sequence[Variant]]]:
    """Split combinations into batches that take no more than BATCH_BYTES.

    Neither the outputs for a block do, nor the inputs, of which each may have others.
    """
    arrays = (block.answer.outputs, block.inputs)
    one = max(sum(8 * array.size for array in each.values()) for each in arrays)
    size = max(1, BATCH_BYTES // max(1, one))
    return (combinations[start : start + size] for start in range(0, len(combinations), size))


def loosest(block: Block, reading: ReadingNames = STORED) -> Arrays:
    """Find, by output, the largest tolerance that any class of the dtype admits."""
    last = [chain[-1].name for chain in CHAINS[block.dtype]]
    limits = block.answers[reading].tolerances
    return {
        name: np.maximum.reduce([limits[one][name] for one in last])
        for name in block.answer.outputs
    }


def can_be_caught(variant: Variant, dtype: str) -> bool:
    """Say whether vectors of a dtype can be asked to catch the variant.

    A loss of precision must be worse than the arithmetic that is required, an approximation off by more
    than the required class lets the function be.
    """
    required = REQUIRED[dtype]
    if variant.kind == "precision":
        return required in variant.worse_than
    if variant.kind == "approximation":
        [one] = [one for one in CLASSES[dtype] if one.name == required]
        return variant.error > _function_error(one, variant.function)
    return variant.kind == "misreading"


def _function_error(one: ArithmeticClass, function: str) -> float:
    """Compute how far off a class lets a function be.

    By itself, that is where its value is 1. The three terms of its pre-activation, of order one, are stored.
    """
    relative, absolute = one.sigmoid if function == "sigmoid" else one.tanh
    steepest = 0.25 if function == "sigmoid" else 1.0
    return (relative + absolute) * one.unit + one.elementwise + 9.0 * one.stored * steepest


Limits = Callable[[Block, ReadingNames], Arrays]
"""What is admitted of the outputs of a block under a reading: arrays of their shapes, by name."""


def catches(
    block: Block, names: Collection[str] = (), limits: Limits | None = None
) -> Iterator[tuple[Variant, Array]]:
    """Yield each variant that means something for the block, with which of the cases catch it (n,).

    With `names`, just those variants, in the catalogue or not. A misreading of the catalogue is caught where
    an output differs from every accepted answer by more than the loosest tolerance of the dtype; any other
    variant where it does by more than the tolerance of the required class. With `limits`, each where it
    differs by more than these.
    """
    required = {r: one.tolerances[REQUIRED[block.dtype]] for r, one in block.answers.items()}
    admitted = {r: loosest(block, r) for r in block.answers}
    if limits is not None:
        required = admitted = {r: limits(block, r) for r in block.answers}
    operator = OPERATORS[block.operator]
    wanted = map(variant_called, names) if names else CATALOGUE.values()
    asked = [
        variant
        for variant in wanted
        if variant.means_something_for(operator) and can_be_caught(variant, block.dtype)
    ]
    stacked = stacks_of(block)
    for batch in batches(block, [[variant] for variant in asked]):
        outputs = variant_outputs(block, stacked, batch)
        passed = [
            [within(outputs, one.outputs, most[r]) for r, one in block.answers.items()]
            for most in (required, admitted)
        ]
        caught = ~np.any(passed, axis=1)
        for place, [variant] in enumerate(batch):
            listed = variant.kind == "misreading" and variant.name in CATALOGUE
            yield variant, caught[int(listed), place]


def within(outputs: Arrays, answers: Arrays, limits: Arrays) -> Array:
    """(…, n) Say whether every element of n cases' `outputs`, (…, n, …), is within `limits` of `answers`."""
    found: Any = True
    for name, answer in answers.items():
        near = difference(outputs[name], answer.astype(np.float64)) <= limits[name]
        found = found & near.all(axis=tuple(range(near.ndim - answer.ndim + 1, near.ndim)))
    return np.asarray(found)
