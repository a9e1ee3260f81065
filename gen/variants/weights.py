"""Variants that use the right weights and biases in the wrong place, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...cases.semantics import StackedSemantics
from ...vectors.case import Array, Arrays
from ...vectors.convert import GruInputs
from .variant import Need, Variant

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
ORDERS = ("zhr", "rzh", "rhz", "hzr", "hrz")
"""How the parts z, r, h may be misread: the part read first, second, third."""

Change = Callable[[GruInputs, StackedSemantics], GruInputs]


def _reordered(parts: Arrays, order: str) -> Arrays:
    """The parts as one who expects them in `order` takes them from where z, r and h are stacked."""
    names = {"h": "wh" if "wh" in parts else "h"}
    stacked = [names.get(gate, gate) for gate in "zrh"]
    if not set(stacked) <= parts.keys():
        return parts
    taken = {names.get(gate, gate): parts[stacked[place]] for place, gate in enumerate(order)}
    return parts | taken


def _gate_orders() -> Iterator[Variant]:
    places = {
        "": ("W, R and B", ("w", "r", "b")),
        "W-": ("W alone", ("w",)),
        "R-": ("R alone", ("r",)),
        "B-": ("B alone", ("b",)),
    }
    for token, (what, fields) in places.items():
        for order in ORDERS:

            def change(
                inputs: GruInputs, _: StackedSemantics, order: str = order, fields: Any = fields
            ) -> GruInputs:
                changed: dict[str, Any] = {f: _reordered(getattr(inputs, f), order) for f in fields}
                return replace(inputs, **changed)

            yield Variant(
                f"{token}gate-order-{order}",
                f"the gates of {what} read in the order {', '.join(order)} instead of z, r, h",
                needs=("b",) if fields == ("b",) else (),
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


def _matrices(field: str, gates: str, changed: Callable[[Array], Array]) -> Change:
    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        given: Arrays = getattr(inputs, field)
        new: dict[str, Any] = {
            field: {g: changed(m) if g in gates else m for g, m in given.items()}
        }
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


_AFTER: tuple[Need, ...] = ("reset_after",)
WEIGHT_VARIANTS = (
    *_gate_orders(),
    Variant("Rbh-outside", "Rbh added outside the product with the reset gate", needs=("b", *_AFTER),
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda _, r: 0 * r, lambda w, r: w + r)),
    Variant("Wbh-inside", "Wbh added inside the product with the reset gate", needs=("b", *_AFTER),
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda w, r: w + r, lambda w, _: 0 * w)),
    Variant("Wbh-Rbh-exchanged", "Wbh and Rbh exchanged", needs=("b", *_AFTER),
            links=LINEAR_BEFORE_RESET, inputs=_bias_h(lambda w, _: w, lambda _, r: r)),
    Variant("bias-ignored", "B ignored", needs=("b",), links=BIAS,
            inputs=_without("z", "r", "h", "wh", "rh")),
    Variant("bias-z-ignored", "the update gate's bias ignored", needs=("b",), links=BIAS, inputs=_without("z")),
    Variant("bias-r-ignored", "the reset gate's bias ignored", needs=("b",), links=BIAS, inputs=_without("r")),
    Variant("bias-h-ignored", "the candidate's bias ignored", needs=("b",), links=BIAS,
            inputs=_without("h", "wh", "rh")),
    Variant("Wbh-ignored", "Wbh ignored", needs=("b", *_AFTER), links=BIAS, inputs=_without("wh")),
    Variant("Rbh-ignored", "Rbh ignored", needs=("b", *_AFTER), links=BIAS, inputs=_without("rh")),
    Variant("bias-added-twice", "the biases of z and r added twice, as if B held two of each",
            needs=("b",), links=BIAS,
            inputs=lambda i, _: replace(i, b={p: 2 * b if p in "zr" else b for p, b in i.b.items()})),
    Variant("R-transposed", "R transposed", inputs=_matrices("r", "zrh", lambda m: m.swapaxes(-1, -2))),
    Variant("R-transposed-candidate", "the candidate's R transposed",
            inputs=_matrices("r", "h", lambda m: m.swapaxes(-1, -2))),
    Variant("R-transposed-gates", "the R of z and r transposed, the candidate's not",
            inputs=_matrices("r", "zr", lambda m: m.swapaxes(-1, -2))),
    Variant("input-tail-dropped", "the last input feature left out, as a vector loop without a tail does",
            inputs=_matrices("w", "zrh", _last_column_zero)),
    Variant("hidden-tail-dropped", "the last hidden unit left out of the recurrent products",
            inputs=_matrices("r", "zrh", _last_column_zero)),
    Variant("weights-shared", "the first direction's W, R and B used for both", needs=("direction",),
            links=("https://github.com/HKUST-KnowComp/R-Net/issues/13",),
            inputs=_of_first_direction("w", "r", "b")),
    Variant("W-shared", "the first direction's W used for both", needs=("direction",),
            inputs=_of_first_direction("w")),
    Variant("R-shared", "the first direction's R used for both", needs=("direction",),
            inputs=_of_first_direction("r")),
    Variant("B-shared", "the first direction's B used for both", needs=("direction", "b"),
            inputs=_of_first_direction("b")),
    Variant("h0-shared", "the first direction's initial_hidden_state used for both",
            needs=("direction",), inputs=_of_first_direction("h0")),
)  # fmt: skip
"""Gate orders, biases, transposition, tails, directions' weights."""
