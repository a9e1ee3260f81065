"""What the judge says of a wrong GRU: its report, and the sentences of the diagnosis in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grucible import Report, verify

from .wrong_gru import WrongGru

SEVERAL = "; and "
"""What stands between sentences that a finding says at once."""


@dataclass(frozen=True)
class Sentence:
    """One finding: what it says, and what else it says may be; `explains` so many cases."""

    text: str
    certain: bool
    explains: int
    others: tuple[str, ...] = ()
    where: str = ""

    @property
    def parts(self) -> list[str]:
        """What is said at once, each by itself, with where it is."""
        return self._apart(self.text)

    @property
    def other_parts(self) -> list[list[str]]:
        """The same of each of what else may be."""
        return [self._apart(other) for other in self.others]

    def _apart(self, text: str) -> list[str]:
        where = f", {self.where}" if self.where else ""
        return [f"{one}{where}" for one in text.split(SEVERAL)]


@dataclass(frozen=True)
class Told:
    """All that the judge says of a wrong GRU."""

    failed: int
    unexplained: int
    sentences: tuple[Sentence, ...]
    hints: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Told:
        """The inverse."""
        sentences = [
            Sentence(**one | {"others": tuple(one["others"])}) for one in value["sentences"]
        ]
        return cls(value["failed"], value["unexplained"], tuple(sentences), tuple(value["hints"]))


def report_of(wrong: WrongGru) -> Report:
    """The report on a wrong GRU by the float32 questions of its operator in the core vectors."""
    return verify(runtime=wrong.kernel(), select=[f"{wrong.operator}/*/float32/*"])


def told_of(report: Report) -> Told:
    """The sentences of a report's diagnosis; of older code too, whose findings were certain, and everywhere."""
    found = report.diagnosis
    return Told(
        failed=found.failed,
        unexplained=found.unexplained,
        sentences=tuple(
            Sentence(
                one.about,
                getattr(one, "certain", True),
                one.explains,
                tuple(
                    SEVERAL.join(one.sentence((name,)) for name in names)
                    for names in one.alternatives
                ),
                getattr(one, "where", ""),
            )
            for one in found.findings
        ),
        hints=tuple(found.hints),
    )
