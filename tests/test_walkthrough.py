"""The page of the way from a red build to the line holds what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walkthrough import PAGE, PICTURES, WORKFLOW, page, steps, walk

pytest.importorskip("jinja2", reason="the report as HTML needs jinja2")
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]?\d+)?")


def test_the_page_is_what_the_commands_print_now(tmp_path: Path) -> None:
    """Up to the digits of wrong numbers, which another BLAS may give otherwise."""
    found = walk(tmp_path)
    now = [NUMBER.sub("#", line) for line in page(found)]
    assert now == [NUMBER.sub("#", line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    before, after = ([ran.status for _, ran in found[when]] for when in ("before", "after"))
    assert (before, after) == ([0, 0, 0], [1, 1])
    assert [found[one].status for one in ("trace", "shrink", "script", "bug")] == [1, 0, 0, 1]
    assert "used for both" in found["summary"]
    assert (tmp_path / "junit.xml").read_text().count("<failure") == 133
    assert (tmp_path / "report.html").stat().st_size < 3 << 20


def test_the_page_shows_the_workflows_own_commands_and_pictures_that_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = [step for step in steps() if step["name"] != "Remember a good build"]
    for step in shown:
        for line in step["run"].strip().splitlines():
            assert f"    {line}" in text
    assert "ci/github.yml" in text
    assert WORKFLOW.exists()
    for name in re.findall(r"\(\.\./tests/walked/(\S+?)\)", text):
        assert (PICTURES / name).stat().st_size > 10_000
