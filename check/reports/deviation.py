"""What is said of observed states against the exact ones, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from ...cases.dtypes import FLOAT_TYPES
from ...cases.operators.readings import about
from ..tracing.deviation import Beside, Deviation, Leaving, Place, WrongStep
from .findings import how_far_off, off_by

_Key = TypeVar("_Key", bound=Hashable)


def verdict(name: str, found: Deviation) -> str:
    """Whether what is called `name` passes the case, and if not, the element that is furthest off."""
    result = found.result
    if result.verdict == "passed":
        read = f", under the reading {' and '.join(result.readings[0])}" if _read(found) else ""
        worst = f"the largest error is {result.worst_ratio:.3g} × tolerance"
        return f"{name} passes{read}: {worst}"
    if result.verdict != "failed":
        return f"{name}: {result.verdict}: {result.message}"
    return f"{name} fails: {how_far_off(result)}"


def _read(found: Deviation) -> bool:
    """Whether a case passed under other readings than the stored one alone."""
    return bool(found.result.readings) and all(found.result.readings)


def sentences(found: Deviation) -> Iterator[str]:
    """Where the states of a failed case leave the exact ones, and what is wrong by itself."""
    if found.reading:
        yield f"held against the nearest reading, {' and '.join(found.reading)}: {about(found.reading)}"
    then = _what_follows(found)
    leaves = [_leaves(one, found) for one in found.leaving]
    if not leaves:
        leaves = ["no state is off by more than its tolerance"]
        then = then if found.wrong else ""
    if len(leaves) == 1 and then:
        leaves, then = [f"{leaves[0]}; {then}"], ""
    yield from leaves
    if then:
        yield then
    for beside in found.beside:
        yield _beside(beside, found)
    if found.last_alone_right:
        yield (
            "the last states are right where they are handed out by themselves: so the steps are "
            "right, and what Y holds is not what they gave"
        )
    if found.result.arithmetic:
        yield f"it is off by no more than {found.result.arithmetic} arithmetic may be"


def _leaves(one: Leaving, found: Deviation) -> str:
    expected, got = (_number(value, found) for value in (one.expected, one.observed))
    ratio = one.off / one.tolerance if one.tolerance else math.inf
    more = f" (and {one.others} more of its units)" if one.others else ""
    whose = "leaves the exact states" if found.every else "its last states leave the exact ones"
    at = f"{_at(one.place)}, unit {one.unit}{more}"
    told = f"expected {expected}, got {got}{off_by(one.off, ratio)}"
    return f"{whose} first at {at}: {told}"


def _number(value: float, found: Deviation) -> str:
    """A number of the case's dtype, in the fewest digits that tell it from its neighbours."""
    return str(FLOAT_TYPES[found.result.dtype].numpy.type(value))


def _at(place: Place) -> str:
    return f"{place.direction}, row {place.row}, step {place.step} (time {place.time})"


def _what_follows(found: Deviation) -> str:
    """What is said of the other steps."""
    if found.last_alone_right:
        return ""
    if not found.every:
        return "at which step they go wrong cannot be told: the other states are not handed out"
    if not found.wrong:
        return (
            "from the observed state before it no step is off by much: these are small errors, as of "
            "coarse arithmetic, or of a function that is not exact enough"
        )
    first, total = found.wrong[0].place, found.steps
    if len(found.wrong) == 1:
        same = bool(found.leaving) and found.leaving[0].place == first
        alone = "" if same else f"{_at(first)} alone is wrong by itself; "
        if total == 1:
            return "it is the one step that there is"
        return (
            f"{alone}every later step is right from the state before it: all that follows is its "
            "consequence"
        )
    if len(found.wrong) == total:
        return f"every step is wrong by itself, from the observed state before it: all {total}"
    return (
        f"{len(found.wrong)} of {total} steps are wrong by themselves, from the observed state before them; "
        "every other step is right from the state before it: what else is off is their consequence"
    )


def _beside(one: Beside, found: Deviation) -> str:
    expected, got = (_number(value, found) for value in (one.expected, one.observed))
    if one.time is not None:
        where = f"{one.direction}, row {one.row}, time {one.time}, unit {one.unit}"
        return f"{one.output} past the row's length at {where}: expected {expected}, got {got}"
    return (
        f"{one.output} is not the state after the row's last step at {one.direction}, row {one.row}, unit "
        f"{one.unit}: expected {expected}, got {got}"
    )


def wrong_steps(found: Deviation, hidden: int) -> Iterator[str]:
    """The steps that are wrong by themselves, a line for rows that are alike: `forward, rows 0-2: step 1,
    unit 3; steps 4-5, every unit`. None where one line says it all: of one step, of every step, and where
    what Y holds says nothing of steps."""
    if found.last_alone_right or len(found.wrong) in (1, found.steps):
        return
    by_row = [
        (direction, row, tuple(_steps(list(steps), hidden)))
        for (direction, row), steps in groupby(
            found.wrong, key=lambda one: (one.place.direction, one.place.row)
        )
    ]
    for (direction, said), rows in _together(by_row, lambda one: (one[0], one[2])):
        yield f"{direction}, {_named('row', [row for _, row, _ in rows])}: {'; '.join(said)}"


def _steps(steps: Sequence[WrongStep], hidden: int) -> Iterator[str]:
    """The steps of a row, those of the same units together."""
    for units, alike in _together(steps, lambda one: one.units):
        told = "every unit" if len(units) == hidden else _named("unit", units)
        yield f"{_named('step', [one.place.step for one in alike])}, {told}"


_One = TypeVar("_One")


def _together(
    items: Iterable[_One], key: Callable[[_One], _Key]
) -> Iterator[tuple[_Key, list[_One]]]:
    """The items of one key together, in the order of the first of each."""
    found: dict[_Key, list[_One]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    yield from found.items()


def _named(word: str, numbers: Sequence[int]) -> str:
    """Numbers in order, as `steps 0-3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    told = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{word}{'s' if len(numbers) > 1 else ''} {told}"
