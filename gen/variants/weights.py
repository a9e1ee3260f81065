"""Variants that use the right weights and biases in the wrong place, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from .variant import Variant

GATE_ORDER = (
    "https://github.com/keras-team/keras/issues/8720",
    "https://github.com/openvinotoolkit/openvino/pull/17651",
)
LINEAR_BEFORE_RESET = (
    "https://github.com/pytorch/pytorch/issues/189225",
    "https://github.com/microsoft/onnxscript/issues/2852",
    "https://github.com/apple/coremltools/issues/1124",
)
BIAS = (
    "https://github.com/microsoft/onnxruntime/pull/3797",
    "https://github.com/microsoft/onnxruntime/pull/3893",
)
ORDERS = ("zrh", "zhr", "rzh", "rhz", "hzr", "hrz")
"""How the gates may be misread: the one read first, second, third."""

Change = Callable[[GruInputs, StackedSemantics], GruInputs]


def _reordered(parts: Arrays, stacked: Sequence[str], order: str) -> Arrays:
    """The parts as one who expects the gates in `order` takes them from where they are `stacked`."""
    taken: Arrays = {}
    for prefix in ("", "w", "r"):
        names = {gate: prefix + gate for gate in "zrh"}
        if not prefix and "h" not in parts:
            names["h"] = "wh"  # beside the sums of z and r
        if parts.keys() >= set(names.values()):
            taken |= {
                names[expected]: parts[names[there]]
                for expected, there in zip(order, stacked, strict=True)
            }
    return parts | taken


def _gate_orders() -> Iterator[Variant]:
    places = {
        "": ("{w}, {r} and {b}", ("w", "r", "b")),
        "W-": ("{w} alone", ("w",)),
        "R-": ("{r} alone", ("r",)),
        "B-": ("{b} alone", ("b",)),
    }
    for token, (what, fields) in places.items():
        for order in ORDERS:

            def change(
                inputs: GruInputs, _: StackedSemantics, order: str = order, fields: Any = fields
            ) -> GruInputs:
                stacked = list(inputs.w)
                changed: dict[str, Any] = {
                    f: _reordered(getattr(inputs, f), stacked, order) for f in fields
                }
                return replace(inputs, **changed)

            yield Variant(
                f"{token}gate-order-{order}",
                f"the gates of {what} read in the order {', '.join(order)}",
                needs=("b",) if fields == ("b",) else (),
                order=order,
                links=GATE_ORDER,
                inputs=change,
            )


def _without(*parts: str) -> Change:
    """Some parts of the bias left out."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        return replace(
            inputs, b={p: np.zeros_like(b) if p in parts else b for p, b in inputs.b.items()}
        )

    return change


def _bias_h(
    recurrent: Callable[[Array, Array], Array], outer: Callable[[Array, Array], Array]
) -> Change:
    """Rbh and Wbh, where they are apart, as functions of (Wbh, Rbh)."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        if "rh" not in inputs.b:
            return inputs
        w, r = (inputs.b[p].astype(np.float64) for p in ("wh", "rh"))
        return replace(inputs, b=inputs.b | {"rh": recurrent(w, r), "wh": outer(w, r)})

    return change


def each(field: str, gates: str, changed: Callable[[Array], Array]) -> Change:
    """A change of a field of the inputs: of what weights and biases hold of some gates, one matrix or vector at
    a time; of all of x and h0, whatever the gates."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        given: Any = getattr(inputs, field)
        if isinstance(given, dict):
            found: Any = {p: changed(a) if p[-1] in gates else a for p, a in given.items()}
        else:
            found = changed(given)
        new: dict[str, Any] = {field: found}
        return replace(inputs, **new)

    return change


def _last_column_zero(matrix: Array) -> Array:
    cut = matrix.copy()
    cut[..., -1] = 0
    return cut


def _of_first_direction(*fields: str) -> Change:
    """The first direction's weights for all directions; the direction axis is the third from last."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        changed: dict[str, Any] = {}
        for field in fields:
            if field == "h0":
                changed[field] = _first(inputs.h0, -3)
            else:
                axis = -2 if field == "b" else -3
                changed[field] = {p: _first(a, axis) for p, a in getattr(inputs, field).items()}
        return replace(inputs, **changed)

    return change


def _first(array: Array, axis: int) -> Array:
    return np.asarray(np.broadcast_to(np.take(array, [0], axis), array.shape))


_GATES = {gate: (gate, f"w{gate}", f"r{gate}") for gate in "zrh"}
"""The parts of each gate's bias."""


def _moved(changes: Mapping[str, Callable[[Arrays], Array]], *without: str) -> Change:
    """Parts of the bias as functions of all of them, and some left out; nothing where one lacks."""

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        b = {part: values.astype(np.float64) for part, values in inputs.b.items()}
        try:
            b |= {part: of(b) for part, of in changes.items()}
        except KeyError:
            return inputs
        return replace(
            inputs, b={part: values for part, values in b.items() if part not in without}
        )

    return change


