"""All cases of some reports as columns: what the page's table, filters and charts are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....cases.console import escape
from ...judging.case_result import CaseResult
from ...judging.traits import Traits
from ...report import Report
from ..findings import sentence
from .packed import Texts, ratio

_LETTERS = {"passed": "p", "failed": "f", "error": "e", "missing": "m", "unsupported": "u"}
"""How the page writes a verdict; `-` is that of a case that a runtime was not asked."""


class Cases:
    """The cases of all reports: each id once, in the order in which they come."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.place: dict[str, int] = {}
        self.first: list[CaseResult] = []
        for report in reports:
            for result in report.results:
                if result.id not in self.place:
                    self.place[result.id] = len(self.first)
                    self.first.append(result)

    def columns(self) -> dict[str, Any]:
        """What is the same for every runtime: the id, in two parts, tier and traits; by the number of an id's
        head its operator and dtype."""
        heads: dict[tuple[str, str, str], int] = {}
        traits: dict[int, int] = {}
        known: list[Traits] = []
        tiers, tails = Texts(), []
        numbers: dict[str, list[int]] = {"head": [], "tier": [], "traits": []}
        for case in self.first:
            head, slash, tail = case.id.rpartition("/")
            numbers["head"].append(
                heads.setdefault((head + slash, case.operator, case.dtype), len(heads))
            )
            tails.append(escape(tail))
            numbers["tier"].append(tiers.number(case.tier))
            number = traits.setdefault(id(case.traits), len(known))
            if number == len(known):
                known.append(case.traits)
            numbers["traits"].append(number)
        return {
            **numbers,
            "tail": tails,
            "heads": [list(map(escape, one)) for one in heads],
            "tiers": tiers.all,
            "known_traits": [{escape(k): escape(v) for k, v in one.items()} for one in known],
        }

    def of_runtime(self, report: Report) -> dict[str, Any]:
        """What was found of each case for one runtime: verdict, ratio (-1: infinite, null: not compared),
        element, message, what explains it, and whether it was expected, by the numbers of texts."""
        found = explained(report)
        results = {result.id: result for result in report.results}
        where, messages, reasons = Texts(), Texts(), Texts()
        verdicts: list[str] = []
        columns: dict[str, list[Any]] = {
            name: [] for name in ("ratio", "where", "message", "explained", "expected")
        }
        for case_id in self.place:
            result = results.get(case_id)
            verdicts.append(_LETTERS[result.verdict] if result else "-")
            columns["ratio"].append(_ratio(result))
            columns["where"].append(where.number(result.where if result else ""))
            columns["message"].append(messages.number(result.message if result else ""))
            columns["explained"].append(found.get(case_id, -1))
            known = result and result.wrong and result.expected
            columns["expected"].append(reasons.number(known.reason) if known else -1)
        return {
            "verdicts": "".join(verdicts),
            **columns,
            "places": where.all,
            "messages": messages.all,
            "reasons": reasons.all,
        }


def _ratio(result: CaseResult | None) -> float | int | None:
    if result is None or result.verdict not in ("passed", "failed"):
        return None
    told = ratio(result.worst_ratio)
    return -1 if isinstance(told, str) else told


def explanations(report: Report) -> list[str]:
    """The sentences that explain failures: those of the findings in their order, then others of cases."""
    return _sentences(report).all


def explained(report: Report) -> dict[str, int]:
    """By id, the number of the sentence that explains a case."""
    texts = _sentences(report)
    return {case: texts.number(sentence(one)) for case, one in report.diagnosis.by_case.items()}


def _sentences(report: Report) -> Texts:
    texts = Texts()
    for finding in (*report.diagnosis.findings, *report.diagnosis.by_case.values()):
        texts.number(sentence(finding))
    return texts
