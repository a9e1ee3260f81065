"""A field of the inputs, changed in all gates or in some: weights, biases, x.

Those of `FIELDS` are in no catalogue: they are tried where nothing in it explains a failure. All arrays have
the cases that are stacked on the first axis, then directions, hidden units and, if of weights, columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from .emulated import TYPES
from .variant import Variant

GATES = {"z": "the update gate", "r": "the reset gate", "h": "the candidate"}
GROUPS = {
    "zrh": "",
    "zr": "both gates' part of ",
    **{g: f"{gate}'s part of " for g, gate in GATES.items()},
}
"""Which gates a change is of, and the words for their part of weights or biases."""
FIELD_WORDS = {"x": "{x}", "w": "{w}", "r": "{r}", "b": "{b}", "wr": "{w} and {r}", "wb": "input bias",
               "rb": "recurrent bias"}  # fmt: skip
"""Fields, several of them, or one of two biases, in words."""
NEEDS: dict[str, tuple[str, ...]] = {"b": ("b",), "wb": ("b.wz",), "rb": ("b.wz",)}
"""What an operator must have for a field to be changed."""
LISTED = ("r-zrh-transposed", "r-zr-transposed", "r-h-transposed",
          "w-zrh-last-column", "r-zrh-last-column")  # fmt: skip
"""Changes that the catalogue has, under names of its own."""

Change = Callable[[GruInputs, StackedSemantics], GruInputs]
Parts = Callable[[Arrays], Arrays]
"""What becomes of a field's parts, by the gate, or by the name of the bias."""


