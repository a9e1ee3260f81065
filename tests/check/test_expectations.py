"""`grucible check --expect FILE`: what may fail, and files that say it wrongly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from printed import sentence_of

from .conftest import HERE, Command
from .made import CELL

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


EXPECT_ERRORS = {
    "cases: x\nreason: y\n": r":1: holds a dict; expected a list",
    "": r":1: holds nothing; expected a list",
    "- just a text\n": r":1: 0: expected a mapping with cases, reason and link",
    "- cases: '*'\n  reason: r\n  issue: 7\n": r":3: 0\.issue: is not a field here; expected cases, reason, link",
    "- cases: '*'\n": r":1: 0\.reason: is missing",
    "- reason: r\n": r":1: 0\.cases: is missing",
    "- cases: '*'\n  reason: r\n- cases: x\n": r":3: 1\.reason: is missing",
    "- cases: '*'\n  reason: ''\n": r":2: 0\.reason: ''; expected a text",
    "- cases: '*'\n  reason: 7\n": r":2: 0\.reason: 7; expected a text",
    "- cases: [a, b]\n  reason: r\n": r":1: 0\.cases: \['a', 'b'\]; expected a text",
    "- cases: '*'\n  reason: r\n  link:\n": r":3: 0\.link: None; expected a text",
    "- cases: '*'\n  cases: b\n  reason: r\n": r":2: duplicate key 'cases'",
    "- cases: *all\n  reason: r\n": r":1: (anchors|not YAML)",
    "- {cases: '*'\n": r": not YAML: ",
    "- cases: '*'\n  reason: float64: in float32\n": r":2: not YAML: ",
    "- !!python/object:os.system {}\n": r":1: tags are not allowed; leave tag:",
    "[" * 10_000: r"nested deeper|not YAML",
}


@pytest.mark.parametrize("text", EXPECT_ERRORS, ids=[t[:40] for t in EXPECT_ERRORS])
def test_bad_expectations(text: str, some_vectors: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(text)
    said = command("check", some_vectors, "--runtime", WRONG, "--expect", file).said_in_one_line()
    assert re.search(EXPECT_ERRORS[text], said), said
    assert str(file) in said


@pytest.mark.parametrize("what", ["absent", "directory", "latin-1", "binary"])
def test_unreadable_expectations(
    what: str, some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "expect.yaml"
    if what == "directory":
        file.mkdir()
    elif what != "absent":
        file.write_bytes(b"- cases: '*'\n  reason: \xe9\n" if what == "latin-1" else b"\0\1\2")
    said = command("check", some_vectors, "--runtime", WRONG, "--expect", file).said_in_one_line()
    assert str(file) in said


def test_expected_failures(some_vectors: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(
        "- cases: '*/b-*'\n  reason: NaN comes out\n  link: https://example.org/1\n"
        "- cases: '*/a-*'\n  reason: no longer so\n"
        "- {cases: 'zzz', reason: nobody}\n"
    )
    arguments = ["check", some_vectors, "--runtime", WRONG, "--expect", file]
    told = command(*arguments, "--json")
    report, cases = told.report, told.cases
    assert report["verdict"] == "does not conform"
    assert report["summary"]["expected_failures"] == 1
    assert report["summary"]["unexpected_passes"] == 1
    assert cases["b-bad"]["expected"] == {
        "reason": "NaN comes out",
        "link": "https://example.org/1",
    }
    assert cases["a-good"]["expected"] == {"reason": "no longer so", "link": ""}
    assert "expected" not in cases["c-good"]
    assert told.status == command(*arguments).status == 1
    ended = command(*arguments, "--allow-stale")
    assert ended.status == 0
    lines = ended.out.splitlines()
    assert sentence_of(ended.out) == (
        "does not conform: 4 of 5 cases passed, 1 failed, all of them expected, 1 passed unexpectedly"
    )
    for line in ("       1 case: */b-*", "         NaN comes out", "         https://example.org/1",
                 "stale expectations, to be taken out:", f"  passed unexpectedly: {CELL}/made/float32/a-good"):  # fmt: skip
        assert line in lines
    assert "failed (the plainest of each dtype first):" not in lines
    said = " ".join(ended.out.split())
    assert f"{file}:4: */a-*: its only case passes" in said
    assert f"{file}:6: zzz: names no case" in said
    stale = {one["cases"]: one["stale"] for one in report["expectations"]}
    assert stale == {"*/b-*": None, "*/a-*": "its only case passes", "zzz": "names no case"}


@pytest.mark.parametrize("known", ["[]", "- {cases: '*/a-good', reason: not this one}"])
def test_what_no_expectation_names_is_unexpected(
    known: str, some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "expect.yaml").write_text(f"{known}\n")
    ended = command("check", some_vectors, "--runtime", WRONG, "--expect", tmp_path / "expect.yaml")
    assert ended.status == 1
