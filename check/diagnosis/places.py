"""Where in the outputs of cases something is: a direction, a step, a row, a unit, a size, some values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import Activation
from ...cases.operators.layout import shared_outputs
from ...gen.stacks import Stack
from ...gen.variants.places import Elements, elements_of, places
from .apart import Feature, Groups, choose_conditions, enough, joined
from .asked import SIZES, of_size
from .steps import Steps

MOST_CONDITIONS = 2
"""Maximum conditions of a place that has exceptions: a third says more of chance than of the place."""
States = Steps | Elements
Split = tuple[States, Array, Array]
"""States, with which of them are in a group, and which are others: masks (n, direction, rows, hidden)."""


def where(each: Sequence[Split], exceptions: float = 0.0) -> str:
    """Say the simplest place where the states of the group are, and of the others no more than a share.

    "" where there is none, or most that are there are others.
    """
    known = [one for one in each if one[1].any() or one[2].any()]
    features = _features([one for one, _, _ in known])
    groups = Groups([mask for _, mask, _ in known], [mask for _, _, mask in known])
    members, others = (
        sum(int(mask.any(axis=(1, 2, 3)).sum()) for mask in masks)
        for masks in (groups.members, groups.others)
    )
    if not enough(members, others, len(features)):
        features = [one for one in features if not _of_cases(one, groups)]
    found, groups = choose_conditions(features, groups, MOST_CONDITIONS, exceptions)
    members, rest = groups.counts
    return joined([one.words for one in found]) if found and rest <= members else ""


def elements_in(stack: Stack, name: str, output: Array) -> tuple[Elements, Array]:
    """Find the elements of a block's output that stacked cases have, and the array in their layout."""
    shared = shared_outputs(stack.operator, stack.attributes, {name: output})
    [(role, array)] = shared.items()
    mine, steps = array[stack.rows], array.shape[-2] if role == "y" else 0
    flat = mine.reshape(*mine.shape[:2], -1, mine.shape[-1])
    return elements_of(stack.inputs, stack.semantics, steps), flat


def _of_cases(feature: Feature, groups: Groups) -> bool:
    """Say whether a feature is the same for all states of each case: then only cases count."""
    for values, *masks in zip(feature.values, groups.members, groups.others, strict=True):
        mask = masks[0] | masks[1]
        low, high = (
            which(np.where(mask, values, other), axis=(1, 2, 3))
            for which, other in ((np.min, np.inf), (np.max, -np.inf))
        )
        if (low < high).any():
            return False
    return True


def _features(states: Sequence[States]) -> list[Feature]:
    """Make the features of all states, what is simple first."""
    asked = [one.functions for one in states if isinstance(one, Steps)]
    functions = sorted(frozenset.intersection(*asked)) if asked else []
    each = [
        [*_of_elements(one.elements), *_of_values(one, functions)]
        if isinstance(one, Steps)
        else [*_of_elements(one)]
        for one in states
    ]
    return [
        replace(same[0], values=[one.values[0] for one in same]) for same in zip(*each, strict=True)
    ]


def _of_elements(at: Elements) -> Iterator[Feature]:
    yield from (Feature([values * 1], words) for values, words in places(at))
    sizes = (at.inputs.h0.shape[-1], at.inputs.x.shape[-1], *at.inputs.x.shape[-3:-1])
    for name, size in zip(SIZES.values(), sizes, strict=True):
        yield from of_size(name, np.full((1, 1, 1, 1), float(size)))


def _of_values(states: Steps, functions: Sequence[str]) -> Iterator[Feature]:
    """Make the features of pre-activations: of all, and of each function.

    Where the reset gate is applied before the product, a state comes from the reset gates of all units.
    """
    meant, clip = states.stack.semantics, states.stack.semantics.clip[:, None]
    z, r, h = (states.quantities[name] for name in ("a_z", "a_r", "a_h"))
    both = [r, r]
    if not meant.reset_after:
        both = [which(r, axis=-1, keepdims=True) for which in (np.min, np.max)]
    for name in ("", *functions):
        f, g = (is_called(name, each) for each in (meant.f, meant.g))
        some = [np.where(f, gate, np.zeros_like(z)) for gate in (z, *both)] + [np.where(g, h, 0.0)]
        some = [np.clip(one, -clip, clip) if name else one for one in some]
        low, high = np.minimum.reduce(some), np.maximum.reduce(some)
        one = f"the argument of {name}" if name else "a pre-activation"
        yield Feature([high], {">=": f"where {one} is above {{value}}"}, real=True)
        yield Feature([low], {"<": f"where {one} is below {{value}}"}, real=True)
        size = {">=": f"where the size of {one} is above {{value}}"}
        yield Feature([np.maximum(high, -low)], size, real=True)


def is_called(name: str, functions: Sequence[Sequence[Activation]]) -> Array:
    """(n, direction, 1, 1) Say of which cases and directions a function has this name; "" is any's."""
    same = [[name in ("", one.name) for one in cases] for cases in functions]
    return np.array(same).T[..., None, None]
