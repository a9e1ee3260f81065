"""An activation function with a curve added to it: what is solved for where no known function was computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS
from .cell import wherever
from .variant import Variant

_FAR = np.array([9.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0])
KNOTS = np.array([*-_FAR[::-1], *np.linspace(-8.0, 8.0, 65), *_FAR])
"""The arguments between which a curve is straight."""
_CURVE = "-and-curve="


def with_curve(asked: str, heights: Sequence[float]) -> Variant:
    """The function `asked` with a curve of these heights at KNOTS added wherever it is asked for."""
    name = f"{asked}{_CURVE}{','.join(f'{height:.9g}' for height in heights)}"

    instead = wherever(asked, lambda given: given._replace(name=name))
    return Variant(
        name, f"{asked} computed as another function", needs=(f"f.{asked}",), semantics=instead
    )


@cache
def heights_of(name: str) -> tuple[str, Array]:
    """The function that a curve was added to, and the curve's heights at KNOTS, from the name of the two.

    Raises ValueError where it is no function, or the heights are not those of a curve.
    """
    asked, _, heights = name.partition(_CURVE)
    curve = np.array([float(height) for height in heights.split(",")])
    if asked not in FUNCTIONS or curve.shape != KNOTS.shape or not np.isfinite(curve).all():
        raise ValueError(f"{name[:80]} names no function with a curve")
    return asked, curve


def is_curved(name: str) -> bool:
    """Whether a function of this name is one with a curve added."""
    return _CURVE in name
