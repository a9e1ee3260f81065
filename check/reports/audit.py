"""The page about other people's suites: whether their numbers are right, and what they would never notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.known import OPERATORS
from ...gen.variants.catalogue import CATALOGUE
from ...vectors.exchange.rtol_atol import Pair, by_pair
from ...vectors.vector_set import open_set
from ..observed.outputs_file import FromOutputs
from ..report import Report
from ..score import Score, score
from ..verdict import Demand, judge
from .findings import report_broken_diagnosis
from .terminal import headline
from .text import as_markdown, page_head

TITLE = "# Other people's suites"


@dataclass(frozen=True)
class Suite:
    """Vectors that somebody's cases were made into.

    `pair` is what their harness admits, None where the derived tolerances are to be used. What they expect
    stands in `*.outputs.h5` beside.
    """

    vectors: Path
    pair: Pair | None = None

    @property
    def name(self) -> str:
        """What the suite is called: as its file."""
        return self.vectors.stem

    @property
    def outputs(self) -> Path:
        """Where the outputs that it expects would be."""
        return self.vectors.with_suffix(".outputs.h5")


@dataclass(frozen=True)
class Audited:
    """A suite with its score, and the report about the outputs that it expects, None where it has none."""

    suite: Suite
    score: Score
    report: Report | None


def audited(suite: Suite) -> Audited:
    """What there is to say of a suite. Raises GrucibleError where its vectors cannot be used."""
    limits: Callable[..., Arrays] | None = by_pair(suite.pair) if suite.pair else None
    if not suite.vectors.is_file():
        raise GrucibleError(
            f"{suite.vectors}: no such file; expected FILE.h5, or FILE.h5:RTOL:ATOL"
        )
    report = None
    if suite.outputs.exists():
        vectors = open_set(suite.vectors)
        report = judge(vectors, FromOutputs(suite.outputs, vectors), Demand())
        report_broken_diagnosis(report.diagnosis)
    return Audited(suite, score(suite.vectors, limits=limits), report)


_HEAD = """\
Test suites have bugs too, and holes. These were made into vectors by `grucible import`: their inputs, with
our exact answers.

*Their numbers* says what `grucible check` finds of the outputs that a suite expects. The other numbers say
how many of its cases would notice a misreading of GRU, a way to get it wrong. A misreading is computed for
every case, and noticed where an output moves by more than the suite's own harness admits. 0 is a bug that
the suite lets pass; a dash, that none of its cases is of a dtype in which it is a mistake.
"""


def audit_lines(suites: Sequence[Audited], command: str) -> Iterator[str]:
    """The page, in Markdown; `command` made it."""
    yield from page_head(TITLE, _HEAD, command)
    yield "| suite | operator | cases | admits | their numbers | misreadings that it notices |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in suites:
        yield from _summary(one)
    for operator in dict.fromkeys(o for one in suites for o in one.score.caught):
        yield ""
        yield f"## {operator}"
        yield ""
        yield from _table(operator, [one for one in suites if operator in one.score.caught])


def _summary(one: Audited) -> Iterator[str]:
    name, pair = as_markdown(one.suite.name), one.suite.pair
    admits = f"{pair.atol:g} + {pair.rtol:g} × value" if pair else "the derived tolerances"
    numbers = "–" if one.report is None else as_markdown(headline(one.report))
    for operator, rows in one.score.caught.items():
        cases = sum(count for (owner, _), count in one.score.cases.items() if owner == operator)
        asked = {row: _cases(one, operator, row) for row in rows}
        noticed = sum(count > 0 for count in asked.values())
        cells = [name, operator, cases, admits, numbers, f"{noticed} of {len(asked)}"]
        yield f"| {' | '.join(map(str, cells))} |"


def _cases(one: Audited, operator: str, name: str) -> int:
    return sum(caught.cases for caught in one.score.caught[operator].get(name, {}).values())


def _table(operator: str, suites: Sequence[Audited]) -> Iterator[str]:
    names = dict.fromkeys(name for one in suites for name in one.score.caught[operator])
    yield "| misreading | " + " | ".join(as_markdown(one.suite.name) for one in suites) + " |"
    yield "| --- |" + " ---: |" * len(suites)
    for name in names:
        about = as_markdown(CATALOGUE[name].about_for(OPERATORS[operator]))
        cells = " | ".join(_cell(one, operator, name) for one in suites)
        yield f"| {about} | {cells} |"


def _cell(one: Audited, operator: str, name: str) -> str:
    """How many cases notice a misreading; a dash where none is of a dtype in which it is a mistake."""
    if not one.score.caught[operator].get(name):
        return "–"
    count = _cases(one, operator, name)
    return str(count) if count else "**0**"
