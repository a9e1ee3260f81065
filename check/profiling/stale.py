"""What a wrong answer to a question that was answered right before looks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.known import OPERATORS
from ...cases.operators.layout import shared_outputs
from ...gen.variants.evaluate import loosest, stacks_of, variant_outputs, within
from ...gen.variants.sequence import state_kept
from ...vectors.block import Block
from ...vectors.difference import difference


def what_is_left(
    block: Block, outputs: Arrays, last: Block | None, earlier: Sequence[Arrays]
) -> str:
    """In a sentence, what the wrong `outputs` of a block of one case hold of questions asked before.

    `last` is the block asked before it, `earlier` what was answered before, each with a first axis of
    length 1.
    """
    operator = OPERATORS[block.operator]
    if last is not None and (state := _final_state(last, earlier[-1])) is not None:
        kept = state_kept(state)
        [stack] = stacks_of(block)
        if stack.inputs.h0.shape == state.shape:
            given = variant_outputs(block, [stack], [[kept]])
            seen = {name: array[None].astype(np.float64) for name, array in outputs.items()}
            exact = {name: array[0] for name, array in given.items()}
            if within(seen, exact, loosest(block)).all():
                return kept.about_for(operator)
    wrong = _wrong(block, outputs)
    if wrong and any(_holds(outputs, one, wrong) for one in earlier):
        return f"{' and '.join(wrong)} not written: what an earlier question left there"
    return "not what it gave before to the same question"


def _final_state(block: Block, outputs: Arrays) -> Array | None:
    """The final state (1, direction, batch, hidden) that was given, if it was asked for."""
    operator, [stack] = OPERATORS[block.operator], stacks_of(block)
    return shared_outputs(operator, stack.attributes, outputs).get("ho")


def _wrong(block: Block, outputs: Arrays) -> dict[str, Array]:
    """By output that is wrong somewhere, where it is."""
    limits = loosest(block)
    off = {
        name: ~(
            difference(outputs[name].astype(np.float64), expected.astype(np.float64))
            <= limits[name]
        )
        for name, expected in block.answer.outputs.items()
    }
    return {name: where for name, where in off.items() if where.any()}


def _holds(outputs: Arrays, earlier: Arrays, wrong: dict[str, Array]) -> bool:
    """Whether an earlier answer has the same bytes wherever this one is wrong."""
    flat = {
        name: np.resize(earlier[name], outputs[name].size).reshape(outputs[name].shape)
        for name in wrong
        if name in earlier and earlier[name].size >= outputs[name].size
    }
    return flat.keys() == wrong.keys() and all(
        np.array_equal(flat[name][where], outputs[name][where]) for name, where in wrong.items()
    )
