"""Whatever a runtime does is a finding about one case; the other cases go on."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from grucible import verify
from grucible.check.reports.formats import report_value

from . import misbehaving
from .conftest import HERE, Command, strict_json
from .made import IMPORT_ANSWER, make_block, name_of, write_vectors

MISBEHAVING = HERE / "misbehaving.py"

# the runtime, what becomes of the bad case, what is said of it: where the process goes on …
ANSWERS = [
    ("raises", "error", r"^ValueError: cannot do float32 \(misbehaving\.py:\d+\)$"),
    ("raises_odd_text", "error", r"^ValueError: not a text"),
    ("recurses", "error", r"^RecursionError: "),
    ("unsupported", "unsupported", r"^no float32 here\s+nor there$"),
    ("returns_none", "error", r"None"),
    ("returns_nothing", "error", r"^returned nothing; expected Ho$"),
    ("returns_other_names", "error", r"^returned ho; expected Ho$"),
    ("returns_unpicklable", "error", r"object"),
    ("wrong_shape", "error", r"^Ho is float32 \(2, 1\); expected float32 \(2, 2\)$"),
    ("float64", "error", r"^Ho is float64 \(2, 2\); expected float32 \(2, 2\)$"),
    ("objects", "error", r"^Ho is object \(2, 2\); expected float32 \(2, 2\)$"),
    ("ragged", "error", r"Ho|ValueError"),
    ("transposed", "failed", r"^expected .*, got "),
    ("nan", "failed", r"^expected .*, got nan$"),
]
# … and where it ends.
ENDS = [
    ("aborts", "error", r"crashed \(SIGABRT\)"),
    ("killed", "error", r"crashed \(SIGKILL\)"),
    ("exits", "error", r"ended its process \(exit status 3\)"),
    ("interrupts", "error", r"ended its process|KeyboardInterrupt"),
]
# Through the pipe go, of the first kind, those whose answer or error might not pass it.
PIPED = ("raises_odd_text", "recurses", "unsupported", "returns_unpicklable", "objects", "nan")  # fmt: skip
ISOLATED = ENDS + [finding for finding in ANSWERS if finding[0] in PIPED]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("isolation") / "cell.h5"
    write_vectors(path, make_block(["a-good", "b-bad", "c-good"]))
    return path


def check_finding(cases: list[dict[str, Any]], verdict: str, says: str) -> None:
    """The bad case has this verdict, for this reason; the others passed."""
    assert [(name_of(case["id"]), case["verdict"]) for case in cases] == [
        ("a-good", "passed"),
        ("b-bad", verdict),
        ("c-good", "passed"),
    ]
    message = cases[1]["message"]
    assert re.search(says, message, re.DOTALL), message
    assert len(message) < 1000
    assert "Traceback" not in message


@pytest.mark.parametrize(("runtime", "verdict", "says"), ANSWERS, ids=[a[0] for a in ANSWERS])
def test_an_answer_that_is_none(runtime: str, verdict: str, says: str, vectors: Path) -> None:
    report = verify(vectors, runtime=getattr(misbehaving, runtime))
    check_finding(report_value(report)["cases"], verdict, says)


def write_bad(path: Path, runtimes: Sequence[str]) -> None:
    """A case for each of some misbehaving runtimes, each between two good ones."""
    ids = [f"{n:02}-{end}" for n, name in enumerate(runtimes) for end in (f"bad-{name}", "good")]
    write_vectors(path, make_block(["00", *ids]))


def test_every_finding_is_about_one_case(tmp_path: Path, command: Command) -> None:
    """In a process of its own, which some of them end: the cases before and after pass."""
    write_bad(tmp_path / "bad.h5", [name for name, *_ in ISOLATED])
    ended = command("check", tmp_path / "bad.h5", "--runtime", f"{MISBEHAVING}:by_id", "--json")
    assert ended.status == 1
    cases = {case["id"].rpartition("bad-")[2]: case for case in ended.report["cases"]}
    assert len(ended.report["cases"]) == 2 * len(ISOLATED) + 1
    for name, verdict, says in ISOLATED:
        assert cases[name]["verdict"] == verdict, name
        assert re.search(says, cases[name]["message"], re.DOTALL), cases[name]["message"]
        assert len(cases[name]["message"]) < 1000, name
        assert "Traceback" not in cases[name]["message"], name
    good = [case for case in ended.report["cases"] if "bad" not in case["id"]]
    assert {case["verdict"] for case in good} == {"passed"}


def test_a_hang_is_stopped(tmp_path: Path, command: Command) -> None:
    """Also one that never gives the interpreter's lock back."""
    write_bad(tmp_path / "bad.h5", ["hangs", "hangs_in_c"])
    spec = f"{MISBEHAVING}:by_id"
    ended = command("check", tmp_path / "bad.h5", "--runtime", spec, "--timeout", "1", "--json")
    assert ended.status == 1
    found = [(case["verdict"], case["message"]) for case in ended.report["cases"]]
    stopped, passed = ("error", "no answer in 1 s; stopped"), ("passed", "")
    assert found == [passed, stopped, passed, stopped, passed]


