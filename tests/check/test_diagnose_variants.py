"""Every variant is diagnosed as itself, alone and several at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from grucible.cases.operators.known import OPERATORS
from grucible.gen.variants.catalogue import CATALOGUE

from .diagnosing import core_blocks, names, report_on, variants_run

SEQUENCE = "openvino.GRUSequence-5"
HAVE_SEQUENCES = (SEQUENCE, "onnx.GRU-14", "bnnsgraph.gru")


def _to_diagnose() -> Iterator[tuple[str, str]]:
    """Every variant with the first operator that it means something for; some with the others too."""
    for variant in CATALOGUE.values():
        if variant.kind in ("misreading", "approximation"):
            meant = [o for o in HAVE_SEQUENCES if variant.means_something_for(OPERATORS[o])]
            yield variant.name, meant[0]
            yield from ((variant.name, name) for name in meant[1:] if len(variant.name) % 5 == 0)


TO_DIAGNOSE = sorted(_to_diagnose(), key=lambda one: HAVE_SEQUENCES.index(one[1]))


def test_every_variant_is_diagnosed() -> None:
    wrong = {v.name for v in CATALOGUE.values() if v.kind in ("misreading", "approximation")}
    assert {name for name, _ in TO_DIAGNOSE} == wrong
    assert len(TO_DIAGNOSE) > 200


@pytest.mark.rows(7)
@pytest.mark.parametrize(("name", "operator"), TO_DIAGNOSE)
def test_a_variant_is_diagnosed_as_itself(name: str, operator: str) -> None:
    report = report_on(core_blocks(operator, "float32"), variants_run(name))
    assert report.diagnosis.failed >= 3
    assert report.diagnosis.unexplained == 0
    [finding] = report.diagnosis.findings
    assert (name,) in (finding.names, *finding.alternatives)
    assert finding.explains == report.diagnosis.failed


@pytest.mark.rows(5)
@pytest.mark.parametrize(
    "pair",
    [
        ("lbr-ignored", "lengths-ignored"),
        ("update-gate-flipped", "R-transposed-candidate"),
        ("clip-ignored", "h0-ignored"),
        ("gate-order-rzh", "Y-directions-exchanged"),
        ("bias-ignored", "sigmoid-as-hard-sigmoid"),
    ],
)
def test_two_at_once_are_found(pair: Sequence[str]) -> None:
    blocks = (*core_blocks("openvino.GRUCell-3", "float32"), *core_blocks(SEQUENCE, "float32"))
    report = report_on(blocks, variants_run(*pair))
    assert report.diagnosis.unexplained == 0
    found = {part for named in names(report) for part in named}
    assert found.issuperset(pair)
    assert any(set(named) == set(pair) for named in names(report)), (
        "the pair itself is named where neither alone explains a case"
    )


def test_three_at_once_are_found() -> None:
    three = {"Rbh-outside", "clip-after-activation", "Ho-of-last-valid-step"}
    blocks = (*core_blocks("openvino.GRUCell-3", "float32"), *core_blocks(SEQUENCE, "float32"))
    report = report_on(blocks, variants_run(*sorted(three)))
    assert report.diagnosis.unexplained == 0
    [finding] = report.diagnosis.findings
    assert set(finding.names) == three
