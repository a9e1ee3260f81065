"""Steps that are written down wrongly: what somebody may type in place of one of the GRU's expressions.

Also steps with a quantity in a narrower type. These are in no catalogue, and no vectors must catch
them: they are tried where nothing in the catalogue explains a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.semantics import StackedSemantics
from ..gru import Advance, Alter, Step, step
from .approximate import UNLISTED_FUNCTIONS
from .cell import (
    PRE_ACTIVATIONS,
    SIGMOID,
    as_written,
    both_sides,
    by_position,
    clipped,
    clipping,
    of_first_direction,
    unclipped,
)
from .emulated import TYPES, UNLISTED_PRECISION, Rounding
from .variant import Evaluated, Expression, Outputs, Variant

QUANTITIES = {
    "a_z": "the update gate's pre-activation",
    "a_r": "the reset gate's pre-activation",
    "a_h": "the candidate's pre-activation",
    "z": "the update gate zt",
    "r": "the reset gate rt",
    "t": "the candidate ht",
    "x_h": "the input's part of the candidate's pre-activation",
    "p_h": "the recurrent part of the candidate's pre-activation",
    "u": "what the reset gate multiplies",
    "h": "Ht-1 in the blend",
    "state": "the new state Ht",
}
"""The quantities of a step, in words."""


def _keeping(gates: tuple[str, ...], before: Step, alter: Alter) -> Alter:
    """Keep gates as they were in a step before."""
    known = {name: getattr(before, name) for name in gates}
    return lambda name, value: alter(name, known.get(name, value))


def _in_place(
    first: tuple[str, ...], arithmetic: Any, semantics: StackedSemantics, alter: Alter
) -> Advance:
    """Write unit after unit into the state that later units read, with gates that are computed `first`."""

    def advance(d: Any, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Array:
        new = old.copy()
        kept = _keeping(first, step(arithmetic, semantics, d, wx, old, alter), alter)
        for unit in range(new.shape[-1]):
            new[..., unit] = step(arithmetic, semantics, d, wx, new, kept).state[..., unit]
        return new

    return advance


def _through(change: Callable[[Array], Array], *names: str) -> dict[str, Expression]:
    """Change quantities, each by itself."""

    def of(name: str) -> Expression:
        return lambda q: change(q[name])

    return {name: of(name) for name in names}


def _state_overwritten(
    first: tuple[str, ...], arithmetic: Any, semantics: StackedSemantics, alter: Alter
) -> Advance:
    """Write zt (.) Ht-1 over Ht-1 when the gates `first` are computed; the rest is computed from it."""

    def advance(d: Any, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Array:
        before = step(arithmetic, semantics, d, wx, old, alter)
        kept = _keeping(first, before, alter)
        t = step(arithmetic, semantics, d, wx, before.z * old, kept).t
        return np.asarray((1 - before.z) * t + before.z * old)

    return advance


_GATES = {
    "z": ("a_z", "f", "the update gate"),
    "r": ("a_r", "f", "the reset gate"),
    "t": ("a_h", "g", "the candidate"),
}
"""Gates and candidate: of which pre-activation, and with which function; and in words."""

_ACTIVATED: Mapping[str, tuple[str, str, tuple[str, ...], Callable[..., Array]]] = {
    "activated-twice": ("the activation of {} applied twice", "zrt", (),
                        lambda gate, _, function, q: q["activation"](q[function], q[gate], q["clip"])),
    "not-activated": ("the activation of {} left out", "zrt", (),
                      lambda _, a, __, q: both_sides(q[a], q["clip"])),
    "bare": ("the activation of {} left out, and its clip", "zrt", ("clip",), lambda _, a, __, q: q[a]),
    "with-g": ("the activation of the candidate used for {} too", "zr", (),
               lambda _, a, __, q: q["activation"](q["g"], q[a], q["clip"])),
    "ignores-activation": ("sigmoid always used as the function of {}", "zr", ("f.chosen",),
                           lambda _, a, __, q: q["activation"](SIGMOID, q[a], q["clip"])),
}  # fmt: skip
"""How gates and the candidate are activated: in words, which of them, what that needs, and what they are."""
_PRODUCTS = {f"p_{gate}": f"the recurrent part of {QUANTITIES[f'a_{gate}']}" for gate in "zr"}
_ROWS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "of-first-row": ("the first row of the batch, for all rows", lambda v: np.broadcast_to(v[..., :1, :], v.shape)),
    "of-next-row": ("the next row of the batch", lambda v: np.roll(v, -1, axis=-2)),
    "of-row-before": ("the row of the batch before", lambda v: np.roll(v, 1, axis=-2)),
}  # fmt: skip
"""Other rows of a quantity, (…, rows, hidden): in words, and what it is then."""

EXPRESSIONS = (
    Variant("blend-(1-r)t+rh", "the new state computed as Ht = (1 - rt) (.) ht + rt (.) Ht-1",
            quantities={"state": lambda q: (1 - q["r"]) * q["t"] + q["r"] * q["h"]}),
    Variant("blend-twice", "the new state computed as Ht = (1 - zt) (.) ((1 - zt) (.) ht + zt (.) Ht-1) + zt (.) Ht-1",
            quantities={"state": lambda q: (1 - q["z"]) * q["state"] + q["z"] * q["h"]}),
    Variant("state-kept-as-it-was", "the state left as it was before the step",
            quantities={"state": lambda q: q["h"]}),
    Variant("state-zero", "the state left zero", quantities={"state": lambda q: 0 * q["h"]}),
    Variant("state-g", "the activation of the candidate applied to the new state too",
            quantities={"state": lambda q: q["activation"](q["g"], q["state"], q["clip"])}),
    Variant("z-for-r", "the update gate used where the reset gate belongs", quantities={"r": lambda q: q["z"]}),
    *(
        Variant(f"{gate}-squared", f"{QUANTITIES[gate]} applied twice", quantities=_through(np.square, gate))
        for gate in ("z", "r")
    ),
    *(
        Variant(f"{gate}-{how}", about.format(words), needs=needs, quantities={gate: partial(made, gate, a, function)})
        for how, (about, gates, needs, made) in _ACTIVATED.items()
        for gate, (a, function, words) in _GATES.items() if gate in gates
    ),
    *(
        Variant(f"{function}-of-first-direction", f"the first direction's activation of {words} used for both",
                needs=("f.per_direction",), semantics=partial(of_first_direction, function))
        for function, words in (("f", "the gates"), ("g", "the candidate"))
    ),
    Variant("parameters-by-position", "{alpha} and {beta} taken by the position of the activation, not consumed by "
            "those that take one", needs=("alpha", "beta"), semantics=lambda s: by_position("alpha", by_position("beta", s))),
    Variant("parameters-as-written", "{clip}, {alpha} and {beta} taken as decimal numbers, not as the float32 numbers that they are",
            needs=("clip", "alpha"), owners=("onnx",), ledger="parameter-type", semantics=as_written),
    Variant("reset-of-sum", "rt multiplies the input's product and the bias of the candidate too", needs=("reset",),
            quantities={"a_h": lambda q: q["r"] * (q["a_h"] - q["p_h"]) + q["p_h"]}),
    Variant("reset-of-input", "rt multiplies the input's product of the candidate too",
            quantities={"x_h": lambda q: q["r"] * q["x_h"]}),
    Variant("reset-again", "the recurrent part of the candidate multiplied by rt again, after the product",
            quantities={"p_h": lambda q: q["r"] * q["p_h"]}),
    Variant("clip-before-bias", "clipped before the biases are added, and not after", needs=("clip",),
            semantics=unclipped, quantities=clipping("s_z", "s_r", "s_h")),
    *(
        clipped(f"clip-{how}-{a}", about, clipping(*(one for one in PRE_ACTIVATIONS if one != a), *instead))
        for gate, (a, _, words) in _GATES.items()
        for how, about, instead in (
            ("not", f"{QUANTITIES[a]} not clipped", ()),
            ("before-bias", f"{words} clipped before its biases are added, and not after", (a.replace("a", "s"),)),
            ("after", f"{words} clipped after its activation instead of before", (gate,)),
        )
        if (how, a) != ("not", "a_h")  # in the catalogue
    ),
    Variant("reset-of-candidate", "the candidate multiplied by rt after its activation",
            quantities={"t": lambda q: q["r"] * q["t"]}),
    Variant("t-through-tanh", "the candidate ht taken through tanh once more", quantities=_through(np.tanh, "t")),
    Variant("a_h-through-sigmoid", "the candidate's pre-activation taken through sigmoid first",
            quantities={"a_h": lambda q: q["activation"](SIGMOID, q["a_h"], np.inf)}),
    *(
        Variant(f"{name}-{row}", f"{what} taken from {whose}", between_steps=True, quantities=_through(taken, name))
        for name, what in (QUANTITIES | _PRODUCTS).items() if name not in ("z", "r", "t")  # a gate's is its a's
        for row, (whose, taken) in _ROWS.items()
    ),
    Variant("state-overwritten", "zt (.) Ht-1 written over Ht-1 before the reset gate and the candidate are computed from it",
            advance=partial(_state_overwritten, ("z",))),
    Variant("state-overwritten-for-candidate", "zt (.) Ht-1 written over Ht-1 before the candidate is computed from it",
            advance=partial(_state_overwritten, ("z", "r"))),
    *UNLISTED_FUNCTIONS,
    Variant("in-place", "the state updated in place, unit after unit: later units read the new state of earlier ones",
            advance=partial(_in_place, ())),
    Variant("candidate-in-place", "the state updated in place, unit after unit: the candidate of later units reads "
            "the new state of earlier ones", advance=partial(_in_place, ("z", "r"))),
)  # fmt: skip
"""Other blends, gates that are confused, activations left out or applied twice, updates in place."""


def _read_narrow(
    rounding: Rounding, arithmetic: Any, semantics: StackedSemantics, alter: Alter
) -> Advance:
    """Every step reads the state before it rounded."""

    def advance(d: Any, _: int, __: Array, wx: Mapping[str, Any], old: Array) -> Array:
        return np.asarray(step(arithmetic, semantics, d, wx, rounding(old), alter).state)

    return advance


def _hand_out_narrow(rounding: Rounding, seen: Evaluated) -> Outputs:
    return rounding(seen.y), rounding(seen.ho)


NARROWER = (
    *(
        Variant(f"{name}-in-{kind}", f"{words} {rounded}", quantities=_through(rounding, name))
        for kind, (rounded, rounding) in TYPES.items()
        for name, words in QUANTITIES.items()
    ),
    *(
        Variant(f"products-{part}-in-{kind}", f"{words}'s part of every pre-activation {rounded}",
                quantities=_through(rounding, *(f"{part}_{gate}" for gate in "zrh")))
        for kind, (rounded, rounding) in TYPES.items()
        for part, words in (("x", "{w}"), ("p", "{r}"))
    ),
    *(
        Variant(f"state-read-in-{kind}", f"the state {rounded} where a step reads it",
                advance=partial(_read_narrow, rounding))
        for kind, (rounded, rounding) in TYPES.items()
    ),
    *(
        Variant(f"outputs-in-{kind}", f"{{outputs}} {rounded}, but not the state",
                outputs=partial(_hand_out_narrow, rounding))
        for kind, (rounded, rounding) in TYPES.items()
    ),
    *UNLISTED_PRECISION,
)  # fmt: skip
"""Every quantity of a step; the state where a step reads it; outputs; the operands of all products."""
