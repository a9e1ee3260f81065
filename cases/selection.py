"""Which cases globs select, by their ids: `<operator>/<theme>/<dtype>/<what>`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase, translate
from functools import cached_property, lru_cache, partial

from .errors import GrucibleError

PLAIN, PLAIN_SIZES = "plain", "plain_sizes"
"""The themes that ask for one feature at a time; the second for one size."""
FEATURES = tuple(f"*/{theme}/*" for theme in (PLAIN, PLAIN_SIZES))
"""What selects the cases of these themes."""
AND = " & "
"""What joins globs that an id must match all of: no id of ours holds it."""
MOST_GLOBS = 1000
"""So many globs with wildcards may select: each is held against every id. Ids that select are looked up."""
_MOST_TOLD = 20
"""So many globs are told, where none selects anything."""
_WILD = re.compile(r"[*?[]")
_SPECIAL = re.compile(rf"[*?[]|{AND[0]}(?={AND[1:]})")
"""What does not mean itself in a glob; of AND, to mean itself, it takes the first character."""


def matches(case_id: str, glob: str) -> bool:
    """Whether an id matches a glob, case and all; `*` crosses `/`. Joined by AND, it matches each."""
    return all(fnmatchcase(case_id, one) for one in glob.split(AND)) or case_id == glob


class Ids(frozenset[str]):
    """Ids against which many globs are held, of which most match none."""

    @cached_property
    def _text(self) -> str:
        return "\n".join(self)

    def matching(self, glob: str) -> list[str]:
        """Those that match a glob, as `matches` says.

        A glob's texts are looked for in all ids joined, then in each, before it is matched: most globs need
        no more, and that is a hundred times as quick.
        """
        parts = glob.split(AND)
        texts = _texts(parts)
        found: list[str] = []
        if all(text in self._text for text in texts):
            found = list(self)
            for text in texts:
                found = [one for one in found if text in one]
            for part in parts:
                found = list(filter(_pattern(part).match, found))
        if glob in self and glob not in found:
            found.append(glob)
        return found


def is_glob(text: str) -> bool:
    """Whether a text has a wildcard, and so may match more than one id."""
    return _WILD.search(text) is not None


def literal(text: str, others: Collection[str] = ()) -> str:
    """A glob that matches the text and none of `others`, of which one may be spelled as such a glob is."""
    glob, often = text, 0
    while not often or (glob != text and glob in others):
        often += 1
        glob = _SPECIAL.sub(partial(_class_of, often), text)
    return glob


def _class_of(often: int, wild: re.Match[str]) -> str:
    return f"[{wild[0] * often}]"


def selected(case_id: str, select: Sequence[str]) -> bool:
    """Whether an id matches any glob, as `matches` says; no glob selects everything."""
    if not select:
        return True
    whole, wild = _taken_apart(select if isinstance(select, tuple) else tuple(select))
    if case_id in whole:
        return True
    for needed, parts in wild:  # a loop, for there may be thousands, and as many ids
        if needed in case_id and all(_pattern(one).match(case_id) for one in parts):
            return True
    return False


@lru_cache(maxsize=16)
def _taken_apart(
    select: tuple[str, ...],
) -> tuple[frozenset[str], Sequence[tuple[str, Sequence[str]]]]:
    """All globs as they stand, for an id may be equal to one; and of those that match more than one id the
    parts that AND joins, with the longest text that such an id must hold: to look for it is quicker than to
    match. Raises GrucibleError where more than MOST_GLOBS were given."""
    count = sum(
        option != "--dtype" and matches_several(glob) for option, glob in options_of(select)
    )
    if count > MOST_GLOBS:
        raise GrucibleError(
            f"{count:,} globs select; expected at most {MOST_GLOBS:,} with wildcards, and any number of ids"
        )
    found = []
    for glob in dict.fromkeys(select):
        if matches_several(glob):
            parts = glob.split(AND)
            found.append((max(_texts(parts), key=len), parts))
    return frozenset(select), found


def _texts(parts: Sequence[str]) -> list[str]:
    """Texts that an id must hold to match all these globs; of what follows a "[" none."""
    return [text for one in parts for text in re.split(r"[*?]", one.partition("[")[0])]


def matches_several(glob: str) -> bool:
    """Whether a glob may match other ids than the one that is spelled so."""
    return is_glob(glob) or AND in glob


@lru_cache(maxsize=8 * MOST_GLOBS)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


class Selection(tuple[str, ...]):
    """Globs, of which an id must match one. `given` are the options of a command that gave them, each with
    its value: with these another command selects the same."""

    given: tuple[tuple[str, str], ...]

    def __new__(cls, globs: Iterable[str], given: Iterable[tuple[str, str]]) -> Selection:
        """The globs, and the options that gave them."""
        made = super().__new__(cls, globs)
        made.given = tuple(given)
        return made


def options_of(select: Sequence[str]) -> Sequence[tuple[str, str]]:
    """The options, each with its value, that select what the globs do: those that were given, if any were."""
    if isinstance(select, Selection):
        return select.given
    return [("--select", glob) for glob in select]


def nothing_selected(
    select: Sequence[str], dtypes: Sequence[str] = (), listing: str = "--list"
) -> GrucibleError:
    """The error of globs, and of dtypes, that select nothing of what `grucible cases` lists."""
    given = [*(("--dtype", one) for one in dtypes), *options_of(select)]
    told = [
        f"{option} {value}" if option == "--dtype" else f"{option} {value!r}"
        for option, value in given[:_MOST_TOLD]
    ]
    if more := len(given[_MOST_TOLD:]):
        told.append(f"and {more:,} more")
    by = f" by {' '.join(told)}" if told else ""
    return GrucibleError(f"no case is selected{by}; see the ids with: grucible cases {listing}")


def may_select(prefix: str, select: Sequence[str]) -> bool:
    """Whether an id that begins with `prefix` can match any glob.

    It is told from what stands before a glob's first wildcard, so the answer may be true needlessly,
    and never false where such an id matches.
    """
    if not select:
        return True
    whole, wild = _taken_apart(select if isinstance(select, tuple) else tuple(select))
    return any(one.startswith(prefix) for one in whole) or any(
        all(_may_match(prefix, one) for one in parts) for _, parts in wild
    )


def of_dtypes(select: Sequence[str], dtypes: Sequence[str], usual: Sequence[str] = ()) -> Selection:
    """The globs that select, of what `select` does, the cases of the dtypes; all of them without any. Where
    `select` is empty, it is `usual`. A glob may be the id of a case as it stands."""
    given = [*(("--dtype", one) for one in dtypes), *options_of(select)]
    globs, found = select or usual, [f"*/*/{dtype}/*" for dtype in dtypes]
    if found and globs:
        odd = [literal(glob) for glob in globs if "[" in glob or AND in glob]
        meant = dict.fromkeys([*globs, *odd])
        found = [f"{glob}{AND}{one}" for glob in meant for one in found]
    return Selection(found or select, given)


def _may_match(prefix: str, glob: str) -> bool:
    literal = _WILD.split(glob, maxsplit=1)[0]
    if len(literal) == len(glob):
        return glob.startswith(prefix)
    return literal.startswith(prefix) or prefix.startswith(literal)
