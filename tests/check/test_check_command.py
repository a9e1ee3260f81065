"""`grucible check` as a user types it: what is judged, by what, and how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from printed import sentence_of

from grucible.gen.tolerances.classes import CLASSES

from .conftest import HERE, Command
from .made import CELL, NAMES

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


COUNTS = {"cases", "passed", "failed", "unsupported", "missing", "errors"}
CASE: dict[str, Any] = {"id": str, "tier": str, "verdict": str, "worst_ratio": (float, str), "worst_abs": (float, str),
        "worst_ulp": (float, str), "where": str, "readings": list, "arithmetic": (str, type(None)), "judged_by": (str, type(None)),
        "noise": (float, type(None)),
        "message": str}  # fmt: skip
MAY_HAVE = {"expected", "must_support", "errors", "diagnosis", "unexplained", "followed", "holds"}
GRADE = {
    "required",
    "observed",
    "compared",
    "observed_too",
    "holds",
    "worst",
    "vacuous",
    "remark",
    "files",
}


def check_report(report: dict[str, Any]) -> None:
    """The fields of DESIGN.md, and sums that are right."""
    assert list(report)[:2] == ["grucible_report", "verdict"]
    assert report["grucible_report"] == 3
    assert set(report["runtime"]) == {"name", "version"}
    assert set(report["summary"]) == COUNTS | {"expected_failures", "unexpected_passes"}
    for counts in (report["summary"], report["other_tiers"]["nonportable"]):
        assert counts["cases"] == sum(counts[name] for name in COUNTS - {"cases"})
    for case in report["cases"]:
        assert set(case) - MAY_HAVE == set(CASE)
        for field, kind in CASE.items():
            assert isinstance(case[field], kind), (field, case[field])
    decided = [c for c in report["cases"] if c["tier"] in ("required", "ambiguous")]
    assert len(decided) == report["summary"]["cases"]
    for dtype, grade in report["arithmetic"].items():
        assert set(grade) == GRADE
        assert list(grade["holds"]) == [one.name for one in CLASSES[dtype]]
        assert all(0 <= count <= grade["compared"] for count in grade["holds"].values())
        assert grade["observed"] is None or grade["holds"][grade["observed"]] == grade["compared"]
        assert set(grade["worst"]) == {"ratio", "id", "where"}
        assert set(grade["vacuous"]) == {"share", "cases", "files"}
    compared = sum(grade["compared"] for grade in report["arithmetic"].values())
    assert compared == report["summary"]["passed"] + report["summary"]["failed"]


def test_json_report(some_vectors: Path, command: Command) -> None:
    ended = command("check", some_vectors, "--runtime", WRONG, "--json")
    assert ended.status == 1
    assert ended.err == ""
    report = ended.report
    check_report(report)
    assert report["runtime"] == {"name": WRONG, "version": ""}
    origins = {"cell.h5": "unknown", "deep/seq.h5": "unknown"}
    digests = report["vectors"].pop("digests")
    assert digests.keys() == origins.keys()
    assert report["vectors"] == {
        "path": str(some_vectors), "files": 2, "origins": origins, "version": 1, "recomputed": 0,
    }  # fmt: skip
    cases = ended.cases
    assert set(cases) == {*NAMES, "d-bfloat16", "n-bad", "s-zero"}
    assert cases["b-bad"]["worst_ratio"] == cases["b-bad"]["worst_abs"] == "inf"
    assert cases["b-bad"]["where"] == "Ho[0, 0]"
    assert cases["s-zero"]["readings"] == [[]]
    assert report["other_tiers"]["nonportable"]["failed"] == 1
    assert report["summary"]["failed"] == 1
    assert cases["a-good"]["arithmetic"] == "float32"
    assert cases["b-bad"]["arithmetic"] is None
    assert {dtype: grade["required"] for dtype, grade in report["arithmetic"].items()} == {
        "bfloat16": "bfloat16-gemm",
        "float32": "float32",
    }
    assert report["arithmetic"]["float32"]["worst"] == {
        "ratio": "inf",
        "id": f"{CELL}/made/float32/b-bad",
        "where": "Ho[0, 0]",
    }


def test_terminal_report(some_vectors: Path, command: Command) -> None:
    ended = command("check", some_vectors, "--runtime", WRONG)
    lines = ended.out.splitlines()
    said = "does not conform: 4 of 5 cases passed, 1 failed; perhaps explained, see below"
    assert lines[0] == said
    quiet = command("check", some_vectors, "--runtime", WRONG, "--quiet").out.splitlines()
    assert quiet[0] == said.removesuffix(", see below")  # little is
    told = f"{WRONG}: 6 cases, 2 files of {some_vectors}, of unknown origin"
    assert sentence_of("\n".join(lines[1:])) == told
    start = next(place for place, line in enumerate(lines) if line.startswith("bfloat16 "))
    rows = {line.split()[0]: line.split()[1:4] for line in lines[start : start + 3]}
    assert rows == {
        "bfloat16": ["1", "1", "0"],
        "float32": ["4", "3", "1"],
        "nonportable": ["1", "0", "1"],
    }
    assert "failed (the plainest of each dtype first):" in lines
    assert f"  {CELL}/made/float32/b-bad" in lines
    assert any(line.startswith("    Ho[0, 0]: expected ") for line in lines)


@pytest.mark.parametrize("glob", ["*Good", "", "*/a-good/"])
def test_select_nothing(glob: str, some_vectors: Path, tmp_path: Path, command: Command) -> None:
    for arguments in (
        ["check", some_vectors, "--runtime", NUMPY],
        ["run", some_vectors, "--runtime", NUMPY, "-o", tmp_path / "out"],
        ["check", some_vectors, "--outputs", tmp_path],
    ):
        said = command(*arguments, "--select", glob).said_in_one_line()
        assert said.startswith(f"grucible: no case is selected by --select {glob!r}; see the ids")
    assert not (tmp_path / "out").exists()
    both = ["--select", "*good", "--select", glob]  # one that matches does not hide it
    said = command("check", some_vectors, "--runtime", NUMPY, *both).said_in_one_line()
    assert said.startswith(f"grucible: no case is selected by --select {glob!r}; see the ids")
