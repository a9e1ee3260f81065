"""The report as a page to look at: one file, which opens without a network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...cases.console import escape, format_own_command
from ...cases.dtypes import Array
from ...cases.errors import GrucibleError, needing
from ...cases.operators import OPERATORS
from ...cases.operators.readings import STORED
from ...vectors.digest import root_of
from ..diagnosis.failing import FailingBlock
from ..diagnosis.finding import Finding
from ..judging.case_result import CaseResult
from ..judging.criterion import Differences
from ..judging.grade import Growth, step_errors
from ..report import CORE, Report
from ..scripts.script import has_script
from ..trace import WHOLE, Traced, trace
from .findings import (
    explain_command,
    how_far_off,
    in_brackets,
    may_trace,
    notes,
    plainest,
    sentence,
)
from .show import asked_lines
from .terminal import arithmetic_rows, headline, report_lines, table_rows
from .trace import against_lines, step_lines

HERE = Path(__file__).parent / "page"
MOST_FAILURES = 50
"""Maximum failures in the table that is shown even without JavaScript."""
MOST_BYTES = 1_500_000
"""Maximum bytes of failing cases' values in a page; the plainest cases come first."""
MOST_ELEMENTS = 4096
"""Maximum elements of an output that are shown; larger outputs show those that are furthest off."""
MOST_TRACED = 48
"""Maximum cases with a trace; each trace takes some hundredths of a second."""
MOST_STEPS = 64
"""Maximum steps of a traced case, in all rows and directions together."""
VERDICTS = {verdict: verdict for verdict in ("passed", "failed", "error", "missing", "unsupported")}
VERDICTS["error"] = "errors"
"""The verdicts of cases, and the word for a count of them."""
_COLUMNS = ("id", "operator", "dtype", "tier", "traits")
_SCRIPTS = ("charts", "cases", "page")


def check_installed() -> None:
    """Raise GrucibleError where jinja2, which fills the page's template, is not installed."""
    with needing("jinja2", "report", "a report as HTML"):
        import jinja2  # noqa: F401


