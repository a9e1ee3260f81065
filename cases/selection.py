"""Which cases globs select, by their ids: `<operator>/<theme>/<dtype>/<what>`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Any, NamedTuple

import click

from .console import DEFAULTS, Name, format_command, shorten, suggest
from .dtypes import FLOAT_TYPES
from .errors import GrucibleError
from .operators import OPERATORS

SELECT = click.option(
    "--select", multiple=True, metavar="GLOB", help="Only cases whose id matches. Repeatable."
)
DTYPES = click.option(
    "--dtype", "dtypes", multiple=True, type=Name([*FLOAT_TYPES]),
    help="Only cases of this dtype. Repeatable.",
)  # fmt: skip
OPERATOR = click.option(
    "--operator", "operators", multiple=True, metavar="NAME", type=Name([*OPERATORS]),
    help="Only cases of this operator. Repeatable.",
)  # fmt: skip
"""The options with which commands select cases."""
PLAIN, PLAIN_SIZES = "plain", "plain_sizes"
"""The themes that vary one thing at a time: a feature; a size."""
FEATURES = tuple(f"*/{theme}/*" for theme in (PLAIN, PLAIN_SIZES))
"""Globs that select the cases of these themes."""
AND = " & "
"""The text between globs that an id must all match; no id of ours contains it."""
_WILD = re.compile(r"[*?[]")


class Shard(NamedTuple):
    """The part `number` of `of` parts of a work, which together have each of its pieces once."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def takes(self, name: str) -> bool:
        """Say whether the piece called `name` is in this part."""
        word = hashlib.sha256(name.encode()).digest()[:8]
        return int.from_bytes(word, "little") % self.of == self.number - 1


WHOLE = Shard()
"""The only part of a work that is not divided."""


class _ShardType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The type of an option i/n."""

    name = "I/N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Shard:
        """Parse a shard."""
        if isinstance(value, Shard):
            return value
        found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", value, re.ASCII)
        if not found or int(found[1]) > int(found[2]):
            self.fail(f"{value!r}; expected I/N, the I-th of N parts, such as 2/16", param, ctx)
        return Shard(int(found[1]), int(found[2]))


SHARD = click.option(
    "--shard", type=_ShardType(), default=WHOLE, metavar="I/N",
    help="Only the I-th of N parts, for N machines.",
)  # fmt: skip
"""The option with which commands do a part of their work."""


class Selection(tuple[str, ...]):
    """Globs, of which an id must match one, and operators and dtypes, of which the case must have one.

    `given` are the globs that a command was given. If none, `usual` select; if none, all. No operators, or
    no dtypes, are all.
    """

    given: tuple[str, ...]
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]

    def __new__(
        cls,
        given: Iterable[str],
        operators: Iterable[str],
        dtypes: Iterable[str],
        usual: Iterable[str] = (),
    ) -> Selection:
        """Keep the globs that select, the globs `given`, the operators and the dtypes."""
        made = super().__new__(cls, tuple(given) or tuple(usual) or ("*",))
        made.given, made.operators, made.dtypes = tuple(given), tuple(operators), tuple(dtypes)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.operators, self.dtypes  # what was given is in the state of a copy


class Ids(frozenset[str]):
    """A set of ids that is searched with many globs."""

    def matching(self, glob: str) -> list[str]:
        """List the ids that a glob matches."""
        if not is_glob(glob):
            return [glob] if glob in self else []
        return [one for one in self if matches(one, glob)]


def matches(case_id: str, glob: str) -> bool:
    """Say whether an id matches or equals a glob, case-sensitively; `*` crosses `/`.

    If AND joins several globs, the id must match each of them.
    """
    needle, pattern = _compiled(glob)
    return case_id == glob or (needle in case_id and pattern.match(case_id) is not None)


def is_glob(text: str) -> bool:
    """Say whether a text, taken as a glob, may match an id that differs from it."""
    return _WILD.search(text) is not None or AND in text


def literal(text: str) -> str:
    """Make a glob that matches the text."""
    return _WILD.sub(r"[\g<0>]", text)


def selected(case_id: str, select: Sequence[str]) -> bool:
    """Say whether an id matches any glob; an empty list selects all."""
    if not select:
        return True
    whole, globs = _taken_apart(tuple(select))
    return _may_have(case_id, select) and (
        case_id in whole or any(matches(case_id, glob) for glob in globs)
    )


def may_select(prefix: str, select: Sequence[str]) -> bool:
    """Say whether an id that begins with `prefix` can match any glob.

    Only the text before a glob's first wildcard is compared. So the answer may be true although no such
    id matches, but it is never false if one does.
    """
    return not select or (
        _may_have(prefix, select)
        and any(
            one.startswith(prefix) or all(_may_match(prefix, glob) for glob in one.split(AND))
            for one in select
        )
    )


def _may_match(prefix: str, glob: str) -> bool:
    head = _WILD.split(glob, maxsplit=1)[0]
    return (
        glob.startswith(prefix)
        if head == glob
        else head.startswith(prefix) or prefix.startswith(head)
    )


def _may_have(prefix: str, select: Sequence[str]) -> bool:
    """Say whether a case whose id begins with `prefix` can have a selected operator and dtype."""
    if not isinstance(select, Selection):
        return True
    parts = prefix.split("/")
    return (len(parts) < 2 or not select.operators or parts[0] in select.operators) and (
        len(parts) < 4 or not select.dtypes or parts[2] in select.dtypes
    )


@lru_cache(maxsize=16)
def _taken_apart(select: tuple[str, ...]) -> tuple[frozenset[str], list[str]]:
    """Return all texts, to which an id may be equal, and those texts that are globs."""
    return frozenset(select), [glob for glob in dict.fromkeys(select) if is_glob(glob)]


@lru_cache(maxsize=8000)
def _compiled(glob: str) -> tuple[str, re.Pattern[str]]:
    """Compile a glob, and find its longest plain text before a `[`: looking for this text is quicker."""
    parts = glob.split(AND)
    texts = [text for one in parts for text in re.split(r"[*?]", one.partition("[")[0])]
    return max(texts, key=len), re.compile("".join(f"(?={translate(one)})" for one in parts))


def options_of(select: Sequence[str], dtypes: Sequence[str] = ()) -> list[tuple[str, str]]:
    """List the options, each with its value, that make a command select by these globs and dtypes."""
    operators: Sequence[str] = ()
    if isinstance(select, Selection):
        operators, dtypes, select = select.operators, select.dtypes, select.given
    named = {"--operator": operators, "--dtype": dtypes, "--select": select}
    return [(option, one) for option, several in named.items() for one in several]


def suggest_part(text: str, prefixes: Iterable[str]) -> str:
    """Suggest for a mistaken operator, or theme of known `prefixes`, of an id or glob, or a glob's dtype."""
    operator, theme, dtype, *_ = [*text.split("/"), "", ""]
    themes = [one.strip("/") for one in prefixes if one.startswith(f"{operator}/")]
    dtypes = [*FLOAT_TYPES] if is_glob(text) else [dtype]
    parts = ((operator, [*OPERATORS]), (f"{operator}/{theme}", themes), (dtype, dtypes))
    for word, known in parts:
        if word not in known and not is_glob(word):
            return suggest(word, known, text)
    return ""