def test_run_keeps_what_was_found(tmp_path: Path, command: Command) -> None:
    vectors, out = tmp_path / "bad.h5", tmp_path / "out.h5"
    write_bad(vectors, ["aborts", "unsupported", "raises_odd_text"])
    ran = command("run", vectors, "--runtime", f"{MISBEHAVING}:by_id", "-o", out)
    assert (ran.status, ran.out) == (0, f"{out}: 4 ok, 2 error, 1 unsupported\n")
    stored = command("check", vectors, "--outputs", out, "--json").report
    direct = command("check", vectors, "--runtime", f"{MISBEHAVING}:by_id", "--json").report
    faults = [
        case.pop("fault", None) for case in direct["cases"]
    ]  # which an outputs file does not keep
    assert [one["kind"] for one in faults if one] == ["crashed", "raised"]
    assert stored["cases"] == direct["cases"]
    assert stored["summary"] == direct["summary"]


def test_what_a_runtime_prints_is_not_in_the_report(vectors: Path) -> None:
    """In a process of its own, standard output is the report and nothing else."""
    arguments = ["check", str(vectors), "--runtime", f"{MISBEHAVING}:prints", "--json"]
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", *arguments], capture_output=True, text=True, check=True
    )
    report = strict_json(ended.stdout)
    assert report["verdict"] == "conforms"
    assert ended.stderr.count("to standard output\n") == 3
    assert ended.stderr.count("and past Python\n") == 3


LOADS_ONCE = (
    IMPORT_ANSWER
    + """
import os
from pathlib import Path
lock = Path(__file__).with_suffix(".lock")
if lock.exists():
    raise OSError("the device is still in use")
lock.touch()
def run(question):
    if "bad" in question.id:
        os.abort()
    return answer(question)
"""
)


def test_a_runtime_that_does_not_come_back_is_not_the_end(tmp_path: Path, command: Command) -> None:
    """After a crash the runtime does not load again: what it answered before is still reported."""
    (tmp_path / "once.py").write_text(LOADS_ONCE)
    write_vectors(tmp_path / "cell.h5", make_block(["a-good", "b-bad", "c-good"]))
    spec = f"{tmp_path / 'once.py'}:run"
    ended = command("check", tmp_path / "cell.h5", "--runtime", spec, "--json")
    assert ended.status == 1
    assert [c["verdict"] for c in ended.report["cases"]] == ["passed", "error", "error"]
    assert "the device is still in use" in ended.report["cases"][2]["message"]


GREEDY = (
    IMPORT_ANSWER
    + """
import numpy as np
def run(question):
    if "bad" in question.id:
        np.ones(1 << 29).sum()
    return answer(question)
"""
)


def test_memory_can_be_limited(tmp_path: Path, command: Command) -> None:
    (tmp_path / "greedy.py").write_text(GREEDY)
    write_vectors(tmp_path / "cell.h5", make_block(["a-good", "b-bad", "c-good"]))
    arguments = ["check", tmp_path / "cell.h5", "--runtime", f"{tmp_path / 'greedy.py'}:run"]
    ended = command(*arguments, "--memory", "2G", "--json")
    check_finding(ended.report["cases"], "error", "MemoryError: Unable to allocate 4.00 GiB")
    ended = command(*arguments, "--memory", "1M")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1].endswith(" while loading with --memory 1,024K")
    for size in ("2", "G", "-1G", "1.5G", "0M", "9" * 30 + "G"):
        ended = command(*arguments, "--memory", size)
        assert (ended.status, ended.out) == (2, "")
        assert "--memory" in ended.err.splitlines()[-1]
