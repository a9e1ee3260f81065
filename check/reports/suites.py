"""What vectors notice: a score as text and JSON, and the page about other people's suites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...cases.console import format_table
from ...cases.errors import GrucibleError
from ...cases.ledger import ledger_entries
from ...cases.operators import OPERATORS
from ...cases.operators.semantics import one_of, stack
from ...cases.selection import may_select
from ...cases.strict_json import format_json
from ...gen.formula import NO_FORMULA, equation_lines
from ...gen.tolerances.classes import CLASSES
from ...gen.variants.catalogue import CATALOGUE
from ...gen.variants.known import variant_called
from ...gen.variants.variant import Variant
from ...vectors.case import REQUIRED
from ...vectors.exchange.rtol_atol import Pair, by_pair
from ...vectors.vector_set import VectorSet, open_set
from ..observed.outputs_file import FromOutputs
from ..report import Report
from ..score import ENOUGH, Score, score
from ..verdict import Demand, judge
from .terminal import headline
from .text import as_markdown, markdown_table, page_head, plural, wrap

TITLE = "# Other people's suites"
BASES = "basis: text, the specification says so; owner, its implementation does; choice, ours"
"""What the words of a ledger's last column mean."""
_HEAD = """\
Test suites have bugs too, and holes. These were made into vectors by `grucible import`: their inputs, with
our exact answers.

*Their numbers* is what `grucible check` finds of the outputs that a suite expects. The other numbers are
the cases that would notice a misreading of GRU, a way to get it wrong. A misreading is computed for every
case, and noticed where an output moves by more than the suite's own harness admits. 0 is a bug that the
suite lets pass; a dash, that none of its cases is of a dtype in which it is a mistake.
"""


def score_lines(found: Score) -> Iterator[str]:
    """Yield the lines of a score."""
    weak = found.weak()
    total = sum(len(dtypes) for rows in found.caught.values() for dtypes in rows.values())
    names = {name for rows in found.caught.values() for name in rows}
    if weak:
        yield f"weak: {len(weak)} of {total} times fewer than {ENOUGH} cases catch a misreading"
    else:
        every = f"all {len(names)} misreadings are" if len(names) > 1 else f"{names.pop()} is"
        yield f"{every} caught, by at least {ENOUGH} cases of each dtype"
    for operator, dtype, name, count in weak:
        yield f"  {count} cases: {name}, {operator}, {dtype}"
    for (operator, dtype), count in found.undeciding.items():
        if count:
            yield f"{count} cases decide nothing: {operator}, {dtype}; {REQUIRED[dtype]} arithmetic"
            yield "  admits more than the value for over half of their elements"
    for (operator, dtype), count in found.left_out.items():
        yield f"{plural(count, 'case')} too large to be computed under misreadings: {operator}, {dtype}"
    for operator in found.caught:
        yield from ["", *_counts(found, operator)]
    yield from ["", "-: not worse than the required arithmetic. More of one: grucible explain NAME"]


def _counts(found: Score, operator: str) -> list[str]:
    """List by misreading and dtype how many cases of an operator catch it."""
    dtypes = [dtype for of, dtype in found.cases if of == operator]
    table = [["  cases", *(str(found.cases[operator, dtype]) for dtype in dtypes)]]
    for name, caught in found.caught[operator].items():
        counts = [str(caught[dtype].cases) if dtype in caught else "-" for dtype in dtypes]
        table.append([f"  {name}", *counts])
    return format_table([operator, *dtypes], table, range(1, len(dtypes) + 1)).splitlines()


def about_lines(name: str, select: Sequence[str]) -> Iterator[str]:
    """Yield what a misreading is, in the words of the selected operators, and who misread the text so."""
    variant = variant_called(name)
    asked = [
        one
        for one in OPERATORS.values()
        if variant.means_something_for(one) and may_select(f"{one.name}/", select)
    ]
    yield f"{name}: {variant.kind}"
    for about in dict.fromkeys(variant.about_for(operator) for operator in asked):
        yield from wrap(about, 2, 4)
    if variant.ledger:
        yield f"  see: grucible explain ledger {variant.ledger}"
    yield from (f"  reported: {link}" for link in variant.links)


def caught_lines(found: Score, vectors: VectorSet, name: str) -> Iterator[str]:
    """Yield how many cases catch a misreading, and what it makes of the equations of one."""
    for operator in (operator for operator, rows in found.caught.items() if name in rows):
        yield from [
            "",
            "how many cases there are, and how many catch it with the dtype's widest tolerances:",
            *_counts(found, operator),
        ]
        examples = [one for each in found.caught[operator][name].values() for one in each.examples]
        if examples:
            misread = _misread(vectors, examples[0], variant_called(name))
            yield from ["", f"for example {examples[0]}", *misread]


def ledger_lines(name: str) -> Iterator[str]:
    """Yield what each ledger with an entry of this name says; nothing if there is none."""
    entries = ledger_entries().get(name, {})
    for owner, columns in entries.items():
        yield f"{name}, in the ledger of {owner}"
        for column, text in columns.items():
            yield from wrap(f"{column}: {text}", 2, 4)
        yield ""
    yield from wrap(BASES, 0, 2) if entries else []


