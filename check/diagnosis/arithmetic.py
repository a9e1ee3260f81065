"""Coarse arithmetic as an explanation: outputs less exact than a user demands, and float64 in float32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...cases.dtypes import Array
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...vectors.case import REQUIRED
from .failing import FailingBlock, by_part, elements
from .finding import Finding

MOST_PASSING = 0.1
"""Maximum share of passing cases in a dtype that is computed coarsely: some are exact in a coarse type."""
MOST = 0.5
"""Minimum share of failing cases whose outputs are float32 numbers: others may fail for another reason."""


def sound(dtype: str, name: str) -> bool:
    """Say whether a case that fits the class `name` is as good as its dtype requires by default."""
    names = [one.name for one in CHAINS[dtype][0]]
    return name in names[: names.index(REQUIRED[dtype]) + 1]


def arithmetic_findings(
    parts: Sequence[FailingBlock],
    rows: Sequence[tuple[str, str]],
    fits: Sequence[str],
    passed: Mapping[str, int],
) -> Iterator[tuple[Finding, Array]]:
    """Find the arithmetic of failing cases, with which cases (n,) it explains.

    `rows` are dtypes and ids, `fits` the best class that each case fits, `passed` counts cases by dtype.
    """
    dtypes, count = np.array([dtype for dtype, _ in rows]), len(rows)
    fine = np.array([sound(dtype, name) for (dtype, _), name in zip(rows, fits, strict=True)])
    for dtype in CLASSES:
        if (mine := fine & (dtypes == dtype)).any():
            name = _coarsest(dtype, {fits[row] for row in np.flatnonzero(mine).tolist()})
            about = f"{dtype} as good as {name} arithmetic, but less than was demanded"
            yield Finding((name,), "arithmetic", about, int(mine.sum()), count), mine
    wide = dtypes == "float64"
    narrow = _in_float32(parts, count) & wide
    mine = narrow & ~fine & (np.array(fits) == "float32")
    explained, most = int(mine.sum()), MOST_PASSING * (mine.sum() + passed.get("float64", 0))
    if explained and narrow.sum() > MOST * wide.sum() and passed.get("float64", 0) <= most:
        about = "float64 outputs are numbers of float32, and as near as its arithmetic comes"
        yield Finding(("float32",), "arithmetic", about, explained, count), mine


def _coarsest(dtype: str, names: set[str]) -> str:
    """Find the coarsest of some classes; "" where there is none, or none is coarser than all others."""
    for chain in CHAINS[dtype]:
        order = [one.name for one in chain]
        if names and names <= {*order}:
            return max(names, key=order.index)
    return ""


def _in_float32(parts: Sequence[FailingBlock], count: int) -> Array:
    """Say of which failing cases (count,) all outputs are float32 numbers; of those not at hand, none."""
    found = np.zeros(count, bool)
    for part, mine in by_part(parts, found):
        values = elements(part.observed, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            same = values.astype(np.float32).astype(np.float64) == values
        mine[:] = (same | np.isnan(values)).all(axis=1)
    return found
