"""A crash, a hang or garbage of a runtime is a finding about one case; the other cases go on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from shipped import core_cases

from grucible import Question, load_vectors, verify
from grucible.check.observed.isolated import IsolatedRuntime
from grucible.check.observed.pool import ASKED
from grucible.check.reports.formats import report_value

from . import misbehaving
from .conftest import HERE, Command, strict_json
from .made import IMPORT_ANSWER, answering, make_block, write_vectors
from .test_orphans import running, soon

MISBEHAVING = HERE / "misbehaving.py"

# by runtime: the verdict and the kind of fault of the bad case, and its message; where the process goes on …
FINDINGS = {
    "raises": ("error", "raised", r"^ValueError: cannot do float32 \(misbehaving\.py:\d+\)$"),
    "raises_odd_text": ("error", "raised", r"^ValueError: not a text"),
    "recurses": ("error", "raised", r"^RecursionError: "),
    "unsupported": ("unsupported", "", r"^no float32 here\s+nor there$"),
    "returns_none": ("error", "malformed", r"None"),
    "returns_nothing": ("error", "malformed", r"^returned nothing; expected Ho$"),
    "returns_other_names": ("error", "malformed", r"^returned ho; expected Ho$"),
    "returns_unpicklable": ("error", "malformed", r"object"),
    "wrong_shape": ("error", "malformed", r"^Ho is float32 \(2, 1\); expected float32 \(2, 2\)$"),
    "float64": ("error", "malformed", r"^Ho is float64 \(2, 2\); expected float32 \(2, 2\)$"),
    "objects": ("error", "malformed", r"^Ho is object \(2, 2\); expected float32 \(2, 2\)$"),
    "ragged": ("error", "raised", r"ValueError"),
    "transposed": ("failed", "", r"^expected .*, got "),
    "nan": ("failed", "", r"^expected .*, got nan$"),
}
# … and where it ends.
ENDS = {
    "aborts": ("error", "crashed", r"crashed \(SIGABRT\)"),
    "killed": ("error", "crashed", r"crashed \(SIGKILL\)"),
    "exits": ("error", "crashed", r"ended its process \(exit status 3\)"),
    "interrupts": ("error", "crashed", r"ended its process|KeyboardInterrupt"),
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("isolation") / "cell.h5"
    write_vectors(path, make_block(["a-good", "b-bad", "c-good"]))
    return path


def write_bad(path: Path, runtimes: Sequence[str]) -> None:
    """A case for each of some misbehaving runtimes, each between two good ones."""
    ids = [f"{n:02}-{end}" for n, name in enumerate(runtimes) for end in (f"bad-{name}", "good")]
    write_vectors(path, make_block(["00", *ids]))


def test_every_finding_is_about_one_case(tmp_path: Path, command: Command) -> None:
    """In a process of its own, and in this one where the process goes on."""
    write_bad(tmp_path / "bad.h5", [*FINDINGS, *ENDS])
    ended = command("check", tmp_path / "bad.h5", "--runtime", f"{MISBEHAVING}:by_id", "--json")
    assert ended.status == 1
    write_bad(tmp_path / "alive.h5", [*FINDINGS])
    here = report_value(verify(tmp_path / "alive.h5", runtime=misbehaving.by_id))["cases"]
    for cases, wanted in ((ended.report["cases"], FINDINGS | ENDS), (here, FINDINGS)):
        found = {case["id"].rpartition("bad-")[2]: case for case in cases if "bad-" in case["id"]}
        assert {case["verdict"] for case in cases if "bad-" not in case["id"]} == {"passed"}
        assert list(found) == list(wanted)
        for name, (verdict, kind, says) in wanted.items():
            message = found[name]["message"]
            assert (found[name]["verdict"], found[name].get("fault", {}).get("kind", "")) == (
                verdict,
                kind,
            )
            assert re.search(says, message, re.DOTALL), message
            assert len(message) < 1000
            assert "Traceback" not in message
    [raised] = [case["fault"]["traceback"] for case in here if case["id"].endswith("bad-raises")]
    assert raised[0] == "Traceback (most recent call last):"
    assert any("misbehaving.py" in line and "in raises" in line for line in raised)
    assert raised[-2:] == ("ValueError: cannot do", "float32")
    [again] = [
        c["fault"]["traceback"] for c in ended.report["cases"] if c["id"].endswith("bad-raises")
    ]
    assert again == list(raised)


def test_overwritten_inputs_are_a_finding(tmp_path: Path, command: Command) -> None:
    write_bad(tmp_path / "bad.h5", ["overwrites"])
    spec = f"{MISBEHAVING}:overwrites"
    ended = command("check", tmp_path / "bad.h5", "--runtime", spec, "--json")
    for report in (ended.report, report_value(verify(tmp_path / "bad.h5", misbehaving.overwrites))):
        found = [(case["verdict"], [*case["overwrote"]]) for case in report["cases"]]
        changed = ["X", "initial_hidden_state"]
        assert found == [("passed", changed), ("error", changed), ("passed", changed)]
    shown = command("check", tmp_path / "bad.h5", "--runtime", spec, "--quiet").out.splitlines()[0]
    assert "X in 3 cases" in shown
    assert "initial_hidden_state in 3 cases" in shown


def test_a_hang_is_stopped(tmp_path: Path, command: Command) -> None:
    """Also one that never gives the interpreter's lock back."""
    write_bad(tmp_path / "bad.h5", ["hangs", "hangs_in_c"])
    spec = f"{MISBEHAVING}:by_id"
    ended = command("check", tmp_path / "bad.h5", "--runtime", spec, "--timeout", "1", "--json")
    assert ended.status == 1
    found = [(case["verdict"], case["message"]) for case in ended.report["cases"]]
    stopped, passed = ("error", "no answer in 1 s; stopped"), ("passed", "")
    assert found == [passed, stopped, passed, stopped, passed]
    kinds = [one["fault"]["kind"] for one in ended.report["cases"] if "fault" in one]
    assert kinds == ["hung", "hung"]


