"""Which cases globs select, by their ids: `<operator>/<theme>/<dtype>/<what>`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

from .console import shorten
from .errors import GrucibleError

PLAIN, PLAIN_SIZES = "plain", "plain_sizes"
"""The themes that ask for one feature at a time; the second for one size."""
FEATURES = tuple(f"*/{theme}/*" for theme in (PLAIN, PLAIN_SIZES))
"""Globs that select the cases of these themes."""
AND = " & "
"""Joins globs that an id must match all of; no id of ours holds it."""
_WILD = re.compile(r"[*?[]")
_SPECIAL = re.compile(rf"[*?[]|{AND[0]}(?={AND[1:]})")
"""Characters to escape in a glob."""


class Selection(tuple[str, ...]):
    """Globs, of which an id must match one, and the options of a command that gave them.

    Another command with the options `given`, each with its value, selects the same.
    """

    given: tuple[tuple[str, str], ...]

    def __new__(cls, globs: Iterable[str], given: Iterable[tuple[str, str]]) -> Selection:
        """Keep the globs, and the options that gave them."""
        made = super().__new__(cls, globs)
        made.given = tuple(given)
        return made


class Ids(frozenset[str]):
    """Ids with which many globs are compared."""

    def matching(self, glob: str) -> list[str]:
        """List the ids that a glob matches."""
        if not matches_several(glob):
            return [glob] if glob in self else []
        needle, pattern = _compiled(glob)
        return [one for one in self if one == glob or (needle in one and pattern.match(one))]


def matches(case_id: str, glob: str) -> bool:
    """Say whether an id matches a glob, case and all; `*` crosses `/`. Joined by AND, it matches each."""
    needle, pattern = _compiled(glob)
    return case_id == glob or (needle in case_id and pattern.match(case_id) is not None)


def is_glob(text: str) -> bool:
    """Say whether a text has a wildcard."""
    return _WILD.search(text) is not None


def matches_several(glob: str) -> bool:
    """Say whether a glob may match other ids than the one that is spelled so."""
    return is_glob(glob) or AND in glob


def literal(text: str, others: Collection[str] = ()) -> str:
    """Make a glob that matches the text and none of `others`, one of which may be spelled like it."""
    glob, often = text, 0
    while not often or (glob != text and glob in others):
        often += 1
        glob = _SPECIAL.sub("[" + r"\g<0>" * often + "]", text)
    return glob


def selected(case_id: str, select: Sequence[str]) -> bool:
    """Say whether an id matches any glob; no glob selects everything."""
    if not select:
        return True
    whole, wild = _taken_apart(tuple(select))
    return case_id in whole or any(matches(case_id, glob) for glob in wild)


def may_select(prefix: str, select: Sequence[str]) -> bool:
    """Say whether an id that begins with `prefix` can match any glob.

    It looks at what stands before a glob's first wildcard, so the answer may be true needlessly,
    and never false where such an id matches.
    """
    if not select:
        return True
    whole, wild = _taken_apart(tuple(select))
    return any(one.startswith(prefix) for one in whole) or any(
        all(_may_match(prefix, one) for one in glob.split(AND)) for glob in wild
    )


def _may_match(prefix: str, glob: str) -> bool:
    head = _WILD.split(glob, maxsplit=1)[0]
    if len(head) == len(glob):
        return glob.startswith(prefix)
    return head.startswith(prefix) or prefix.startswith(head)


@lru_cache(maxsize=16)
def _taken_apart(select: tuple[str, ...]) -> tuple[frozenset[str], list[str]]:
    """Separate globs as they stand, to which an id may be equal, and those that match more than one id."""
    return frozenset(select), [glob for glob in dict.fromkeys(select) if matches_several(glob)]


@lru_cache(maxsize=8000)
def _compiled(glob: str) -> tuple[str, re.Pattern[str]]:
    """Compile a glob, and find the longest text that an id must hold to match: that is quicker to find."""
    parts = glob.split(AND)
    texts = [text for one in parts for text in re.split(r"[*?]", one.partition("[")[0])]
    return max(texts, key=len), re.compile("".join(f"(?={translate(one)})" for one in parts))


def options_of(select: Sequence[str]) -> Sequence[tuple[str, str]]:
    """List the options, each with its value, that select what the globs do."""
    if isinstance(select, Selection):
        return select.given
    return [("--select", glob) for glob in select]


def nothing_selected(
    select: Sequence[str], dtypes: Sequence[str] = (), listing: str = "--list"
) -> GrucibleError:
    """Make the error of globs and dtypes that select nothing of what `grucible cases` lists."""
    given = [*(("--dtype", one) for one in dtypes), *options_of(select)]
    named = " ".join(f"{option} {value!r}" for option, value in given)
    by = f" by {shorten(named)}" if named else ""
    return GrucibleError(f"no case is selected{by}; see the ids with: grucible cases {listing}")


def of_dtypes(select: Sequence[str], dtypes: Sequence[str], usual: Sequence[str] = ()) -> Selection:
    """Select, of what `select` or else `usual` does, the cases of the dtypes; without any, of all.

    A glob may be the id of a case as it stands.
    """
    given = [*(("--dtype", one) for one in dtypes), *options_of(select)]
    globs, found = select or usual, [f"*/*/{dtype}/*" for dtype in dtypes]
    if found and globs:
        odd = [literal(glob) for glob in globs if "[" in glob or AND in glob]
        meant = dict.fromkeys([*globs, *odd])
        found = [f"{glob}{AND}{one}" for glob in meant for one in found]
    return Selection(found or select, given)
