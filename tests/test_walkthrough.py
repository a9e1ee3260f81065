"""The page of the way from a red build to the line holds what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walkthrough import PAGE, PICTURES, RIGHT, ROOT, WORKFLOW, WRONG, kernel, page, run, steps, walk

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


def test_the_page_ends_with_the_line_that_was_planted() -> None:
    """Also what it needs outside of GitHub Actions is shown, before it is used."""
    text = PAGE.read_text(encoding="utf-8")
    ends = text.rpartition("## 7. ")[2]
    (number,) = re.findall(r"Line (\d+) of `my_gru.py`", ends)
    lines = kernel((ROOT / "README.md").read_text(encoding="utf-8")).splitlines()
    assert lines[int(number) - 1].strip() == RIGHT
    assert f"```python\n            {WRONG}\n```" in ends
    assert re.search(r"wrong by themselves:\n  reverse, rows 0-2: step 0, every unit\n", text)
    assert text.index("    export GITHUB_STEP_SUMMARY=") < text.index("--report github")


def test_python_on_the_way_has_no_grucible(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import grucible\n")
    assert "ModuleNotFoundError" in run("python one.py", tmp_path).printed


def test_the_page_shows_the_workflows_own_commands_and_pictures_that_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for step in steps():
        for line in step["run"].strip().splitlines():
            assert f"    {line}" in text
    assert "ci/github.yml" in text
    assert WORKFLOW.exists()
    for name in re.findall(r"\(\.\./tests/walked/(\S+?)\)", text):
        assert (PICTURES / name).stat().st_size > 10_000
