"""Variants of what happens inside a step: gates, clip, activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation, Parameter
from ...cases.operators.semantics import StackedSemantics
from .approximate import named, wherever
from .variant import Expression, Variant
from .weights import LINEAR_BEFORE_RESET

IGNORED = ("https://github.com/sonos/tract/issues/2751",)
SIGMOID, TANH, RELU = Activation("sigmoid"), Activation("tanh"), Activation("relu")
PRE_ACTIVATIONS = ("a_z", "a_r", "a_h")


def unclipped(s: StackedSemantics) -> StackedSemantics:
    """Ask for no clip."""
    return replace(s, clip=np.full_like(s.clip, np.inf))


def both_sides(value: Array, clip: Array) -> Array:
    """Clip to [-clip, clip]."""
    return np.asarray(np.clip(value, -clip, clip))


def clipping(
    *names: str, how: Callable[[Array, Array], Array] = both_sides
) -> dict[str, Expression]:
    """Clip quantities."""

    def clip(name: str) -> Expression:
        return lambda q: how(q[name], q["clip"])

    return {name: clip(name) for name in names}


def clipped(name: str, about: str, quantities: Mapping[str, Expression]) -> Variant:
    """Make the variant that clips in another way, and nowhere else."""
    return Variant(
        name, about, needs=("clip",), links=IGNORED, semantics=unclipped, quantities=quantities
    )


DEFAULTS = {
    name: Activation(name, *function.default)
    for name, function in FUNCTIONS.items()
    if function.default
}
"""What is used where a parameter is ignored; to the precision that a misreading needs."""


def _exchanged(given: Activation) -> Activation:
    if len(given.takes) < 2:
        return given
    return given._replace(alpha=given.beta, beta=given.alpha)


def by_position(parameter: Parameter, s: StackedSemantics) -> StackedSemantics:
    """Take the values of a parameter by the position of an activation among all."""

    def taken(given: Sequence[float], place: int, one: Activation) -> float:
        return given[place] if place < len(given) else getattr(DEFAULTS[one.name], parameter)

    return _parameters(parameter, taken, s)


def _parameters(
    parameter: Parameter,
    taken: Callable[[Sequence[float], int, Activation], float],
    s: StackedSemantics,
) -> StackedSemantics:
    """Change the values of a parameter.

    `taken` gives a value from all that were given in order, the position of an activation among all, and it.
    """

    def changed(*functions: Activation) -> tuple[Activation, ...]:
        given = [getattr(one, parameter) for one in functions if parameter in one.takes]
        return tuple(
            one.having(parameter, taken(given, place, one)) if parameter in one.takes else one
            for place, one in enumerate(functions)
        )

    in_order = [functions for pair in zip(s.f, s.g, strict=True) for functions in pair]
    found = list(zip(*(changed(*case) for case in zip(*in_order, strict=True)), strict=True))
    return replace(s, f=tuple(found[0::2]), g=tuple(found[1::2]))


def _decimal(value: float) -> float:
    """Find the decimal number that a person wrote for a float32 number."""
    return float(str(np.float32(value))) if np.float32(value) == value else value


def as_written(s: StackedSemantics) -> StackedSemantics:
    """Take clip and parameters as they were written, not as the float32 numbers that they are."""

    def written(one: Activation) -> Activation:
        return one._replace(alpha=_decimal(one.alpha), beta=_decimal(one.beta))

    return replace(named(written, written)(s), clip=np.vectorize(_decimal)(s.clip))


def of_first_direction(functions: str, s: StackedSemantics) -> StackedSemantics:
    """Take the first direction's functions, `f`, `g` or both, for all directions."""
    return replace(s, **{one: getattr(s, one)[:1] * len(s.directions) for one in functions})


