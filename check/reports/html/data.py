"""The data of the page's program: all cases as columns, and the values of failing cases."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....cases.console import escape
from ....cases.dtypes import Array
from ....cases.errors import GrucibleError
from ....cases.operators import OPERATORS
from ....cases.operators.readings import STORED
from ...diagnosis.failing import FailingBlock
from ...judging.case_result import CaseResult
from ...judging.compare import Differences
from ...judging.grade import Growth, step_errors
from ...report import CORE, Report
from ...tracing.trace import WHOLE, Traced, trace
from ..findings import plainest, sentence
from ..show import asked_lines
from ..trace import against_lines, step_lines

MOST_BYTES = 1_500_000
"""Maximum bytes of the values of failing cases in a page; of more cases the plainest are whole."""
MOST_ELEMENTS = 4096
"""Maximum elements that are shown of an output: those that are furthest off."""
MOST_TRACED = 48
"""Maximum cases with their trace; each takes some hundredths of a second."""
MOST_STEPS = 64
"""Maximum steps of a traced case, over all rows and directions."""
TOGETHER = 16
"""Cases that are compressed together, and read together when one of them is opened."""
_LETTERS = {"passed": "p", "failed": "f", "error": "e", "missing": "m", "unsupported": "u"}
"""How the page writes a verdict; `-` is that of a case that a runtime was not asked."""


def pack(value: Any) -> str:
    """Return the JSON of a value, compressed, in base64, which no markup can hide in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def short_ratio(number: float) -> float | str:
    """Return a ratio to four digits, on the side of 1 where it is; infinity and NaN as a text."""
    if not math.isfinite(number):
        return str(number)
    short = float(f"{number:.4g}")
    return 1.001 if number > 1 and short == 1.0 else short


class TextTable:
    """Texts by number: each stands once, escaped as it is printed."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, a new one where it is new."""
        return self._numbers.setdefault(escape(text), len(self._numbers))

    @property
    def all(self) -> list[str]:
        """The texts, in the order of their numbers."""
        return list(self._numbers)


def _sentences(report: Report) -> TextTable:
    texts = TextTable()
    for finding in (*report.diagnosis.findings, *report.diagnosis.by_case.values()):
        texts.number(sentence(finding))
    return texts


def explanations(report: Report) -> list[str]:
    """Return the sentences that explain failures: those of the findings in their order, then others."""
    return _sentences(report).all


def explained(report: Report) -> dict[str, int]:
    """Return by id the number of the sentence that explains a case."""
    texts = _sentences(report)
    return {case: texts.number(sentence(one)) for case, one in report.diagnosis.by_case.items()}


def first_results(reports: Sequence[Report]) -> dict[str, CaseResult]:
    """Return the cases of all reports by id: each once, in the order in which they come."""
    found: dict[str, CaseResult] = {}
    for report in reports:
        for result in report.results:
            found.setdefault(result.id, result)
    return found


def shared_columns(cases: dict[str, CaseResult]) -> dict[str, Any]:
    """Return what is the same for every runtime: ids in two parts, tiers and traits, by number."""
    heads: dict[tuple[str, str, str], int] = {}
    traits: dict[tuple[tuple[str, str], ...], int] = {}
    tiers = TextTable()
    columns: dict[str, list[Any]] = {name: [] for name in ("head", "tail", "tier", "traits")}
    for case_id, case in cases.items():
        head, slash, tail = case_id.rpartition("/")
        key = (escape(head + slash), case.operator, case.dtype)
        columns["head"].append(heads.setdefault(key, len(heads)))
        columns["tail"].append(escape(tail))
        columns["tier"].append(tiers.number(case.tier))
        shown = tuple((escape(k), escape(v)) for k, v in case.traits.items())
        columns["traits"].append(traits.setdefault(shown, len(traits)))
    known = [dict(one) for one in traits]
    return {**columns, "heads": [*map(list, heads)], "tiers": tiers.all, "known_traits": known}


