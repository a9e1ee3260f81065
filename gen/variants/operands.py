"""The right step on wrong weights and biases: those of other gates and units, or not all of them.

As those of `expressions`, these are in no catalogue: they are tried where nothing in it explains a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from .variant import Variant
from .weights import Change, each

GATES = {"z": "the update gate", "r": "the reset gate", "h": "the candidate"}
GROUPS = {"zrh": "", "zr": "both gates' part of ", "z": "the update gate's part of ", "r": "the reset gate's part of ",
          "h": "the candidate's part of "}  # fmt: skip
"""Which gates a change is of, and the words for their part of weights or biases."""
_BIASES = {"b": ("", "w", "r"), "wb": ("w",), "rb": ("r",)}
"""What stands before a gate's letter in the names of biases: the sum, or one of two."""


def _copied(field: str, to: str, of: str) -> Change:
    """What is `field` of one gate, taken from another."""
    role = field[-1]

    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        found: Arrays = dict(getattr(inputs, role))
        given = dict(found)
        for prefix in _BIASES.get(field, ("",)):
            if prefix + of in given and prefix + to in given:
                found[prefix + to] = given[prefix + of]
        changed: dict[str, Any] = {role: found}
        return replace(inputs, **changed)

    return change


def _copies() -> Iterator[Variant]:
    """The weights or biases of one gate used for another, and one of a gate's two biases for the other."""
    words = {"w": "{w}", "r": "{r}", "b": "{b}", "wb": "input bias", "rb": "recurrent bias"}
    for field, what in words.items():
        for to in GATES:
            for of in GATES:
                if to != of:
                    part = f"{GATES[of]}'s {'' if len(field) > 1 else 'part of '}{what}"
                    yield Variant(
                        f"{field}-{to}-of-{of}",
                        f"{part} used for {GATES[to]}",
                        needs=("b.wz",) if len(field) > 1 else (("b",) if field == "b" else ()),
                        inputs=_copied(field, to, of),
                    )
    for of, what, other in (("w", "input", "recurrent"), ("r", "recurrent", "input")):
        for gates, part in (("zrh", "every gate"), ("zr", "both gates"), *GATES.items()):
            yield Variant(
                f"{of}b-twice-{gates}",
                f"the {what} bias of {part} added twice, the {other} one not at all",
                needs=("b.wz",),
                inputs=_one_bias_twice(of, gates),
            )


