"""Whatever a runtime does is a finding about one case; the other cases go on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grucible import verify
from grucible.check.reports.json import report_value
from grucible.check.reports.terminal import report_lines

from . import misbehaving
from .conftest import HERE, Command, strict_json
from .made import IMPORT_ANSWER, make_block, write_vectors

MISBEHAVING = HERE / "misbehaving.py"

# the runtime, what becomes of the bad case, what is said of it: where the process goes on …
ANSWERS = [
    ("raises", "error", r"^ValueError: cannot do float32$"),
    ("raises_long", "error", r"^ValueError: long .* … .*the cause float32$"),
    ("raises_odd_text", "error", r"^ValueError: not a text"),
    ("recurses", "error", r"^RecursionError: "),
    ("unsupported", "unsupported", r"^no float32 here\s+nor there$"),
    ("returns_none", "error", r"None"),
    ("returns_list", "error", r"list"),
    ("returns_array", "error", r"ndarray"),
    ("returns_nothing", "error", r"^returned nothing; expected Ho$"),
    ("returns_more", "error", r"^returned Ho, Z; expected Ho$"),
    ("returns_other_names", "error", r"^returned ho; expected Ho$"),
    ("returns_names_that_are_numbers", "error", r"^returned 0; expected Ho$"),
    ("returns_unpicklable", "error", r"object"),
    ("wrong_shape", "error", r"^Ho is float32 \(2, 1\); expected float32 \(2, 2\)$"),
    ("flat", "error", r"^Ho is float32 \(4,\); expected float32 \(2, 2\)$"),
    ("scalar", "error", r"^Ho is float32 \(\); expected float32 \(2, 2\)$"),
    ("float64", "error", r"^Ho is float64 \(2, 2\); expected float32 \(2, 2\)$"),
    ("integers", "error", r"^Ho is int32 \(2, 2\); expected float32 \(2, 2\)$"),
    ("objects", "error", r"^Ho is object \(2, 2\); expected float32 \(2, 2\)$"),
    ("texts", "error", r"^Ho is str.* \(2, 2\); expected float32 \(2, 2\)$"),
    ("a_text", "error", r"^Ho is str.* \(\); expected float32 \(2, 2\)$"),
    ("nothing_in_it", "error", r"^Ho is object \(\); expected float32 \(2, 2\)$"),
    ("ragged", "error", r"Ho|ValueError"),
    ("transposed", "failed", r"^expected .*, got "),
    ("nan", "failed", r"^expected .*, got nan$"),
]
# … and where it ends.
ENDS = [
    ("aborts", "error", r"crashed \(SIGABRT\)"),
    ("segfaults", "error", r"crashed \(SIGSEGV\)"),
    ("divides_by_zero", "error", r"crashed \(SIGFPE\)"),
    ("killed", "error", r"crashed \(SIGKILL\)"),
    ("exits", "error", r"ended its process \(exit status 3\)"),
    ("exits_quietly", "error", r"ended its process \(exit status 0\)"),
    ("interrupts", "error", r"ended its process|KeyboardInterrupt"),
]
# Through the pipe go, of the first kind, those whose answer or error might not pass it.
PIPED = ("raises_odd_text", "recurses", "unsupported", "returns_names_that_are_numbers",
         "returns_unpicklable", "objects", "nan")  # fmt: skip
ISOLATED = ENDS + [finding for finding in ANSWERS if finding[0] in PIPED]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("isolation") / "cell.h5"
    write_vectors(path, make_block(["a-good", "b-bad", "c-good"]))
    return path


def check_finding(cases: list[dict[str, Any]], verdict: str, says: str) -> None:
    """The bad case has this verdict, for this reason; the others passed."""
    assert [(case["id"], case["verdict"]) for case in cases] == [
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


def test_the_other_byte_order(vectors: Path) -> None:
    """The same numbers in another order of bytes pass, or it is said what is wrong with them."""
    case = verify(vectors, runtime=misbehaving.big_endian).results[1]
    if case.verdict != "passed":
        got, _, wanted = case.message.removeprefix("Ho is ").partition("; expected ")
        assert case.verdict == "error"
        assert got != wanted, case.message


@pytest.mark.parametrize(("runtime", "verdict", "says"), ISOLATED, ids=[i[0] for i in ISOLATED])
def test_a_finding_about_one_case(
    runtime: str, verdict: str, says: str, vectors: Path, command: Command
) -> None:
    ended = command("check", vectors, "--runtime", f"{MISBEHAVING}:{runtime}", "--json")
    assert ended.status == (0 if verdict == "unsupported" else 1)
    check_finding(ended.report["cases"], verdict, says)


@pytest.mark.parametrize("runtime", ["hangs", "hangs_in_c"])
def test_a_hang_is_stopped(runtime: str, vectors: Path, command: Command) -> None:
    spec = f"{MISBEHAVING}:{runtime}"
    ended = command("check", vectors, "--runtime", spec, "--timeout", "1", "--json")
    assert ended.status == 1
    assert [c["verdict"] for c in ended.report["cases"]] == ["passed", "error", "passed"]
    assert ended.report["cases"][1]["message"] == "no answer in 1 s; stopped"


@pytest.mark.parametrize("runtime", ["raises", "raises_long", "unsupported", "raises_odd_text"])
def test_the_terminal_report_keeps_a_message_in_a_line(runtime: str, vectors: Path) -> None:
    report = verify(vectors, runtime=getattr(misbehaving, runtime))
    lines = list(report_lines(report))
    assert all(line.isprintable() for line in lines)
    said = [line for line in lines if re.search("cannot do|long|no float32|not a text", line)]
    assert len(said) == 1
    assert len(said[0]) <= 80


@pytest.mark.parametrize("runtime", ["aborts", "unsupported", "raises_odd_text"])
def test_run_keeps_what_was_found(
    runtime: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    spec, out = f"{MISBEHAVING}:{runtime}", tmp_path / "out.h5"
    ran = command("run", vectors, "--runtime", spec, "-o", out)
    word = "unsupported" if runtime == "unsupported" else "error"
    assert (ran.status, ran.out) == (0, f"{out}: 2 ok, 1 {word}\n")
    stored = command("check", vectors, "--outputs", out, "--json").report
    direct = command("check", vectors, "--runtime", spec, "--json").report
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


def test_a_crash_costs_one_case_of_many(tmp_path: Path, command: Command) -> None:
    ids = [f"{number:02}-{'bad' if number % 4 == 0 else 'good'}" for number in range(12)]
    write_vectors(tmp_path / "many.h5", make_block(ids))
    spec = f"{MISBEHAVING}:aborts"
    report = command("check", tmp_path / "many.h5", "--runtime", spec, "--json").report
    assert report["summary"]["errors"] == 3
    assert report["summary"]["passed"] == 9
    assert [c["verdict"] for c in report["cases"]] == ["error", *["passed"] * 3] * 3


CRASHES_LATER = (
    IMPORT_ANSWER
    + """
