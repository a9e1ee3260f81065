"""The Python of the page for a Mac: numbers dumped, results written by someone else, collected, judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grucible import Case, load_vectors

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "cases" / "bnnsgraph" / "SWIFT.md").read_text(encoding="utf-8")
VECTORS = ROOT / "vectors" / "bnnsgraph"


def python(*arguments: str | Path, cwd: Path, fails: bool = False) -> str:
    ended = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert fails == (ended.returncode != 0), ended.stderr
    return ended.stdout


def outputs_from_the_dump(case: dict[str, object], work: Path, expected: Case) -> None:
    """Write what is expected, in place of a runtime that has only the dumped inputs."""
    for name, tensor in case["inputs"].items():  # type: ignore[attr-defined]
        dumped = np.fromfile(work / tensor["path"], "<f4").reshape(tensor["shape"])
        np.testing.assert_array_equal(dumped, expected.inputs[name])
    for name, tensor in case["outputs"].items():  # type: ignore[attr-defined]
        expected.answer.outputs[name].astype("<f4").tofile(work / tensor["path"])


@pytest.fixture
def dumped(tmp_path: Path) -> Path:
    for name in ("dump", "collect"):
        [code] = re.findall(rf"^## {name}\.py\n.*?```python\n(.*?)```", PAGE, re.S | re.M)
        (tmp_path / f"{name}.py").write_text(code)
    python("dump.py", VECTORS, "work", cwd=tmp_path)
    cases = {case.id: case for case in load_vectors(VECTORS)}
    for case in json.loads((tmp_path / "work" / "index.json").read_text()):
        outputs_from_the_dump(case, tmp_path / "work", cases[case["id"]])
    return tmp_path


def judged(folder: Path, *, fails: bool = False) -> str:
    python("collect.py", "work", "outputs", cwd=folder)
    arguments = (
        "-m",
        "grucible",
        "check",
        VECTORS,
        "--outputs",
        "outputs",
        "--select",
        "*/float32/*",
    )
    return python(*arguments, cwd=folder, fails=fails).splitlines()[0]


def test_what_is_right_conforms(dumped: Path) -> None:
    assert judged(dumped) == "conforms: 122 of 122 cases passed"


def test_a_wrong_number_and_a_missing_file_are_found(dumped: Path) -> None:
    [first, second, *_] = sorted((dumped / "work").glob("*/output.bin"))
    numbers = np.fromfile(first, "<f4")
    numbers[-1] += 1.0
    numbers.tofile(first)
    second.unlink()
    assert judged(dumped, fails=True).startswith(
        "does not conform: 120 of 122 cases passed, 1 failed, 1 missing"
    )
