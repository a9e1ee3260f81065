"""What may never have been written: a place of the outputs that is all one constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ...cases.operators import OPERATORS
from ...gen.variants.known import variant_called
from ...gen.variants.places import PLACES, elements_of
from ...gen.variants.variant import Variant, traits
from .failing import FailingBlock
from .finding import Names
from .hints import wrong_elements

FEWEST = 16
"""Minimum wrong elements that are one number before it counts as a constant; fewer are equal by chance."""
MOST_CONSTANTS = 2
"""Maximum numbers that are tried as constants; a buffer is filled with one."""


def unwritten(parts: Sequence[FailingBlock]) -> Iterator[tuple[Variant, ...]]:
    """Yield the variants that fill a place with a constant that wrong elements have."""
    for value in _constants(parts):
        for names in _names(value, parts):
            yield tuple(map(variant_called, names))


def _constants(parts: Sequence[FailingBlock]) -> Iterator[float]:
    """Yield the constants that wrong elements may be filled with."""
    wrong = [
        part.observed[name][mask].astype(np.float64)
        for part in parts
        for name, mask in wrong_elements(part).items()
    ]
    values = np.concatenate([np.zeros(0), *wrong])
    if np.isnan(values).any():
        yield np.nan
    known, counts = np.unique(values[np.isfinite(values)] + 0.0, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:MOST_CONSTANTS]
    yield from (float(known[at]) for at in most if counts[at] >= FEWEST)


def _names(value: float, parts: Sequence[FailingBlock]) -> Iterator[Names]:
    """Yield the names of places, those of both outputs or the state first, then of Y beside all of Ho.

    A place of both has something beside it, in some case. Ho-zero and Y-zero have names of their own.
    """
    number = "" if np.isnan(value) else f"={value!r}"
    states = [elements_of(one.inputs, one.semantics) for part in parts for one in part.stacked]
    places = set[str]()
    for one in states:
        places |= {name for name, mask in one.masks(PLACES.keys() - places) if not mask.all()}
    both = any(traits(OPERATORS[part.block.operator]) >= {"y", "ho"} for part in parts)
    every = [place for place in PLACES if value or place != "everywhere"]
    if value or both:
        yield (f"constant-everywhere{number}",)
    kinds = ["unwritten", *["unwritten-Ho", "unwritten-Y"] * both]
    kinds += ["unwritten-state"] * (both and not number)
    for kind, place in product(kinds, every):
        if (
            place in places
            or kind == "unwritten-Y"
            or (kind, place) == ("unwritten-Ho", "everywhere")
        ):
            yield (f"{kind}-{place}{number}",)
    if both and value:
        yield from (
            (f"unwritten-Y-{place}{number}", f"unwritten-Ho-everywhere{number}") for place in every
        )
