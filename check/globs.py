"""Find few globs that match some ids and none of others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product

from ..cases.selection import Ids, literal, matches
from .judging.expectations import MOST_GLOB

_MAX_HOPELESS = 20
"""Maximum ids from which no glob can be made; then the others are not tried."""
_MAX_PARTS = 30
"""Maximum parts of an id that are looked at."""
_WILDCARDS = re.compile(r"(?<![^/])\*(/\*)+")


def find_globs(
    wanted: Sequence[str], others: Collection[str], most: int
) -> tuple[list[str], list[str]]:
    """Find globs that each match several of `wanted` and none of `others`.

    Returns at most `most` globs, and the ids that none of them matches.
    """
    every, inside = Ids([*wanted, *others]), set(wanted)
    left, globs, hopeless = dict.fromkeys(wanted), list[str](), 0
    for seed in wanted:
        if seed not in left or len(left) < 2:
            continue
        if len(globs) == most or hopeless == _MAX_HOPELESS:
            break
        found = []
        for glob in _make_globs(seed):
            matched = every.matching(glob)
            count = sum(one in left for one in matched)
            if count > 1 and inside.issuperset(matched):
                found.append((-count, len(glob), glob))
        if not found:
            hopeless += 1
            continue
        *_, best = min(found)
        globs.append(best)
        left = {one: None for one in left if not matches(one, best)}
    return globs, list(left)


def _make_globs(case_id: str) -> Iterator[str]:
    """Make the globs that demand an operator, a theme, a dtype, one part of the rest, or some of these."""
    *head, rest = [*case_id.split("/", 3), "", "", ""][:4]
    parts = [literal(part) for part in rest.split("-")[:_MAX_PARTS] if part]
    choices = [(literal(text), "*") for text in head]
    for demands in product(*choices, ("*", literal(rest), *(f"*{part}*" for part in parts))):
        glob = _WILDCARDS.sub("*", "/".join(demands))  # one for several segments
        if len(glob) <= MOST_GLOB:
            yield glob
