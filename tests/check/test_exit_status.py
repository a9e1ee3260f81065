"""What a shell is told: 0, 1, 2, 70 for an error of grucible's own, 130 after Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import grucible
from grucible.__main__ import main
from grucible.check.observed.child import signal_name

from .conftest import HERE, Command
from .made import IMPORT_ANSWER, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
UNSUPPORTED = f"{HERE / 'misbehaving.py'}:unsupported"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("status") / "cell.h5"
    write_vectors(path, make_block(["a-good", "b-bad", "c-good"]))
    return path


def test_0_and_1_are_verdicts(vectors: Path, command: Command) -> None:
    arguments = ["check", vectors, "--runtime", UNSUPPORTED]
    ended = command(*arguments)
    assert (ended.status, ended.out.partition(":")[0]) == (0, "conforms where supported")
    assert command(*arguments, "--require", "*/a-*").status == 0
    ended = command(*arguments, "--require", "*/a-*", "--require", "*/b-*")
    assert (ended.status, ended.out.partition(":")[0]) == (1, "does not conform")
    assert command(*arguments, "--select", "*/b-*").status == 1  # incomplete


def test_2_for_require_of_nothing(vectors: Path, command: Command) -> None:
    said = command("check", vectors, "--runtime", NUMPY, "--require", "z*").said_in_one_line()
    assert "no case that is judged matches --require 'z*'; see the ids with:" in said


def test_2_for_require_of_what_does_not_decide(tmp_path: Path, command: Command) -> None:
    vectors = tmp_path / "cell.h5"
    write_vectors(vectors, make_block(["a-bad"]), make_block(["b", "c"], tier="nonportable"))
    asked = ("check", vectors, "--runtime", UNSUPPORTED)
    said = command(*asked, "--require", "*/a*", "--require", "*/[bc]").said_in_one_line()
    assert "--require '*/[bc]' would demand nothing: no case that it matches decides" in said
    assert command(*asked, "--require", "*").status == 1
    said = command(*asked, "--select", "*/b", "--require", "*/a*").said_in_one_line()
    assert "no case that is judged matches --require '*/a*'" in said


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), AssertionError()])
def test_70_is_an_error_of_grucibles_own(
    error: Exception, vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("grucible.check.verdict.judge_block", fails)
    monkeypatch.delenv("GRUCIBLE_TRACEBACK", raising=False)
    ended = command("check", vectors, "--runtime", NUMPY)
    assert (ended.status, ended.out) == (70, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith(
        f"grucible: an error of its own, and no verdict: {type(error).__name__}"
    )
    assert re.search(r"\(at (tests/)?check/\w+\.py:\d+\)", ended.err)
    assert f"version {grucible.__version__}" in ended.err


def test_the_whole_traceback_on_demand(
    vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grucible.check.verdict.judge_block", lambda: None)
    monkeypatch.setenv("GRUCIBLE_TRACEBACK", "1")
    ended = command("check", vectors, "--runtime", NUMPY)
    assert ended.status == 70
    assert ended.err.startswith("Traceback (most recent call last):")
    assert "(at check/verdict.py:" in ended.err.splitlines()[-1]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnosis has an error of its own."""

    def breaks(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("grucible.check.verdict.diagnose", breaks)
    monkeypatch.delenv("GRUCIBLE_TRACEBACK", raising=False)


WRONG = f"""{IMPORT_ANSWER}
def run(question):
    return {{name: array + ("bad" in question.id) for name, array in answer(question).items()}}
"""
BROKE_OFF = (
    "the diagnosis broke off, and the verdict stands: IndexError: list index out of range (at "
)


@pytest.mark.usefixtures("broken", "in_this_process")
def test_1_where_the_diagnosis_broke_off(
    vectors: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict and the reports are given all the same, and one line says how to report it."""
    (tmp_path / "wrong.py").write_text(WRONG)
    asked = ("check", vectors, "--runtime", f"{tmp_path / 'wrong.py'}:run")
    file = tmp_path / "r.json"
    ended = command(*asked, "--report", f"json={file}")
    assert ended.status == 1
    assert ended.out.startswith("does not conform: ")
    assert ended.err.startswith(f"grucible: {BROKE_OFF}")
    assert ended.err.count("\n") == 1
    assert f"whole command and version {grucible.__version__}" in ended.err
    report = json.loads(file.read_text())
    assert report["verdict"] == "does not conform"
    assert report["summary"]["failed"] == report["unexplained"] > 0
    assert [hint.startswith(BROKE_OFF) for hint in report["hints"]] == [True]
    assert BROKE_OFF.partition(":")[0] in " ".join(ended.out.split())
    monkeypatch.setenv("GRUCIBLE_TRACEBACK", "1")
    assert command(*asked, "--quiet").err.startswith("Traceback (most recent call last):")


@pytest.mark.usefixtures("broken", "in_this_process")
def test_no_list_is_written_where_the_diagnosis_broke_off(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    """Every wrong number would be excused by it; a list that is there holds as it does otherwise."""
    file = tmp_path / "e.yaml"
    (tmp_path / "wrong.py").write_text(WRONG)
    asked = ("check", vectors, "--runtime", f"{tmp_path / 'wrong.py'}:run")
    ended = command(*asked, "--write-expect", file)
    assert (ended.status, file.exists()) == (1, False)
    assert f"{file}: not written, for the diagnosis broke off" in ended.err
    file.write_text("- {cases: '*/b-bad', reason: r}\n")
    assert command(*asked, "--expect", file).status == 0
    file.write_text("- {cases: '*/b-bad', reason: r, diagnosis: clip-ignored}\n")
    assert command(*asked, "--expect", file).status == 1


@pytest.mark.usefixtures("broken")
def test_a_profile_says_that_the_diagnosis_broke_off(vectors: Path, command: Command) -> None:
    ended = command("profile", vectors, "--select", "*", "--runtime", NUMPY)
    assert ended.status == 0
    assert BROKE_OFF in ended.err


BROKEN_WORKER = """
import sys
from grucible.gen import drawing as chunks
def broken(*_, **__):
    raise ZeroDivisionError("nothing is left")
chunks.draw_inputs = broken
if __name__ == "__main__":
    from grucible.__main__ import main
    main(args=sys.argv[1:])
"""


def test_70_names_the_line_of_a_worker(tmp_path: Path) -> None:
    """An exception that comes out of a process of `gen --jobs 2` is told where it was raised."""
    (tmp_path / "broken.py").write_text(BROKEN_WORKER)
    spec = Path(grucible.__file__).parent / "cases/openvino/gru_cell/core.yaml"
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "broken.py"), "gen", str(spec), "--select", "*/float32/*",
         "-o", str(tmp_path / "out"), "--jobs", "2"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 70, ended.stderr
    assert "ZeroDivisionError: nothing is left (at gen/drawing.py:" in ended.stderr
    assert "Traceback" not in ended.stderr


SLEEPS = """
import time
from pathlib import Path
def run(question):
    Path(__file__).with_suffix(".asked").touch()
    time.sleep(60)
"""


def test_130_after_ctrl_c(vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    running = subprocess.Popen(
        [sys.executable, "-m", "grucible", "check", str(vectors), "--runtime", "sleeps.py:run"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (tmp_path / "sleeps.asked").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "interrupted\n")


def test_help_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(args=["--help"])
    lines = capsys.readouterr().out.splitlines()
    statuses = [line.split()[0] for line in lines if line.strip()[:1].isdigit()]
    assert statuses == ["0", "1", "2", "70", "130"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("verb", "says"),
    [
        ("check", "1: does not conform, or incomplete, or an expectation is stale; 2: "),
        ("check", "129: ended by SIGHUP; 130: interrupted by Ctrl-C; 143: ended by SIGTERM."),
        ("check", "json, junit and github are of one runtime."),
        ("show", "Exit status 0: shown; 2: bad usage or input"),
        ("shrink", "Exit status 0: the smaller case is written; 2: "),
        ("shrink", "--seconds SECONDS "),
    ],
)
def test_the_help_of_a_command_tells_them(verb: str, says: str, command: Command) -> None:
    told = command(verb, "--help").out
    assert says in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="no real-time signals here")
def test_a_death_by_a_real_time_signal_is_one_finding(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    """signal.Signals() knows the first and the last of them alone."""
    number = signal.SIGRTMIN + 1
    (tmp_path / "dies.py").write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from numpy_gru import run as answer\n"
        "def run(question):\n"
        f"    return os.kill(os.getpid(), {number}) if 'bad' in question.id else answer(question)\n"
    )
    ended = command("check", vectors, "--runtime", f"{tmp_path / 'dies.py'}:run", "--json")
    assert [c["verdict"] for c in ended.report["cases"]] == ["passed", "error", "passed"]
    assert ended.report["cases"][1]["message"] == "the runtime crashed (SIGRTMIN+1)"


def test_names_of_signals() -> None:
    assert signal_name(signal.SIGSEGV) == "SIGSEGV"
    assert signal_name(signal.SIGRTMIN) == "SIGRTMIN"
    assert signal_name(signal.SIGRTMIN + 3) == "SIGRTMIN+3"
    assert signal_name(signal.SIGRTMAX) == "SIGRTMAX"
    assert signal_name(200) == "signal 200"


ASLEEP_AT_LAST = (
    IMPORT_ANSWER
    + """
import time
from pathlib import Path
def run(question):
    if question.id.endswith("c-good"):
        Path(__file__).with_suffix(".asked").touch()
        time.sleep(60)
    return answer(question)
"""
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_with_what_was_compared(number: int, tmp_path: Path) -> None:
    """A report of it is written, and marked."""
    (tmp_path / "asleep.py").write_text(ASLEEP_AT_LAST)
    first, second = make_block(["a-good", "b-good"], dtype="float64"), make_block(["c-good"])
    write_vectors(tmp_path / "cell.h5", second)
    write_vectors(tmp_path / "before.h5", first)
    command = ["check", str(tmp_path), "--runtime", "asleep.py:run", "--report", "json=r.json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "grucible", *command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (tmp_path / "asleep.asked").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (128 + number, "")
    assert out.startswith("incomplete: 2 of 2 cases passed, interrupted before the others\n")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["interrupted"]) == ("incomplete", True)
    assert len(report["cases"]) == 2


def test_ctrl_c_in_an_executed_text_has_the_status_of_an_interruption(tmp_path: Path) -> None:
    """As a dataclass is made: Python would remember it, and end by the signal afterwards."""
    (tmp_path / "late.py").write_text(
        "from grucible.__main__ import _end_interrupted\n"
        "try:\n    exec('raise KeyboardInterrupt')\n"
        "except KeyboardInterrupt:\n    _end_interrupted()\n"
    )
    command = [sys.executable, "-m", "late"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")
