"""The way from a red build to the line that is wrong: `python tests/walkthrough.py` writes check/WALKTHROUGH.md.

A regression is planted in README's own GRU between two builds. The steps of the sample workflow run as CI
would run them; then come the page, the trace, the smaller case and the script, each as the commands print
it. Pictures need Chromium.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

PAGE = ROOT / "check" / "WALKTHROUGH.md"
WORKFLOW = ROOT / "check" / "ci" / "github.yml"
PICTURES = ROOT / "tests" / "walked"
RIGHT = 'h = x["initial_hidden_state"][row, d]'
WRONG = 'h = x["initial_hidden_state"][row, 0]'
_PLACE = re.compile(r"\bin /\S*?/(?=vectors/)")
CASE = "openvino.GRUSequence-5/plain/float32/bidirectional"
RUNTIME = "./my_gru.py:run"
SUMMARY_FILE = "summary.md"
KEPT = "Remember a good build"
ALONE = (
    "import runpy, sys; sys.modules['grucible'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a script where grucible cannot be imported."""


@dataclass(frozen=True)
class Ran:
    """A command, what it printed, and how it ended."""

    command: str
    printed: str
    status: int


def kernel(text: str) -> str:
    """README's GRU, as a reader saves it; `text` is README's."""
    return text.split("```python\n")[1].partition("```")[0]


def run(command: str, folder: Path, **more: str) -> Ran:
    """Run a command as a shell would, `grucible` being this one, and `python` one that has no grucible."""
    binaries = folder / "bin"
    binaries.mkdir(exist_ok=True)
    for name, words in (("grucible", "-m grucible"), ("python", f'-c "{ALONE}"')):
        script = binaries / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        script.chmod(0o755)
    ended = subprocess.run(
        ["bash", "-c", command], cwd=folder, check=False, capture_output=True, text=True,
        env=os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "COLUMNS": "80"} | more,
    )  # fmt: skip
    return Ran(command.strip(), ended.stdout + ended.stderr, ended.returncode)


def steps() -> list[dict[str, Any]]:
    """The steps of the sample workflow that run commands, but for the one that installs."""
    [job] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    return [step for step in job["steps"] if "run" in step and step["name"] != "Install"]


def build(folder: Path) -> list[tuple[str, Ran]]:
    """The steps of the workflow on what stands in the folder, as far as CI goes on after a failure."""
    ran: list[tuple[str, Ran]] = []
    (folder / SUMMARY_FILE).write_text("")
    for step in steps():
        failed = any(one.status for _, one in ran)
        if not failed or "if" in step:
            ran.append((step["name"], run(step["run"], folder, GITHUB_STEP_SUMMARY=SUMMARY_FILE)))
    return ran


def walk(folder: Path) -> dict[str, Any]:
    """Everything that the page shows, by what it is."""
    right = kernel((ROOT / "README.md").read_text(encoding="utf-8"))
    assert right.count(RIGHT) == 1
    (folder / "my_gru.py").write_text(right)
    found: dict[str, Any] = {"before": build(folder)}
    (folder / "my_gru.py").write_text(right.replace(RIGHT, WRONG))
    found["line"] = right[: right.index(RIGHT)].count("\n") + 1
    found["after"] = build(folder)
    found["summary"] = (folder / SUMMARY_FILE).read_text()
    found["trace"] = run(f"grucible trace {CASE} --runtime {RUNTIME}", folder)
    found["shrink"] = run(f"grucible shrink {CASE} --runtime {RUNTIME}", folder)
    found["script"] = run(f"grucible show shrunk.h5 '*' --script {RUNTIME} > bug.py", folder)
    found["text"] = (folder / "bug.py").read_text()
    found["bug"] = run("python bug.py", folder)
    return found