def runtime_columns(
    report: Report, cases: dict[str, CaseResult], number: int, places: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    """Return what was found for one runtime: of the whole, and of each case by the numbers of texts.

    A ratio is -1 where it is infinite, null where nothing was compared. `places` are those of `details`.
    """
    why, results = explained(report), {result.id: result for result in report.results}
    where, messages, reasons = TextTable(), TextTable(), TextTable()
    rows = []
    for case_id in cases:
        result = results.get(case_id)
        compared = result is not None and result.verdict in ("passed", "failed")
        ratio = short_ratio(result.worst_ratio) if compared and result else None
        known = result.expected if result and result.wrong else None
        rows.append(
            (
                _LETTERS[result.verdict] if result else "-",
                -1 if isinstance(ratio, str) else ratio,
                where.number(result.where if result else ""),
                messages.number(result.message if result else ""),
                why.get(case_id, -1),
                reasons.number(known.reason) if known else -1,
            )
        )
    names = ("verdicts", "ratio", "where", "message", "explained", "expected")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    order = {case_id: place for place, case_id in enumerate(cases)}
    return {
        "name": escape(f"{report.runtime} {report.runtime_version}".strip()),
        "vectors": "" if report.vectors == CORE else escape(report.vectors),
        "number": number,
        "explanations": explanations(report),
        "unexplained": report.diagnosis.unexplained,
        "asked": escape(report.asked),
        "outputs": escape(report.outputs),
        "growth": {dtype: _growth(growth) for dtype, growth in report.growth.items()},
        "required": {dtype: str(grade.required) for dtype, grade in report.grades.items()},
        "details": [[order[case_id], *place] for case_id, place in places.items()],
        **columns,
        "verdicts": "".join(columns["verdicts"]),
        "places": where.all,
        "messages": messages.all,
        "reasons": reasons.all,
    }


def _growth(growth: Growth) -> dict[str, Any]:
    """Return by step the error of the worst case and of the middle one, of those that passed and others."""

    def curve(quantile: float, passed: bool) -> list[float | str | None]:
        errors = growth.quantile(quantile, passed=passed)
        return [None if one is None else short_ratio(one) for one in errors]

    return {
        key: {
            "cases": growth.cases(passed=passed),
            "worst": curve(1.0, passed),
            "middle": curve(0.5, passed),
        }
        for key, passed in (("passed", True), ("failed", False))
    }


class Details(NamedTuple):
    """The values of failing cases: `chunks` are packed lists of cases.

    `places` has, by id, the number of the chunk and the place in it. `left_out` counts the failing cases for
    which there was no room.
    """

    chunks: list[str]
    places: dict[str, tuple[int, int]]
    left_out: int


def details(report: Report, most: int = MOST_BYTES) -> Details:
    """Return the values of failing cases in `most` bytes: of each explanation in turn, the plainest first."""
    kept = {
        case_id: part.rows(np.array([row]))
        for part in report.failing
        for row, case_id in enumerate(part.block.ids)
    }
    why = explained(report)
    failed = [r for r in report.results if r.decides and r.verdict == "failed"]
    placed: dict[int, int] = {}
    order = []
    for place, result in enumerate(plainest(failed)):
        number = why.get(result.id, -1)
        placed[number] = placed.get(number, 0) + 1
        order.append((bool(result.expected), placed[number], place, result.id))
    ids = [case_id for *_, case_id in sorted(order) if case_id in kept]
    found = Details([], {}, 0)
    for start in range(0, len(ids), TOGETHER):
        some = ids[start : start + TOGETHER]
        name = report.runtime if start < MOST_TRACED else ""
        chunk = pack([_case(kept[case_id], name) for case_id in some])
        most -= len(chunk)
        if most < 0:
            break
        found.places.update({one: (len(found.chunks), place) for place, one in enumerate(some)})
        found.chunks.append(chunk)
    return found._replace(left_out=len(failed) - len(found.places))


def _case(one: FailingBlock, traced_for: str) -> dict[str, Any]:
    """Return a block of one case for the page: what it asks, and every element; with its trace, if asked."""
    block, answer = one.block, one.block.answer
    admitted = one.criterion.admitted(block, STORED)
    compared = Differences(answer.outputs, one.observed, block.dtype, signed_zero=False)
    off = compared.ratios(admitted)
    lines = [escape(line) for line in asked_lines(block.case(0), full=False)]
    inputs = lines.index("inputs")
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])
    axes = {tensor.name: tensor.form(attributes).axes for tensor in operator.outputs}
    lengths = operator.tensor("lengths")
    steps = step_errors(
        block, one.observed, one.criterion, block.inputs.get(lengths.name) if lengths else None
    )
    outputs = []
    for name, expected in answer.outputs.items():
        columns = (expected[0], one.observed[name][0], admitted[name][0], off[name][0])
        outputs.append({"name": name, "axes": axes[name], **_elements(*columns)})
    traced = _trace_lines(one, traced_for) if traced_for else []
    return {
        "asked": [line.removeprefix("  ") for line in lines[:2]] + lines[2:inputs],
        "inputs": [line.removeprefix("  ") for line in lines[inputs + 1 :]],
        "outputs": outputs,
        "steps": None if steps is None else [short_ratio(e) for e in steps[0] if not np.isnan(e)],
        "readings": len(block.answers) - 1,
        "sections": [{"title": "Where it leaves the exact states", "lines": traced}]
        if traced
        else [],
    }


def _elements(expected: Array, observed: Array, admitted: Array, off: Array) -> dict[str, Any]:
    """Return the elements of an output, or of very many those that are furthest off, with their places."""
    found: dict[str, Any] = {"shape": list(expected.shape)}
    columns = [one.ravel() for one in (expected, observed, admitted, off)]
    if expected.size > MOST_ELEMENTS:
        at = np.sort(np.argsort(-off.ravel(), kind="stable")[:MOST_ELEMENTS])
        columns = [column[at] for column in columns]
        found["at"] = at.tolist()
    for name, column in zip(("expected", "observed"), columns, strict=False):
        found[name] = " ".join(map(str, column))  # the fewest digits that tell a number from others
    for name, column in zip(("admitted", "ratio"), columns[2:], strict=True):
        found[name] = " ".join(str(short_ratio(float(number))) for number in column)
    return found


def _trace_lines(one: FailingBlock, runtime: str) -> list[str]:
    """Return where the observed states leave the exact ones; nothing of a case of too many steps."""
    steps = sum(int(s.inputs.lengths.sum()) * len(s.semantics.directions) for s in one.stacked)
    if steps > MOST_STEPS:
        return []
    try:
        exact = trace(one.block.case(0))
        found = exact.against({name: array[0] for name, array in one.observed.items()})
        traced = Traced(exact.under(found.reading), runtime, found)
    except GrucibleError:  # a quantity that could not be rounded
        return []
    lines = [*against_lines(traced, full=False), *step_lines(traced, WHOLE, full=False)]
    return [escape(line) for line in lines[1:]]