def on(fields: str, change: Parts) -> Change:
    """Change the parts of fields, each of one letter."""

    def read(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        changed: dict[str, Any] = {field: change(getattr(inputs, field)) for field in fields}
        return replace(inputs, **changed)

    return read


def each(fields: str, gates: str, changed: Callable[[Array], Array]) -> Change:
    """Change the matrices or vectors of some gates one at a time; x as a whole."""

    def change(given: Any) -> Any:
        if not isinstance(given, dict):
            return changed(given)
        return {part: changed(a) if part[-1] in gates else a for part, a in given.items()}

    return on(fields, change)


def sums(**terms: str) -> Change:
    """Make parts of the bias the sums of parts, such as wh="wh rh"; nothing where one of them lacks."""
    needed = {*terms, *" ".join(terms.values()).split()}

    def change(b: Arrays) -> Arrays:
        if not b.keys() >= needed:
            return b
        return b | {
            part: sum((b[one].astype(np.float64) for one in of.split()), np.zeros(b[part].shape))
            for part, of in terms.items()
        }

    return on("b", change)


def _whole_groups(width: int, m: Array, none: float = np.inf) -> Array:
    """Keep the columns of whole groups; where there is none, all, or as many as `none` says."""
    return np.where(np.arange(m.shape[-1]) < (m.shape[-1] // width * width or none), m, 0)


def scale_column(place: int | None, factor: float, m: Array) -> Array:
    """Multiply the column at a place by a factor; without a place, the diagonal."""
    ones = np.eye(m.shape[-1])
    return np.asarray(m * (1.0 + (factor - 1.0) * (ones if place is None else ones[place])))


def transposed(m: Array) -> Array:
    """Exchange rows and columns."""
    return m.swapaxes(-1, -2)


CHANGES: Mapping[str, tuple[str, str, Callable[[Array], Array]]] = {
    "of-first-unit": ("of the first hidden unit used for all", "b w r", lambda a: np.broadcast_to(a[:, :, :1], a.shape)),
    "late": ("taken one hidden unit late", "b", lambda b: np.roll(b, 1, axis=-1)),
    "early": ("taken one hidden unit early", "b", lambda b: np.roll(b, -1, axis=-1)),
    "transposed": ("transposed", "r", transposed),
    **{
        f"{column}{ending}": (words.format(column.replace("-", " ")), fields, partial(scale_column, place, factor))
        for column, fields, place in (("first-column", "w r", 0), ("last-column", "w r", -1), ("diagonal", "r", None))
        for ending, words, factor in (("", "without its {}", 0.0), ("-doubled", "with its {} doubled", 2.0))
    },
    **{
        f"tail-of-{width}": (f"cut off behind the last whole group of {width} {{units}}", "w r",
                             partial(_whole_groups, width))
        for width in (4, 8, 16)
    },
    **{f"in-{name}": (words, "x w r b wr", rounding) for name, (words, rounding) in TYPES.items()},
}  # fmt: skip
"""By name: the words that follow a field, the fields it is of, and what becomes of an array."""
_UNITS = {"w": "input features", "r": "hidden units"}
"""What the columns of W and R are of."""


def _changes() -> Iterator[Variant]:
    """Make each change of each of its fields: of all gates, of both, of each."""
    for name, (words, fields, changed) in CHANGES.items():
        for field in fields.split():
            form = words.format(units=_UNITS.get(field))
            for gates in GROUPS if field in ("w", "r", "b") else ("zrh",):
                of = f"{field}-{gates}-{name}" if field in ("w", "r", "b") else f"{field}-{name}"
                if of not in LISTED:
                    about = f"{GROUPS[gates]}{FIELD_WORDS[field]} {form}"
                    change = each(field, gates, changed)
                    yield Variant(of, about, needs=NEEDS.get(field, ()), inputs=change)


def _tails() -> Iterator[Variant]:
    """Leave out what a loop over whole groups leaves out that has no other loop behind it."""
    for width in (4, 8, 16):
        for fields, units in (("wr", "columns"), *_UNITS.items()):
            yield Variant(
                f"{fields}-groups-of-{width}",
                f"only whole groups of {width} {units} of {FIELD_WORDS[fields]} used",
                inputs=each(fields, "zrh", partial(_whole_groups, width, none=0)),
            )


def _taken(names: Mapping[str, str], parts: Arrays) -> Arrays:
    """Take parts from where others are, as far as both are there."""
    return parts | {to: parts[of] for to, of in names.items() if parts.keys() >= {to, of}}


def _copies() -> Iterator[Variant]:
    """Take another gate's weights or biases, or the other one of two biases; leave one out, or double it."""
    for field in ("w", "r", "b", "wb", "rb"):
        prefixes = {"b": ("", "w", "r"), "wb": ("w",), "rb": ("r",)}.get(field, ("",))
        words = FIELD_WORDS[field] if len(field) > 1 else f"part of {FIELD_WORDS[field]}"
        for to, of in ((to, of) for to in GATES for of in GATES if to != of):
            yield Variant(
                f"{field}-{to}-of-{of}",
                f"{GATES[of]}'s {words} used for {GATES[to]}",
                needs=NEEDS.get(field, ()),
                inputs=on(field[-1], partial(_taken, {p + to: p + of for p in prefixes})),
            )
    for one, what, other in (("w", "input", "recurrent"), ("r", "recurrent", "input")):
        for gates, words in {"zrh": "every gate", "zr": "both gates", **GATES}.items():
            twice = {p + gate: one + gate for gate in gates for p in ("", "w", "r")}
            yield Variant(
                f"{one}b-twice-{gates}",
                f"the {what} bias of {words} added twice, the {other} one not at all",
                needs=("b.wz",),
                inputs=on("b", partial(_taken, twice)),
            )
            for times, ending in ((0, "left out"), (2, "doubled")):
                if times or gates not in ("zrh", "h"):  # the catalogue has these
                    yield Variant(
                        f"{one}b-{gates}-{ending.replace(' ', '-')}",
                        f"the {what} bias of {words} {ending}",
                        needs=("b.wz",),
                        inputs=sums(**{one + g: f"{one}{g} " * times for g in gates}),
                    )


def _in_eight_bits(gates: str, axes: tuple[int, ...], parts: Arrays) -> Arrays:
    """Round to one of 255 numbers, evenly spaced from minus to plus the largest on these axes."""
    stacked = np.stack([*parts.values()])
    largest = np.abs(stacked).max(axis=axes, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0) / 127.0
    rounded = dict(zip(parts, np.round(stacked / scale) * scale, strict=True))
    return {gate: rounded[gate] if gate in gates else m for gate, m in parts.items()}


def _eight_bits() -> Iterator[Variant]:
    for name, axes, words in (
        ("gate", (-2, -1), "each gate"),
        ("direction", (0, -2, -1), "all gates of a direction"),
        ("tensor", (0, -3, -2, -1), "the whole tensor"),
        ("row", (-1,), "each row"),
    ):
        of_gates = [(field, gate) for field in "wr" for gate in GATES if name != "row"]
        for field, gates in (("wr", "zrh"), ("w", "zrh"), ("r", "zrh"), *of_gates):
            yield Variant(
                f"{field}-{gates}-in-8-bits-by-{name}",
                f"{GROUPS[gates]}{FIELD_WORDS[field]} rounded to 8 bits, with a scale for {words}",
                inputs=on(field, partial(_in_eight_bits, gates, axes)),
            )


def _by_unit(gates: str, parts: Arrays) -> Arrays:
    """Take units of gates in turns, from where one gate's stand behind the other's."""
    found = dict(parts)
    for prefix in ("", "w", "r"):
        names = [part for part in parts if part[:-1] == prefix and part[-1] in gates]
        memory = [parts[name] for name in names]
        for place, name in enumerate(names):
            found[name] = np.concatenate(memory, axis=2)[:, :, place :: len(names)]
    return found


def _by_gate(parts: Arrays) -> Arrays:
    """Take units of one gate after the other, from where they stand in turns."""
    n, directions, hidden, columns = parts["h"].shape
    memory = np.stack([*parts.values()], axis=3).reshape(n, directions, -1, columns)
    return {gate: memory[:, :, k * hidden : (k + 1) * hidden] for k, gate in enumerate(parts)}


def _rows_in_turns() -> Iterator[Variant]:
    for fields in ("wr", "w", "r"):
        for name, change, words in (
            ("by-unit", partial(_by_unit, "zrh"), "taken in turns, a row of each gate, as if they were interleaved"),
            ("by-gate", _by_gate, "interleaved, and taken gate by gate"),
        ):  # fmt: skip
            about = f"the rows of {FIELD_WORDS[fields]} {words}"
            yield Variant(f"{fields}-{name}", about, inputs=on(fields, change))


def _state_before_input(gates: str, inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """Multiply [h, x] by [W | R], which is made for [x, h]."""
    w, r, hidden = dict(inputs.w), dict(inputs.r), inputs.r["h"].shape[-1]
    for gate in gates:
        both = np.concatenate([w[gate], r[gate]], axis=-1)
        r[gate], w[gate] = both[..., :hidden], both[..., hidden:]
    return replace(inputs, w=w, r=r)


def _with_stride_of_w(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """Take the gates of R from where those of W would start; what lies behind R is taken as zero."""
    shape, size = inputs.r["h"].shape, inputs.x.shape[-1]
    count, stride = shape[-1] ** 2, shape[-1] * size
    memory = np.concatenate([m.reshape(*shape[:2], -1) for m in inputs.r.values()], axis=-1)
    memory = np.pad(memory, [(0, 0), (0, 0), (0, 2 * stride)])
    starts = (stride * place for place in range(len(inputs.r)))
    r = [memory[..., start : start + count].reshape(shape) for start in starts]
    return replace(inputs, r=dict(zip(inputs.r, r, strict=True)))


def _recurrent_over_root(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    root = np.sqrt(inputs.r["h"].shape[-1])
    r = inputs.r | {"h": inputs.r["h"] / root}
    return replace(inputs, r=r, b={p: b / root if p == "rh" else b for p, b in inputs.b.items()})


FIELDS = (
    *_copies(),
    *_changes(),
    *_tails(),
    *_eight_bits(),
    *_rows_in_turns(),
    *(
        Variant(f"{gates}-state-before-input", f"{GROUPS[gates]}{{w}} and {{r}} side by side multiplied by "
                "[Ht-1, Xt] instead of [Xt, Ht-1]", inputs=partial(_state_before_input, gates))
        for gates in ("zrh", "zr")
    ),
    Variant("recurrent-h-over-root", "the candidate's part of {r} and its recurrent bias divided by the square root "
            "of the hidden size", needs=("b.rh",), inputs=_recurrent_over_root),
    Variant("zr-interleaved", "the hidden units of zt and rt taken in turns from where one gate's stand behind the other's",
            inputs=on("wrb", partial(_by_unit, "zr"))),
    Variant("r-with-stride-of-w", "the gates of {r} taken hidden_size · input_size elements apart, as in {w}",
            inputs=_with_stride_of_w),
)  # fmt: skip
"""Weights and biases of other gates and units, parts of them, and all of them in narrower types."""
