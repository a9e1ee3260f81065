"""How an error passes through an activation, clip included, over float64 arrays.

φ = f∘clip is treated as one function. For an argument a with an error of at most D,

    |φ(a + d) - φ(a) - φ′(a)·d| ≤ remainder(a, D)        for every |d| ≤ D,

by Taylor's theorem where φ is smooth, at each kink within reach by the jump of its slope times the
way beyond it, and at each step within reach by its height. No difference of nearly equal numbers is
formed: (a + δ) - a would be 0 for small δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation, Break, Shape
from ..stacks import rows_by_function
from .classes import Units


@lru_cache(maxsize=1024)
def shape(function: Activation) -> Shape:
    """Describe the shape of a function with its parameters."""
    return FUNCTIONS[function.name].shape(function.alpha, function.beta)


def slopes(function: Activation, v: Array) -> tuple[Array, Array]:
    """f′(v) and |f″(v)|; at a break those of one side."""
    return FUNCTIONS[function.name].slopes(v, function.alpha, function.beta)


class Curves:
    """The functions of n stacked cases, in the classes of `units`, each clipped at a limit, (n, 1, 1).

    Arguments are (n, rows, m); how far off they may be, `reach`, (n, rows, classes, m).
    """

    def __init__(self, functions: tuple[Activation, ...], clip: Array, units: Units) -> None:
        def each(values: Sequence[float]) -> Array:
            return np.array(values, np.float64).reshape(-1, 1, 1, 1)

        shapes = [shape(one) for one in functions]
        self.functions, self.clip = functions, clip
        self.range = each([one.range for one in shapes])
        self.half_second = each([0.5 * one.second for one in shapes])
        thirds = [one.third if math.isfinite(one.third) else 0.0 for one in shapes]
        self.sixth_third = each(thirds) / 6.0
        self._jumps_second = each([not math.isfinite(one.third) for one in shapes])[..., 0] > 0.0
        self._jumps = bool(self._jumps_second.any())
        most = max(len(one.breaks) for one in shapes)
        self.breaks = [
            tuple(each(column) for column in zip(*of_each_case, strict=True))
            for of_each_case in zip(*(_padded(one.breaks, most) for one in shapes), strict=True)
        ]
        self.guarded = any(one.guarded for one in shapes)
        self._guards = each([one.guarded for one in shapes])
        self._clips = bool(np.isfinite(clip).any())
        self._ends = [(end, self._jump_at(end)) for end in (clip, -clip)] if self._clips else []
        own = np.array([units.function(one) for one in functions])
        tiny = units.tiny * (1.0 + np.abs(each([one.alpha for one in functions])))
        self._relative = own[:, None, 0] + units.kept
        self._absolute, self._growing = own[:, None, 1] + tiny, own[:, None, 2]
        self._grows = bool(self._growing.any())

    def _jump_at(self, end: Array) -> Array:
        """By how much the slope jumps at an end of the clipping; 0 where there is none."""
        slope, _ = self._of(np.where(np.isfinite(end), end, 0.0))
        return np.where(np.isfinite(end), np.abs(slope), 0.0)[..., None]

    def _of(self, v: Array) -> tuple[Array, Array]:
        groups = rows_by_function(self.functions)
        if len(groups) == 1:
            return slopes(self.functions[0], v)
        slope, second = np.empty_like(v), np.empty_like(v)
        for one, at in groups.items():
            slope[at], second[at] = slopes(one, v[at])
        return slope, second

    def inside(self, a: Array) -> Array:
        """Clip `a`."""
        return np.clip(a, -self.clip, self.clip) if self._clips else a

    def slopes(self, a: Array, inside: Array) -> tuple[Array, Array]:
        """φ′(a), and ½|φ″| at what `a` is clipped to, or a bound of it where φ″ jumps.

        At a kink φ′ is one of the two one-sided slopes.
        """
        slope, second = self._of(inside)
        if self._clips:
            slope = np.where(np.abs(a) <= self.clip, slope, 0.0)
        half = 0.5 * second
        if self._jumps:
            half = np.where(self._jumps_second, self.half_second[..., 0], half)
        return slope, half

    def remainder(self, a: Array, inside: Array, reach: Array, half_second: Array) -> Array:
        """Evaluate the bound above; `reach` is D, and `half_second` from `slopes`."""
        if not self._clips and not self.breaks:
            return self._smooth(reach, half_second)
        way = reach = _widened(reach)
        if self._clips:  # of the reach, what is within [-clip, clip]
            way = np.maximum(reach - np.abs(a - inside)[..., None, :], 0.0)
        bound = self._smooth(way, half_second)
        for end, jump in self._ends:
            bound += jump * np.maximum(reach - np.abs(a - end)[..., None, :], 0.0)
        for at, jump, height in self.breaks:
            bound += jump * np.maximum(reach - np.abs(a[..., None, :] - at), 0.0)
            if height.any():
                bound += height * (np.abs(inside[..., None, :] - at) <= reach)
        return bound

    def _smooth(self, way: Array, half_second: Array) -> Array:
        bound = self.sixth_third * way
        bound += half_second[..., None, :]
        np.minimum(bound, self.half_second, out=bound)
        bound *= way
        bound *= way
        return bound

    def straddles(self, inside: Array, reach: Array) -> Array:
        """Whether an argument of a row may be on either side of a guarded break, (n, rows, classes)."""
        found = np.zeros(reach.shape, bool)
        for at, _, _ in self.breaks:
            found |= (self._guards > 0.0) & (np.abs(inside[..., None, :] - at) <= _widened(reach))
        return np.asarray(found.any(axis=-1))

    def rounding(self, a: Array, reach: Array, size: Array) -> Array:
        """Bound what a computed function loses itself, of arguments |a|, where |φ| is at most `size`."""
        lost = self._relative * size + self._absolute
        if self._grows:
            lost += self._growing * (np.minimum(a, self.clip)[..., None, :] + reach)
        return lost


def _padded(breaks: tuple[Break, ...], most: int) -> list[tuple[float, float, float]]:
    """List the breaks, (at, slope, height), and others that are never reached."""
    real = [(one.at, one.slope, one.height) for one in breaks]
    return real + [(math.inf, 0.0, 0.0)] * (most - len(real))


def _widened(reach: Array) -> Array:
    return reach * (1.0 + 2.0**-50)  # differences of reach and distance round
