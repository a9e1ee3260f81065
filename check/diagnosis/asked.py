"""What cases ask for, as features that may set failing cases apart from passing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...cases.operators.layout import rows_asked
from ...cases.operators.semantics import semantics
from ...cases.question import sizes_of
from ...gen.variants.variant import traits
from ...vectors.block import Block
from .apart import FEWEST, Feature, Groups, conditions, conditions_together, whether

SIZES = {
    "hidden": "the hidden size",
    "input": "the input size",
    "batch": "the batch size",
    "time": "the length of the time axis",
}
MULTIPLES = {
    2: ("even", "odd"),
    4: ("a multiple of 4", "no multiple of 4"),
    8: ("a multiple of 8", "no multiple of 8"),
}
"""How many elements kernels take at once, in words."""
_FUNCTIONS = {"f": "the gates' function", "g": "the candidate's function"}
Words = tuple[str, str]
"""What says that something is so, and that it is not; of a number its name, and nothing."""
Asked = dict[Words, float]
"""What a case asks for: 1 for what is so, and sizes."""


def what_tells_apart(
    failing: Sequence[tuple[Block, Array]], others: Sequence[tuple[Block, Array]]
) -> list[str]:
    """Say what is true of all of some cases and of none of others; both by blocks, with masks (n,).

    Where no one condition is, it is the fewest that are together.
    """
    inside, outside = (
        [asked for block, mask in group for asked in list_asked(block, mask)]
        for group in (failing, others)
    )
    return tell_apart(inside, outside)


def tell_apart(inside: Sequence[Asked], outside: Sequence[Asked]) -> list[str]:
    """Say the same of cases from what `list_asked` lists of each."""
    features = list(_features([*inside, *outside]))
    members = np.arange(len(inside) + len(outside)) < len(inside)
    groups = Groups([members], [~members])
    found = [one.words for one in conditions(features, groups)]
    return found or [one for one in [conditions_together(features, groups)] if one]


def of_size(name: str, size: Array) -> Iterator[Feature]:
    """Make the features of a size, which is NaN where there is none."""
    words = {"==": "{value}", ">=": "{value} or more", "<": "less than {value}"}
    yield Feature([size], {sign: f"where {name} is {text}" for sign, text in words.items()})
    for number, (yes, no) in MULTIPLES.items():
        divides = np.where(np.isnan(size), size, size % number == 0)
        yield whether([divides], f"where {name} is {yes}", f"where {name} is {no}")


def _features(cases: Sequence[Asked]) -> Iterator[Feature]:
    """Make the features of cases; of what is so or not, those that FEWEST have, and FEWEST have not."""
    found = dict.fromkeys(words for case in cases for words in case)
    values = {words: np.array([case.get(words, 0.0) for case in cases]) for words in found}
    masks = {mask.tobytes() for mask in values.values()}
    for (yes, no), mask in values.items():
        if yes in SIZES.values():
            yield from of_size(yes, np.where(mask == 0, np.nan, mask))
        elif FEWEST <= np.count_nonzero(mask) <= len(mask) - FEWEST:
            yield whether([mask], yes, "" if (1.0 - mask).tobytes() in masks else no)


def list_asked(block: Block, mask: Array) -> Iterator[Asked]:
    """List what each of some cases of a block asks for."""
    rows = np.flatnonzero(mask)
    if not rows.size:
        return
    operator = OPERATORS[block.operator]
    shared = {(f"in cases of {block.operator}", ""): 1.0, (f"in {block.dtype}", ""): 1.0}
    shared |= {
        (f"where {name} is given", f"where {name} is left out"): 1.0 for name in block.inputs
    }
    for name in block.answer.outputs:
        shared[f"where {name} is asked for", f"where {name} is not asked for"] = 1.0
    symbols = sizes_of(block.question(int(rows[0])))
    sizes = {operator.sizes[symbol]: float(size) for symbol, size in symbols.items()}
    shared |= {(words, ""): sizes[name] for name, words in SIZES.items() if name in sizes}
    if sizes.get("input", 0.0) > sizes.get("hidden", np.inf):
        wider = "where the hidden size is as large as the input size, or larger"
        shared["where the input size is larger than the hidden size", wider] = 1.0
    for one, other in (("input", "hidden"), ("batch", "time")):
        if one in sizes and sizes[one] == sizes.get(other):
            both = f"where {SIZES[one]} and {SIZES[other]}"
            shared[f"{both} are equal", f"{both} differ"] = 1.0
    yes, no = "is {}", "is not {}"
    if "f.per_direction" in traits(operator):
        yes, no = "is {} in a direction", "is {} in no direction"
    lengths = rows_asked(operator, block.inputs)
    time = int(sizes.get("time", 1.0))
    for row in rows.tolist():
        attributes = operator.with_defaults(block.given[row])
        found = [words for name in attributes for words in _of_attribute(block, name, attributes)]
        found += [
            (f"where {name} is given", f"where {name} is left out")
            for name in block.given[row]
            if name in operator.sizes
        ]
        meant = semantics(operator, attributes)
        for name, words in _FUNCTIONS.items():
            each = sorted({function.name for function in getattr(meant, name)})
            found += [
                (f"where {words} {yes.format(one)}", f"where {words} {no.format(one)}")
                for one in each
            ]
        mine = lengths[row] if lengths is not None else np.array([time])
        yield shared | dict.fromkeys(found, 1.0) | _of_lengths(mine, time)


def _of_attribute(block: Block, name: str, attributes: dict[str, Any]) -> Iterator[Words]:
    """Say the value of an attribute; of a list, each of its entries."""
    attribute = OPERATORS[block.operator].attribute(name)
    if not attribute or name in OPERATORS[block.operator].sizes:
        return
    value = attributes[name]
    for one in value if isinstance(value, list) else [value]:
        word = str(one).lower() if isinstance(one, bool) else str(one)
        if word in ("None", "inf"):
            yield f"where no {name} is asked for", f"where {name} is asked for"
        elif isinstance(value, list):
            yield f"where {name} has {word}", f"where {name} has no {word}"
        else:
            yield f"where {name} is {word}", f"where {name} is not {word}"


def _of_lengths(lengths: Array, time: int) -> dict[Words, float]:
    differ = ("where rows differ in length", "where all rows are of one length")
    empty = ("where a row has length 0", "where no row has length 0")
    shorter = (
        "where a row is shorter than the time axis",
        "where every row is as long as the time axis",
    )
    found = {differ: lengths != lengths.flat[0], empty: lengths == 0, shorter: lengths < time}
    return {words: float(mask.any()) for words, mask in found.items()}
