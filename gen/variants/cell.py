"""Variants of what happens inside a step: gates, clip, activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...cases.semantics import StackedSemantics
from ...vectors.case import Array
from ..gru import Alter
from .approximate import APPROXIMATIONS, REPLACEMENTS
from .variant import Variant
from .weights import LINEAR_BEFORE_RESET

IGNORED = ("https://github.com/sonos/tract/issues/2751",)
PRE_ACTIVATIONS = ("a_z", "a_r", "a_h")

Semantics = StackedSemantics
Changed = Callable[[Array, Array], Array]
"""A quantity of a step as a function of itself and of the clip (infinite where there is none)."""


def _named(f: Callable[[str], str], g: Callable[[str], str]) -> Callable[[Semantics], Semantics]:
    return lambda s: replace(s, f=tuple(map(f, s.f)), g=tuple(map(g, s.g)))


def _instead(name: str, other: str) -> Callable[[Semantics], Semantics]:
    def named(given: str) -> str:
        return other if given == name else given

    return _named(named, named)


def _unclipped(s: Semantics) -> Semantics:
    return replace(s, clip=np.full_like(s.clip, np.inf))


def _altered(changes: Mapping[str, Changed]) -> Callable[[Semantics], Alter]:
    def bound(s: Semantics) -> Alter:
        return lambda name, value: changes[name](value, s.clip) if name in changes else value

    return bound


def _both_sides(value: Array, clip: Array) -> Array:
    return np.asarray(np.clip(value, -clip, clip))


def _clipped(name: str, about: str, at: tuple[str, ...], how: Changed = _both_sides) -> Variant:
    """Clipped at the quantities `at`, and nowhere else."""
    return Variant(
        name,
        about,
        needs=("clip",),
        links=IGNORED,
        semantics=_unclipped,
        alter=_altered(dict.fromkeys(at, how)),
    )


def _clipped_inner(s: Semantics) -> Alter:
    """Ht-1*(Rh^T) + Rbh clipped too; where the reset gate is applied before, there is no such term."""
    return lambda name, u: _both_sides(u, s.clip) if name == "u" and s.reset_after else u


CELL_VARIANTS = (
    Variant("lbr-ignored", "the reset gate applied before the product although linear_before_reset is set",
            needs=("reset_after",), links=LINEAR_BEFORE_RESET, semantics=lambda s: replace(s, reset_after=False)),
    Variant("lbr-assumed", "the reset gate applied after the product although linear_before_reset is not set",
            needs=("reset_after",), links=LINEAR_BEFORE_RESET, semantics=lambda s: replace(s, reset_after=True)),
    Variant("lbr-inverted", "linear_before_reset taken the other way round",
            needs=("reset_after",), links=LINEAR_BEFORE_RESET,
            semantics=lambda s: replace(s, reset_after=not s.reset_after)),
    Variant("reset-gate-ignored", "the reset gate ignored", alter=_altered({"r": lambda r, _: np.ones_like(r)})),
    Variant("reset-gate-flipped", "1 - rt used for rt", alter=_altered({"r": lambda r, _: 1.0 - r})),
    Variant("update-gate-flipped", "zt and 1 - zt exchanged, Ht = zt (.) ht + (1 - zt) (.) Ht-1",
            alter=_altered({"z": lambda z, _: 1.0 - z})),
    Variant("update-gate-ignored", "the update gate ignored, Ht = ht",
            alter=_altered({"z": lambda z, _: np.zeros_like(z)})),
    Variant("clip-ignored", "clip ignored", needs=("clip",), links=IGNORED, semantics=_unclipped),
    _clipped("clip-gates-only", "only the gates z and r clipped, not the candidate", ("a_z", "a_r")),
    _clipped("clip-candidate-only", "only the candidate clipped, not the gates z and r", ("a_h",)),
    _clipped("clip-upper-only", "clipped from above only", PRE_ACTIVATIONS, np.minimum),
    _clipped("clip-lower-only", "clipped from below only", PRE_ACTIVATIONS, lambda a, c: np.maximum(a, -c)),
    _clipped("clip-from-zero", "clipped to [0, clip] instead of [-clip, clip]", PRE_ACTIVATIONS,
             lambda a, c: np.clip(a, 0.0, c)),
    _clipped("clip-after-activation", "clipped after the activations instead of before", ("z", "r", "t")),
    _clipped("clip-state-instead", "the state clipped instead of the pre-activations", ("state",)),
    Variant("clip-state-too", "the state clipped too", needs=("clip",), alter=_altered({"state": _both_sides})),
    Variant("clip-inner-term", "the inner term Ht-1*(Rh^T) + Rbh clipped too",
            needs=("clip", "reset_after"), alter=_clipped_inner),
    Variant("activations-ignored", "activations ignored, sigmoid and tanh used", links=IGNORED,
            semantics=_named(lambda _: "sigmoid", lambda _: "tanh")),
    Variant("f-ignored", "the first activation ignored, sigmoid used for z and r", links=IGNORED,
            semantics=_named(lambda _: "sigmoid", lambda g: g)),
    Variant("g-ignored", "the second activation ignored, tanh used for the candidate", links=IGNORED,
            semantics=_named(lambda f: f, lambda _: "tanh")),
    Variant("activations-exchanged", "the two activations exchanged",
            semantics=lambda s: replace(s, f=s.g, g=s.f)),
    Variant("first-activation-for-both", "the first activation used for the candidate too",
            semantics=lambda s: replace(s, g=s.f)),
    Variant("second-activation-for-both", "the second activation used for the gates too",
            semantics=lambda s: replace(s, f=s.g)),
    *(
        Variant(name, f"{asked} computed as {about}",
                semantics=_instead(asked, name))
        for name, (asked, about, _) in REPLACEMENTS.items()
    ),
    *(
        Variant(name, f"{asked} approximated, off by up to {error:.0e}", kind="approximation",
                function=asked, error=error, semantics=_instead(asked, name))
        for name, (asked, error, _) in APPROXIMATIONS.items()
    ),
)  # fmt: skip
"""The place of the reset gate, the gates themselves, clip, activations, and approximations of these."""