def word_lines(name: str) -> Iterator[str]:
    """Yield what a word of reports means, by the table of words; nothing if it is not there."""
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    for line in page.partition("## Words\n")[2].splitlines():
        word, _, meaning = line.strip("| ").partition(" | ")
        if word == name:
            yield from wrap(f"{word}: {meaning}", 0, 2)
    if about := {one.name: one.about for some in CLASSES.values() for one in some}.get(name):
        yield from wrap(f"{name}, a class of arithmetic: {about}", 0, 2)


def _misread(vectors: VectorSet, example: str, variant: Variant) -> Iterator[str]:
    """Yield the equations that a case asks for, and those of a misreading, if it has others."""
    question = vectors.one(example).block.question(0)
    right, meant = list(equation_lines(question)), stack([question.semantics])
    wrong = one_of(variant.semantics(meant) if variant.semantics else meant, 0)
    with suppress(*NO_FORMULA):
        misread = equation_lines(question, wrong, variant.quantities)
        other = [line for line in misread if line not in right and not line.endswith(":")]
        if other:
            yield from ["  asks for", *(f"    {line}" for line in right)]
            yield from ["  and is misread as", *(f"    {line}" for line in other)]


def score_json(found: Score) -> str:
    """Return the score as JSON: per operator and misreading, what catches it."""

    def describe(operator: str, name: str) -> dict[str, Any]:
        variant, caught = variant_called(name), found.caught[operator][name]
        return {
            "name": name,
            "kind": variant.kind,
            "about": variant.about_for(OPERATORS[operator]),
            "links": variant.links,
            "caught": {dtype: one.cases for dtype, one in caught.items()},
            "examples": {dtype: one.examples for dtype, one in caught.items()},
        }

    counts = {"cases": found.cases, "undeciding": found.undeciding, "left_out": found.left_out}
    operators = {
        operator: {
            **{word: {d: n for (o, d), n in of.items() if o == operator} for word, of in counts.items()},
            "misreadings": [describe(operator, name) for name in rows],
        }
        for operator, rows in found.caught.items()
    }  # fmt: skip
    keys = ("operator", "dtype", "misreading", "cases")
    weak = [dict(zip(keys, one, strict=True)) for one in found.weak()]
    return format_json(
        {"grucible_score": 1, "enough": ENOUGH, "weak": weak, "operators": operators}
    )


@dataclass(frozen=True)
class Suite:
    """Somebody's cases, which were imported into the file `vectors`, with their score.

    `pair` is what the suite's harness admits, None for the derived tolerances. `report` is about the outputs
    that the suite expects, None where there are none.
    """

    vectors: Path
    pair: Pair | None
    score: Score
    report: Report | None

    def noticed_by(self, operator: str, misreading: str) -> int | None:
        """Count the cases that notice a misreading; None if no case can."""
        caught = self.score.caught[operator].get(misreading)
        return sum(one.cases for one in caught.values()) if caught else None


def audit(vectors: Path, pair: Pair | None) -> Suite:
    """Score a suite, and judge the outputs that it expects, if `*.outputs.h5` stands beside it.

    Raises GrucibleError where the vectors cannot be used.
    """
    if not vectors.is_file():
        raise GrucibleError(f"{vectors}: no such file; expected FILE.h5, or FILE.h5:RTOL:ATOL")
    report, outputs = None, vectors.with_suffix(".outputs.h5")
    if outputs.exists():
        opened = open_set(vectors)
        report = judge(opened, FromOutputs(outputs, opened), Demand())
    found = score(open_set(vectors), limits=by_pair(pair) if pair else None)
    return Suite(vectors, pair, found, report)


def audit_lines(suites: Sequence[Suite], command: str) -> Iterator[str]:
    """Yield the page about suites, in Markdown; `command` made it."""
    yield from page_head(TITLE, _HEAD, command)
    table = []
    for one in suites:
        pair, name = one.pair, as_markdown(one.vectors.stem)
        admits = f"{pair.atol:g} + {pair.rtol:g} × value" if pair else "the derived tolerances"
        numbers = "–" if one.report is None else as_markdown(headline(one.report))
        for operator, rows in one.score.caught.items():
            cases = sum(n for (owner, _), n in one.score.cases.items() if owner == operator)
            noticed = sum(bool(one.noticed_by(operator, row)) for row in rows)
            table.append([name, operator, str(cases), admits, numbers, f"{noticed} of {len(rows)}"])
    header = "suite, operator, cases, admits, their numbers, misreadings that it notices"
    yield from markdown_table(header.split(", "), table)
    for operator in dict.fromkeys(o for one in suites for o in one.score.caught):
        mine = [one for one in suites if operator in one.score.caught]
        table = []
        for misreading in dict.fromkeys(m for one in mine for m in one.score.caught[operator]):
            about = as_markdown(CATALOGUE[misreading].about_for(OPERATORS[operator]))
            counts = [one.noticed_by(operator, misreading) for one in mine]
            table.append([about, *("–" if n is None else str(n) if n else "**0**" for n in counts)])
        stems = [as_markdown(one.vectors.stem) for one in mine]
        yield from ["", f"## {operator}", "", *markdown_table(["misreading", *stems], table)]
