"""What cases ask for, as features by which failing cases may be told from passing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.known import OPERATORS
from ...cases.pose import sizes_of
from ...vectors.block import Block
from .apart import Feature, conditions

_SIZES = {
    "hidden": "the hidden size",
    "input": "the input size",
    "batch": "the batch size",
    "time": "the length of the time axis",
}


def what_tells_apart(
    failing: Sequence[tuple[Block, Array]], others: Sequence[tuple[Block, Array]]
) -> list[str]:
    """What is true of all of some cases and of none of others, in words; both by blocks, with which of their
    cases are meant (n,)."""
    members = [list(_described(group)) for group in (failing, others)]
    everyone = [one for group in members for one in group]
    group = np.arange(len(everyone)) < len(members[0])
    return conditions(list(_features(everyone)), group)


def _described(group: Sequence[tuple[Block, Array]]) -> Iterator[dict[str, Any]]:
    """What each case asks for: by name, a text, a number, or a list of texts."""
    for block, mask in group:
        rows = np.flatnonzero(mask)
        if not rows.size:
            continue
        operator = OPERATORS[block.operator]
        sizes = {
            axis: n
            for symbol, n in sizes_of(block.question(int(rows[0]))).items()
            if (axis := operator.sizes[symbol]) in _SIZES
        }
        shared = {f"size {name}": n for name, n in sizes.items()}
        shared |= {f"given {name}": True for name in block.inputs}
        shared |= {"operator": block.operator, "dtype": block.dtype}
        lengths = next(
            (block.inputs[t.name] for t in operator.inputs if t.role == "lengths" and t.name in block.inputs),
            None,
        )
        for row in rows.tolist():
            asked = {
                f"asked {name}": value
                for name, value in operator.with_defaults(block.given[row]).items()
                if (attribute := operator.attribute(name)) and attribute.sets != "hidden"
            }
            ragged = lengths is not None and len(set(lengths[row].ravel().tolist())) > 1
            empty = lengths is not None and not lengths[row].all()
            whole = lengths is None or bool((lengths[row] == sizes.get("time", 1)).all())
            told = {"rows of several lengths": ragged, "a row of length 0": empty, "whole": whole}
            yield shared | asked | told


def _features(cases: Sequence[dict[str, Any]]) -> Iterator[Feature]:
    names = dict.fromkeys(name for case in cases for name in case)
    for name in names:
        kind, _, told = name.partition(" ")
        values = [case.get(name) for case in cases]
        if kind == "size":
            numbers = np.array([np.nan if v is None else float(v) for v in values])
            words = {"==": f"where {_SIZES[told]} is {{value}}", ">=": f"where {_SIZES[told]} is {{value}} or more", "<": f"where {_SIZES[told]} is less than {{value}}"}  # fmt: skip
            yield Feature(numbers, words)
        elif kind == "given":
            yield _whether([v is True for v in values], f"where {told} is given", f"where {told} is left out")
        elif name in ("operator", "dtype"):
            for one in dict.fromkeys(values):
                where = f"in cases of {one}" if name == "operator" else f"in {one}"
                yield _whether([v == one for v in values], where, "")
        elif kind == "asked":
            yield from _of_attribute(told, values)
        elif name == "whole":
            yes, no = "where every row is as long as the time axis", "where some row is shorter than the time axis"
            yield _whether([v is True for v in values], yes, no)
        else:
            yield _whether([v is True for v in values], f"where there are {name}" if name.startswith("rows") else f"where there is {name}", f"where there is no {name[2:]}" if name.startswith("a ") else "where all rows are of one length")  # fmt: skip


def _of_attribute(name: str, values: Sequence[Any]) -> Iterator[Feature]:
    """Each value of an attribute; of a list, each of its entries."""
    lists = [v if isinstance(v, list) else [v] for v in values]
    each = list(dict.fromkeys(repr(one) for v in lists for one in v))
    if len(each) > 24:
        return
    for one in each:
        has = [one in map(repr, v) for v in lists]
        word = one.strip("'")
        none = word in ("None", "inf")
        yield _whether(
            has,
            f"where no {name} is asked for" if none else f"where {name} is {word}" if not any(isinstance(v, list) for v in values) else f"where {name} has {word}",
            f"where {name} is asked for" if none else f"where {name} is not {word}" if not any(isinstance(v, list) for v in values) else f"where {name} has no {word}",
        )


def _whether(has: Sequence[bool], yes: str, no: str) -> Feature:
    """Something that is so or not, with the words for either."""
    return Feature(
        np.array(has, float),
        {"==": lambda value: yes if value else no} if no else {">=": yes},
    )
