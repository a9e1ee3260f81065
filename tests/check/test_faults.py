"""What kind of error a case gave, where it was raised, and which errors are alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from grucible import verify
from grucible.check.report import Report

from . import misbehaving
from .conftest import Command
from .made import make_block, write_vectors

MISBEHAVING = Path(misbehaving.__file__)
KINDS = {
    "raises": "raised",
    "aborts": "crashed",
    "returns_none": "malformed",
    "wrong_shape": "malformed",
}


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "bad.h5"
    write_vectors(path, make_block(["00", "01-bad", "02-bad"]))
    return path


@pytest.mark.parametrize(("runtime", "kind"), KINDS.items())
def test_the_kind_is_the_same_in_a_process_of_its_own(
    runtime: str, kind: str, vectors: Path, command: Command
) -> None:
    told = command("check", vectors, "--runtime", f"{MISBEHAVING}:{runtime}", "--json").report
    kinds = {case["fault"]["kind"] for case in told["cases"] if "fault" in case}
    assert kinds == {kind}
    if runtime != "aborts":
        assert kinds == {r.fault.kind for r in _judged(vectors, runtime).results if r.fault}


def test_where_it_was_raised_is_in_the_json(vectors: Path, command: Command) -> None:
    told = command("check", vectors, "--runtime", f"{MISBEHAVING}:raises", "--json").report
    [first, *_] = [case["fault"] for case in told["cases"] if "fault" in case]
    assert first["traceback"][0] == "Traceback (most recent call last):"
    assert any("misbehaving.py" in line and "in raises" in line for line in first["traceback"])
    assert first["traceback"][-2:] == ["ValueError: cannot do", "float32"]
    in_process = [r.fault for r in _judged(vectors, "raises").results if r.fault]
    assert list(in_process[0].traceback) == first["traceback"]


def _judged(vectors: Path, runtime: str) -> Report:
    return verify(vectors, runtime=getattr(misbehaving, runtime))
