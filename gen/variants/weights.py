"""Variants of the catalogue that use the right weights and biases in the wrong place, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ...cases.dtypes import Array, Arrays
from .fields import FIELD_WORDS, GATES, NEEDS, each, on, scale_column, sums, transposed
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


def _reordered(order: str, parts: Arrays) -> Arrays:
    """Take the parts as one does who expects the gates in this order."""
    there = dict(zip(order, dict.fromkeys(part[-1] for part in parts), strict=False))
    found = dict(parts)
    for prefix in ("", "w", "r"):
        names = {gate: prefix + gate for gate in order}
        if not prefix and "h" not in parts:
            names["h"] = "wh"  # beside the sums of z and r
        if parts.keys() >= set(names.values()):
            found |= {names[gate]: parts[names[at]] for gate, at in there.items()}
    return found


def _gate_orders() -> Iterator[Variant]:
    for name, fields, words in (
        ("", "wrb", "{w}, {r} and {b}"),
        ("W-", "w", "{w} alone"),
        ("R-", "r", "{r} alone"),
        ("B-", "b", "{b} alone"),
    ):
        for order in ORDERS:
            yield Variant(
                f"{name}gate-order-{order}",
                f"the gates of {words} read in the order {', '.join(order)}",
                needs=(*NEEDS.get(fields, ()), f"not.{order}"),
                links=GATE_ORDER,
                inputs=on(fields, partial(_reordered, order)),
            )


def first_direction(array: Array) -> Array:
    """Put what is of the first direction in the place of every direction, axis 1."""
    return np.broadcast_to(array[:, :1], array.shape)


_APART = ("b.rh", "reset")
WEIGHT_VARIANTS = (
    *_gate_orders(),
    Variant("Rbh-outside", "Rbh added outside the product with the reset gate", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=sums(rh="", wh="wh rh")),
    Variant("Wbh-inside", "Wbh added inside the product with the reset gate", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=sums(rh="wh rh", wh="")),
    Variant("Wbh-Rbh-exchanged", "Wbh and Rbh exchanged", ledger="b-order", needs=_APART,
            links=LINEAR_BEFORE_RESET, inputs=sums(rh="wh", wh="rh")),
    Variant("bias-h-inside", "the candidate's bias put inside the product with the reset gate although {reset_after} is not set",
            needs=("bias_inside", "b.h"), links=LINEAR_BEFORE_RESET,
            inputs=on("b", lambda b: {"rh" if part == "h" else part: values for part, values in b.items()})),
    Variant("bias-ignored", "{b} ignored", needs=("b",), links=BIAS, inputs=each("b", "zrh", np.zeros_like)),
    *(
        Variant(f"bias-{gate}-ignored", f"{words}'s bias ignored", needs=("b",), links=BIAS,
                inputs=each("b", gate, np.zeros_like))
        for gate, words in GATES.items()
    ),
    Variant("Wbh-ignored", "Wbh ignored", needs=_APART, links=BIAS, inputs=sums(wh="")),
    Variant("Rbh-ignored", "Rbh ignored", needs=_APART, links=BIAS, inputs=sums(rh="")),
    Variant("bias-added-twice", "the biases of z and r added twice, as if {b} had two of each",
            needs=("b.z",), links=BIAS, inputs=sums(z="z z", r="r r")),
    Variant("Wb-ignored", "the input biases Wbz, Wbr and Wbh ignored", needs=("b.wz",), links=BIAS,
            inputs=sums(wz="", wr="", wh="")),
    Variant("Rb-ignored", "the recurrent biases Rbz, Rbr and Rbh ignored", needs=("b.rz",), links=BIAS,
            inputs=sums(rz="", rr="", rh="")),
    Variant("bias-sum-but-for-n", "bias taken as the sum of both biases for r and z, but as Rbh for n",
            needs=("bias_inside", "b.wz"), inputs=sums(wz="", wr="")),
    Variant("B-as-4H", "the first 4H of {b} read as summed biases of z and r, Wbh and Rbh", needs=("b.six",), links=BIAS,
            inputs=sums(rz="", rr="", rh="rz")),
    Variant("B-interleaved", "{b} read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh", needs=("b.six",), links=BIAS,
            inputs=sums(rz="wr", wr="wh", rr="rz", wh="rr")),
    Variant("R-transposed", "{r} transposed", inputs=each("r", "zrh", transposed)),
    Variant("R-transposed-candidate", "the candidate's {r} transposed", inputs=each("r", "h", transposed)),
    Variant("R-transposed-gates", "the {r} of z and r transposed, the candidate's not",
            inputs=each("r", "zr", transposed)),
    Variant("input-tail-dropped", "the last input feature left out, as a vector loop without a tail does",
            inputs=each("w", "zrh", partial(scale_column, -1, 0.0))),
    Variant("hidden-tail-dropped", "the last hidden unit left out of the recurrent products",
            inputs=each("r", "zrh", partial(scale_column, -1, 0.0))),
    Variant("weights-shared", "the first direction's {w}, {r} and {b} used for both", needs=("axis.direction",),
            links=("https://github.com/HKUST-KnowComp/R-Net/issues/13",), inputs=each("wrb", "zrh", first_direction)),
    *(
        Variant(f"{field.upper()}-shared", f"the first direction's {{{field}}} used for both",
                needs=("axis.direction", *NEEDS.get(field, ())), inputs=each(field, "zrh", first_direction))
        for field in "wrb"
    ),
    Variant("h0-shared", "the first direction's {h0} used for both", needs=("axis.direction",), between_steps=True,
            inputs=lambda inputs, _: replace(inputs, h0=first_direction(inputs.h0))),
)  # fmt: skip
"""Gate orders, biases, transposition, tails, directions' weights."""


def _three_apart(b: Arrays) -> Arrays:
    """Read each direction's biases three behind those of the direction before, as if it had three."""
    names = ("z", "r", "wh", "rh") if "z" in b else ("wz", "wr", "wh", "rz", "rr", "rh")
    if not b.keys() >= {*names}:
        return b
    flat = np.stack([b[name] for name in names], axis=2)  # (n, direction, bias, hidden)
    n, directions, _, hidden = flat.shape
    there = 3 * np.arange(directions)[:, None] + np.arange(len(names))
    read = flat.reshape(n, -1, hidden)[:, there]
    return b | {name: read[:, :, at] for at, name in enumerate(names)}


UNLISTED_WEIGHTS = (
    Variant("Wbh-for-Rbh", "Wbh used in place of Rbh, too", needs=_APART, inputs=sums(rh="wh")),
    *(
        Variant(f"{fields}-directions-exchanged", f"the {FIELD_WORDS.get(fields, '{w}, {r} and {b}')} of the two directions exchanged",
                needs=("axis.direction", *NEEDS.get(fields, ())), inputs=each(fields, "zrh", lambda a: a[:, ::-1]))
        for fields in ("w", "r", "b", "wrb")
    ),
    Variant("B-3H-apart", "the {b} of the two directions read 3H elements apart",
            needs=("axis.direction", "b.more"), inputs=on("b", _three_apart)),
)  # fmt: skip
"""Biases in the place of others, and what is of another direction."""