def html_page(reports: Sequence[Report]) -> str:
    """Return the page that shows reports of runtimes side by side; their cases may differ.

    Raises GrucibleError where jinja2 is not installed.
    """
    check_installed()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    cases: dict[str, CaseResult] = {}
    for one in (result for report in reports for result in report.results):
        cases.setdefault(one.id, one)
    columns = {name: [getattr(case, name) for case in cases.values()] for name in _COLUMNS}
    runtimes = [_runtime(report, list(cases), number) for number, report in enumerate(reports)]
    places = {case_id: place for place, case_id in enumerate(cases)}
    values = [
        (number, places[case_id], packed)
        for number, report in enumerate(reports)
        for case_id, packed in pack_cases(report, MOST_BYTES // len(reports)).items()
    ]
    summaries = [_summary(report) for report in reports]
    script = "\n".join((HERE / f"{name}.js").read_text("utf-8") for name in _SCRIPTS)
    templates = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: escape(value) if type(value) is str else value,
    )  # fmt: skip
    templates.globals.update(
        explain_command=explain_command, headline=headline, how_far_off=how_far_off,
        in_brackets=in_brackets, notes=notes, report_lines=report_lines, sentence=sentence,
        verdicts=VERDICTS,
    )  # fmt: skip
    return templates.get_template("page.html.j2").render(
        runtimes=summaries,
        unused=[
            n for n, _ in enumerate(VERDICTS) if not any(one["totals"][n] for one in summaries)
        ],
        version=__version__,
        made=_made(),
        digests={root_of(one.digests): len(one.digests) for one in reports if one.digests},
        style=(HERE / "page.css").read_text("utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        data=pack({"cases": columns, "runtimes": runtimes}),
        values=values,
    )


def _made() -> dict[str, str]:
    """Say what made the page, if a command did: its line, for a shell, and the day and minute."""
    command, now = format_own_command(), datetime.now().astimezone()
    return {"command": command, "date": f"{now:%Y-%m-%d %H:%M %Z}" if command else ""}


def pack(value: Any) -> str:
    """Return a value as JSON with escaped texts, compressed, in base64, where no markup can hide."""
    text = json.dumps(_printable(value), separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {escape(key): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, (list, tuple)) else value


def short_ratio(number: float) -> float | str:
    """Return a ratio to four digits, never rounded down to 1; infinity and NaN as a text."""
    if not math.isfinite(number):
        return str(number)
    short = float(f"{number:.4g}")
    return 1.001 if number > 1 and short == 1.0 else short


def _explanations(report: Report) -> dict[str, int]:
    """Return each sentence that explains cases with its number; the findings' sentences come first."""
    used = dict.fromkeys(map(sentence, report.diagnosis.by_case.values()))
    first = [text for text in map(sentence, report.diagnosis.findings) if text in used]
    return {text: number for number, text in enumerate(dict.fromkeys([*first, *used]))}


def _summary(report: Report) -> dict[str, Any]:
    """Return what the page shows of a runtime without JavaScript."""
    wrong = [result for result in report.results if result.wrong]
    first = sorted(plainest(wrong), key=lambda r: (bool(r.expected), r.verdict != "failed"))
    return {
        "report": report,
        "name": f"{report.runtime} {report.runtime_version}".strip(),
        "explanations": _explanations(report),
        "rows": [*table_rows(report)][1:],
        "arithmetic": {dtype: rest for dtype, *rest in arithmetic_rows(report)},
        "totals": [report.counts[verdict] for verdict in VERDICTS],
        "wrong": len(wrong),
        "failures": first[:MOST_FAILURES],
    }


def _runtime(report: Report, ids: Sequence[str], number: int) -> dict[str, Any]:
    """Return what was found for one runtime: in all, and in columns with an entry for each case.

    A ratio is -1 where it is infinite, null where nothing was compared. A verdict is its first letter, or `-`
    for a case that the runtime was not asked.
    """
    results = {result.id: result for result in report.results}
    found = [results.get(case_id) for case_id in ids]
    numbers, by_case = _explanations(report), report.diagnosis.by_case
    required = {dtype: str(grade.required) for dtype, grade in report.grades.items()}
    return {
        "name": f"{report.runtime} {report.runtime_version}".strip(),
        "vectors": "" if report.vectors == CORE else report.vectors,
        "number": number,
        "explanations": list(numbers),
        "asked": report.asked,
        "script": has_script(report.asked),
        "outputs": report.outputs,
        "growth": {dtype: _growth(growth) for dtype, growth in report.growth.items()},
        "required": required,
        "traces": [one and may_trace(one.dtype, required.get(one.dtype), one.message) for one in found],
        "verdicts": [one.verdict[0] if one else "-" for one in found],
        "ratio": [_ratio(one) for one in found],
        "where": [one.where if one else "" for one in found],
        "message": [one.message if one else "" for one in found],
        "explained": [numbers[sentence(by_case[one])] if one in by_case else -1 for one in ids],
        "expected": [one.expected.reason if one and one.wrong and one.expected else None for one in found],
    }  # fmt: skip


def _ratio(one: CaseResult | None) -> float | str | None:
    if one is None or one.verdict not in ("passed", "failed"):
        return None
    return short_ratio(one.worst_ratio) if math.isfinite(one.worst_ratio) else -1


def _growth(growth: Growth) -> dict[str, Any]:
    """Return each step's worst and median error, for cases that passed and for the others."""

    def curves(errors: list[list[float]]) -> dict[str, Any]:
        return {
            "cases": [len(step) for step in errors],
            "worst": [short_ratio(step[-1]) for step in errors],
            "middle": [short_ratio(step[(len(step) - 1) // 2]) for step in errors],
        }

    return {
        "passed": curves(growth.by_step(passed=True)),
        "failed": curves(growth.by_step(passed=False)),
    }


def pack_cases(report: Report, most: int = MOST_BYTES) -> dict[str, str]:
    """Return by id the packed values of failing cases, in at most `most` bytes.

    The plainest case of each explanation comes first, then the next one of each.
    """
    kept = {
        case_id: (part, row)
        for part in report.failing
        for row, case_id in enumerate(part.block.ids)
    }
    turns: Counter[Finding | None] = Counter()
    order = []
    for place, result in enumerate(plainest([r for r in report.results if r.id in kept])):
        if result.decides and result.verdict == "failed":
            finding = report.diagnosis.by_case.get(result.id)
            turns[finding] += 1
            order.append((bool(result.expected), turns[finding], place, result.id))
    found: dict[str, str] = {}
    for *_, case_id in sorted(order):
        part, row = kept[case_id]
        name = report.runtime if len(found) < MOST_TRACED else ""
        packed = pack(_case(part.rows(np.array([row])), name))
        most -= len(packed)
        if most < 0:
            break
        found[case_id] = packed
    return found


def _case(one: FailingBlock, traced_for: str) -> dict[str, Any]:
    """Return a case for the page: what it asks, and its elements; with a trace if `traced_for` is a name."""
    block, answer = one.block, one.block.answer
    admitted = one.criterion.admitted(block, STORED)
    compared = Differences(answer.outputs, one.observed, block.dtype, signed_zero=False)
    off = compared.ratios(admitted)
    lines = list(asked_lines(block.case(0), full=False))
    inputs = lines.index("inputs")
    operator = OPERATORS[block.operator]
    attributes = operator.with_defaults(block.given[0])
    axes = {tensor.name: tensor.form(attributes).axes for tensor in operator.outputs}
    steps = step_errors(block, one.observed, one.criterion)
    return {
        "asked": [line.removeprefix("  ") for line in lines[:2]] + lines[2:inputs],
        "inputs": [line.removeprefix("  ") for line in lines[inputs + 1 :]],
        "outputs": [
            {
                "name": name,
                "axes": axes[name],
                **_elements(expected[0], one.observed[name][0], admitted[name][0], off[name][0]),
            }
            for name, expected in answer.outputs.items()
        ],
        "steps": None if steps is None else [short_ratio(e) for e in steps[0] if not np.isnan(e)],
        "readings": len(block.answers) - 1,
        "trace": _trace_lines(one, traced_for) if traced_for else [],
    }


def _elements(expected: Array, observed: Array, admitted: Array, off: Array) -> dict[str, Any]:
    """Return the elements of an output; of a large one, those that are furthest off, with their places."""
    found: dict[str, Any] = {"shape": list(expected.shape)}
    columns: list[Any] = [one.ravel() for one in (expected, observed, admitted, off)]
    if expected.size > MOST_ELEMENTS:
        at = np.sort(np.argsort(-off.ravel(), kind="stable")[:MOST_ELEMENTS])
        columns = [column[at] for column in columns]
        found["at"] = at.tolist()
    short = [[short_ratio(float(number)) for number in column] for column in columns[2:]]
    names = ("expected", "observed", "admitted", "ratio")
    for name, column in zip(names, [*columns[:2], *short], strict=True):
        found[name] = " ".join(map(str, column))  # the fewest digits that tell numbers apart
    return found


def _trace_lines(one: FailingBlock, runtime: str) -> list[str]:
    """Return where the observed states leave the exact ones; nothing if there are too many steps."""
    steps = sum(int(s.inputs.lengths.sum()) * len(s.semantics.directions) for s in one.stacked)
    if steps > MOST_STEPS:
        return []
    try:
        exact = trace(one.block.case(0))
        found = exact.against({name: array[0] for name, array in one.observed.items()})
        traced = Traced(exact.under(found.reading), runtime, found)
    except GrucibleError:  # a quantity that could not be rounded
        return []
    return [*against_lines(traced, full=False), *step_lines(traced, WHOLE, full=False)][1:]