def test_run_keeps_what_was_found(tmp_path: Path, command: Command) -> None:
    vectors, out = tmp_path / "bad.h5", tmp_path / "out.h5"
    write_bad(vectors, ["aborts", "unsupported", "raises_odd_text"])
    ran = command("run", vectors, "--runtime", f"{MISBEHAVING}:by_id", "-o", out)
    assert (ran.status, ran.out) == (0, f"{out}: 4 ok, 2 error, 1 unsupported\n")
    stored = command("check", vectors, "--outputs", out, "--json").report
    direct = command("check", vectors, "--runtime", f"{MISBEHAVING}:by_id", "--json").report
    for case in direct["cases"]:
        case.pop("fault", None)  # which an outputs file does not keep
    assert (stored["cases"], stored["summary"]) == (direct["cases"], direct["summary"])


def test_what_a_runtime_prints_is_not_in_the_report(vectors: Path) -> None:
    """In a process of its own, standard output is the report and nothing else."""
    arguments = ["check", str(vectors), "--runtime", f"{MISBEHAVING}:prints", "--json"]
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", *arguments], capture_output=True, text=True, check=True
    )
    assert strict_json(ended.stdout)["verdict"] == "conforms"
    asked = 3 + ASKED  # one of the three cases again
    assert ended.stderr.count("to standard output\n") == asked
    assert ended.stderr.count("and past Python\n") == asked


LOADS_ONCE = """
import os
from pathlib import Path
lock = Path(__file__).with_suffix(".lock")
if lock.exists():
    raise OSError("the device is still in use")
lock.touch()
def run(question):
    return os.abort() if "bad" in question.id else answer(question)
"""
GREEDY = """
import numpy as np
def run(question):
    if "bad" in question.id:
        np.ones(1 << 29).sum()
    return answer(question)
"""


