"""The real OpenVINO by the core vectors: every deciding case passes but the known findings.

Seen on 2026.4.1 and set down in check/known/openvino.yaml: a GRUCell-3 without B and a
GRUSequence-5 without activations give errors, and float64 is computed in float32.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from shipped import core_cases

import grucible
from grucible import Case

from .conftest import Command

pytest.importorskip("openvino", reason="the extra [openvino] is not installed")

KNOWN = Path(grucible.__file__).parent / "check" / "known" / "openvino.yaml"
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


@pytest.mark.parametrize("name", SELECT)
def test_what_fails_is_what_is_known(name: str, command: Command) -> None:
    selected = [word for one in SELECT[name] for word in ("--select", one)]
    options = ("--runtime", name, "--expect", KNOWN, "--json", "--no-diagnose")
    ended = command("check", *options, *selected)
    assert (ended.status, ended.err, ended.report["verdict"]) == (0, "", "does not conform")
    wanted = {case.id: finding(case) for case in asked(name)}
    cases = ended.report["cases"]
    assert {case["id"]: case["verdict"] for case in cases} == wanted
    assert set(wanted.values()) == {"passed", "failed", "error"}
    assert all(("expected" in case) == (case["verdict"] != "passed") for case in cases)
    assert ended.report["summary"]["unexpected_passes"] == 0
    off = [case["worst_abs"] for case in cases if case["verdict"] == "failed"]
    assert 1e-9 < max(off) < 1e-4  # of single precision, and not of structure
