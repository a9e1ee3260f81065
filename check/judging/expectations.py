"""What the user says of cases beforehand: those that may fail, and those that must be supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...cases.errors import GrucibleError
from ...cases.question import names_invalid
from ...cases.selection import MOST_GLOBS, Ids, is_glob, matches, matches_several, selected
from .sayable import HOW, texts, unsayable

TOO_MANY = f"is the glob number {MOST_GLOBS + 1}; expected at most {MOST_GLOBS}"
"""What is said of the first that is too many."""


class Unsayable(GrucibleError):
    """An expectation says, in a `field`, what it may not; `said` is what is wrong there."""

    def __init__(self, cases: object, field: str, said: str) -> None:
        super().__init__(f"the expectation of {cases!r}: {field}: {said}")
        self.field, self.said = field, said


@dataclass(frozen=True)
class Expectation:
    """A known finding: the cases whose id matches the glob `cases` may fail, for this reason.

    It says how, too: any of what `observed`, `message` and `diagnosis` name is expected, and nothing else. Of
    wrong numbers, `observed` names classes of arithmetic, one of which they still hold, and `diagnosis` the
    misreadings that explain them, alone or together. `message` has parts of what an error says, or of the
    reason for being unsupported. Where all three are empty, any failure is expected. Each may be given as one
    text, or as several. `place` is the file and line that it was read from.
    Raises Unsayable for classes and misreadings that there are none of, and where a text is empty.
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
            if isinstance(once := getattr(self, name), Iterator):  # gone after it is looked at
                object.__setattr__(self, name, tuple(once))
        if wrong := unsayable(vars(self)):
            raise Unsayable(self.cases, *wrong)
        for name in HOW:
            object.__setattr__(self, name, texts(getattr(self, name)))

    @property
    def says_how(self) -> bool:
        """Whether it says what is expected, and not only of which cases."""
        return bool(self.observed or self.message or self.diagnosis)

    @property
    def in_words(self) -> str:
        """What is expected, in words."""
        messages = " or ".join(f'"{part}"' for part in self.message)
        said = (
            f"observed {' or '.join(self.observed)}" if self.observed else "",
            f"message {messages}" if messages else "",
            f"diagnosis {', '.join(self.diagnosis)}" if self.diagnosis else "",
        )
        return "; or ".join(filter(None, said)) or "any failure"


@dataclass(frozen=True)
class Instead:
    """That a case went wrong in another way than the `expectation` that names it `seen`, in
    words; of `kind` is what went wrong in the same way."""

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
    """Whether an expectation is of invalid questions: its glob names their theme. One that does not, and
    matches some all the same, is about numbers."""
    return names_invalid(expectation.cases)


def one_too_many(expectations: Sequence[Expectation]) -> int | None:
    """The place of the first glob after MOST_GLOBS of them; None where there are no more."""
    places = [place for place, one in enumerate(expectations) if is_glob(one.cases)]
    return places[MOST_GLOBS] if len(places) > MOST_GLOBS else None


def check_globs(expectations: Sequence[Expectation]) -> None:
    """Raise Unsayable where there are too many globs."""
    if (place := one_too_many(expectations)) is not None:
        raise Unsayable(expectations[place].cases, "cases", TOO_MANY)


class Expectations:
    """Expectations, to be looked up by case. Those that name one case are found at once."""

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
        """The number of the first expectation that names the case."""
        exact = self._of_one.get(case_id)
        for place, glob in self._of_many:
            if exact is not None and exact < place:
                break
            if matches(case_id, glob):
                return place
        return exact

    def of(self, case_id: str) -> Expectation | None:
        """The first expectation that names the case."""
        place = self.first(case_id)
        return None if place is None else self._all[place]


def must_support(case_id: str, require: Sequence[str]) -> bool:
    """Whether a glob of `require` matches the case: unsupported is a failure then."""
    return bool(require) and selected(case_id, require)


def check_require(require: Sequence[str], cases: Iterable[tuple[str, bool]]) -> None:
    """Raise GrucibleError for more globs than may be given, and for one of `require` that matches none of the
    cases, each an id and whether it decides, or none that decides: it would demand nothing."""
    globs = sum(map(matches_several, require))
    if globs > MOST_GLOBS:
        raise GrucibleError(
            f"{globs:,} globs of --require; expected at most {MOST_GLOBS:,} with wildcards, and any number "
            "of ids"
        )
    told = dict(cases)
    every, deciding = Ids(told), Ids(one for one, decides in told.items() if decides)
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
