"""The walkthrough's commands, run in their order, print what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("jinja2", reason="the report as HTML needs jinja2")

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "check" / "WALKTHROUGH.md").read_text(encoding="utf-8")
PIECES = re.compile(r"^```(diff|text|python)\n(.*?)^```$|^    ([^\n]+)$", re.S | re.M)
ALONE = (
    "import runpy, sys; sys.modules['grucible'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a script where grucible cannot be imported."""
NUMBER = re.compile(r"-?\d+\.\d+")


def run(command: str, folder: Path) -> tuple[str, int]:
    """Run a command; `grucible` is this one, and `python` has no grucible."""
    for name, words in (("grucible", "-m grucible"), ("python", f'-c "{ALONE}"')):
        script = folder / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        script.chmod(0o755)
    own = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COLUMNS": "80"}
    own |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    ended = subprocess.run(
        ["sh", "-c", command], cwd=folder, check=False, capture_output=True, text=True, env=os.environ | own,
    )  # fmt: skip
    return ended.stdout, ended.returncode


def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    file = tmp_path / "my_gru.py"
    file.write_text((ROOT / "check" / "examples" / "my_gru.py").read_text())
    printed, status, shown = "", 0, 0
    for kind, text, command in PIECES.findall(PAGE):
        if command:
            printed, status = run(command, tmp_path)
        elif kind == "diff":
            old, new = (line[1:] for line in text.splitlines())
            assert file.read_text().count(old) == 1
            file.write_text(file.read_text().replace(old, new))
        elif kind == "text":
            *lines, last = text.splitlines()
            ends = re.match(r"\[exit status (\d+)\]", last)
            for line in lines if ends else [*lines, last]:
                assert NUMBER.sub("#", line) in NUMBER.sub("#", printed), printed
            assert status == (int(ends[1]) if ends else 0)
            shown += 1
    assert shown == 6
    assert "used for both" in (tmp_path / "summary.md").read_text()
    assert "<failure" in (tmp_path / "junit.xml").read_text()
    assert (tmp_path / "report.html").stat().st_size < 3 << 20


def test_the_workflow_runs_the_page_s_commands() -> None:
    workflow = yaml.safe_load((ROOT / "check" / "ci" / "github.yml").read_text(encoding="utf-8"))
    commands = " ".join(step.get("run", "") for step in workflow["jobs"]["grucible"]["steps"])
    commands = " ".join(commands.replace("\\\n", " ").split())
    for command in ("grucible check --runtime", "grucible compare", "cp now.json"):
        [line, *_] = [line for line in PAGE.splitlines() if line.startswith(f"    {command}")]
        assert line.strip() in commands


def test_the_workflow_s_nightly_command_is_one(tmp_path: Path) -> None:
    """Each option of the command exists; twenty questions stand for ten minutes of them."""
    workflow = yaml.safe_load((ROOT / "check" / "ci" / "github.yml").read_text(encoding="utf-8"))
    [line] = [
        step["run"] for step in workflow["jobs"]["fuzz"]["steps"] if step.get("name") == "Ask"
    ]
    shutil.copy(ROOT / "check" / "examples" / "my_gru.py", tmp_path)
    printed, status = run(line.replace("--minutes 10", "--cases 20"), tmp_path)
    assert (printed.startswith("no unexpected finding in "), status) == (True, 0), printed