def nothing_selected(
    select: Sequence[str],
    dtypes: Sequence[str] = (),
    listing: str = "--list",
    prefixes: Iterable[str] = (),
) -> GrucibleError:
    """Make the error for options that select none of the cases that `grucible cases` lists.

    To suggest, it needs the `prefixes` of known ids, such as onnx.GRU-14/plain/.
    """
    named = _name_options(select, dtypes)
    by = f" by {named}" if named else ""
    globs = [one for glob in getattr(select, "given", select) for one in glob.split(AND)]
    near = next(filter(None, (suggest_part(one, [*prefixes]) for one in globs)), "")
    return GrucibleError(
        f"no case is selected{by}{near}; see the ids with: grucible cases {listing}"
    )


def unmade_selected(select: Sequence[str], count: int) -> GrucibleError:
    """Make the error for globs that select `count` cases of grucible's specs, but no core vector."""
    mine = getattr(select, "operators", ())
    globs = [f"{one}/*{AND}{glob}" for one in mine for glob in select] or select
    options = [*options_of(globs, getattr(select, "dtypes", ())), ("-o", "out")]
    make = format_command("gen", (), (word for option in options for word in option))
    return GrucibleError(
        f"no core vector is selected by {_name_options(select)}; other cases are ({count}): make them "
        f"with: {make}, and give out as VECTORS"
    )


def _name_options(select: Sequence[str], dtypes: Sequence[str] = ()) -> str:
    """Name the options that select, as they are typed, and where those come from that are not."""
    context = click.get_current_context(silent=True)
    notes = context.meta.get(DEFAULTS, {}) if context else {}
    given = options_of(select, dtypes)
    named = (f"{option} {value!r}{notes.get(option, '')}" for option, value in given)
    return shorten(" ".join(named))