def test_a_runtime_that_does_not_come_back_is_not_the_end(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    """After a crash the runtime does not load again: what it answered before is still reported."""
    (tmp_path / "once.py").write_text(IMPORT_ANSWER + LOADS_ONCE)
    ended = command("check", vectors, "--runtime", f"{tmp_path / 'once.py'}:run", "--json")
    assert ended.status == 1
    assert [c["verdict"] for c in ended.report["cases"]] == ["passed", "error", "error"]
    assert "the device is still in use" in ended.report["cases"][2]["message"]


def test_memory_can_be_limited(vectors: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "greedy.py").write_text(IMPORT_ANSWER + GREEDY)
    arguments = ["check", vectors, "--runtime", f"{tmp_path / 'greedy.py'}:run"]
    cases = command(*arguments, "--memory", "2G", "--json").report["cases"]
    assert [case["verdict"] for case in cases] == ["passed", "error", "passed"]
    assert cases[1]["message"].startswith("MemoryError: Unable to allocate 4.00 GiB")
    ended = command(*arguments, "--memory", "1M")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1].endswith(" while loading with --memory 1,024K")
    for size in ("2", "G", "-1G", "1.5G", "0M", "9" * 30 + "G"):
        ended = command(*arguments, "--memory", size)
        assert (ended.status, ended.out) == (2, "")
        assert "--memory" in ended.err.splitlines()[-1]


def test_a_death_after_an_answer_is_the_next_question_s_finding() -> None:
    question = next(c.question for c in core_cases() if c.operator == "openvino.GRUCell-3")
    with closing(IsolatedRuntime(f"{HERE / 'numpy_gru.py'}:run", 60.0)) as runtime:
        assert runtime.answer(question).status == "ok"
        os.kill(runtime.ready().pid, signal.SIGKILL)
        assert soon(lambda: not runtime.ready().alive())
        assert runtime.answer(question).message == "the runtime crashed (SIGKILL)"
        assert runtime.answer(question).status == "ok"


def test_descriptors_may_have_any_number() -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    question = next(c.question for c in core_cases() if c.operator == "openvino.GRUCell-3")
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048, limits[1]))
        _ = [stack.enter_context(Path(os.devnull).open("rb")) for _ in range(1024)]
        runtime = IsolatedRuntime(f"{HERE / 'numpy_gru.py'}:run", 60.0)
        assert stack.enter_context(closing(runtime)).answer(question).status == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_limit_that_is_refused_later_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    with closing(IsolatedRuntime(f"{HERE / 'numpy_gru.py'}:run", 60.0, 4 << 30)) as runtime:
        os.kill(runtime.ready().pid, signal.SIGKILL)
        monkeypatch.setattr("resource.prlimit", refuse)
        replies = [runtime.answer(case.question) for case in core_cases()[:2]]
    assert "come back: --memory" in replies[1].message  # the first may find that it died


STARTS = """
import subprocess, sys, time
from pathlib import Path
def run(question):
    for more in ({"start_new_session": True}, {"process_group": 0}):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", __file__], **more)
    Path(__file__).with_suffix(".asked").touch()
    time.sleep(600)
"""


def test_what_a_runtime_starts_elsewhere_ends_too(tmp_path: Path) -> None:
    """In a session or a group of its own, as long as the runtime lives when it is ended."""
    module = tmp_path / "starts.py"
    module.write_text(STARTS)
    with closing(IsolatedRuntime(f"{module}:run", 2.0)) as runtime:
        reply = runtime.answer(core_cases()[0].question)
        assert reply.message == "no answer in 2 s; stopped"
        assert module.with_suffix(".asked").exists()
        assert soon(lambda: not running(str(module)))


# in this process


class _UnreadableError(BaseException):
    """No Exception, and nothing can be read of it."""

    def __str__(self) -> str:
        raise GeneratorExit


@pytest.mark.parametrize("error", [_UnreadableError, KeyboardInterrupt])
def test_in_this_process_nothing_but_ctrl_c_gets_out(
    error: type[BaseException], some_vectors: Path
) -> None:
    def run(_: Question) -> Any:
        raise error

    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            verify(some_vectors, runtime=run)
    else:
        assert {r.verdict for r in verify(some_vectors, runtime=run).results} == {"error"}


def test_a_runtime_that_changes_directory(
    some_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second file is named by a relative path as the first is."""
    monkeypatch.chdir(some_vectors)
    answers = answering(some_vectors)

    def elsewhere(question: Question) -> Any:
        os.chdir(tmp_path)
        return answers(question)

    assert len(list(some_vectors.rglob("*.h5"))) > 1
    report = verify(".", runtime=elsewhere)
    assert len(report.results) == len(list(load_vectors(some_vectors)))
    assert report.verdict == "conforms"
