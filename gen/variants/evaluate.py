"""What variants make of the cases of a block, and whether the block's tolerances would notice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import GruInputs, gru_inputs, operator_outputs
from ...cases.operators.readings import STORED, ReadingNames
from ...cases.operators.semantics import StackedSemantics, stack
from ...vectors.block import Block
from ..tolerances.classes import CHAINS, CLASSES, REQUIRED, Arithmetic
from .catalogue import variants_of
from .variant import Variant, outcome

Stacks = list[tuple[Array, StackedSemantics, GruInputs]]
"""The rows of a block in groups that can be computed as one, with what they ask for."""


def stacks(block: Block) -> Stacks:
    """The cases of a block, grouped by the place of the reset gate."""
    operator = OPERATORS[block.operator]
    meant = [question.semantics for question in block.questions()]
    found = []
    for after in (False, True):
        rows = np.flatnonzero([one.reset_after is after for one in meant])
        if rows.size:
            attributes = operator.with_defaults(block.given[rows[0]])
            inputs = {name: array[rows] for name, array in block.inputs.items()}
            together = stack([meant[row] for row in rows])
            found.append((rows, together, gru_inputs(operator, attributes, inputs)))
    return found


def variant_outputs(block: Block, stacked: Stacks, variants: Sequence[Variant]) -> Arrays:
    """The outputs of a block's cases under all of `variants` at once, in float64."""
    operator = OPERATORS[block.operator]
    outputs = {name: np.empty(array.shape) for name, array in block.answer.outputs.items()}
    for rows, meant, inputs in stacked:
        y, ho = outcome(variants, meant, inputs)
        attributes = operator.with_defaults(block.given[rows[0]])
        shared = {"y": y, "ho": ho}
        for name, array in operator_outputs(operator, attributes, shared, block.absent).items():
            outputs[name][rows] = array
    return outputs


def loosest(block: Block, reading: ReadingNames = STORED) -> Arrays:
    """By output, the largest tolerance that any class of the dtype admits."""
    last = [chain[-1].name for chain in CHAINS[block.dtype]]
    limits = block.answers[reading].tolerances
    return {
        name: np.maximum.reduce([limits[one][name] for one in last])
        for name in block.answer.outputs
    }


def can_be_caught(variant: Variant, dtype: str) -> bool:
    """Whether vectors of a dtype can be asked to catch the variant.

    A loss of precision must be worse than the arithmetic that is required, an approximation off by
    more than the required class lets the function be.
    """
    required = REQUIRED[dtype]
    if variant.kind == "precision":
        return required in variant.worse_than
    if variant.kind == "approximation":
        [one] = [one for one in CLASSES[dtype] if one.name == required]
        return variant.error > _function_error(one, variant.function)
    return variant.kind == "misreading"


def _function_error(one: Arithmetic, function: str) -> float:
    """How far off a class lets a function be: by itself, where its value is 1, and of a
    pre-activation whose three terms, of order one, are stored."""
    relative, absolute = one.sigmoid if function == "sigmoid" else one.tanh
    steepest = 0.25 if function == "sigmoid" else 1.0
    return (relative + absolute) * one.unit + one.elementwise + 9.0 * one.stored * steepest


def catches(block: Block, names: Collection[str] = ()) -> Iterator[tuple[Variant, Array]]:
    """Each variant that means something for the block, with which of the cases catch it (n,).

    With `names`, just those variants. A misreading is caught where an output differs from every
    accepted answer by more than the loosest tolerance of the dtype, whatever arithmetic it is computed in; an approximation or a
    loss of precision where it does by more than the tolerance of the required class.
    """
    stacked = stacks(block)
    required = {r: one.tolerances[REQUIRED[block.dtype]] for r, one in block.answers.items()}
    admitted = {r: loosest(block, r) for r in block.answers}
    for variant in variants_of(OPERATORS[block.operator]):
        if can_be_caught(variant, block.dtype) and (not names or variant.name in names):
            outputs = variant_outputs(block, stacked, [variant])
            limits = admitted if variant.kind == "misreading" else required
            near = [within(outputs, one.outputs, limits[r]) for r, one in block.answers.items()]
            yield variant, ~np.any(near, axis=0)


def within(outputs: Arrays, answers: Arrays, limits: Arrays) -> Array:
    """(n,) whether every element of n cases' `outputs` is within `limits` of `answers`."""
    found = np.ones(len(next(iter(answers.values()))), bool)
    for name, answer in answers.items():
        with np.errstate(invalid="ignore"):
            near = np.abs(outputs[name] - answer.astype(np.float64)) <= limits[name]
        found &= near.reshape(len(found), -1).all(axis=1)
    return found
