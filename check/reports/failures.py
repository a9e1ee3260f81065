"""What went wrong, as a person reads it: the cases, the plainest first, and where to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..judging.case_result import CaseResult
from ..report import Report
from .messages import masked
from .paragraph import how_far_off, show_command
from .wrapping import head_and_tail, of_case, width, wrapped

_SHOWN = 10


def failure_lines(report: Report) -> Iterator[str]:
    """The failures, the errors, what must be supported and is not, and what is missing."""
    yield from _failed(report)
    yield from _by_message("errors:", [r for r in report.unexpected if r.verdict == "error"])
    yield from _by_message("unsupported, but --require names them:", report.refused)
    yield from _missing([r for r in report.results if r.decides and r.verdict == "missing"])


def first_to_look_at(report: Report) -> Iterator[str]:
    """The command that shows the case to start with."""
    failed = [r for r in report.unexpected if r.verdict == "failed"]
    failed = [r for r in failed if _unexplained(report, r)] or failed
    if failed:
        first = min(failed, key=lambda r: (r.plainness, r.dtype != "float32"))
        yield ""
        yield f"start with: {show_command(report, first.id)}"


def _failed(report: Report) -> Iterator[str]:
    """The failures that nothing explains, and then the plainest, of each dtype in turn."""
    results = [r for r in report.unexpected if r.verdict == "failed"]
    if not results:
        return
    unexplained = [r for r in results if _unexplained(report, r)]
    yield ""
    first = "what nothing explains, and " if 0 < len(unexplained) < len(results) else ""
    yield f"failed ({first}the plainest of each dtype first):"
    order = plainest(unexplained)
    order += plainest([r for r in results if not _unexplained(report, r)])
    for result in order[:_SHOWN]:
        yield of_case(result.id, 2)
        yield from wrapped(how_far_off(result), indent=4)
    yield from _and_more(len(results))


def _unexplained(report: Report, result: CaseResult) -> bool:
    """Whether no finding of the diagnosis explains the case."""
    return result.id in report.diagnosis.unexplained_ids


def plainest(results: Sequence[CaseResult]) -> list[CaseResult]:
    """The plainest first, of each dtype in turn."""
    placed: Counter[str] = Counter()
    order = []
    for place, result in enumerate(sorted(results, key=lambda r: r.plainness)):
        placed[result.dtype] += 1
        order.append((placed[result.dtype], place, result))
    return [entry[2] for entry in sorted(order, key=lambda entry: entry[:2])]


def _by_message(title: str, results: Sequence[CaseResult]) -> Iterator[str]:
    """Cases that gave a message and no outputs, those together whose messages differ in no more than
    numbers and dtypes."""
    if not results:
        return
    yield ""
    yield title
    alike: dict[str, list[CaseResult]] = {}
    for result in results:
        alike.setdefault(masked(result.message), []).append(result)
    groups = sorted(alike.values(), key=lambda cases: -len(cases))
    for cases in groups[:_SHOWN]:
        yield from wrapped(head_and_tail(cases[0].message, 3 * width()), indent=2)
        yield of_case(cases[0].id, 4)
        if len(cases) > 1:
            yield f"    and {len(cases) - 1} more"
    if len(groups) > _SHOWN:
        yield f"  … and {len(groups) - _SHOWN} other messages; --report json=FILE has all of them"


def _missing(results: Sequence[CaseResult]) -> Iterator[str]:
    if not results:
        return
    yield ""
    yield "missing:"
    yield from (of_case(result.id, 2) for result in results[:_SHOWN])
    yield from _and_more(len(results))
    for message, count in Counter(r.message for r in results).most_common(_SHOWN):
        told = head_and_tail(message, 8 * width())
        yield from wrapped(f"{count:8}  {told}", indent=0, more=10, cut=False)


def _and_more(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"  … and {count - _SHOWN} more; --report json=FILE has all of them"
