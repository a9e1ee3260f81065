"""Cases drawn and answered, and exact answers of given numbers, for tests that need no vectors."""

from __future__ import annotations

import os
import signal
from collections.abc import Container, Mapping, Sequence
from typing import Any

from grucible.cases.dtypes import FLOAT_TYPES, Array, Arrays
from grucible.cases.operators.layout import gru_inputs, operator_outputs
from grucible.cases.operators.readings import STORED, ReadingNames, as_read
from grucible.cases.operators.semantics import semantics
from grucible.cases.operators.signature import Operator
from grucible.cases.specs.expand import CaseSpec
from grucible.gen.drawing import make_chunks
from grucible.gen.exact.enclosures import outputs_by_arb
from grucible.gen.making import Made, make_random
from grucible.vectors.block import Block


def drawn_block(cases: Sequence[CaseSpec], seed: int) -> Block:
    """The block of `cases`, each of which can be drawn."""
    [(block, undrawn)] = make_chunks([cases], seed)
    assert not undrawn, undrawn
    assert block is not None
    return block


def exact_answer(
    operator: Operator,
    attributes: Mapping[str, Any],
    dtype: str,
    inputs: Mapping[str, Array],
    reading: ReadingNames = STORED,
    absent: Container[str] = (),
) -> Arrays:
    """The exact outputs of one case, by Arb, rounded once to `dtype`, as the operator has them.

    `attributes` has the defaults filled in.
    """
    meant = as_read(reading, semantics(operator, attributes))
    present = operator.present(operator.outputs, absent)
    roles = outputs_by_arb(
        meant,
        gru_inputs(operator, attributes, inputs),
        FLOAT_TYPES[dtype],
        {tensor.role_in(attributes) for tensor in present},
    )
    return operator_outputs(operator, attributes, roles, absent)


def make_until_killed(streams: Any, seed: int, start: int, stop: int) -> Made:
    """Make random questions, up to those of the fourth chunk, which is made once the first is judged.

    Chunks are of 64, 128 and 256 questions. A process finds this function in this module.
    """
    if start >= 7 * 64:
        os.kill(os.getpid(), signal.SIGKILL)
    return make_random(streams, seed, start, stop)