import os, threading, time
def run(question):
    if "bad" in question.id:
        threading.Timer(0.05, os.abort).start()
    else:
        time.sleep(0.3)
    return answer(question)
"""
)


def test_a_crash_between_cases_is_not_the_end(tmp_path: Path, command: Command) -> None:
    """A thread that a case left behind kills the process while another case is asked."""
    (tmp_path / "later.py").write_text(CRASHES_LATER)
    write_vectors(tmp_path / "cell.h5", make_block(["a-bad", "b-good", "c-good"]))
    spec = f"{tmp_path / 'later.py'}:run"
    report = command("check", tmp_path / "cell.h5", "--runtime", spec, "--json").report
    verdicts = [c["verdict"] for c in report["cases"]]
    assert verdicts in (["passed", "error", "passed"], ["error", "passed", "passed"])


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


def test_the_same_question_as_in_this_process(tmp_path: Path, command: Command) -> None:
    """What crosses the pipe is the whole question: bfloat16, attributes, what is asked for."""
    (tmp_path / "told.py").write_text(
        f"{IMPORT_ANSWER}import ml_dtypes\n"
        "def run(question):\n"
        "    assert question.inputs['X'].dtype == ml_dtypes.bfloat16, question.inputs['X'].dtype\n"
        "    assert question.attributes['activations'] == ['sigmoid', 'tanh']\n"
        "    assert question.given == {'hidden_size': 2, 'clip': 0.5}\n"
        "    assert (question.operator, question.dtype) == ('openvino.GRUCell-3', 'bfloat16')\n"
        "    assert question.outputs == {'Ho': ((2, 2), ml_dtypes.bfloat16)}\n"
        "    return answer(question)\n"
    )
    write_vectors(tmp_path / "cell.h5", make_block(["a"], dtype="bfloat16"))
    ended = command("check", tmp_path / "cell.h5", "--runtime", f"{tmp_path / 'told.py'}:run")
    assert ended.out.startswith("conforms: 1 of 1 cases passed")
