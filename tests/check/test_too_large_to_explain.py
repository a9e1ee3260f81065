"""Cases that are too large or too many to be explained are counted, and the report says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnosis.blocks import core_blocks, names, report_on, variants_run

from grucible.cases.operators import OPERATORS
from grucible.cases.question import pose
from grucible.check.diagnosis import failing, search
from grucible.gen.variants import work
from grucible.gen.variants.catalogue import CATALOGUE

from .conftest import Command
from .made import CELL, make_block, write_vectors

SEQUENCE = "openvino.GRUSequence-5"
HUGE: Any = {"batch_size": 1, "input_size": 800, "hidden_size": 800}
"""Sizes of a case that is admitted, and that takes minutes to be computed under every misreading."""


@pytest.fixture
def zeros(tmp_path: Path) -> str:
    """Write a runtime that gives zeros."""
    code = "{name: np.zeros(t.shape, t.dtype) for name, t in q.outputs.items()}"
    (tmp_path / "zeros.py").write_text(f"import numpy as np\ndef run(q):\n    return {code}\n")
    return f"{tmp_path / 'zeros.py'}:run"


def test_a_case_too_large_to_be_explained_is_said_to_be(
    tmp_path: Path, zeros: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("it is computed under variants")

    for module in ("score", "reports.show"):
        monkeypatch.setattr(f"grucible.check.{module}.catches", computed)
    for module in ("failing", "contradictions"):
        monkeypatch.setattr(f"grucible.check.diagnosis.{module}.variant_outputs", computed)
    huge = tmp_path / "huge.h5"
    write_vectors(huge, make_block(["huge"], **HUGE))
    ended = command("check", huge, "--runtime", zeros)
    assert (ended.status, ended.err) == (1, "")
    assert "1  unexplained" in ended.out
    assert "1 of them too large to be explained, or not looked at" in ended.out
    report = command("check", huge, "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"], report["hints"]) == (1, 1, [])
    shown = command("show", huge, "*")
    assert (shown.status, "which misreadings it catches is not computed" in shown.out) == (0, True)
    assert "expected outputs" in shown.out
    whole = command("show", huge, "*", "--full")
    assert "1920000 numbers are too many to be printed whole" in whole.out
    scored = command("score", huge)
    assert scored.status == 1
    assert f"1 case too large to be computed under misreadings: {CELL}, float32" in scored.out


@pytest.mark.parametrize(("limit", "most"), [("MOST_BYTES", 50_000), ("MOST_WORK", 200_000)])
def test_failing_cases_that_are_too_many_to_be_kept_are_counted(
    tmp_path: Path,
    zeros: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    most: int,
) -> None:
    """Those of most work are left out; the report counts them."""
    usual = getattr(failing, limit)
    monkeypatch.setattr(failing, limit, most)
    small: Any = {"batch_size": 1, "input_size": 2, "hidden_size": 2}
    (tmp_path / "v").mkdir()
    write_vectors(tmp_path / "v/small.h5", make_block(["1", "2", "3", "4", "5"], **small))
    large = make_block(["large-1", "large-2"], **{**small, "hidden_size": 60})
    write_vectors(tmp_path / "v/large.h5", large)
    report = command("check", tmp_path / "v", "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"]) == (2, 2)
    monkeypatch.setattr(failing, limit, usual)
    report = command("check", tmp_path / "v", "--runtime", zeros, "--json").report
    assert (report["unexplained"], report["not_tried"]) == (0, 0)


def test_a_search_that_would_take_too_long_is_done_for_the_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks = [b for b in core_blocks(SEQUENCE) if len(b) > 2][:6]
    wrong = variants_run("W-gate-order-rzh")
    whole = report_on(blocks, wrong).diagnosis
    assert (whole.unexplained, whole.not_tried) == (0, 0)
    each = sorted(work.work(b.question(0)) for b in blocks)
    monkeypatch.setattr(search, "SEARCHING", 500 * each[0])
    assert ("W-gate-order-rzh",) in names(report_on(blocks, wrong))
    monkeypatch.setattr(search, "SEARCHING", 0)
    assert report_on(blocks, wrong).diagnosis.not_tried == whole.failed


@pytest.mark.parametrize("sizes", [(2, 8, 32, 512, 1), (8, 17, 33, 128, 2)])
def test_the_largest_that_are_shipped_are_explained(sizes: tuple[int, ...]) -> None:
    operator, (batch, time, _, hidden, directions) = OPERATORS[SEQUENCE], sizes
    direction = "bidirectional" if directions == 2 else "forward"
    asked = operator.with_defaults({"hidden_size": hidden, "direction": direction})
    symbols = dict(zip(operator.sizes, sizes, strict=True))
    shapes = {t.name: operator.shape(t, asked, symbols) for t in operator.inputs}
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    tensors["sequence_lengths"] = np.full(batch, time, np.int32)
    question = pose(operator, {"hidden_size": hidden, "direction": direction}, tensors)
    assert not work.too_large(question)
    assert 2 * len(CATALOGUE) * work.work(question) < search.SEARCHING
