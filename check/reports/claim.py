"""A claim: what a report says of a runtime, small enough to publish, and its badge."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ...cases.operators.values import FIRST_WRONG
from ...cases.selection import WHOLE
from ...vectors.case import REQUIRED
from ...vectors.digest import published_pairs, root_of
from ..judging.case_result import DECIDING
from ..refusals import ACCEPTED
from ..report import verdict_of
from ..stored import (
    ComparedCase,
    FewKeys,
    StoredModel,
    StoredPart,
    StoredRefusal,
    StoredReport,
    Text,
    parse_report,
)
from .text import group

_COLOURS = {"does not conform": "#c2410c", "incomplete": "#59626d"}
"""The colours of verdicts; that of the others is blue."""
_CASES = {"all": "cases", "core": "core cases", None: "selected cases"}
"""What a badge calls the cases, by the published set that was asked."""


_Texts = Annotated[dict[Text, Text], FewKeys]


class _Vectors(StoredPart):
    version: int
    origins: _Texts
    digests: _Texts


class _Case(ComparedCase):
    id: Annotated[Text, Field(pattern="^[^/]+/[^/]+/[^/]+/")]
    judged_by: Text | None


class _Refusal(StoredRefusal):
    operator: Text
    dtype: Text


class _Model(StoredModel):
    unjudged: _Texts


class _Claimed(StoredReport):
    """The part of a report that a claim is made of."""

    select: Annotated[list[Text], FIRST_WRONG]
    shard: Text
    vectors: _Vectors
    cases: Annotated[list[_Case], FIRST_WRONG]  # type: ignore[assignment]
    refusals: Annotated[list[_Refusal], FIRST_WRONG] = Field(default_factory=list)  # type: ignore[assignment]
    model: _Model | None = None

    @property
    def left_out(self) -> bool:
        """Whether cases were not asked that were to be."""
        return self.stopped or self.interrupted

    @property
    def published_set(self) -> str | None:
        """The set of published cases that was asked: all, or the core; None for any other."""
        if self.select or self.left_out or self.shard != str(WHOLE):
            return None
        asked = {tuple(one.split(" ")) for one in self.vectors.digests.values()}
        if asked == published_pairs():
            return "all"
        return "core" if asked == published_pairs(core=True) else None


def claim_of(file: bytes, name: str = "", machine: str = "") -> dict[str, Any]:
    """Return the claim of the report in a file called `name`, which a `machine` made.

    Raises GrucibleError for no report.
    """
    report = parse_report(file, _Claimed, name)
    cases = [one for one in report.cases if one.tier in DECIDING]
    operators: dict[str, dict[str, Any]] = {}
    kinds = group(cases, lambda one: (one.id.split("/")[0], one.id.split("/")[2]))
    for (operator, dtype), some in sorted(kinds.items()):
        operators.setdefault(operator, {})[dtype] = _judged(report, operator, dtype, some)
    return {
        "grucible_claim": 1,
        "runtime": report.runtime,
        "machine": machine or None,
        "verdict": report.verdict,
        "left_out": report.left_out,
        "passed": sum(one.verdict == "passed" for one in cases),
        "cases": len(cases),
        "select": report.select,
        "shard": report.shard,
        "vectors": {
            "version": report.vectors.version,
            "published": {*report.vectors.origins.values()} == {"published"},
            "set": report.published_set,
            "files": len(report.vectors.digests),
            "root_digest": root_of(report.vectors.digests),
        },
        "operators": operators,
        "arithmetic": {
            dtype: one.model_dump(include={"required", "observed"})
            for dtype, one in report.arithmetic.items()
        },
        "report_sha256": hashlib.sha256(file).hexdigest(),
    }


def _judged(report: _Claimed, operator: str, dtype: str, cases: Sequence[_Case]) -> dict[str, Any]:
    """Count the cases of an operator and dtype, and give their verdict."""
    counts = Counter(one.verdict for one in cases)
    refused = any(one.must_support and one.verdict == "unsupported" for one in cases)
    accepted = any(
        (one.operator, one.dtype, one.decides) == (operator, dtype, True)
        and one.outcome in ACCEPTED
        for one in report.refusals
    )
    decided = any(one.verdict == "passed" and one.judged_by != "nothing" for one in cases)
    unjudged = report.model is not None and bool(report.model.unjudged)
    wrong = bool(counts["failed"] or counts["error"] or refused or accepted)
    verdict = verdict_of(counts, wrong=wrong, incomplete=report.left_out or unjudged or not decided)
    if not wrong and counts["unsupported"] == len(cases):
        verdict = "unsupported"
    return {"verdict": verdict, "passed": counts["passed"], "cases": len(cases)}


def badge(claim: Mapping[str, Any]) -> str:
    """Return a claim's verdict as a picture, an SVG with two rectangles."""
    cases = (
        _CASES[claim["vectors"]["set"]] if claim["vectors"]["published"] else "unpublished cases"
    )
    usual = all(one["required"] == REQUIRED[dtype] for dtype, one in claim["arithmetic"].items())
    verdict = f"{claim['verdict']}: {claim['passed']} of {claim['cases']} {cases}"
    verdict += "" if usual else ", by other tolerances"
    left, right = (round(5.9 * len(text)) + 14 for text in ("grucible", verdict))
    colour = _COLOURS.get(claim["verdict"], "#2f74b5")
    text = '<text x="{}" y="14" textLength="{}">{}</text>'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">
<title>grucible: {verdict}</title>
<rect width="{left}" height="20" fill="#1b1f24"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
{text.format(7, left - 14, "grucible")}
{text.format(left + 7, right - 14, verdict)}
</g>
</svg>
"""
