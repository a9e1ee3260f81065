"""What cases ask for, as features by which failing cases may be told from passing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators import OPERATORS
from ...cases.operators.semantics import semantics
from ...cases.question import sizes_of
from ...vectors.block import Block
from .apart import Feature, Words, conditions, conditions_together

_SIZES = {
    "hidden": "the hidden size",
    "input": "the input size",
    "batch": "the batch size",
    "time": "the length of the time axis",
}
MOST_VALUES = 24
"""An attribute with more values than this tells nothing by one of them."""
_FUNCTIONS = {"f": "the gates' function", "g": "the candidate's function"}
Asked = dict[tuple[str, str], Any]
"""What a case asks for, by kind and name: sizes, whether the input is wider than the state, given tensors,
attributes, what lengths are, and f and g, of any direction."""


def what_tells_apart(
    failing: Sequence[tuple[Block, Array]], others: Sequence[tuple[Block, Array]]
) -> list[str]:
    """What is true of all of some cases and of none of others, in words; both by blocks, with which of their
    cases are meant (n,). Where no one thing is, the fewest that are together."""
    inside, outside = (
        [asked for block, mask in group for asked in _asked(block, mask)]
        for group in (failing, others)
    )
    everyone = [*inside, *outside]
    features, group = list(_features(everyone)), np.arange(len(everyone)) < len(inside)
    found = conditions(features, group)
    return found or [one for one in [conditions_together(features, group)] if one]


def _asked(block: Block, mask: Array) -> Iterator[Asked]:
    """What each of some cases of a block asks for."""
    rows = np.flatnonzero(mask)
    if not rows.size:
        return
    operator = OPERATORS[block.operator]
    shared: Asked = {("operator", ""): block.operator, ("dtype", ""): block.dtype}
    shared |= {("given", name): True for name in block.inputs}
    for symbol, size in sizes_of(block.question(int(rows[0]))).items():
        if operator.sizes[symbol] in _SIZES:
            shared["size", operator.sizes[symbol]] = size
    if {("size", "hidden"), ("size", "input")} <= shared.keys():
        shared["wider", ""] = shared["size", "input"] > shared["size", "hidden"]
    named = [t.name for t in operator.inputs if t.role == "lengths" and t.name in block.inputs]
    time = shared.get(("size", "time"), 1)
    for row in rows.tolist():
        asked = dict(shared)
        for name, value in operator.with_defaults(block.given[row]).items():
            attribute = operator.attribute(name)
            if attribute and attribute.sets != "hidden":
                asked["asked", name] = value
        asked |= _functions(block, row)
        mine = block.inputs[named[0]][row] if named else np.array([time])
        asked["lengths", "ragged"] = bool((mine != mine.flat[0]).any())
        asked["lengths", "empty"] = bool((mine == 0).any())
        asked["lengths", "whole"] = bool((mine == time).all())
        yield asked


def _functions(block: Block, row: int) -> Asked:
    """Which functions the gates and the candidate of a case have."""
    operator = OPERATORS[block.operator]
    meant = semantics(operator, operator.with_defaults(block.given[row]))
    return {
        ("function", name): {function.name for function in getattr(meant, name)}
        for name in _FUNCTIONS
    }


_LENGTHS = {
    "ragged": ("where rows differ in length", "where all rows are of one length"),
    "empty": ("where a row has length 0", "where no row has length 0"),
    "whole": (
        "where every row is as long as the time axis",
        "where a row is shorter than the time axis",
    ),
}


def _features(cases: Sequence[Asked]) -> Iterator[Feature]:
    for kind, name in dict.fromkeys(key for case in cases for key in case):
        values = [case.get((kind, name)) for case in cases]
        if kind == "size":
            yield _of_size(_SIZES[name], values)
        elif kind == "wider":
            words = "where the input size is larger than the hidden size"
            no = "where the hidden size is as large as the input size, or larger"
            yield _whether([value is True for value in values], words, no)
        elif kind == "given":
            given = [value is True for value in values]
            yield _whether(given, f"where {name} is given", f"where {name} is left out")
        elif kind == "lengths":
            yield _whether([value is True for value in values], *_LENGTHS[name])
        elif kind == "asked":
            yield from _of_attribute(name, values)
        elif kind == "function":
            yield from _of_function(_FUNCTIONS[name], [value or set() for value in values])
        else:
            for one in dict.fromkeys(values):
                words = f"in {'cases of ' * (kind == 'operator')}{one}"
                yield _whether([value == one for value in values], words, "")


def _of_size(name: str, values: Sequence[Any]) -> Feature:
    words: Words = {
        "==": f"where {name} is {{value}}",
        ">=": f"where {name} is {{value}} or more",
        "<": f"where {name} is less than {{value}}",
    }
    return Feature(np.array([np.nan if v is None else float(v) for v in values]), words)


def _of_attribute(name: str, values: Sequence[Any]) -> Iterator[Feature]:
    """Each value of an attribute; of a list, each of its entries."""
    lists = [value if isinstance(value, list) else [value] for value in values]
    is_list = any(isinstance(value, list) for value in values)
    told = [[_word(entry) for entry in entries] for entries in lists]
    each = dict.fromkeys(entry for entries in told for entry in entries)
    if len(each) > MOST_VALUES:
        return
    for one in each:
        yes, no = f"where {name} is {one}", f"where {name} is not {one}"
        if is_list:
            yes, no = f"where {name} has {one}", f"where {name} has no {one}"
        if one in ("None", "inf"):
            yes, no = f"where no {name} is asked for", f"where {name} is asked for"
        elif len(each) == 2 and not is_list:
            no = ""  # the other value says so
        yield _whether([one in entries for entries in told], yes, no)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_function(name: str, values: Sequence[set[str]]) -> Iterator[Feature]:
    """Each function that the gates, or the candidate, have."""
    for one in dict.fromkeys(function for functions in values for function in sorted(functions)):
        has = [one in functions for functions in values]
        yield _whether(has, f"where {name} is {one}", f"where {name} is not {one}")


def _whether(has: Sequence[bool], yes: str, no: str) -> Feature:
    """Something that is so or not, with the words for either."""
    return Feature(np.array(has, float), {">=": yes, "<": no})
