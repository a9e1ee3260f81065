"""Expectations, which say what cases may fail, and how; and the making of globs that name cases."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from ...cases.console import suggest
from ...cases.errors import GrucibleError
from ...cases.question import names_invalid
from ...cases.selection import Ids, is_glob, literal, matches
from ...gen.tolerances.classes import CLASSES

MOST_GLOBS = 1000
"""Maximum globs with wildcards in a list; each is compared with every id."""
MOST_GLOB = 400
"""Maximum characters of a glob or of a misreading's name; our longest id has some 150."""
HOW = ("observed", "message", "diagnosis")
"""The fields that say what is expected; each is a text or several texts."""
UNEXPLAINED = "unexplained"
"""The `diagnosis` of wrong numbers that nothing explains."""
_MAX_HOPELESS = 20
"""Maximum ids for which no glob is found; each search takes a while."""
_MAX_PARTS = 30
"""Maximum parts of an id from which globs are made; each part makes more globs to compare."""
_WILDCARDS = re.compile(r"(?<![^/])\*(/\*)+")


class BadExpectation(GrucibleError):
    """A `field` of an expectation is wrong; `why` says how."""

    def __init__(self, cases: object, field: str, why: str) -> None:
        super().__init__(f"the expectation of {cases!r}: {field}: {why}")
        self.field, self.why = field, why


@dataclass(frozen=True)
class Expectation:
    """A known finding: the cases whose id matches the glob `cases` may fail, for this reason.

    A failure is expected if `observed`, `message` or `diagnosis` fits it; if all three are empty, any failure
    is expected. `observed` names classes of arithmetic, one of which wrong numbers still satisfy. `diagnosis`
    names misreadings that explain wrong numbers, alone or together. `message` has parts of an error's text,
    or of the reason for being unsupported. Each of the three may be given as one text, or as several. `place`
    is the file and line that the expectation was read from.
    Raises BadExpectation for unknown classes and misreadings, and for empty texts.
    """

    cases: str
    reason: str
    link: str = ""
    observed: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    diagnosis: tuple[str, ...] = ()
    place: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in ("cases", "reason", "link", *HOW):
            value = getattr(self, name)
            given = tuple(value) if isinstance(value, (tuple, list)) and name in HOW else (value,)
            if name in HOW:
                object.__setattr__(self, name, given)
            may_be_empty = name == "link" and value == ""
            if not (may_be_empty or all(isinstance(one, str) and one.strip() for one in given)):
                raise BadExpectation(self.cases, name, f"{value!r}; expected a text")
        if len(self.cases) > MOST_GLOB:
            raise BadExpectation(self.cases, "cases", f"has more than {MOST_GLOB} characters")
        for name in ("observed", "diagnosis"):
            if getattr(self, name) and of_invalid(self):
                why = "is not for invalid questions, which have no answer"
                raise BadExpectation(self.cases, name, why)
        classes = list(dict.fromkeys(one.name for found in CLASSES.values() for one in found))
        for name in self.observed:
            if name not in classes:
                why = f"there is no class {name!r}{suggest(name, classes)}; expected one of "
                raise BadExpectation(self.cases, "observed", why + ", ".join(classes))
        for name in self.diagnosis:
            if name != UNEXPLAINED and not is_misreading(name):
                from ...gen.variants.catalogue import CATALOGUE

                why = f"there is no misreading {name!r}{suggest(name, CATALOGUE)}"
                raise BadExpectation(self.cases, "diagnosis", f"{why}; `grucible score` lists them")

    @property
    def says_how(self) -> bool:
        """Whether the expectation says how its cases may fail."""
        return bool(self.observed or self.message or self.diagnosis)

    @property
    def entry(self) -> str:
        """The entry of a list that it was read from, of which there may be others."""
        return self.place or self.cases

    @property
    def in_words(self) -> str:
        """What is expected, in words."""
        messages = " or ".join(f'"{part}"' for part in self.message)
        parts = (
            f"observed {' or '.join(self.observed)}" if self.observed else "",
            f"message {messages}" if messages else "",
            f"diagnosis {', '.join(self.diagnosis)}" if self.diagnosis else "",
        )
        return "; or ".join(filter(None, parts)) or "any failure"


def is_misreading(name: str) -> bool:
    """Say whether `name` is that of a variant of the GRU, and not too long."""
    from ...gen.variants.known import variant_called  # the catalogue, slow to import

    if len(name) > MOST_GLOB:
        return False
    try:
        variant_called(name)
    except (LookupError, ValueError, ArithmeticError):
        return False
    return True


