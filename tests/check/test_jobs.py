"""A runtime in several processes: the same results and report as in one, and no process in vain."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from grucible import Question, load_vectors
from grucible.check.observed import pool
from grucible.check.observed.pool import AHEAD, RUN, RuntimePool

from .conftest import HERE, Command
from .made import IMPORT_ANSWER, make_block, write_vectors

MISBEHAVING = HERE / "misbehaving.py"
DTYPES = ("float16", "float32", "float64")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with three blocks each, of 40 cases; every seventh is bad."""
    root = tmp_path_factory.mktemp("jobs")
    for file in ("first", "second"):
        ids = [f"{file}-{n:02}-{'good' if n % 7 else 'bad'}" for n in range(40)]
        blocks = [make_block([f"{i}-{d}" for i in ids], dtype=d) for d in DTYPES]
        write_vectors(root / f"{file}.h5", *blocks)
    return root


@pytest.mark.parametrize("runtime", ["aborts", "raises", "unsupported", "nan"])
def test_the_report_is_the_same_for_any_number(
    runtime: str, vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a runtime that dies, errs, declines or is wrong on every seventh case."""
    few = ["--no-diagnose"]
    if runtime == "aborts":  # each death costs a start: ten cases, in as many processes
        few += ["--select", "*/first-0*-float32"]
        monkeypatch.setattr(pool, "RUN", 4)
    arguments = ["check", vectors, "--runtime", f"{MISBEHAVING}:{runtime}", "--json", *few]
    one = command(*arguments, "--jobs", "1")
    assert one.report["summary"]["passed"] == (8 if runtime == "aborts" else 204)
    several = command(*arguments, "--jobs", "3")
    assert (several.out, several.status) == (one.out, one.status)


ONCE = """
lock = Path(__file__).with_suffix(".lock")
if lock.exists():
    raise OSError("the device is in use")
lock.touch()
"""


def test_a_process_that_does_not_start_is_done_without(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    text = f"{IMPORT_ANSWER}from pathlib import Path\n{ONCE}run = answer\n"
    (tmp_path / "once.py").write_text(text)
    ended = command("check", vectors, "--runtime", f"{tmp_path / 'once.py'}:run", "--jobs", "2")
    assert ended.out.startswith("conforms: 240 of 240 cases passed\n")
    assert ended.err.count("goes on with fewer processes") == 1


OTHER = """
lock = Path(__file__).with_suffix(".lock")
run.version, again = "1", lock.exists()
if again:
    run.version = "2"
lock.touch()
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_of_another_build_answers_nothing(
    jobs: int, vectors: Path, tmp_path: Path, command: Command
) -> None:
    """One that starts beside the first is done without; where the first has died, none comes back."""
    dies = "    if question.id.endswith('first-00-bad-float32'):\n        os._exit(3)\n"
    wrong = "    if again:\n        return None\n"
    body = f"{dies if jobs == 1 else wrong}    return answer(question)\n"
    head = f"import os\nfrom pathlib import Path\n{IMPORT_ANSWER}\n"
    (tmp_path / "other.py").write_text(f"{head}def run(question):\n{body}{OTHER}")
    runtime = ("--runtime", f"{tmp_path / 'other.py'}:run", "--jobs", str(jobs), "--json")
    ended = command("check", vectors, *runtime, "--select", "*-float32")
    report, found = ended.report, ended.report["summary"]
    assert ended.err.count("goes on with fewer processes") == jobs - 1
    assert (found["passed"], found["errors"]) == ((80, 0) if jobs == 2 else (0, 80))
    assert report["runtime"]["version"] == "1"


def test_few_questions_are_taken_ahead(vectors: Path) -> None:
    taken = 0

    def questions() -> Iterator[Question]:
        nonlocal taken
        for case in load_vectors(vectors):
            taken += 1
            yield case.question

    with contextlib.closing(RuntimePool(f"{HERE / 'numpy_gru.py'}:run", 60.0, jobs=2)) as made:
        ahead = [taken - n for n, _ in enumerate(made.answer(questions()))]
    assert len(ahead) == taken == 240
    assert max(ahead) <= (AHEAD * 2 + 1) * RUN


def test_one_who_stops_going_through_leaves_nothing_behind(vectors: Path) -> None:
    """As where Ctrl-C or a damaged file ends a check: files are closed, processes and threads ended."""
    before = threading.active_count()
    made = RuntimePool(f"{MISBEHAVING}:hangs", 60.0, jobs=2)
    taken = threading.Event()

    def questions() -> Iterator[Question]:
        for number, case in enumerate(load_vectors(vectors)):
            yield case.question
            if number > 100:
                taken.set()

    def go_through() -> None:
        with contextlib.suppress(RuntimeError):  # the pool is closed
            list(made.answer(questions()))

    waiting = threading.Thread(target=go_through, daemon=True)
    waiting.start()
    assert taken.wait(60)  # the first case of each run hangs
    made.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert threading.active_count() <= before
    assert all(child._child is None for child in made._children)
