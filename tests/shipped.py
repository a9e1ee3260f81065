"""The shipped specs and the core vectors, read once in a process: many tests look at them, and reading
them takes its time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from grucible import Case
from grucible.cases.specs.expand import CaseSpec, expand_all
from grucible.cases.specs.spec_file import CaseSpecFile, find_specs
from grucible.vectors.block import Block
from grucible.vectors.vector_set import open_set


@cache
def specs() -> Mapping[str, CaseSpecFile]:
    """The shipped specs by their paths."""
    return {spec.path: spec for spec in find_specs()}


@cache
def expanded() -> list[tuple[CaseSpecFile, list[CaseSpec]]]:
    """The shipped specs with their cases."""
    return expand_all([*specs().values()])


@cache
def core_blocks() -> tuple[Block, ...]:
    """The blocks of the core vectors, in order; what writes into an array of theirs gets a ValueError."""
    found = [rows.block for rows in open_set().slices()]
    for block in found:
        for array in _arrays(block):
            array.flags.writeable = False
    return tuple(found)


@cache
def core_cases() -> tuple[Case, ...]:
    """The cases of the core vectors, in order."""
    return tuple(case for block in core_blocks() for case in block.cases())


def _arrays(block: Block) -> list[np.ndarray]:
    answers = [
        arrays
        for answer in block.answers.values()
        for arrays in (answer.outputs, *answer.tolerances.values())
    ]
    return [array for arrays in (block.inputs, *answers) for array in arrays.values()]