CELL_VARIANTS = (
    Variant("lbr-ignored", "the reset gate applied before the product although {after_asked}",
            needs=("reset",), links=LINEAR_BEFORE_RESET, semantics=lambda s: replace(s, reset_after=False)),
    Variant("lbr-assumed", "the reset gate applied after the product although {reset_after} is not set",
            needs=("reset_after",), links=LINEAR_BEFORE_RESET, semantics=lambda s: replace(s, reset_after=True)),
    Variant("lbr-inverted", "{reset_after} taken the other way round",
            needs=("reset_after",), links=LINEAR_BEFORE_RESET,
            semantics=lambda s: replace(s, reset_after=not s.reset_after)),
    Variant("reset-gate-ignored", "the reset gate ignored", quantities={"r": lambda q: np.ones_like(q["r"])}),
    Variant("reset-gate-flipped", "1 - rt used for rt", quantities={"r": lambda q: 1.0 - q["r"]}),
    Variant("update-gate-flipped", "zt and 1 - zt exchanged, Ht = zt (.) ht + (1 - zt) (.) Ht-1",
            quantities={"z": lambda q: 1.0 - q["z"]}),
    Variant("update-gate-ignored", "the update gate ignored, Ht = ht",
            quantities={"z": lambda q: np.zeros_like(q["z"])}),
    Variant("clip-ignored", "clip ignored", needs=("clip",), links=IGNORED, semantics=unclipped),
    clipped("clip-gates-only", "only the gates z and r clipped, not the candidate", clipping("a_z", "a_r")),
    clipped("clip-candidate-only", "only the candidate clipped, not the gates z and r", clipping("a_h")),
    clipped("clip-upper-only", "clipped from above only", clipping(*PRE_ACTIVATIONS, how=np.minimum)),
    clipped("clip-lower-only", "clipped from below only",
            clipping(*PRE_ACTIVATIONS, how=lambda a, c: np.maximum(a, -c))),
    clipped("clip-from-zero", "clipped to [0, clip] instead of [-clip, clip]",
            clipping(*PRE_ACTIVATIONS, how=lambda a, c: np.clip(a, 0.0, c))),
    clipped("clip-after-activation", "clipped after the activations instead of before", clipping("z", "r", "t")),
    clipped("clip-state-instead", "the state clipped instead of the pre-activations", clipping("state")),
    Variant("clip-state-too", "the state clipped too", needs=("clip",), quantities=clipping("state")),
    Variant("clip-inner-term", "the inner term Ht-1*(Rh^T) + Rbh clipped too",
            needs=("clip", "reset_after"), quantities={"u": lambda q: both_sides(q["u"], q["clip"]) if "p_u" in q else q["u"]}),
    Variant("activations-ignored", "activations ignored, sigmoid and tanh used", needs=("f.chosen",), links=IGNORED,
            semantics=named(lambda _: SIGMOID, lambda _: TANH)),
    Variant("f-ignored", "the activation of the gates ignored, sigmoid used for z and r", needs=("f.chosen",), links=IGNORED,
            semantics=named(lambda _: SIGMOID, lambda g: g)),
    Variant("g-ignored", "the activation of the candidate ignored, tanh used", needs=("f.chosen",), links=IGNORED,
            semantics=named(lambda f: f, lambda _: TANH)),
    Variant("activations-exchanged", "the two activations exchanged",
            semantics=lambda s: replace(s, f=s.g, g=s.f)),
    Variant("first-activation-for-both", "the activation of the gates used for the candidate too",
            semantics=lambda s: replace(s, g=s.f)),
    Variant("second-activation-for-both", "the activation of the candidate used for the gates too",
            semantics=lambda s: replace(s, f=s.g)),
    Variant("activations-of-first-direction", "the first direction's activations used for both",
            needs=("f.per_direction",), semantics=partial(of_first_direction, "fg")),
    Variant("thresholded-relu-default-zero", "0 taken for the default alpha of ThresholdedRelu, which is 1",
            needs=("alpha", "f.thresholded-relu"),
            semantics=wherever("thresholded-relu", lambda one: RELU if one == DEFAULTS[one.name] else one)),
    Variant("alpha-ignored", "{alpha} ignored, defaults used", needs=("alpha",), links=IGNORED,
            semantics=partial(_parameters, "alpha", lambda _, __, one: DEFAULTS[one.name].alpha)),
    Variant("beta-ignored", "{beta} ignored, defaults used", needs=("beta",), links=IGNORED,
            semantics=partial(_parameters, "beta", lambda _, __, one: DEFAULTS[one.name].beta)),
    *(
        Variant(f"{name}-defaults", f"the parameters of {name} ignored, its defaults used",
                needs=("alpha", f"f.{name}"),
                semantics=wherever(name, lambda one: DEFAULTS[one.name]))
        for name in DEFAULTS
    ),
    Variant("alpha-by-position", "{alpha} taken by the position of the activation, not consumed by those that take one",
            needs=("alpha",), semantics=partial(by_position, "alpha")),
    Variant("alpha-first-for-all", "the first value of {alpha} used by every activation", needs=("alpha",),
            semantics=partial(_parameters, "alpha", lambda given, _, __: given[0])),
    Variant("alpha-beta-exchanged", "{alpha} and {beta} exchanged", needs=("alpha", "beta"),
            semantics=named(*[_exchanged] * 2)),
)  # fmt: skip
"""The place of the reset gate, the gates themselves, clip, activations and their parameters."""
