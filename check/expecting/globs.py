"""Few globs that match some ids and none of others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

from ...cases.selection import literal, matches

MOST_SOUGHT = 60
"""So many globs are sought for a group; what they do not match is named one by one."""
_SEEDS = 4
"""So many ids are taken at once, of which globs are made by leaving parts out."""
_MOST_PARTS = 30
"""So many parts of an id are looked at."""
_LEAST_PART = 3
_TRIED = 25
"""So many of the best globs are held against every id."""
_WORD = re.compile(r"[A-Za-z]+")
_MANY = re.compile(r"(?<![^/])\*(/\*)+")


@dataclass(frozen=True)
class _Shape:
    """What a glob demands of an id's operator, theme and dtype, "*" for nothing, and of the rest: parts that
    stand in it between a "/" before it and a newline behind it."""

    head: tuple[str, str, str]
    parts: tuple[str, ...]

    @property
    def globs(self) -> tuple[str, str]:
        """Two globs: a short one, in which a wildcard stands for several segments, and one of all four."""
        head = "/".join(one if one == "*" else literal(one) for one in self.head)
        rest = ""
        for part in self.parts:
            text = part[1:] if rest.endswith("-") and part.startswith("-") else part
            rest += f"*{literal(text)}"
        rest = f"{rest}*".removeprefix("*/").removesuffix("\n*")
        return _MANY.sub("*", f"{head}/{rest}"), f"{head}/{rest}"

    @property
    def demands(self) -> int:
        """How much it demands: the less, the plainer it is."""
        marks = sum(mark in part for part in self.parts for mark in "/-\n")
        return 4 * sum(one != "*" for one in self.head) + 8 * len(self.parts) + marks


@dataclass
class _Ids:
    """Ids with a bit for each: which of them have a head's segment or a part, as a set of bits."""

    ids: Sequence[str]
    _bits: dict[tuple[int, str], int] = field(default_factory=dict)

    @cached_property
    def _segments(self) -> list[list[str]]:
        return [_segments(one) for one in self.ids]

    def having(self, place: int, text: str) -> int:
        """Those whose segment at a place is the text; of the last segment, those that have it somewhere."""
        if (place, text) not in self._bits:
            self._bits[place, text] = _bits(
                text in one[place] if place == 3 else text == "*" or one[place] == text
                for one in self._segments
            )
        return self._bits[place, text]

    def matching(self, shape: _Shape) -> int:
        """Those that a shape may match: its parts may stand in another order."""
        bits = -1
        for place, text in enumerate(shape.head):
            bits &= self.having(place, text)
        for part in shape.parts:
            bits &= self.having(3, part)
        return bits


def covering(
    wanted: Sequence[str], others: Collection[str], most: int = MOST_SOUGHT
) -> tuple[list[str], list[str]]:
    """At most `most` globs that match ids of `wanted` and none of `others`, those first that match most, and
    the ids that none of them matches. A glob for one id alone is none of them."""
    inside, outside = _Ids(list(dict.fromkeys(wanted))), _Ids(list(others))
    clean: dict[_Shape, bool] = {}
    left = dict.fromkeys(inside.ids)
    globs: list[str] = []
    hopeless: set[str] = set()
    while len(globs) < most and len(left) > 1:
        seeds = _evenly([one for one in left if one not in hopeless], _SEEDS)
        if not seeds:
            break
        best = _best(seeds, inside, outside, left, clean)
        if best is None:
            hopeless.update(seeds)
            continue
        globs.append(best)
        left = {one: None for one in left if not matches(one, best)}
    return globs, list(left)


def _best(
    seeds: Sequence[str],
    inside: _Ids,
    outside: _Ids,
    left: Collection[str],
    clean: dict[_Shape, bool],
) -> str | None:
    """The plainest glob, of those made of the seeds, that matches most of what is left and no id outside."""
    remaining = _bits(one in left for one in inside.ids)
    found: dict[_Shape, int] = {}
    for shape in (shape for seed in seeds for shape in _shapes(seed)):
        if shape not in clean:
            clean[shape] = not outside.matching(shape)
        if clean[shape] and shape not in found:
            found[shape] = (inside.matching(shape) & remaining).bit_count()
    order = sorted(found, key=lambda s: (-found[s], s.demands, -len("".join(s.parts)), s.parts))
    for shape in order[:_TRIED]:
        for glob in shape.globs:
            several = sum(matches(one, glob) for one in left) > 1
            if several and not any(matches(one, glob) for one in outside.ids):
                return glob
    return None


def _bits(which: Iterator[bool]) -> int:
    return int("0" + "".join("01"[yes] for yes in which), 2)


def _shapes(case_id: str) -> Iterator[_Shape]:
    """What a glob that matches an id may demand."""
    operator, theme, dtype, rest = _segments(case_id)
    parts = _parts(rest)
    kept = [(), *((one,) for one in parts), *combinations(parts, 2)]
    for head in product((operator, "*"), (theme, "*"), (dtype, "*")):
        yield from (_Shape(head, some) for some in kept)


def _parts(rest: str) -> list[str]:
    """The parts of the rest of an id that may tell it from others, in order: what hyphens part, with them
    and without, what underscores part, and words in front of numbers."""
    found: dict[str, None] = {}
    at = 0
    for part in rest[1:-1].split("-"):
        whole = rest[at : at + len(part) + 2]
        at += len(part) + 1
        if part:
            found[whole] = None
            found[part] = None
        found.update((piece, None) for piece in part.split("_") if len(piece) >= _LEAST_PART)
        word = _WORD.match(part)
        if word and len(word[0]) >= _LEAST_PART:
            found[word[0]] = None
    return list(found)[:_MOST_PARTS]


def _segments(case_id: str) -> list[str]:
    """Operator, theme, dtype and the rest, between its marks; "" for what an id lacks."""
    found = case_id.split("/", 3)
    found += [""] * (4 - len(found))
    return [*found[:3], f"/{found[3]}\n"]


def _evenly(items: Sequence[str], most: int) -> list[str]:
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
