"""Variants of layout: an array that is reshaped to another order of its axes, not transposed.

The elements keep their places in memory, so rows, times and directions mix. Axes are named by a
letter: d, b, t for direction, batch and time, and f for the features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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


def _reshaping(**orders: tuple[str, str]) -> dict[str, Any]:
    """Reshape tensors, by role, from one order of axes to another; these are fields of Variant."""

    def each(given: GruInputs | Evaluated, *roles: str) -> Iterator[Array]:
        for role in roles:
            yield _reshaped(getattr(given, role), role, *orders.get(role, ("", "")))

    def read(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        x, h0 = each(inputs, "x", "h0")
        return replace(inputs, x=x, h0=h0)

    def handed_out(seen: Evaluated) -> Outputs:
        y, ho = each(seen, "y", "ho")
        return y, ho

    return {
        "inputs": read if {"x", "h0"} & orders.keys() else None,
        "outputs": handed_out if {"y", "ho"} & orders.keys() else None,
    }


def _variant(name: str, own: str, other: str) -> Variant:
    """Of a tensor that has its axes in the order `own`, taken for or made in the order `other`."""
    role = name.lower()
    made, taken = (own, other) if role in ("x", "h0") else (other, own)
    orders = (f"({', '.join(_WORDS[axis] for axis in order)})" for order in (made, taken))
    return Variant(
        f"{name}-{made}-as-{taken}",
        f"{{{role}}} reshaped from {' to '.join(orders)} instead of transposed",
        needs=(f"{role}.{own}",),
        **_reshaping(**{role: (made, taken)}),
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
UNLISTED_LAYOUTS = (
    Variant(
        "batch-not-first",
        "{x} reshaped from (batch, time) to (time, batch) instead of transposed, {h0} likewise, and {outputs} back",
        needs=("x.bt", "h0.bd", "y.btd", "ho.bd"),  # the form that has the batch first is not known
        **_reshaping(x=("bt", "tb"), h0=("bd", "db"), y=("tdb", "btd"), ho=("db", "bd")),
    ),
    replace(_variant("Y", "tbdf", "tbfd"), needs=("axis.direction", "axis.time")),
)
"""The same, in no catalogue: all tensors at once, and hidden units of the directions in turns."""
