"""What the user says of cases beforehand: those that may fail, and those that must be supported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ...cases.errors import GrucibleError
from ...cases.question import names_invalid
from ...cases.selection import MOST_GLOBS, Ids, is_glob, matches, matches_several, selected
from ...gen.tolerances.classes import CLASSES

MOST_GLOB = 400
"""Maximum characters of a glob; the longest id of ours has some 150."""
HOW = ("observed", "message", "diagnosis")
"""The fields that say what is expected; each is a text or several texts."""
UNEXPLAINED = "unexplained"
"""The `diagnosis` of wrong numbers that nothing explains."""
_MOST_NAME = 300
"""Maximum characters of a misreading's name."""
_NEAR = 0.5


class BadExpectation(GrucibleError):
    """A `field` of an expectation is wrong; `why` says how."""

    def __init__(self, cases: object, field: str, why: str) -> None:
        super().__init__(f"the expectation of {cases!r}: {field}: {why}")
        self.field, self.why = field, why


@dataclass(frozen=True)
class Expectation:
    """A known finding: the cases whose id matches the glob `cases` may fail, for this reason.

    Any of what `observed`, `message` and `diagnosis` name is expected, and nothing else; where all three are
    empty, any failure is. `observed` names classes of arithmetic, one of which wrong numbers still satisfy.
    `diagnosis` names the misreadings that explain them, alone or together. `message` has parts of an error's
    text, or of the reason for being unsupported. Each may be given as one text, or as several. `place` is the
    file and line that it was read from.
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
        for name in HOW:
            object.__setattr__(self, name, _texts(getattr(self, name)))
        for name in ("cases", "reason", "link", *HOW):
            value = getattr(self, name)
            given = value if name in HOW else [value] if name != "link" or value != "" else []
            if not all(isinstance(text, str) and text.strip() for text in given):
                self._refuse(name, f"{value!r}; expected a text")
        if len(self.cases) > MOST_GLOB:
            self._refuse("cases", f"has more than {MOST_GLOB} characters")
        for name in ("observed", "diagnosis"):
            if getattr(self, name) and names_invalid(self.cases):
                self._refuse(name, "is not for invalid questions, which have no answer")
        self._check_names()

    def _refuse(self, name: str, why: str) -> None:
        raise BadExpectation(self.cases, name, why)

    def _check_names(self) -> None:
        classes = list(dict.fromkeys(one.name for found in CLASSES.values() for one in found))
        for name in self.observed:
            if name not in classes:
                near, known = _nearest(name, classes), ", ".join(classes)
                self._refuse(
                    "observed", f"there is no class {name!r}{near}; expected one of {known}"
                )
        for name in self.diagnosis:
            if name != UNEXPLAINED and not is_misreading(name):
                from ...gen.variants.catalogue import CATALOGUE
                from ...gen.variants.known import UNLISTED

                near = _nearest(name, [*CATALOGUE, *UNLISTED])
                why = f"there is no misreading {name!r}{near}; `grucible score` lists them"
                self._refuse("diagnosis", why)

    @property
    def says_how(self) -> bool:
        """Whether it says what is expected, and not only of which cases."""
        return bool(self.observed or self.message or self.diagnosis)

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


def _texts(value: Any) -> tuple[Any, ...]:
    """Take a text for one, and anything but a collection for one that is wrong."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if several else (value,)


def is_misreading(name: str) -> bool:
    """Whether a variant of the GRU has a name, which is not too long."""
    from ...gen.variants.known import variant_called  # the catalogue, slow to import

    if len(name) > _MOST_NAME:
        return False
    try:
        variant_called(name)
    except (LookupError, ValueError, ArithmeticError):
        return False
    return True


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name[:_MOST_NAME], names, 1, _NEAR)
    return f"; did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True)
class Instead:
    """A failure that is not as the `expectation` that names its case; `seen` describes it."""

    expectation: Expectation
    seen: str

    @property
    def in_words(self) -> str:
        """What was expected, and what was seen instead."""
        place = f" ({self.expectation.place})" if self.expectation.place else ""
        return f"expected {self.expectation.in_words}{place}; seen instead: {self.seen}"


@dataclass
class Use:
    """The use of an expectation: what it is the first to name of deciding cases, or of invalid questions.

    Ids: `failed` went wrong as expected, `otherwise` in another way; `passed` did not; `unknown` are missing,
    or were not asked. `silent` counts unsupported ones. `stale` says in words why it is of no use any more.
    `not_judged` says that some of what it names was not judged here.
    """

    expectation: Expectation
    failed: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    silent: int = 0
    stale: str = ""
    not_judged: bool = False

    @property
    def too_broad(self) -> bool:
        """Whether it would excuse cases that pass today."""
        return bool(self.failed and self.passed)


def says(message: str, parts: Sequence[str]) -> bool:
    """Whether a message has any of the parts; spaces and line ends are alike."""
    words = " ".join(message.split())
    return any(" ".join(part.split()) in words for part in parts)


def of_invalid(expectation: Expectation) -> bool:
    """Whether an expectation is of invalid questions: its glob names their theme."""
    return names_invalid(expectation.cases)


def check_globs(expectations: Sequence[Expectation]) -> None:
    """Raise BadExpectation where there are too many globs."""
    globs = [one for one in expectations if is_glob(one.cases)]
    if len(globs) > MOST_GLOBS:
        first = globs[MOST_GLOBS]
        place = f"{first.place}: " if first.place else ""
        why = f"is the glob number {MOST_GLOBS + 1}; expected at most {MOST_GLOBS}"
        raise GrucibleError(f"{place}{first.cases}: {why}")


class Expectations:
    """Expectations that are looked up by case; those that name one case are found at once."""

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._all = expectations
        self._of_one: dict[str, int] = {}
        self._of_many: list[tuple[int, str]] = []
        for place, one in enumerate(expectations):
            if is_glob(one.cases):
                self._of_many.append((place, one.cases))
            else:
                self._of_one.setdefault(one.cases, place)

    def first(self, case_id: str) -> int | None:
        """Find the place of the first expectation that names the case."""
        exact = self._of_one.get(case_id)
        for place, glob in self._of_many:
            if exact is not None and exact < place:
                break
            if matches(case_id, glob):
                return place
        return exact

    def of(self, case_id: str) -> Expectation | None:
        """Find the first expectation that names the case."""
        place = self.first(case_id)
        return None if place is None else self._all[place]


def must_support(case_id: str, require: Sequence[str]) -> bool:
    """Whether a glob of `require` matches the case, so that unsupported is a failure."""
    return bool(require) and selected(case_id, require)


def check_require(require: Sequence[str], cases: Iterable[tuple[str, bool]]) -> None:
    """Raise GrucibleError for too many globs, and for one that would demand nothing.

    It matches none of the `cases`, each an id and whether it decides, or none that decides.
    """
    globs = sum(map(matches_several, require))
    if globs > MOST_GLOBS:
        raise GrucibleError(
            f"{globs:,} globs of --require; expected at most {MOST_GLOBS:,} with wildcards, and any number "
            "of ids"
        )
    tiers = dict(cases)
    every, deciding = Ids(tiers), Ids(one for one, decides in tiers.items() if decides)
    for glob in require:
        if glob in deciding or deciding.matching(glob):
            continue
        if every.matching(glob):
            raise GrucibleError(
                f"--require {glob!r} would demand nothing: no case that it matches decides, all are of the "
                "tier nonportable; name others too, or leave it out"
            )
        raise GrucibleError(
            f"no case that is judged matches --require {glob!r}; "
            "see the ids with: grucible cases --list"
        )
