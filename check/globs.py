"""Find few globs that match some ids and none of others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import product

from ..cases.selection import literal, matches
from .judging.sayable import MOST_GLOB

_MAX_HOPELESS = 20
"""Maximum ids from which no glob can be made; then the others are not tried."""
_MAX_TRIED = 25
"""Maximum globs, the best first, that are matched against every id."""
_MAX_PARTS = 30
"""Maximum parts of an id that are looked at."""
_WILDCARDS = re.compile(r"(?<![^/])\*(/\*)+")

_Demands = tuple[str, str, str, str]
"""Operator, theme, dtype and a part of the rest of an id; "*" for any."""


def find_globs(
    wanted: Sequence[str], others: Collection[str], most: int
) -> tuple[list[str], list[str]]:
    """Find globs that each match several of `wanted` and none of `others`.

    A glob demands an operator, a theme, a dtype, and one part of the rest of the id, or some of these.
    Returns at most `most` globs, and the ids that none of them matches.
    """
    having: dict[tuple[int, str], set[str]] = defaultdict(set)
    for one in (*wanted, *others):
        *head, rest = _segments(one)
        for place, text in [*enumerate(head), *((3, part) for part in _parts(rest))]:
            having[place, text].add(one)
    inside, outside = set(wanted), set(others)
    left, globs, hopeless = dict.fromkeys(wanted), list[str](), set[str]()
    while len(globs) < most and len(left) > 1 and len(hopeless) <= _MAX_HOPELESS:
        seed = next((one for one in left if one not in hopeless), None)
        if seed is None:
            break
        found: list[tuple[int, int, int, str]] = []
        for demands in _demands(seed):
            some = [having[place, text] for place, text in enumerate(demands) if text != "*"]
            matched = set.intersection(*some) if some else inside | outside
            count = len(matched & left.keys())
            if count > 1 and matched <= inside:
                glob = _spell_glob(demands)
                found.append((-count, len(some), len(glob), glob))
        best = next(
            (glob for *_, glob in sorted(found)[:_MAX_TRIED]
             if len(glob) <= MOST_GLOB and not any(matches(one, glob) for one in outside)), None
        )  # fmt: skip
        if best is None:
            hopeless.add(seed)
            continue
        globs.append(best)
        left = {one: None for one in left if not matches(one, best)}
    return globs, list(left)


def _segments(case_id: str) -> tuple[str, str, str, str]:
    """Split an id into operator, theme, dtype and the rest; "" for what it lacks."""
    operator, theme, dtype, rest = [*case_id.split("/", 3), "", "", ""][:4]
    return operator, theme, dtype, rest


def _parts(rest: str) -> set[str]:
    """Split the rest of an id at hyphens; the whole, which begins with "/", is a part, too."""
    return {f"/{rest}", *rest.split("-")[:_MAX_PARTS]} - {"", "*"}


def _demands(case_id: str) -> Iterator[_Demands]:
    """Yield what a glob that matches an id may demand."""
    operator, theme, dtype, rest = _segments(case_id)
    yield from product((operator, "*"), (theme, "*"), (dtype, "*"), ("*", *_parts(rest)))


def _spell_glob(demands: _Demands) -> str:
    """Spell demands as a glob, in which one wildcard stands for several segments."""
    *head, part = ("*" if text == "*" else literal(text) for text in demands)
    if part.startswith("/"):
        part = part[1:]
    elif part != "*":
        part = f"*{part}*"
    return _WILDCARDS.sub("*", "/".join([*head, part]))
