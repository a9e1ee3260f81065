"""The real OpenVINO by the core vectors: every deciding case passes but the known findings.

Seen on 2026.4.1 and set down in check/known/openvino.yaml: a GRUCell-3 without B and a
GRUSequence-5 without activations give errors, and float64 is computed in float32.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from shipped import core_cases

import grucible
from grucible import Case

pytest.importorskip("openvino", reason="the extra [openvino] is not installed")

KNOWN = Path(grucible.__file__).parent / "check" / "known" / "openvino.yaml"
NAMES = ("openvino", "openvino-constant")
CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"
SELECT = {
    "openvino": (
        "openvino.*/core*/float32/*",
        f"{CELL}/core/float64/*",
        f"{SEQUENCE}/core_with_zero/float64/*",
    ),
    "openvino-constant": (
        f"{SEQUENCE}/core*/float16/*",
        *(f"{CELL}/core/{dtype}/*" for dtype in ("bfloat16", "float32", "float64")),
    ),
}
"""What each is asked here; `openvino` is asked everything by README's first command, in .ci/run."""


def finding(case: Case) -> str:
    """What comes of a case: `error`, `failed` or `passed`, from what the case is."""
    if case.operator == CELL and "B" not in case.inputs:
        return "error"
    if case.operator == SEQUENCE and "activations" not in case.given:
        return "error"
    return "failed" if case.dtype == "float64" else "passed"


def asked(name: str) -> list[Case]:
    """The core cases that a runtime is asked here."""
    return [c for c in core_cases() if any(fnmatchcase(c.id, glob) for glob in SELECT[name])]


class Judged:
    """A report of `grucible check`, with the exit status and what was said."""

    def __init__(self, status: int, report: dict[str, Any], stderr: str) -> None:
        self.status, self.report, self.stderr = status, report, stderr

    def ids(self, verdict: str) -> set[str]:
        return {case["id"] for case in self.report["cases"] if case["verdict"] == verdict}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Judged]]:
    """Both runtimes at once, each in a process of its own."""
    folder = tmp_path_factory.mktemp("openvino")
    started = {}
    for name in NAMES:
        command = ["check", "--runtime", name, "--expect", str(KNOWN), "--json", "--no-diagnose"]
        command += ["--jobs", "1", *(word for one in SELECT[name] for word in ("--select", one))]
        with (folder / name).open("w") as out, (folder / f"{name}.err").open("w") as err:
            started[name] = subprocess.Popen(
                [sys.executable, "-m", "grucible", *command], stdout=out, stderr=err
            )
    yield {
        name: Judged(
            process.wait(timeout=300),
            json.loads((folder / name).read_text()),
            (folder / f"{name}.err").read_text(),
        )
        for name, process in started.items()
    }
    for process in started.values():
        process.kill()


@pytest.mark.parametrize("name", NAMES)
def test_what_fails_is_what_is_known(name: str, judged: dict[str, Judged]) -> None:
    for verdict in ("passed", "failed", "error", "missing", "unsupported"):
        wanted = {case.id for case in asked(name) if finding(case) == verdict}
        assert judged[name].ids(verdict) == wanted
    assert judged[name].ids("error")
    assert judged[name].ids("failed")


@pytest.mark.parametrize("name", NAMES)
def test_the_known_findings_cover_it_and_no_more(name: str, judged: dict[str, Judged]) -> None:
    summary = judged[name].report["summary"]
    assert judged[name].status == 0
    assert judged[name].report["verdict"] == "does not conform"
    assert summary["unexpected_passes"] == 0
    found = Counter(finding(case) for case in asked(name))
    assert summary["expected_failures"] == summary["failed"] + summary["errors"]
    assert (summary["failed"], summary["errors"]) == (found["failed"], found["error"])
    assert summary["passed"] == found["passed"] > 100
    for case in judged[name].report["cases"]:
        assert ("expected" in case) == (case["verdict"] != "passed")
    assert judged[name].stderr == ""


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_off_by_float32(name: str, judged: dict[str, Judged]) -> None:
    """The failures are of single precision, and not of structure."""
    off = [c["worst_abs"] for c in judged[name].report["cases"] if c["verdict"] == "failed"]
    assert 1e-9 < max(off) < 1e-4
