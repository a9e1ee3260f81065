"""Coarse arithmetic as an explanation: outputs less exact than a user demands, and float64 in float32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...gen.tolerances.classes import CHAINS, CLASSES
from ...vectors.case import REQUIRED, difference
from .failing import FailingBlock, by_part
from .finding import Finding

MOST_PASSING = 0.1
"""Maximum share of passing cases in a dtype that is computed coarsely: some are exact in a coarse type."""
MOST = 0.5
"""Minimum share of failing cases whose outputs are float32 numbers: others may fail for another reason."""
ROUNDED = 2.0
"""Maximum units in the last place of outputs rounded near the end: one rounding makes half a unit."""
GRID_SMALL, GRID_FEWEST = 2.0**-5, 16
"""Maximum size of numbers that show a fixed-point grid: floating-point numbers are finer there.
Minimum count of them: 16 floating-point numbers are hardly ever all on a grid."""


def sound(dtype: str, name: str) -> bool:
    """Say whether a case that fits the class `name` is as good as its dtype requires by default."""
    names = [one.name for one in CHAINS[dtype][0]]
    return name in names[: names.index(REQUIRED[dtype]) + 1]


def arithmetic_findings(
    parts: Sequence[FailingBlock],
    rows: Sequence[tuple[str, str]],
    fits: Sequence[str],
    left: Array,
    passed: Mapping[str, int],
) -> Iterator[tuple[Finding, Array]]:
    """Find the arithmetic of the cases that are left (n,), with which cases it explains.

    `rows` are dtypes and ids, `fits` the best class that each case fits, `passed` counts cases by dtype.
    """
    dtypes, count = np.array([dtype for dtype, _ in rows]), len(rows)
    fine = left & [sound(dtype, name) for (dtype, _), name in zip(rows, fits, strict=True)]
    for dtype in CLASSES:
        if (mine := fine & (dtypes == dtype)).any():
            name = _coarsest(dtype, {fits[row] for row in np.flatnonzero(mine).tolist()})
            about = f"{dtype} as good as {name} arithmetic, but less than was demanded"
            yield Finding((name,), "arithmetic", about, int(mine.sum()), count), mine
    wide = dtypes == "float64"
    narrow = _numbers_of("float32", parts, count) & wide
    mine = narrow & left & ~fine & (np.array(fits) == "float32")
    explained, most = int(mine.sum()), MOST_PASSING * (mine.sum() + passed.get("float64", 0))
    if not explained or narrow.sum() <= MOST * wide.sum() or passed.get("float64", 0) > most:
        return
    if not _on_a_grid("float32", parts, narrow):
        about = "float64 computed in float32 arithmetic, at least in part"
        if _units_off("float32", parts, mine) <= ROUNDED:
            about = "float64 outputs rounded to float32, or computed in it near the end"
        yield Finding(("float32",), "arithmetic", about, explained, count), mine


def sizes_of_errors(
    rows: Sequence[tuple[str, str]], fits: Sequence[str], left: Array, passed: Mapping[str, int]
) -> Iterator[str]:
    """Say how small the errors of a dtype are, where hardly a case passed and nothing explains any other."""
    for dtype in CLASSES:
        mine = [row for row, (one, _) in enumerate(rows) if one == dtype]
        most = MOST_PASSING * (len(mine) + passed.get(dtype, 0))
        name = _coarsest(dtype, {fits[row] for row in mine})
        if name and left[mine].all() and passed.get(dtype, 0) <= most:
            yield f"errors of {dtype} are no larger than those of {name} arithmetic"


def _coarsest(dtype: str, names: set[str]) -> str:
    """Find the coarsest of some classes; "" where there is none, or none is coarser than all others."""
    for chain in CHAINS[dtype]:
        order = [one.name for one in chain]
        if names and names <= {*order}:
            return max(names, key=order.index)
    return ""


def _units_off(name: str, parts: Sequence[FailingBlock], which: Array) -> float:
    """Compute the largest error of the cases `which` (n,), in units in the last place of a type."""
    worst = 0.0
    for part, rows in by_part(parts, which):
        for output, array in part.observed.items():
            right = part.block.answer.outputs[output][rows].astype(np.float64)
            finite = np.isfinite(right)
            off = difference(array[rows].astype(np.float64), right)[finite]
            units = off / FLOAT_TYPES[name].spacing(right[finite])
            worst = max(worst, float(units.max(initial=0.0)))
    return worst


def _numbers_of(name: str, parts: Sequence[FailingBlock], count: int) -> Array:
    """Say of which failing cases (count,) all outputs are numbers of a type; of those not at hand, none."""
    found = [np.zeros(0, bool)]
    for part in parts:
        whole = np.ones(len(part), bool)
        for array in part.observed.values():
            with np.errstate(over="ignore", invalid="ignore"):
                values = array.astype(np.float64)
                same = values.astype(FLOAT_TYPES[name].numpy).astype(np.float64) == values
            whole &= (same | np.isnan(values)).reshape(len(part), -1).all(axis=1)
        found.append(whole)
    known = np.concatenate(found)
    return np.pad(known, (0, count - len(known)))


def _on_a_grid(name: str, parts: Sequence[FailingBlock], which: Array) -> bool:
    """Say whether all outputs of the cases `which` (n,), small ones too, are multiples of one number."""
    step, found = 2.0 ** -(FLOAT_TYPES[name].precision + 1), 0
    for part, rows in by_part(parts, which):
        for array in part.observed.values():
            values = np.abs(array[rows].astype(np.float64))
            small = values[(values > 0) & (values < GRID_SMALL)]
            if (small % step != 0).any():
                return False
            found += small.size
    return found >= GRID_FEWEST
