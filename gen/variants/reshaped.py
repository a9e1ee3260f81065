"""Variants of layout: an array that is reshaped to another order of its axes, not transposed.

The elements keep their places in memory, so rows, times and directions mix. Axes are named by a
letter: d, b, t for direction, batch and time, and f for the features.
"""

from __future__ import annotations

from dataclasses import replace

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from .variant import Evaluated, Outputs, Variant

_SHARED = {"x": "btf", "h0": "dbf", "y": "dbtf", "ho": "dbf"}
_WORDS = {"d": "direction", "b": "batch", "t": "time", "f": "hidden"}


def _reshaped(array: Array, role: str, made: str, taken: str) -> Array:
    """Reshape a stack of arrays in the shared layout, made with the axes `made` and taken as `taken`."""
    shared = _SHARED[role]
    made, taken = ("".join(dict.fromkeys(order + shared)) for order in (made, taken))
    sizes = dict(zip(shared, array.shape[1:], strict=True))
    memory = array.transpose(0, *[1 + shared.index(axis) for axis in made])
    result = memory.reshape(len(array), *[sizes[axis] for axis in taken])
    return result.transpose(0, *[1 + taken.index(axis) for axis in shared])


def _variant(name: str, own: str, other: str) -> Variant:
    """Of a tensor that has its axes in the order `own`, taken for or made in the order `other`."""
    role = name.lower()
    given = role in ("x", "h0")
    made, taken = (own, other) if given else (other, own)
    orders = (f"({', '.join(_WORDS[axis] for axis in order)})" for order in (made, taken))

    def read(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        x = _reshaped(inputs.x, role, made, taken) if role == "x" else inputs.x
        h0 = _reshaped(inputs.h0, role, made, taken) if role == "h0" else inputs.h0
        return replace(inputs, x=x, h0=h0)

    def handed_out(seen: Evaluated) -> Outputs:
        y = _reshaped(seen.y, role, made, taken) if role == "y" else seen.y
        return y, _reshaped(seen.ho, role, made, taken) if role == "ho" else seen.ho

    return Variant(
        f"{name}-{made}-as-{taken}",
        f"{{{role}}} reshaped from {' to '.join(orders)} instead of transposed",
        needs=(f"{role}.{own}",),
        inputs=read if given else None,
        outputs=None if given else handed_out,
    )


_Y_ORDERS = ("tbd", "btd", "tdb", "bdt", "dbt", "dtb")
LAYOUT_VARIANTS = (
    _variant("X", "bt", "tb"),
    _variant("X", "tb", "bt"),
    _variant("h0", "bd", "db"),
    _variant("h0", "db", "bd"),
    *(
        _variant("Y", own, other)
        for own in ("bdt", "btd", "tdb")
        for other in _Y_ORDERS
        if other != own
    ),
    _variant("Y", "tb", "bt"),
    _variant("Ho", "bd", "db"),
    _variant("Ho", "db", "bd"),
)
"""Named by the order in which an array is made, and that in which it is taken. The operator's own is
the first of an input's, the second of an output's."""


def _batch_not_first(*names: str) -> Variant:
    """Make several of these at once: the operator's form that has the batch first is not known."""
    each = [one for one in LAYOUT_VARIANTS if one.name in names]

    def read(inputs: GruInputs, s: StackedSemantics) -> GruInputs:
        for one in each:
            inputs = one.inputs(inputs, s) if one.inputs else inputs
        return inputs

    def handed_out(seen: Evaluated) -> Outputs:
        for one in each:
            y, ho = one.outputs(seen) if one.outputs else (seen.y, seen.ho)
            seen = replace(seen, y=y, ho=ho)
        return seen.y, seen.ho

    return Variant(
        "batch-not-first",
        "{x} reshaped from (batch, time) to (time, batch) instead of transposed, {h0} likewise, and {outputs} back",
        needs=tuple(need for one in each for need in one.needs),
        inputs=read,
        outputs=handed_out,
    )


UNLISTED_LAYOUTS = (
    _batch_not_first("X-bt-as-tb", "h0-bd-as-db", "Y-tdb-as-btd", "Ho-db-as-bd"),
    replace(_variant("Y", "tbdf", "tbfd"), needs=("axis.direction", "axis.time")),
)
"""The same, in no catalogue: all tensors at once, and hidden units of the directions in turns."""