def page(found: dict[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.splitlines()
    yield from ("", f"    export GITHUB_STEP_SUMMARY={SUMMARY_FILE}")
    yield from _ran(ran for _, ran in found["before"][:1])
    yield from ("", "It is kept where it is good:")
    yield from _ran(ran for name, ran in found["before"] if name == KEPT)
    yield from AFTER.splitlines()
    yield from _ran(ran for _, ran in found["after"])
    yield from SUMMARY.splitlines()
    yield from TRACE.splitlines()
    yield from _ran([found["trace"]], most=48)
    yield from SHRINK.splitlines()
    yield from _ran([found["shrink"]])
    yield from SCRIPT.splitlines()
    yield from _ran([found["script"]])
    yield ""
    yield "```python"
    yield from _head(found["text"].splitlines())
    yield "```"
    yield from _ran([found["bug"]])
    yield from END.format(line=found["line"]).splitlines()


def _head(lines: list[str]) -> Iterator[str]:
    """A script down to its first function or class."""
    first = next(place for place, line in enumerate(lines) if line.startswith(("class ", "def ")))
    yield from lines[:first]
    yield f"# … and {len(lines) - first} lines that ask, compare and print the verdict"


def _ran(each: Any, most: int = 60) -> Iterator[str]:
    """Commands with what they printed, and the exit status of those that fail."""
    for one in each:
        yield ""
        yield from (f"    {line}" for line in one.command.splitlines())
        lines = [_PLACE.sub("in …/", line.rstrip()) for line in one.printed.splitlines()]
        lines = [line for line in lines if not line.startswith("::")]
        if not lines and not one.status:
            continue
        yield ""
        yield "```text"
        yield from lines[:most]
        if len(lines) > most:
            yield "  …"
        if one.status:
            yield f"[exit status {one.status}]"
        yield "```"


HEAD = """# From a red build to the line

A regression gets into a GRU between two builds. This page shows how CI finds it, and the way from there to the line that is wrong. `python tests/walkthrough.py` makes
the page: it plants the regression, runs each command, and takes the pictures. The tests run the commands again.

The GRU is the one of [README](../README.md#a-python-function), in `my_gru.py`. The workflow is [ci/github.yml](ci/github.yml); the commands of its steps are those below. Its other steps are GitHub's own; those were not run.

## 1. A good build

`check` judges the GRU and writes the report in four formats. One is the summary of the run: GitHub Actions sets the variable that names its file, and elsewhere you do.
Lines that begin with `::` are commands to GitHub, as for annotations; they are left out of what is shown here. The JSON is kept: the next build is compared with it."""
AFTER = f"""
## 2. A red build

Then somebody changes a line, and every row of the second direction starts from the first direction's state:

```diff
-            {RIGHT}
+            {WRONG}
```

The next build is red. `check` says what the wrong numbers look like, and `compare` what has changed:"""
SUMMARY = """
In the run's summary the same stands as a table, with annotations; the tests' tab shows `junit.xml`: one suite for each operator and dtype.

## 3. The page

`report.html` is one file among the build's artifacts. The verdict and the finding come first; the heat map says that *bidirectional* alone fails:

![The report: does not conform, with its finding and the heat map](../tests/walked/report.png)

A failing case opens with what it asks, every element, where its states leave the exact ones, and a script:

![A failing case: where it leaves the exact states](../tests/walked/case.png)

## 4. The step

`trace` takes one case step by step, and says where the runtime leaves the exact states, and what is only a consequence:"""
TRACE = ""
SHRINK = """
## 5. The smallest case

`shrink` leaves out of the case whatever the failure does not need. Each smaller case gets its own exact answer:"""
SCRIPT = """
## 6. The bug report

`show --script` prints a script that needs neither grucible nor its files. It is what is attached to a bug report; it ends with status 1 as long as the bug is there, with 0 when it is gone, and with 2 where the script cannot ask, as where `my_gru.py` is not found. Here it ran where grucible is not installed:"""
END = f"""
For a runtime that grucible knows by name, as `openvino` or `onnxruntime`, the script builds the model itself, and needs that package alone.

## 7. The line

All of this points at one place. The finding names the first direction's *initial_hidden_state*; the trace says `wrong by themselves: reverse, rows 0-2: step 0`, so only the start of the second direction is wrong;
and the smallest case has zeros but for an initial state. Line {{line}} of `my_gru.py` takes it, with `0` where `d` should stand, the line that was planted:

```python
            {WRONG}
```"""


def pictures(folder: Path) -> None:
    """Take the pictures of the report in the folder."""
    from check.browser import browser

    PICTURES.mkdir(exist_ok=True)
    with browser(folder / "profile") as tab:
        tab.look(1120, 900)
        tab.open(folder / "report.html")
        tab.picture(PICTURES / "report.png", 1120, 1500, 0.7)
        tab.open(folder / "report.html", f"#case={CASE}")
        tab.until("document.getElementById('case').open")
        tab.ask(
            "[...document.querySelectorAll('#case h3')]"
            ".find(one => one.textContent.startsWith('Where it leaves')).scrollIntoView()"
        )
        tab.picture(PICTURES / "case.png", 1120, 900, 0.7)


def main() -> None:
    """Walk, write the page, and take the pictures."""
    from check.browser import BROWSER

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        found = walk(folder)
        PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")
        if BROWSER is None:
            raise SystemExit(f"{PAGE} is written; for its pictures install Chromium")
        pictures(folder)


if __name__ == "__main__":
    main()
