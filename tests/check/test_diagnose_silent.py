"""Which failures rest on the owner's runtime alone: the text is silent there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grucible.cases.operators.known import OPERATORS
from grucible.cases.operators.silent_points import SILENT
from grucible.check.reports.json import report_json
from grucible.check.reports.terminal import report_lines
from grucible.gen.variants.catalogue import CATALOGUE

from .diagnosing import core_blocks, report_on, variants_run

SEQUENCE, ONNX = "openvino.GRUSequence-5", "onnx.GRU-14"
LEDGERS = Path(__file__).parents[2] / "cases"


@pytest.mark.parametrize(
    ("operator", "misreadings", "silent"),
    [
        (SEQUENCE, ("Y-holds-last-state",), ("y-padding",)),
        (SEQUENCE, ("Y-directions-exchanged",), ("bidi-layout",)),
        (SEQUENCE, ("Wbh-Rbh-exchanged",), ("b-order",)),
        (SEQUENCE, ("reverse-from-padding",), ("reverse-ragged",)),
        (SEQUENCE, ("lengths-ignored",), ()),
        (SEQUENCE, ("clip-ignored",), ()),
        (ONNX, ("Y-holds-last-state",), ("y-padding",)),
        # ONNX's text has the order of B
        (ONNX, ("Wbh-Rbh-exchanged",), ()),
        # a mistake beside it, of which the text is not silent
        (SEQUENCE, ("clip-ignored", "Y-holds-last-state"), ()),
    ],
)
def test_a_finding_says_whether_the_text_is_silent(
    operator: str, misreadings: tuple[str, ...], silent: tuple[str, ...]
) -> None:
    report = report_on(core_blocks(operator, "float32"), variants_run(*misreadings))
    finding = next(f for f in report.diagnosis.findings if set(f.names) == set(misreadings))
    assert finding.silent == silent
    text = " ".join(" ".join(report_lines(report)).split())
    for entry in silent:
        page = f"cases/{operator.partition('.')[0]}/LEDGER.md"
        assert f"({entry} in {page}: the text is silent, and the owner's runtime decides)" in text
    told = json.loads(report_json(report))["diagnosis"]
    assert list(silent) in [one["silent"] for one in told]
    if not silent and len(report.diagnosis.findings) == 1:
        assert "the text is silent" not in text


@pytest.mark.parametrize("owner", SILENT)
def test_the_ledger_says_so_too(owner: str) -> None:
    """Its row rests on the owner, and every such row stands in the table here."""
    rows = {}
    for line in (LEDGERS / owner / "LEDGER.md").read_text().splitlines():
        if line.startswith('| <a id="'):
            rows[line.split('"')[1]] = line.rstrip(" |").rsplit("|", 1)[1].strip()
    marked = {entry for entry, basis in rows.items() if basis == "owner, the text is silent"}
    assert marked == SILENT[owner]


def test_every_silent_point_has_a_misreading() -> None:
    operators = {o.owner: o for o in OPERATORS.values() if o.name != "openvino.GRUCell-3"}
    for owner, entries in SILENT.items():
        about = {v.ledger for v in CATALOGUE.values() if v.means_something_for(operators[owner])}
        assert entries <= about