_APART = ("b.rh", "reset")
WEIGHT_VARIANTS = (
    *_gate_orders(),
    Variant("Rbh-outside", "Rbh added outside the product with the reset gate", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda _, r: 0 * r, lambda w, r: w + r)),
    Variant("Wbh-inside", "Wbh added inside the product with the reset gate", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda w, r: w + r, lambda w, _: 0 * w)),
    Variant("Wbh-Rbh-exchanged", "Wbh and Rbh exchanged", ledger="b-order", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda w, _: w, lambda _, r: r)),
    Variant("bias-h-inside", "the candidate's bias put inside the product with the reset gate although {reset_after} is not set",
            needs=("bias_inside", "b.h"), links=LINEAR_BEFORE_RESET, inputs=_moved({"rh": lambda b: b["h"]}, "h")),
    Variant("bias-ignored", "{b} ignored", needs=("b",), links=BIAS,
            inputs=_without(*(part for parts in _GATES.values() for part in parts))),
    Variant("bias-z-ignored", "the update gate's bias ignored", needs=("b",), links=BIAS, inputs=_without(*_GATES["z"])),
    Variant("bias-r-ignored", "the reset gate's bias ignored", needs=("b",), links=BIAS, inputs=_without(*_GATES["r"])),
    Variant("bias-h-ignored", "the candidate's bias ignored", needs=("b",), links=BIAS, inputs=_without(*_GATES["h"])),
    Variant("Wbh-ignored", "Wbh ignored", needs=_APART, links=BIAS, inputs=_without("wh")),
    Variant("Rbh-ignored", "Rbh ignored", needs=_APART, links=BIAS, inputs=_without("rh")),
    Variant("bias-added-twice", "the biases of z and r added twice, as if {b} held two of each",
            needs=("b.z",), links=BIAS,
            inputs=lambda i, _: replace(i, b={p: 2 * b if p in "zr" else b for p, b in i.b.items()})),
    Variant("Wb-ignored", "the input biases Wbz, Wbr and Wbh ignored", needs=("b.wz",), links=BIAS,
            inputs=_without("wz", "wr", "wh")),
    Variant("Rb-ignored", "the recurrent biases Rbz, Rbr and Rbh ignored", needs=("b.rz",), links=BIAS,
            inputs=_without("rz", "rr", "rh")),
    Variant("bias-sum-but-for-n", "bias taken as the sum of both biases for r and z, but as b_hn for n",
            needs=("bias_inside", "b.wz"), inputs=_without("wz", "wr")),
    Variant("B-as-4H", "the first 4H of {b} read as summed biases of z and r, Wbh and Rbh", needs=("b.six",), links=BIAS,
            inputs=_moved({"z": lambda b: b["wz"], "r": lambda b: b["wr"], "rh": lambda b: b["rz"]}, "wz", "wr", "rz", "rr")),
    Variant("B-interleaved", "{b} read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh", needs=("b.six",), links=BIAS,
            inputs=_moved({"z": lambda b: b["wz"] + b["wr"], "r": lambda b: b["wh"] + b["rz"], "wh": lambda b: b["rr"]},
                          "wz", "wr", "rz", "rr")),
    Variant("R-transposed", "{r} transposed", inputs=each("r", "zrh", lambda m: m.swapaxes(-1, -2))),
    Variant("R-transposed-candidate", "the candidate's {r} transposed",
            inputs=each("r", "h", lambda m: m.swapaxes(-1, -2))),
    Variant("R-transposed-gates", "the {r} of z and r transposed, the candidate's not",
            inputs=each("r", "zr", lambda m: m.swapaxes(-1, -2))),
    Variant("input-tail-dropped", "the last input feature left out, as a vector loop without a tail does",
            inputs=each("w", "zrh", _last_column_zero)),
    Variant("hidden-tail-dropped", "the last hidden unit left out of the recurrent products",
            inputs=each("r", "zrh", _last_column_zero)),
    Variant("weights-shared", "the first direction's {w}, {r} and {b} used for both", needs=("axis.direction",),
            links=("https://github.com/HKUST-KnowComp/R-Net/issues/13",),
            inputs=_of_first_direction("w", "r", "b")),
    Variant("W-shared", "the first direction's {w} used for both", needs=("axis.direction",),
            inputs=_of_first_direction("w")),
    Variant("R-shared", "the first direction's {r} used for both", needs=("axis.direction",),
            inputs=_of_first_direction("r")),
    Variant("B-shared", "the first direction's {b} used for both", needs=("axis.direction", "b"),
            inputs=_of_first_direction("b")),
    Variant("h0-shared", "the first direction's {h0} used for both",
            needs=("axis.direction",), between_steps=True, inputs=_of_first_direction("h0")),
)  # fmt: skip
"""Gate orders, biases, transposition, tails, directions' weights."""
