"""How much vectors notice: a score as text and JSON, and the page about other people's suites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...cases.console import format_table
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.strict_json import format_json
from ...gen.variants.catalogue import CATALOGUE
from ...vectors.case import REQUIRED
from ...vectors.exchange.rtol_atol import Pair, by_pair
from ...vectors.vector_set import open_set
from ..observed.outputs_file import FromOutputs
from ..report import Report
from ..score import ENOUGH, Score, score
from ..verdict import Demand, judge
from .terminal import headline
from .text import as_markdown, markdown_table, page_head, plural, wrap

TITLE = "# Other people's suites"
_FEW = 3
"""Maximum values of an attribute that a line names."""
_HEAD = """\
Test suites have bugs too, and holes. These were made into vectors by `grucible import`: their inputs, with
our exact answers.

*Their numbers* is what `grucible check` finds of the outputs that a suite expects. The other numbers are
the cases that would notice a misreading of GRU, a way to get it wrong. A misreading is computed for every
case, and noticed where an output moves by more than the suite's own harness admits. 0 is a bug that the
suite lets pass; a dash, that none of its cases is of a dtype in which it is a mistake.
"""


def score_lines(found: Score, *, detail: bool) -> Iterator[str]:
    """Yield the lines of a score; with `detail`, all that is known of each misreading."""
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
    for operator, rows in found.caught.items():
        dtypes = [d for o, d in found.cases if o == operator]
        table = [["  cases", *(str(found.cases[operator, d]) for d in dtypes)]]
        for name, caught in rows.items():
            table.append(
                [f"  {name}", *(str(caught[d].cases) if d in caught else "-" for d in dtypes)]
            )
        header, totals, *lines = format_table(
            [operator, *dtypes], table, right=range(1, len(dtypes) + 1)
        ).splitlines()
        yield from ["", header, totals]
        for line, name in zip(lines, rows, strict=True):
            yield line
            yield from _detail(found, operator, name) if detail else []
    if not detail:
        yield from ["", "-: not worse than the required arithmetic. More of one: --misreading NAME"]


def _detail(found: Score, operator: str, name: str) -> Iterator[str]:
    variant = CATALOGUE[name]
    yield from wrap(f"{variant.kind}: {variant.about_for(OPERATORS[operator])}", 4, 6)
    yield from (f"    {link}" for link in variant.links)
    for attribute, values in found.visible_where(operator, name).items():
        if len(values) <= _FEW:
            yield from wrap(f"seen only where {attribute} is {' or '.join(values)}", 4, 6)
    examples = {e for caught in found.caught[operator][name].values() for e in caught.examples[:1]}
    yield from (f"    {example}" for example in sorted(examples))


def score_json(found: Score) -> str:
    """Return the score as JSON: per operator and misreading, what catches it."""

    def of(operator: str, counts: dict[tuple[str, str], int]) -> dict[str, int]:
        return {dtype: n for (owner, dtype), n in counts.items() if owner == operator}

    return format_json(
        {
            "grucible_score": 1,
            "enough": ENOUGH,
            "weak": [
                {"operator": o, "dtype": d, "misreading": n, "cases": c}
                for o, d, n, c in found.weak()
            ],
            "operators": {
                operator: {
                    "cases": of(operator, found.cases),
                    "undeciding": of(operator, found.undeciding),
                    "left_out": of(operator, found.left_out),
                    "misreadings": [
                        {
                            "name": name,
                            "kind": CATALOGUE[name].kind,
                            "about": CATALOGUE[name].about_for(OPERATORS[operator]),
                            "links": list(CATALOGUE[name].links),
                            "caught": {dtype: one.cases for dtype, one in caught.items()},
                            "seen_only_where": found.visible_where(operator, name),
                            "examples": {dtype: one.examples for dtype, one in caught.items()},
                        }
                        for name, caught in rows.items()
                    ],
                }
                for operator, rows in found.caught.items()
            },
        }
    )


@dataclass(frozen=True)
class Suite:
    """Vectors that somebody's cases were made into, in the file `vectors`.

    `pair` is what their harness admits, None for the derived tolerances. What they expect stands in
    `*.outputs.h5` beside.
    """

    vectors: Path
    pair: Pair | None = None


@dataclass(frozen=True)
class Audited:
    """A suite with its score, and the report about the outputs that it expects, None where it has none."""

    suite: Suite
    score: Score
    report: Report | None

    def noticed_by(self, operator: str, misreading: str) -> int | None:
        """How many cases notice a misreading; None where none is of a dtype in which it is a mistake."""
        caught = self.score.caught[operator].get(misreading)
        return sum(one.cases for one in caught.values()) if caught else None


def audit(suite: Suite) -> Audited:
    """Score and judge a suite. Raises GrucibleError where its vectors cannot be used."""
    limits: Callable[..., Arrays] | None = by_pair(suite.pair) if suite.pair else None
    if not suite.vectors.is_file():
        raise GrucibleError(
            f"{suite.vectors}: no such file; expected FILE.h5, or FILE.h5:RTOL:ATOL"
        )
    report = None
    outputs = suite.vectors.with_suffix(".outputs.h5")
    if outputs.exists():
        vectors = open_set(suite.vectors)
        report = judge(vectors, FromOutputs(outputs, vectors), Demand())
    return Audited(suite, score(open_set(suite.vectors), limits=limits), report)


def audit_lines(suites: Sequence[Audited], command: str) -> Iterator[str]:
    """Yield the page about suites, in Markdown; `command` made it."""
    names = [as_markdown(one.suite.vectors.stem) for one in suites]
    yield from page_head(TITLE, _HEAD, command)
    table = []
    for name, one in zip(names, suites, strict=True):
        pair = one.suite.pair
        admits = f"{pair.atol:g} + {pair.rtol:g} × value" if pair else "the derived tolerances"
        numbers = "–" if one.report is None else as_markdown(headline(one.report))
        for operator, rows in one.score.caught.items():
            cases = sum(n for (owner, _), n in one.score.cases.items() if owner == operator)
            noticed = sum(bool(one.noticed_by(operator, row)) for row in rows)
            table.append([name, operator, str(cases), admits, numbers, f"{noticed} of {len(rows)}"])
    header = [
        "suite",
        "operator",
        "cases",
        "admits",
        "their numbers",
        "misreadings that it notices",
    ]
    yield from markdown_table(header, table)
    for operator in dict.fromkeys(o for one in suites for o in one.score.caught):
        mine = [one for one in suites if operator in one.score.caught]
        table = []
        for misreading in dict.fromkeys(m for one in mine for m in one.score.caught[operator]):
            about = as_markdown(CATALOGUE[misreading].about_for(OPERATORS[operator]))
            counts = [one.noticed_by(operator, misreading) for one in mine]
            table.append([about, *("–" if n is None else str(n) if n else "**0**" for n in counts)])
        yield from ["", f"## {operator}", ""]
        stems = [as_markdown(one.suite.vectors.stem) for one in mine]
        yield from markdown_table(["misreading", *stems], table)