def _one_bias_twice(of: str, gates: str) -> Change:
    def change(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
        b = {
            part: inputs.b.get(of + part[-1], values) if part[-1] in gates else values
            for part, values in inputs.b.items()
        }
        return replace(inputs, b=b)

    return change


def _of_gates(
    field: str, name: str, told: str, changed: Callable[[Array], Array]
) -> Iterator[Variant]:
    """A change of one field of all gates, of both, and of each."""
    for gates, part in GROUPS.items():
        yield Variant(
            f"{field}-{gates}-{name}",
            f"{part}{{{field}}} {told}",
            needs=("b",) if field == "b" else (),
            inputs=each(field, gates, changed),
        )


def _first_unit(b: Array) -> Array:
    return np.broadcast_to(b[..., :1], b.shape)


def _first_row(m: Array) -> Array:
    return np.broadcast_to(m[..., :1, :], m.shape)


def _first_column(m: Array) -> Array:
    return np.broadcast_to(m[..., :, :1], m.shape)


def _rolled(by: int) -> Callable[[Array], Array]:
    return lambda b: np.roll(b, by, axis=-1)


def _without_tail(width: int) -> Callable[[Array], Array]:
    """Columns past the last whole group of `width` zero; nothing where there is no whole group."""

    def change(m: Array) -> Array:
        whole = m.shape[-1] // width * width
        return np.where(np.arange(m.shape[-1]) < (whole or m.shape[-1]), m, 0)

    return change


def _first_columns(count: int) -> Callable[[Array], Array]:
    return lambda m: np.where(np.arange(m.shape[-1]) < count, m, 0)


def _diagonal(m: Array) -> Array:
    return np.asarray(m * np.eye(m.shape[-1], dtype=m.dtype))


def _without_last_column(m: Array) -> Array:
    return np.where(np.arange(m.shape[-1]) < m.shape[-1] - 1, m, 0)


def _over_root(m: Array) -> Array:
    return np.asarray(m / np.sqrt(m.shape[-1]))


def _recurrent_over_root(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    root = np.sqrt(inputs.r["h"].shape[-1])
    r = inputs.r | {"h": inputs.r["h"] / root}
    return replace(inputs, r=r, b={p: b / root if p == "rh" else b for p, b in inputs.b.items()})


def _interleaved(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """Units of z and r taken in turns from where one gate's stand behind the other's."""

    def taken(parts: Arrays) -> Arrays:
        found = dict(parts)
        for prefix in ("", "w", "r"):
            z, r = prefix + "z", prefix + "r"
            if z in parts and r in parts:
                axis = -1 if parts is inputs.b else -2
                both = np.concatenate([parts[name] for name in order(z, r)], axis=axis)
                even = (slice(0, None, 2),) if axis == -1 else (slice(0, None, 2), slice(None))
                odd = (slice(1, None, 2),) if axis == -1 else (slice(1, None, 2), slice(None))
                first, second = order(z, r)
                found[first], found[second] = both[(..., *even)], both[(..., *odd)]
        return found

    gates = list(inputs.w)

    def order(z: str, r: str) -> tuple[str, str]:
        return (z, r) if gates.index("z") < gates.index("r") else (r, z)

    return replace(inputs, w=taken(inputs.w), r=taken(inputs.r), b=taken(inputs.b))


def _by_unit(parts: Arrays) -> Arrays:
    """Of gates that are stacked unit by unit, each gate's, as one takes them that expects gate by gate."""
    gates = list(parts)
    memory = np.concatenate([parts[gate] for gate in gates], axis=-2)
    return {gate: memory[..., place :: len(gates), :] for place, gate in enumerate(gates)}


def _by_gate(parts: Arrays) -> Arrays:
    """The other way round."""
    gates, hidden = list(parts), parts["h"].shape[-2]
    memory = np.stack([parts[gate] for gate in gates], axis=-2)
    memory = memory.reshape(*memory.shape[:-3], len(gates) * hidden, memory.shape[-1])
    return {
        gate: memory[..., place * hidden : (place + 1) * hidden, :]
        for place, gate in enumerate(gates)
    }


def _unit_by_unit() -> Iterator[Variant]:
    """Gates taken in turns, a row of each, where they stand one behind the other, and the other way round."""
    for fields, words in ((("w", "r"), "{w} and {r}"), (("w",), "{w}"), (("r",), "{r}")):
        for name, order, told in (
            (
                "by-unit",
                _by_unit,
                "taken in turns, a row of each gate, as if they were interleaved",
            ),
            ("by-gate", _by_gate, "interleaved, and taken gate by gate"),
        ):

            def change(
                inputs: GruInputs, _: StackedSemantics, fields: Any = fields, order: Any = order
            ) -> GruInputs:
                changed: dict[str, Any] = {field: order(getattr(inputs, field)) for field in fields}
                return replace(inputs, **changed)

            yield Variant(f"{''.join(fields)}-{name}", f"the rows of {words} {told}", inputs=change)


def _concatenated() -> Iterator[Variant]:
    """[h, x] multiplied by [W | R], which is made for [x, h]."""
    for gates in ("zrh", "zr"):

        def change(inputs: GruInputs, _: StackedSemantics, gates: str = gates) -> GruInputs:
            w, r, hidden = dict(inputs.w), dict(inputs.r), inputs.r["h"].shape[-1]
            for gate in gates:
                both = np.concatenate([w[gate], r[gate]], axis=-1)
                r[gate], w[gate] = both[..., :hidden], both[..., hidden:]
            return replace(inputs, w=w, r=r)

        yield Variant(
            f"{gates}-state-before-input",
            f"{GROUPS[gates]}{{w}} and {{r}} side by side multiplied by [Ht-1, Xt] instead of [Xt, Ht-1]",
            inputs=change,
        )


def _with_stride_of_w(inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """The gates of R taken from where those of W would start; what lies behind R is taken as zero."""
    r, hidden, size = inputs.r, inputs.r["h"].shape[-1], inputs.x.shape[-1]
    memory = np.concatenate(
        [matrix.reshape(*matrix.shape[:-2], -1) for matrix in r.values()], axis=-1
    )
    behind = np.zeros((*memory.shape[:-1], 3 * hidden * max(size, hidden)))
    memory = np.concatenate([memory, behind], axis=-1)
    found = {}
    for place, (gate, matrix) in enumerate(r.items()):
        start = place * hidden * size
        found[gate] = memory[..., start : start + hidden * hidden].reshape(matrix.shape)
    return replace(inputs, r=found)


OPERANDS = (
    *_copies(),
    *_of_gates("b", "of-first-unit", "of the first hidden unit used for all", _first_unit),
    *_of_gates("b", "late", "taken one hidden unit late", _rolled(1)),
    *_of_gates("b", "early", "taken one hidden unit early", _rolled(-1)),
    *_of_gates("b", "reversed", "taken from the last hidden unit to the first", lambda b: b[..., ::-1]),
    *_of_gates("w", "of-first-unit", "of the first hidden unit used for all", _first_row),
    *_of_gates("r", "of-first-unit", "of the first hidden unit used for all", _first_row),
    *_of_gates("r", "diagonal", "taken as if all but its diagonal were zero", _diagonal),
    *_of_gates("w", "first-column", "of the first input feature used for all", _first_column),
    *_of_gates("r", "first-column", "of the first column used for all", _first_column),
    *(
        Variant(f"r-{gate}-transposed", f"{GATES[gate]}'s part of {{r}} transposed",
                inputs=each("r", gate, lambda m: m.swapaxes(-1, -2)))
        for gate in "zr"
    ),
    *_of_gates("r", "last-column", "without its last column", _without_last_column),
    *_of_gates("w", "last-column", "without its last column", _without_last_column),
    *_of_gates("r", "over-root", "divided by the square root of the hidden size", _over_root),
    *_of_gates("w", "over-root", "divided by the square root of the input size", _over_root),
    Variant("recurrent-h-over-root", "the candidate's part of {r} and its recurrent bias divided by the square root "
            "of the hidden size", needs=("b.rh",), inputs=_recurrent_over_root),
    *_concatenated(),
    *_unit_by_unit(),
    Variant("zr-interleaved", "the hidden units of zt and rt taken in turns from where one gate's stand behind the other's",
            inputs=_interleaved),
    Variant("r-with-stride-of-w", "the gates of {r} taken hidden_size · input_size elements apart, as in {w}",
            inputs=_with_stride_of_w),
    *(
        variant
        for width in (2, 4, 8, 16)
        for field, of in (("w", "input features"), ("r", "hidden units"))
        for variant in _of_gates(field, f"tail-of-{width}", f"cut off behind the last whole group of {width} {of}",
                                 _without_tail(width))
    ),
    *(
        variant
        for count in (1, 2, 3, 4, 8, 16, 32, 64)
        for field, of in (("w", "input features"), ("r", "hidden units"))
        for variant in _of_gates(field, f"first-{count}", f"of no more than the first {count} {of} used",
                                 _first_columns(count))
    ),
)  # fmt: skip
"""Weights and biases of other gates and units, and tails."""
