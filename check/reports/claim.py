"""A claim: what a report says of a runtime, small enough to publish, and its badge."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...vectors.digest import root_of
from ..judging.case_result import DECIDING
from .text import group

_COLOURS = {"does not conform": "#c2410c", "incomplete": "#59626d"}
"""The colours of verdicts; that of the others is blue."""


def claim_value(
    report: Mapping[str, Any], file: bytes, *, made_here: bool = False
) -> dict[str, Any]:
    """Return the claim of a report, given as plain data and as its file; it may be `made_here`."""
    vectors = report["vectors"]
    cases = [one for one in report["cases"] if one["tier"] in DECIDING]
    kinds = group(cases, lambda one: tuple(one["id"].split("/")[:3:2]))
    operators: dict[str, dict[str, Any]] = {}
    for (operator, dtype), some in sorted(kinds.items()):
        operators.setdefault(operator, {})[dtype] = _judged(report, operator, dtype, some)
    return {
        "grucible_claim": 1,
        "runtime": report["runtime"],
        "machine": f"{platform.system()} {platform.machine()}" if made_here else None,
        "verdict": report["verdict"],
        "left_out": report["stopped"] or report["interrupted"],
        "passed": sum(one["verdict"] == "passed" for one in cases),
        "cases": len(cases),
        "select": report["select"],
        "shard": report["shard"],
        "vectors": {
            "version": vectors.get("version"),
            "published": {*vectors["origins"].values()} == {"published"},
            "files": len(vectors["digests"]),
            "root_digest": root_of(vectors["digests"]),
        },
        "operators": operators,
        "arithmetic": {
            dtype: {"required": one["required"], "observed": one["observed"]}
            for dtype, one in report["arithmetic"].items()
        },
        "report_sha256": hashlib.sha256(file).hexdigest(),
    }


def _judged(
    report: Mapping[str, Any], operator: str, dtype: str, cases: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Count the cases of an operator and dtype, and give their verdict, by the rules of the report's."""
    counts = Counter(one["verdict"] for one in cases)
    refused = any(one.get("must_support") and one["verdict"] == "unsupported" for one in cases)
    accepted = [
        one for one in report.get("refusals", ())
        if (one["operator"], one["dtype"]) == (operator, dtype)
        and one["decides"] and one["outcome"] not in ("refused", "unasked")
    ]  # fmt: skip
    incomplete = report["verdict"] == "incomplete" or report["stopped"] or report["interrupted"]
    undeciding = report["arithmetic"].get(dtype, {}).get("vacuous", {}).get("cases", 0)
    if counts["failed"] or counts["error"] or refused or accepted:
        verdict = "does not conform"
    elif counts["unsupported"] == len(cases):
        verdict = "unsupported"
    elif incomplete or counts["passed"] <= undeciding or counts["missing"]:
        verdict = "incomplete"
    else:
        verdict = "conforms where supported" if counts["unsupported"] else "conforms"
    return {"verdict": verdict, "passed": counts["passed"], "cases": len(cases)}


def badge(report: Mapping[str, Any]) -> str:
    """Return a report's verdict as a picture, an SVG with two rectangles."""
    claim = claim_value(report, b"")
    cases = "cases" if claim["vectors"]["published"] else "unpublished cases"
    verdict = f"{claim['verdict']}: {claim['passed']} of {claim['cases']} {cases}"
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