@dataclass(frozen=True)
class Instead:
    """A failure that differs from the `expectation` that names its case; `seen` describes the failure."""

    expectation: Expectation
    seen: str

    @property
    def in_words(self) -> str:
        """What was expected, and what was seen instead."""
        place = f" ({self.expectation.place})" if self.expectation.place else ""
        return f"expected {self.expectation.in_words}{place}; seen instead: {self.seen}"


@dataclass
class Use:
    """The use of an expectation: the deciding cases or invalid questions that it is the first to name.

    The ids in `failed` went wrong as expected, those in `otherwise` in another way; `passed` are right;
    `silent` are unsupported; `unknown` are missing, or were not asked. `stale` says in words why the
    expectation is of no use any more. `not_judged` says that some of what it names was not judged here,
    `left_out` that the selection leaves out some.
    """

    expectation: Expectation
    failed: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    stale: str = ""
    not_judged: bool = False
    left_out: bool = False

    @property
    def too_broad(self) -> bool:
        """Whether the expectation also names cases that passed."""
        return bool(self.failed and self.passed)


def says(message: str, parts: Sequence[str]) -> bool:
    """Say whether a message has any of the parts; line ends count as spaces."""
    words = " ".join(message.split())
    return any(" ".join(part.split()) in words for part in parts)


def of_invalid(expectation: Expectation) -> bool:
    """Say whether an expectation is about invalid questions: its glob names their theme."""
    return names_invalid(expectation.cases)


class Expectations:
    """Expectations that are looked up by case; those that name one case are found at once.

    Only a glob with their theme names invalid questions, so that an expectation of wrong numbers excuses no
    accepted question. Raises GrucibleError for too many globs.
    """

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._all = expectations
        places = list(enumerate(expectations))
        self._globs = [(place, one) for place, one in places if is_glob(one.cases)]
        self._ids = {one.cases: place for place, one in reversed(places)}
        for _, one in self._globs[MOST_GLOBS:]:
            place = f"{one.place}: " if one.place else ""
            why = f"is the glob number {MOST_GLOBS + 1}; expected at most {MOST_GLOBS}"
            raise GrucibleError(f"{place}{one.cases}: {why}")

    def first(self, case_id: str) -> int | None:
        """Find the place of the first expectation that names the case."""
        invalid = names_invalid(case_id)
        places = (
            place
            for place, one in self._globs
            if matches(case_id, one.cases) and (of_invalid(one) or not invalid)
        )
        found = (self._ids.get(case_id), next(places, None))
        return min((place for place in found if place is not None), default=None)

    def of(self, case_id: str) -> Expectation | None:
        """Find the first expectation that names the case."""
        place = self.first(case_id)
        return None if place is None else self._all[place]


def find_globs(
    wanted: Sequence[str], others: Collection[str], most: int
) -> tuple[list[str], list[str]]:
    """Find globs that each match several of `wanted` and none of `others`.

    Returns at most `most` globs, and the ids that none of them matches.
    """
    every, inside = Ids([*wanted, *others]), set(wanted)
    left, globs, tries = dict.fromkeys(wanted), list[str](), most + _MAX_HOPELESS
    for seed in wanted:
        if seed not in left or len(globs) == most or tries == 0:
            continue
        tries -= 1
        matched = ((glob, set(every.matching(glob))) for glob in _make_globs(seed))
        found = [(glob, ids) for glob, ids in matched if ids <= inside]
        counted = [(-len(left.keys() & ids), len(glob), glob) for glob, ids in found]
        count, _, best = min(counted, default=(0, 0, ""))
        if count < -1:
            globs.append(best)
            left = {one: None for one in left if not matches(one, best)}
    return globs, list(left)


def _make_globs(case_id: str) -> Iterator[str]:
    """Make globs that each demand some of: operator, theme, dtype, the rest of the id or a part of it."""
    *head, rest = [*case_id.split("/", 3), "", "", ""][:4]
    parts = [literal(part) for part in rest.split("-")[:_MAX_PARTS] if part]
    choices = [(literal(text), "*") for text in head]
    for demands in product(*choices, ("*", literal(rest), *(f"*{part}*" for part in parts))):
        glob = _WILDCARDS.sub("*", "/".join(demands))  # one `*` crosses several segments
        if len(glob) <= MOST_GLOB:
            yield glob
